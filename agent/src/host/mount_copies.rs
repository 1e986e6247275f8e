//! Copies of mounts in other mount namespaces, found by where they are mounted: what is unmounted
//! here has no device number any more by which they could be known.

use std::collections::BTreeSet;

use super::mounts::MountReader;
use super::process_index::ProcessIndex;
use super::processes::{self, Depth};
use crate::{observation::MountCopy, sys};

/// So many copies are kept.
const MAX_COPIES: usize = 100;

/// The mounts whose mount point ends with one of `ends` (whole components, such as
/// `netns/cni-7`), in all namespaces but those in `own`.
pub fn search(
    ends: &[String],
    own: &BTreeSet<u64>,
    process_index: &ProcessIndex,
    reader: &mut MountReader,
) -> Vec<MountCopy> {
    let mut copies: Vec<MountCopy> = Vec::new();
    if ends.is_empty() {
        return copies;
    }
    let spaces = &process_index.group_by_mount_ns().pids;
    for (ns, pids) in spaces.iter().filter(|(ns, _)| !own.contains(ns)) {
        let Some(table) = pids.iter().take(8).find_map(|pid| reader.table(*pid).ok()) else { continue };
        for end in ends {
            let is_one = |point: &[u8]| point.ends_with(format!("/{end}").as_bytes());
            for mount in table.mounts_with(end.as_bytes(), |mount| is_one(&mount.mount_point())) {
                let process = processes::process(table.through_pid, Depth::Leader);
                // Another process may have the pid by now.
                let Some(process) = process.get().filter(|process| process.mount_ns == Some(*ns)).cloned() else {
                    continue;
                };
                let (pid, comm, state, owner) = (process.pid, process.comm, process.state, process.owner);
                copies.push(MountCopy { mount, ns: *ns, pid, comm, state, owner });
                if copies.len() == MAX_COPIES {
                    return copies;
                }
            }
        }
    }
    copies
}

/// Whether a kernel older than 3.18 was taught to do without (`fs.may_detach_mounts`, RHEL 7.4).
pub fn may_detach_mounts() -> crate::observation::Seen<bool> {
    super::seen(sys::read_text("/proc/sys/fs/may_detach_mounts".as_ref(), 64).map(|text| text.trim() == "1"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{host::mounts::tests::namespace, observation::HostPath};

    #[test]
    fn a_private_copy_is_found_where_it_is_and_not_at_home() {
        let mut home = namespace::Namespace::new();
        home.run("mount --make-rprivate / && mount -t tmpfs pins /mnt && mkdir -p /mnt/netns/cni-7");
        home.run("mount -t tmpfs pin /mnt/netns/cni-7");
        let mut other = home.copy("private");
        let holder = other.spawn("sleep 1000");
        home.run("umount /mnt/netns/cni-7");
        let ends = ["netns/cni-7".to_owned()];
        let own = [sys::namespace_of(home.pid(), "mnt").unwrap()].into();
        let find =
            || search(&ends, &own, &ProcessIndex::read(), &mut MountReader::new(HostPath::from("/var/lib/kubelet")));
        let copies = find();
        assert_eq!(copies.len(), 1, "{copies:?}");
        assert_eq!(copies[0].ns, sys::namespace_of(holder, "mnt").unwrap());
        assert!(copies[0].is_copy_of(&"/run/netns/cni-7".into(), &"/run".into()));
        assert!(!copies[0].is_copy_of(&"/run/netns/cni-77".into(), &"/run".into()));
        other.run("umount /mnt/netns/cni-7");
        assert_eq!(find(), []);
    }
}
