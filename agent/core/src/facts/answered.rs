//! Which questions an observation has the answer to.

use super::Facts;
use crate::observation::{Depth, Question, Seen};

impl Question {
    /// Whether it was asked, or the answer is there: observations of older agents do not list what was asked.
    pub(super) fn is_answered(&self, seen: &Facts<'_>) -> bool {
        use Question::*;
        if seen.asked.contains(self) {
            return true;
        }
        let runtime = seen.runtime.get();
        match self {
            KilledProcesses | ContainerState(_) | PidNamespace(_) | Unmounts | FuseWaiters | WaitingThreads(_)
            | MountCopies(_) => false,
            ContainerStatus(id) => runtime
                .and_then(|runtime| runtime.containers.iter().find(|container| container.id == *id))
                .is_some_and(|container| container.pid != Seen::NotAsked),
            SandboxStatus(id) => runtime
                .and_then(|runtime| runtime.sandboxes.iter().find(|sandbox| sandbox.id == *id))
                .is_some_and(|sandbox| sandbox.pid != Seen::NotAsked),
            RuntimeConditions => runtime.is_some_and(|runtime| !runtime.unready.is_empty()),
            RuntimeListener => seen.node.runtime_process != Seen::NotAsked,
            CgroupTree(uid) => seen
                .cgroups
                .get()
                .and_then(|cgroups| cgroups.iter().find(|cgroup| cgroup.uid == *uid))
                .is_some_and(|cgroup| cgroup.dirs.iter().all(|dir| dir.tree != Seen::NotAsked)),
            PodVolumes(uid) => seen
                .pod_dirs
                .get()
                .and_then(|dirs| dirs.iter().find(|dir| dir.uid == *uid))
                .is_some_and(|dir| dir.volumes != Seen::NotAsked),
            DraState => seen.node.dra_pods != Seen::NotAsked,
            Process { pid, depth } => seen.process(*pid).is_some_and(|process| {
                *depth != Depth::Threads || process.threads.len() >= process.thread_count as usize
            }),
            MountTable { ns, .. } => seen.mounts.table(*ns).is_some(),
            PathMount(path) => seen.path_mounts.iter().any(|known| known.path == *path),
            RootFileSystem(container) => {
                seen.mounts.kubelet.get().is_some_and(|table| table.mounts.iter().any(|m| m.is_rootfs_of(container)))
            }
            Holders(path) => seen.holders.iter().any(|search| search.mount_point == *path),
            ProtectedFiles(dir) => seen.protected_files.iter().any(|known| known.dir == *dir),
            InFlight => !seen.in_flight.is_empty(),
            WritableFiles(pid) => seen.writable.iter().any(|known| known.pid == *pid),
            VolumesChanged => seen.volumes_changed_ms != Seen::NotAsked,
            UnmountedDevices => !seen.unmounted_devices.is_empty(),
            FuseConnection(number) => seen.fuse.iter().any(|connection| connection.number == *number),
            FuseAnswer { connection, .. } => {
                seen.fuse.iter().any(|known| known.number == *connection && known.probe != Seen::NotAsked)
            }
            CsiDrivers => seen.csi != Seen::NotAsked,
            KubeletCounters => seen.kubelet_counters != Seen::NotAsked,
            KernelLog => seen.kernel_log != Seen::NotAsked,
            BlockStack(dev) => seen.block_stacks.iter().any(|stack| stack.mounted == *dev),
            MultipathMap(dev) => seen.multipath.iter().any(|map| map.mounted == *dev),
            Shims(sandbox) => seen.shims.iter().any(|shim| shim.sandbox == *sandbox),
            PersistentVolume(name) => {
                seen.api.get().is_some_and(|api| api.volumes.iter().any(|volume| volume.name == *name))
            }
        }
    }
}
