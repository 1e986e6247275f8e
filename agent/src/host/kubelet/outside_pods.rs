//! The processes outside of pods, by their cgroups: on a full node a small part of all, and cheaper to list.

use crate::host::HostRoot;
use crate::observation::CgroupMount;
use crate::sys::{self, EntryKind};

/// More cgroups than these are not looked at; a node has a hundred or two without those of its pods.
const MAX_CGROUPS: usize = 2000;

/// Those of one hierarchy. What stands in its root is left out: below systemd these are the kernel's threads.
pub(super) fn pids(mount: &CgroupMount, host: &HostRoot) -> Vec<u32> {
    let mut pids = Vec::new();
    let mut open = vec![host.at(&mount.mount_point)];
    for looked_at in 0..MAX_CGROUPS {
        let Some(path) = open.pop() else { break };
        if looked_at > 0 {
            let procs =
                sys::read_text(&path.join("cgroup.procs"), sys::limits::MAX_CGROUP_PROCS_BYTES).unwrap_or_default();
            pids.extend(procs.lines().filter_map(|line| line.parse::<u32>().ok()));
        }
        if !sys::may_have_subdirectories(&path) {
            continue;
        }
        let children = sys::list(&path).unwrap_or_default();
        let children = children.iter().filter(|entry| entry.kind == EntryKind::Directory);
        open.extend(
            children.filter(|entry| !entry.name.to_str().is_some_and(is_of_pods)).map(|entry| path.join(&entry.name)),
        );
    }
    pids
}

/// Whether a kubelet keeps its pods in such a cgroup, whatever its `--cgroup-root` and its driver.
fn is_of_pods(name: &str) -> bool {
    name == "kubepods" || name == "kubepods.slice" || name.ends_with("-kubepods.slice")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::HostPath;

    #[test]
    fn pods_and_the_root_are_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let cgroups = [
            (".", "2"),
            ("system.slice/cron.service", "30\n31"),
            ("docker/kind/kubelet", "40"),
            ("docker/kind/kubelet/kubepods/burstable/pod1", "50"),
            ("kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1.slice/cri-1.scope", "60"),
            ("lab.slice/lab-kubepods.slice/lab-kubepods-pod1.slice", "70"),
        ];
        for (path, procs) in cgroups {
            std::fs::create_dir_all(dir.path().join(path)).unwrap();
            std::fs::write(dir.path().join(path).join("cgroup.procs"), procs).unwrap();
        }
        let mount = CgroupMount { mount_point: HostPath::from(dir.path().to_owned()), v1: None };
        let mut outside = pids(&mount, &HostRoot::default());
        outside.sort_unstable();
        assert_eq!(outside, [30, 31, 40]);
    }
}
