//! Whether a sandbox's network namespace is still pinned.

use std::{io, path::PathBuf, sync::Arc};

use super::{HostRoot, mounts::Table};
use crate::observation::{HostPath, NetworkNamespace, Seen};
use crate::sys;

/// Reads a pinned network namespace. Kernels before 5.8 do not show of a path whether it is a mount; then `table`, the mount
/// table of the host, does.
pub(super) fn facts(
    host: &HostRoot,
    path: HostPath,
    table: impl FnOnce() -> io::Result<Arc<Table>>,
) -> Seen<NetworkNamespace> {
    let Some(at) = places(host, &path).into_iter().find(|at| !is_missing(at)) else {
        return Seen::Seen(NetworkNamespace { path, pinned: false, missing: true });
    };
    let pinned = match sys::is_mount_root(&at) {
        Ok(Some(pinned)) => Ok(pinned),
        Ok(None) => is_in(table(), &path),
        Err(error) if error.kind() == io::ErrorKind::Unsupported => is_in(table(), &path),
        Err(error) if sys::is_gone(&error) => Ok(false),
        Err(error) => Err(error),
    };
    match pinned {
        Ok(pinned) => Seen::Seen(NetworkNamespace { path, pinned, missing: false }),
        Err(error) => Seen::failed("network namespace", error),
    }
}

/// `/var/run` is a link to `/run` on nearly every host, and a link is not followed below another
/// process's root.
fn places(host: &HostRoot, path: &HostPath) -> Vec<PathBuf> {
    let real = path.as_str().and_then(|path| path.strip_prefix("/var/run/")).map(|rest| format!("/run/{rest}"));
    let real = real.map(|real| host.at(&real.as_str().into()));
    real.into_iter().chain([host.at(path)]).collect()
}

fn is_missing(at: &std::path::Path) -> bool {
    // What is there and no link is refused, and the refusal is the answer.
    sys::read_link(at).is_err_and(|error| sys::is_gone(&error))
}

fn is_in(table: io::Result<Arc<Table>>, path: &HostPath) -> io::Result<bool> {
    let table = table?;
    match (is_mounted(&table, path), table.fault()) {
        (false, Some(fault)) => Err(io::Error::other(fault.says)),
        (found, _) => Ok(found),
    }
}

fn is_mounted(table: &Table, path: &HostPath) -> bool {
    let Some(name) = path.as_path().file_name() else { return false };
    let end = [b"/run/netns/", name.as_encoded_bytes()].concat();
    !table.mounts_with(&end, |mount| mount.mount_point().ends_with(&end)).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[u8] = b"36 35 0:4 net:[4026532000] /run/netns/cni-1 rw shared:1 - nsfs nsfs rw\n";

    #[test]
    fn an_old_kernel_tells_by_its_mount_table() {
        let table = Table::kept(TABLE);
        let is_mounted = |path: &str| is_mounted(&table, &path.into());
        assert!(is_mounted("/var/run/netns/cni-1"));
        assert!(is_mounted("/run/netns/cni-1"));
        assert!(!is_mounted("/run/netns/cni-"));
        assert!(!is_mounted("/run/netns/cni-12"));
    }

    #[test]
    fn what_is_there_and_no_mount_is_not_missing() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("run/netns")).unwrap();
        std::fs::write(dir.path().join("run/netns/cni-1"), "").unwrap();
        let host = HostRoot::new(dir.path());
        let none = || Err(io::Error::other("not asked"));
        let there = facts(&host, "/var/run/netns/cni-1".into(), none);
        let gone = facts(&host, "/var/run/netns/cni-2".into(), none);
        let facts = |seen: &Seen<NetworkNamespace>| seen.get().map(|network| (network.pinned, network.missing));
        assert_eq!((facts(&there), facts(&gone)), (Some((false, false)), Some((false, true))));
    }
}
