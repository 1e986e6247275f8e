//! A `umount` that waits in the kernel: the kubelet's, or that of a CSI driver. Which mount it unmounts stands in its command
//! line, which is not read.

use super::block_device::{self, OnDevice};
use super::blocked_task::{BlockedTask, Sure};
use super::prelude::*;
use super::{fuse, nfs, uninterruptible};

/// Said of one that is not known to be that of a volume.
const UNREAD: &str = "whether it is this volume that it unmounts: its command line is not read";

/// Between `umount.nfs4` and the kubelet stands the `umount` that has started it (libmount, `context_umount.c`), and
/// before that perhaps what brings it into the host's mount namespace.
const MAX_BETWEEN: usize = 2;

/// The tasks that have not run between two looks: in D, or in S where they wait for a FUSE server and no signal has come yet
/// (`request_wait_answer`, fs/fuse/dev.c).
fn tasks<'a>(view: &PodView<'a>) -> impl Iterator<Item = (&'a Process, &'a Thread)> {
    view.seen.is_settled(Question::Unmounts);
    let umounts = view.seen.processes.iter().filter(|process| process.comm.starts_with("umount"));
    let threads = umounts.flat_map(|process| process.threads.iter().map(move |thread| (process, thread)));
    let waits = |thread: &Thread| thread.state == 'D' || (thread.state == 'S' && waits_for_fuse(thread));
    threads.filter(move |(process, thread)| waits(thread) && view.is_steady(process, thread))
}

fn waits_for_fuse(thread: &Thread) -> bool {
    uninterruptible::is_in_function(thread, fuse::is_fuse_function)
}

/// Whether the kubelet has started it.
fn is_below_kubelet<'a>(view: &PodView<'a>, process: &'a Process) -> bool {
    let Some(kubelet) = view.seen.node.kubelet.get() else { return false };
    let mut child = process;
    for _ in 0..MAX_BETWEEN {
        if child.parent == kubelet.pid {
            return true;
        }
        let Some(parent) = view.parent(child) else { return false };
        child = parent;
    }
    child.parent == kubelet.pid
}

/// A volume on NFS whose `umount` waits for the server in D: the kubelet's, or that of a CSI driver.
pub fn nfs_server(view: &PodView, mount: &Mount, head: &[Link], gate: Option<Gate>) -> Option<Finding> {
    if !mount.is_nfs() {
        return None;
    }
    let waiting: Vec<(&Process, &Thread)> = tasks(view).filter(|(_, thread)| nfs::is_waited_for(thread)).collect();
    let of_kubelet = waiting.iter().find(|(process, _)| is_below_kubelet(view, process));
    let sees_it = |process: &Process, thread: &Thread| {
        view.table(process, thread).is_none_or(|table| table.mounts.iter().any(|other| other.dev == mount.dev))
    };
    let (process, thread) = of_kubelet.or_else(|| waiting.iter().find(|(process, thread)| sees_it(process, thread)))?;
    let mut head = head.to_vec();
    head.push(Link::new(describe::task(process, thread), describe::task_state(process, thread)));
    // It may be another, also one that has left the table already.
    let all: Vec<&Mount> = view.kubelet_mounts().iter().filter(|mount| mount.is_nfs()).collect();
    let mut finding = nfs::not_responding(view, &BlockedTask { process, thread, head: &head, gate }, &all);
    finding.doubt(UNREAD);
    Some(finding)
}

/// A volume that is no mount point any more, while its `umount` still waits: the kernel takes a mount out of the table
/// first, and then writes back what its file system holds (`cleanup_mnt`, fs/namespace.c).
pub fn detached(view: &PodView, volume: &VolumeDir, head: &[Link]) -> Option<Finding> {
    // What the kubelet deletes itself it mounts in memory at most, and files in the place were written after the unmount.
    if volume.is_made_for_the_pod() || volume.entries.is_some_and(|entries| entries > 0) {
        return None;
    }
    let by_kubelet = volume.vol_data == VolData::NotCsi;
    let (process, thread) = tasks(view).find(|(process, _)| is_below_kubelet(view, process) == by_kubelet)?;
    let mut head = head.to_vec();
    head.push(Link::new(describe::task(process, thread), describe::task_state(process, thread)));
    let mut finding = explain(view, &BlockedTask { process, thread, head: &head, gate: VOLUMES });
    finding.doubt(UNREAD);
    Some(finding)
}

/// What a `umount` waits for: the mounts that it sees are those for which it does not wait.
fn explain(view: &PodView, waiting: &BlockedTask) -> Finding {
    match waiting.thread {
        thread if nfs::is_waited_for(thread) => nfs::not_responding(view, waiting, &[]),
        // The server of a file system on a block device, such as ntfs-3g, gets a last request (`fuse_conn_destroy`, fs/fuse/inode.c).
        thread if waits_for_fuse(thread) => fuse::not_responding(view, waiting, &[]).finish(),
        _ => device(view, waiting).unwrap_or_else(|| uninterruptible::unknown(view, waiting)),
    }
}

