//! The kubelet's directory by the socket that it listens on there, whoever told it where that is: k3s hides its command
//! line, and MicroK8s has the flags in a file. `getPodResourcesDir` of the kubelet (pkg/kubelet/kubelet_getters.go) is
//! `pod-resources` below it.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    time::{Duration, Instant},
};

use crate::{
    host::{descriptors, socket_list},
    observation::HostPath,
    sys::ProcDir,
};

const SOCKET: &str = "pod-resources/kubelet.sock";
/// The kubelet has some thousands of descriptors at most.
const MOST: Duration = Duration::from_secs(1);

/// Where it is, if the kernel tells.
pub(super) fn of(pid: u32) -> Option<HostPath> {
    let list = socket_list::read(pid).ok()?;
    let roots = socket_list::bound(&list).into_iter().filter_map(|(inode, path)| Some((inode, above(&path)?)));
    let roots: BTreeMap<u64, HostPath> = roots.collect();
    if roots.is_empty() {
        return None;
    }
    let mut own = BTreeSet::new();
    descriptors::each(&ProcDir::open(pid).ok()?, Instant::now() + MOST, |_, link| {
        own.extend(socket_list::inode(link).and_then(|inode| roots.get(&inode)));
    });
    // Other kubelets of the node are in the list too.
    own.pop_first().filter(|_| own.is_empty()).cloned()
}

fn above(path: &HostPath) -> Option<HostPath> {
    let root = path.as_path().to_str()?.strip_suffix(SOCKET)?.strip_suffix('/')?;
    (!root.is_empty()).then(|| HostPath::from(Path::new(root).to_owned()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn its_own_socket_tells_where_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("data/kubelet");
        std::fs::create_dir_all(root.join("pod-resources")).unwrap();
        let listener = UnixListener::bind(root.join(SOCKET)).unwrap();
        assert_eq!(of(std::process::id()), Some(HostPath::from(root)));
        // It is in the same network and has no such socket.
        let mut other = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let others = of(other.id());
        other.kill().unwrap();
        other.wait().unwrap();
        assert_eq!(others, None);
        drop(listener);
        assert_eq!(of(std::process::id()), None);
    }
}
