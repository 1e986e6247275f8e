//! The shims of given sandboxes. A command line would name the sandbox, and is never read: it may block for ever. The
//! working directory shows the same.

use super::process_index::ProcessIndex;
use super::processes::{self, Depth};
use crate::observation::{HostPath, Seen, Shim};
use crate::sys::{self, ProcDir};

/// Looks for the shims of `sandboxes`: one link per process of the node.
pub fn sandbox_shims(sandboxes: &[String], process_index: &ProcessIndex) -> Vec<Shim> {
    if sandboxes.is_empty() {
        return Vec::new();
    }
    let bundles = process_index.standing_in(|cwd| bundle_of(cwd, sandboxes).is_some());
    bundles.into_iter().filter_map(|pid| shim(pid, sandboxes)).collect()
}

/// Whose bundle a shim stands in.
fn bundle_of<'a>(cwd: &[u8], sandboxes: &'a [String]) -> Option<&'a String> {
    let bundle = cwd.strip_suffix(b" (deleted)").unwrap_or(cwd);
    sandboxes.iter().find(|id| bundle.ends_with(format!("/{id}").as_bytes()))
}

fn shim(pid: u32, sandboxes: &[String]) -> Option<Shim> {
    let dir = ProcDir::open(pid).ok()?;
    let sandbox = bundle_of(&dir.link("cwd").ok()?, sandboxes)?;
    // Any process may stand in a directory of that name, and call itself a shim; in a pod it has another pid namespace.
    if dir.namespace("pid").ok()? != sys::namespace_of(std::process::id(), "pid").ok()? {
        return None;
    }
    let process = processes::read(&dir, Depth::Leader).ok()?;
    if !process.comm.starts_with("containerd-shim") {
        return None;
    }
    let children = processes::known_children(pid).map(|children| u32::try_from(children.len()).unwrap_or(u32::MAX));
    Some(Shim {
        sandbox: sandbox.clone(),
        pid,
        start_ticks: process.start_ticks,
        comm: process.comm,
        state: process.state,
        owner: process.owner,
        program: super::seen(dir.link("exe").map(HostPath::new)),
        children: children.map_or(Seen::Missing, Seen::Seen),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_shim_is_known_by_where_it_stands_and_by_its_name() {
        let dir = tempfile::tempdir().unwrap();
        let bundle = dir.path().join("k8s.io/abc");
        std::fs::create_dir_all(&bundle).unwrap();
        let program = dir.path().join("containerd-shim-kata-v2");
        std::fs::copy("/bin/sleep", &program).unwrap();
        let start = |program: &std::path::Path| Command::new(program).arg("60").current_dir(&bundle).spawn().unwrap();
        let (mut shim, mut other) = (start(&program), start("/bin/sleep".as_ref()));
        std::thread::sleep(std::time::Duration::from_millis(50));
        let shims = sandbox_shims(&["xyz".into(), "abc".into()], &ProcessIndex::read());
        let elsewhere = sandbox_shims(&["bc".into()], &ProcessIndex::read());
        for child in [&mut shim, &mut other] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert_eq!(shims.len(), 1, "{shims:?}");
        assert_eq!((shims[0].pid, shims[0].sandbox.as_str()), (shim.id(), "abc"));
        assert_eq!(shims[0].program_name(), Some("containerd-shim-kata-v2"));
        assert!(matches!(shims[0].children, Seen::Seen(0) | Seen::Missing));
        assert_eq!(elsewhere, []);
    }

    #[test]
    fn a_container_that_calls_its_process_a_shim_is_not_believed() {
        let dir = tempfile::tempdir().unwrap();
        let bundle = dir.path().join("tenants");
        std::fs::create_dir_all(&bundle).unwrap();
        let program = dir.path().join("containerd-shim-runc-v2");
        std::fs::copy("/bin/sleep", &program).unwrap();
        let mut tenant = Command::new("unshare");
        tenant.args(["--user", "--map-root-user", "--pid", "--fork", "--kill-child"]).arg(&program).arg("60");
        let mut tenant = tenant.current_dir(&bundle).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(300));
        let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", tenant.id())).unwrap_or_default();
        let shims = sandbox_shims(&["tenants".into()], &ProcessIndex::read());
        tenant.kill().unwrap();
        tenant.wait().unwrap();
        assert!(!children.trim().is_empty(), "no process was started in a pid namespace of its own");
        assert_eq!(shims, [], "{children}");
    }
}