/// Whether it is a `umount` that waits for this root.
pub fn waits_for(view: &PodView, waiting: &BlockedTask, root: &str) -> bool {
    waiting.process.comm.starts_with("umount") && explain(view, waiting).root == root
}

/// The device that a file system is written back to which the kernel still has, and no mount table: only one of those may be
/// waited for.
fn device(view: &PodView, waiting: &BlockedTask) -> Option<Finding> {
    view.seen.is_settled(Question::UnmountedDevices);
    view.seen.unmounted_devices.iter().for_each(|dev| _ = view.seen.is_settled(Question::BlockStack(*dev)));
    let is_unmounted = |stack: &&BlockStack| view.seen.unmounted_devices.contains(&stack.mounted);
    let may_be = |stack: &&BlockStack| stack.may_be_waited_for() == Some(true);
    let mut stacks = view.seen.block_stacks.iter().filter(is_unmounted).filter(may_be);
    let (Some(stack), None) = (stacks.next(), stacks.next()) else { return None };
    let file_system = OnDevice::detached(stack);
    let suspended = block_device::suspended_below(view, waiting, &file_system, Sure::Yes);
    Some(suspended.unwrap_or_else(|| block_device::not_responding(view, waiting, &file_system, Sure::Yes)))
}

/// The same finding without the step that removes the volume's directory: with that the pod would go, and what is not written
/// yet with it.
pub fn drop_removal(mut finding: Finding) -> Finding {
    finding.values.retain(|placeholder, _| placeholder != Placeholder::Path);
    finding.remedy.steps.retain(|step| !step.command.as_ref().is_some_and(|command| command.starts_with("rmdir")));
    finding
}

#[cfg(test)]
mod tests {
    use crate::test_prelude::*;

    /// A volume that was unmounted a moment ago, as far as the table goes.
    fn detached(plugin: &str, vol_data: Option<VolData>) -> Observation {
        let mut seen = sample::mounted("ext4");
        table(&mut seen).retain(|mount| mount.id != 46);
        let volumes = seen.pod_dirs.get_mut().unwrap()[0].volumes.get_mut().unwrap();
        volumes[0].plugin = plugin.into();
        (volumes[0].mounted, volumes[0].entries) = (Seen::Seen(false), Some(0));
        volumes[0].vol_data = vol_data.unwrap_or(volumes[0].vol_data.clone());
        seen
    }

    fn commands(seen: &Observation) -> Vec<String> {
        let steps = judge(seen).pods.remove(0).findings.into_iter().flat_map(|finding| finding.remedy.steps);
        steps.filter_map(|step| step.command).collect()
    }

    #[test]
    fn a_directory_is_not_removed_while_its_umount_waits() {
        let kubelet = 77;
        for (plugin, vol_data, parent) in
            [("kubernetes.io/csi", None, 810), ("kubernetes.io/nfs", Some(VolData::NotCsi), kubelet)]
        {
            let mut seen = detached(plugin, vol_data);
            assert!(commands(&seen).iter().any(|command| command.contains("rmdir")), "{plugin}: {:?}", commands(&seen));
            let mut umount = process(801, "umount", 'D', parent);
            umount.threads[0].wchan = Seen::Seen("jbd2_log_wait_commit".into());
            seen.processes.extend([umount, process(810, "driver", 'S', 1)]);
            assert_eq!(causes(&seen), ["UninterruptibleTask"], "{plugin}");
            let finding = judge(&seen).pods[0].findings[0].clone();
            assert!(finding.chain.iter().any(|link| link.subject.contains("pid 801 umount")), "{finding:?}");
            assert_eq!(finding.confidence, Confidence::Probable);
            assert!(!commands(&seen).iter().any(|command| command.contains("rmdir")), "{:?}", commands(&seen));
            // This process unmounts another kind of volume, or has continued meanwhile.
            let other = if parent == kubelet { 810 } else { kubelet };
            let mut of_other = seen.clone();
            of_other.processes.iter_mut().filter(|one| one.pid == 801).for_each(|one| one.parent = other);
            assert_ne!(causes(&of_other), ["UninterruptibleTask"], "{plugin}");
            seen.processes.iter_mut().filter(|one| one.pid == 801).for_each(|one| one.threads[0].steady = false);
            assert_ne!(causes(&seen), ["UninterruptibleTask"], "{plugin}");
        }
    }

    /// The kernel shows the file system still, and the mount table does not.
    #[test]
    fn the_device_that_is_written_back_to_is_named() {
        let mut seen = detached("kubernetes.io/csi", None);
        let mut umount = process(801, "umount", 'D', 810);
        umount.threads[0].wchan = Seen::Seen("wb_wait_for_completion".into());
        seen.processes.extend([umount, process(810, "driver", 'S', 1)]);
        let (waited_for, idle) = (Dev { major: 253, minor: 4 }, Dev { major: 8, minor: 16 });
        let device = |name: &str, kind: BlockKind, in_flight: u64| BlockDevice {
            name: name.into(),
            kind,
            in_flight: Some(in_flight),
            finished: [Some(7), Some(7)],
            written: [None; 2],
            below: Vec::new(),
        };
        let map = |suspended: bool| {
            let kind = BlockKind::Mapper { name: "vg-data".into(), user: None, suspended: Some(suspended) };
            vec![device("dm-4", kind, 0)]
        };
        let disk = |in_flight: u64| device("sdb", BlockKind::Disk { state: Some("running".into()) }, in_flight);
        seen.unmounted_devices = vec![waited_for, idle];
        seen.block_stacks = vec![
            BlockStack { mounted: waited_for, devices: map(true), errors: None },
            BlockStack { mounted: idle, devices: vec![disk(0)], errors: None },
        ];
        assert_eq!(causes(&seen), ["BlockDeviceSuspended"]);
        let finding = judge(&seen).pods[0].findings[0].clone();
        assert_eq!((finding.confidence, finding.root.as_str()), (Confidence::Probable, "BlockDeviceSuspended:dm-4"));
        assert!(finding.missing.as_ref().is_some_and(|missing| missing.contains("this volume")), "{finding:?}");
        assert_eq!(finding.must_end_too, Some(Vec::new()), "with the wait the umount ends");
        let text = serde_json::to_string(&finding).unwrap();
        assert!(text.contains("pid 801 umount") && text.contains("dmsetup resume vg-data"), "{text}");
        assert!(!text.contains("rmdir"), "{text}");
        // It does not finish what it was given.
        seen.block_stacks[0].devices = vec![disk(3)];
        assert_eq!(causes(&seen), ["BlockDeviceNotResponding"]);
        // Either may be the one, or neither.
        seen.block_stacks[1].devices = map(true);
        assert_eq!(causes(&seen), ["UninterruptibleTask"]);
        seen.block_stacks.iter_mut().for_each(|stack| stack.devices = vec![disk(0)]);
        assert_eq!(causes(&seen), ["UninterruptibleTask"]);
    }

    #[test]
    fn a_fuse_server_that_does_not_answer_the_last_request_is_the_cause() {
        let mut seen = detached("kubernetes.io/csi", None);
        let of_another =
            mount(50, "0:40", "/var/lib/kubelet/pods/another/volumes/kubernetes.io~csi/x/mount", "fuse.s3fs");
        table(&mut seen).push(of_another);
        seen.fuse = vec![fuse_connection(40, 1, Vec::new())];
        let mut umount = process(801, "umount", 'S', 810);
        umount.threads[0].wchan = Seen::Seen("request_wait_answer".into());
        seen.processes.extend([umount, process(810, "driver", 'S', 1)]);
        assert_eq!(causes(&seen), ["FuseServerNotResponding"]);
        let text = serde_json::to_string(&judge(&seen).pods[0].findings).unwrap();
        assert!(
            text.contains("pid 801 umount") && !text.contains("/pods/another") && !text.contains("rmdir"),
            "{text}"
        );
    }

    /// What it waits for has left the table: what is there is another's.
    #[test]
    fn a_server_that_answers_is_not_blamed() {
        let mut seen = detached("kubernetes.io/nfs", Some(VolData::NotCsi));
        let of_another = mount(50, "0:55", "/var/lib/kubelet/pods/another/volumes/kubernetes.io~nfs/x", "nfs4");
        table(&mut seen).push(of_another);
        let mut umount = process(801, "umount.nfs4", 'D', 77);
        umount.threads[0].wchan = Seen::Seen("rpc_wait_bit_killable".into());
        umount.mount_ns = seen.mounts.kubelet.get().map(|table| table.ns);
        seen.processes.push(umount);
        assert_eq!(causes(&seen), ["NfsServerNotResponding"]);
        let text = serde_json::to_string(&judge(&seen).pods[0].findings).unwrap();
        assert!(text.contains("pid 801") && !text.contains("/pods/another") && !text.contains("umount -f"), "{text}");
        // The kubelet deletes its files, and there is no umount.
        let mut seen = detached("kubernetes.io/empty-dir", Some(VolData::NotCsi));
        seen.processes.push(process(801, "umount", 'D', 77));
        assert_eq!(causes(&seen), ["MountDirectoryLeft"]);
    }

    #[test]
    fn what_is_proven_stays_and_removes_nothing() {
        let mut seen = detached("kubernetes.io/csi", None);
        let of = Operation::Csi { driver: "exam.csi".into(), method: "/csi.v1.Node/NodeUnpublishVolume".into() };
        seen.kubelet_counters = sample::failing(of, "DeadlineExceeded");
        assert!(commands(&seen).iter().any(|command| command.contains("rmdir")));
        seen.processes.extend([process(801, "umount", 'D', 810), process(810, "driver", 'S', 1)]);
        assert_eq!(causes(&seen), ["CsiUnpublishFails"]);
        assert!(!commands(&seen).iter().any(|command| command.contains("rmdir")), "{:?}", commands(&seen));
    }
}
