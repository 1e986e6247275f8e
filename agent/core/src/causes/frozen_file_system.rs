//! A frozen file system: every writer waits until it is thawed.

use findings::Values;

use super::blocked_task::{BlockedTask, Sure, file_system, path_to, root_of};
use super::prelude::*;
use super::{block_device, layers};
use crate::kernel::{self, Subsystem};

/// Of more file systems than these it is not said that one is frozen.
const MAX_CANDIDATES: usize = 8;

/// A task waits for the thaw of one of these.
pub fn among(view: &PodView, waiting: &BlockedTask, mounts: &[&Mount]) -> Option<Finding> {
    let BlockedTask { process, thread, .. } = waiting;
    let finding = |mount: &Mount, sure: Sure| {
        let head = layers::down_to(view, waiting, &[mount]);
        let waiting = BlockedTask { head: &head, ..*waiting };
        let suspended = block_device::suspended(view, &waiting, mount, sure);
        suspended.or_else(|| Some(frozen(view, &waiting, mount, sure)))
    };
    let writable: Vec<&Mount> = mounts.iter().copied().filter(|mount| !mount.takes_no_writes()).collect();
    // A lock of this kind is also taken to start and to run a program. What exits removes its files that have no name.
    let may_write = describe::may_write(thread) || process.exits(thread);
    if !may_write {
        let [mount] = writable.as_slice() else { return None };
        return finding(mount, Sure::Perhaps);
    }
    let mut left = writable.clone();
    left.retain(|mount| !block_device::stack(view, mount).is_some_and(takes_writes));
    let known: Vec<&Mount> = left.iter().copied().filter(|mount| is_known(view, mount)).collect();
    match (known.as_slice(), left.as_slice()) {
        ([mount], _) => finding(mount, Sure::Perhaps),
        (_, [mount]) if writable.len() > 1 => finding(mount, Sure::Yes),
        (_, [mount]) => finding(mount, Sure::Perhaps),
        (_, several) if (2..=MAX_CANDIDATES).contains(&several.len()) => Some(one_of(view, waiting, several)),
        _ => None,
    }
}

/// Whether something was written to the device of a file system between two looks: then it is not frozen.
fn takes_writes(stack: &BlockStack) -> bool {
    stack.top().is_some_and(|device| device.takes_writes())
}

/// Whether the device of this mount is suspended, or another task is known to wait for its thaw.
fn is_known(view: &PodView, mount: &Mount) -> bool {
    let is_suspended = || block_device::stack(view, mount).is_some_and(|stack| stack.suspended().is_some());
    let mut tasks =
        view.seen.processes.iter().flat_map(|process| process.threads.iter().map(move |task| (process, task)));
    let waits = |thread| kernel::wait_site(thread).is_some_and(|site| site.subsystem == Subsystem::Freeze);
    is_suspended()
        || tasks.any(|(process, thread)| {
            thread.works_on.is_some()
                && describe::writes(thread)
                && waits(thread)
                && file_system(view, process, thread).is_some_and(|other| other.dev == mount.dev)
        })
}

/// Only the file systems themselves show which of these is frozen.
fn one_of(view: &PodView, waiting: &BlockedTask, several: &[&Mount]) -> Finding {
    let one_of = format!("one of these {} file systems is frozen", several.len());
    let draft =
        waiting.finding(view, &cause::FILE_SYSTEM_FROZEN).probable("which of these file systems the task waits for");
    let mut finding = several
        .iter()
        .fold(draft, |draft, mount| draft.link(describe::mount(mount), &one_of))
        .blame("a file system", "one of these is frozen; which one is unknown")
        .root(root_of(several))
        .finish();
    let each: Vec<Values> = several
        .iter()
        .map(|mount| match device(view, mount) {
            Some(device) => finding.values.clone().with(Placeholder::Device, device),
            None => finding.values.clone(),
        })
        .collect();
    finding.take_steps_for(&each);
    finding
}

/// The device of an ext4, which shows by itself whether it is frozen.
fn device(view: &PodView, mount: &Mount) -> Option<String> {
    let stack = if mount.fs_type == "ext4" { block_device::stack(view, mount)? } else { return None };
    Some(format!("/dev/{}", stack.top()?.name))
}

/// A task waits for the thaw of this mount's file system.
pub fn frozen(view: &PodView, waiting: &BlockedTask, mount: &Mount, sure: Sure) -> Finding {
    let draft = waiting
        .finding(view, &cause::FILE_SYSTEM_FROZEN)
        .blame(describe::mount(mount), format!("frozen: {} waits for the thaw", waiting.call()))
        .evidence("mountinfo of the task", format!("{} of {}", mount.fs_type, mount.source.show()))
        .name_if(Placeholder::Mount, path_to(view, waiting, mount))
        .root(mount.dev);
    // That lock has other users; beside a call that writes on this very mount there is no other.
    if sure == Sure::Yes && describe::may_write(waiting.thread) {
        return draft.finish();
    }
    draft
        .probable("that the lock which the task waits for is that of a freeze")
        .name_if(Placeholder::Device, device(view, mount))
        .finish()
}

#[cfg(test)]
mod tests {
    use crate::test_prelude::*;

    #[test]
    fn a_writer_on_a_frozen_file_system() {
        let mut seen = sample::running();
        block(&mut seen, INIT, "percpu_rwsem_wait");
        container_table(&mut seen, vec![mount(9, "7:0", "/data", "ext4"), mount(10, "254:0", "/etc/hosts", "ext4")]);
        assert_eq!(causes(&seen), ["UninterruptibleTask"], "which of the two is unknown");
        let thread = &mut seen.processes[0].threads[0];
        thread.syscall = Seen::Seen(Syscall { number: 1, first_argument: 5, name: Some("write".into()) });
        thread.works_on = Some(OpenFile { fd: 5, path: HostPath::from("/data/x"), mount_id: Some(9) });
        assert_eq!(causes(&seen), ["FileSystemFrozen"]);
        let finding = judge(&seen).pods[0].findings[0].clone();
        assert_eq!(finding.confidence, Confidence::Proven);
        let text = serde_json::to_string(&finding).unwrap();
        assert!(text.contains(&format!("fsfreeze -u /proc/{INIT}/root/data")), "{text}");
        assert!(text.contains("write on /data/x (descriptor 5)"), "{text}");
    }

    /// The descriptor is of the host's program: it has to come to that very mount.
    #[test]
    fn what_only_the_kubelet_has_mounted_is_thawed_through_it() {
        let mut seen = sample::running();
        block(&mut seen, INIT, "percpu_rwsem_wait");
        container_table(&mut seen, vec![mount(9, "7:0", "/data", "ext4"), mount(10, "0:44", "/x", "tmpfs")]);
        sample::table(&mut seen).push(mount(50, "7:0", "/var/lib/kubelet/plugins/x", "ext4"));
        let steps = |seen: &Observation| serde_json::to_string(&judge(seen).pods[0].findings[0].remedy.steps).unwrap();
        assert!(steps(&seen).contains("fsfreeze -u /var/lib/kubelet/plugins/x"), "{}", steps(&seen));
        seen.node.init_mount_ns = Some(2);
        assert!(steps(&seen).contains("fsfreeze -u /proc/77/root/var/lib/kubelet/plugins/x"), "{}", steps(&seen));
    }

    fn stack(dev: &str, name: &str, written: [u64; 2]) -> BlockStack {
        let kind = BlockKind::Disk { state: Some("running".into()) };
        let (finished, written) = ([Some(1), Some(1)], written.map(Some));
        let device = BlockDevice { name: name.into(), kind, in_flight: Some(0), finished, written, below: Vec::new() };
        BlockStack { mounted: Dev::parse(dev).unwrap(), devices: vec![device], errors: None }
    }

    /// As `touch` does.
    fn making_a_file() -> Observation {
        let mut seen = sample::running();
        block(&mut seen, INIT, "percpu_rwsem_wait");
        let call = Syscall { number: 257, first_argument: 0xffff_ff9c, name: Some("openat".into()) };
        seen.processes[0].threads[0].syscall = Seen::Seen(call);
        container_table(&mut seen, vec![mount(9, "7:0", "/data", "ext4"), mount(10, "254:0", "/etc/hosts", "ext4")]);
        seen
    }

    #[test]
    fn of_several_that_may_be_frozen_none_is_named_and_each_can_be_looked_at() {
        let mut seen = making_a_file();
        seen.block_stacks = vec![stack("7:0", "loop0", [3, 3]), stack("254:0", "vda", [3, 3])];
        assert_eq!(causes(&seen), ["FileSystemFrozen"]);
        let finding = judge(&seen).pods[0].findings[0].clone();
        assert_eq!(
            (finding.confidence, finding.root.as_str()),
            (Confidence::Probable, "FileSystemFrozen:one-of:7:0,254:0")
        );
        let links: Vec<&str> = finding.chain.iter().map(|link| link.state.as_str()).collect();
        assert_eq!(links.iter().filter(|state| **state == "one of these 2 file systems is frozen").count(), 2);
        assert_eq!(finding.roots().next().unwrap().subject, "a file system");
        let commands: Vec<&str> = finding.remedy.steps.iter().filter_map(|step| step.command.as_deref()).collect();
        assert_eq!(commands, ["dumpe2fs -h /dev/loop0", "dumpe2fs -h /dev/vda"], "nothing is thawed as a test");
    }

    #[test]
    fn what_cannot_be_frozen_is_left_out() {
        let answer = |seen: &Observation| {
            assert_eq!(causes(seen), ["FileSystemFrozen"]);
            let finding = judge(seen).pods[0].findings[0].clone();
            (finding.root, finding.confidence)
        };
        // It was written to.
        let mut seen = making_a_file();
        seen.block_stacks = vec![stack("7:0", "loop0", [3, 3]), stack("254:0", "vda", [3, 5])];
        assert_eq!(answer(&seen), ("FileSystemFrozen:7:0".into(), Confidence::Proven));
        // Nothing can be written there.
        let mut seen = making_a_file();
        seen.mounts.others[0].mounts[1].read_only = true;
        assert_eq!(answer(&seen), ("FileSystemFrozen:7:0".into(), Confidence::Probable));
        // Another task is known to wait for one.
        let mut seen = making_a_file();
        let mut writer = process(INIT + 1, "log", 'D', INIT);
        (writer.ns_pids, writer.pid_ns) = (vec![INIT + 1, 2], Some(500));
        (writer.mount_ns, writer.owner) = (Some(600), seen.processes[0].owner.clone());
        seen.processes.push(writer);
        block(&mut seen, INIT + 1, "percpu_rwsem_wait");
        let thread = &mut seen.processes[2].threads[0];
        thread.syscall = Seen::Seen(Syscall { number: 1, first_argument: 5, name: Some("write".into()) });
        thread.works_on = Some(OpenFile { fd: 5, path: HostPath::from("/data/x"), mount_id: Some(9) });
        assert_eq!(answer(&seen), ("FileSystemFrozen:7:0".into(), Confidence::Proven));
        // To start a program takes a lock of this kind as well.
        let mut seen = making_a_file();
        let call = Syscall { number: 59, first_argument: 1, name: Some("execve".into()) };
        seen.processes[0].threads[0].syscall = Seen::Seen(call);
        assert_eq!(causes(&seen), ["UninterruptibleTask"]);
    }

    /// It had a file open that has no name any more.
    #[test]
    fn what_ends_may_wait_for_the_thaw_of_a_mount_of_its_pod() {
        let mut seen = sample::running();
        exit_blocked(&mut seen, INIT, 'D', "percpu_rwsem_wait");
        seen.processes[0].mount_ns = None;
        let volume = format!("/var/lib/kubelet/pods/{UID}/volumes/kubernetes.io~csi/data/mount");
        sample::table(&mut seen).extend([mount(50, "7:0", &volume, "ext4"), mount(51, "254:0", "/", "ext4")]);
        seen.block_stacks = vec![stack("7:0", "loop0", [3, 3]), stack("254:0", "vda", [3, 5])];
        let finding = judge(&seen).pods[0].findings[0].clone();
        assert_eq!((finding.root.as_str(), finding.confidence), ("FileSystemFrozen:7:0", Confidence::Probable));
    }

    #[test]
    fn without_a_descriptor_the_only_file_system_that_can_be_frozen_is_likely() {
        let mut seen = sample::running();
        block(&mut seen, INIT, "percpu_rwsem_wait");
        container_table(&mut seen, vec![mount(9, "7:0", "/data", "ext4"), mount(10, "0:44", "/x", "tmpfs")]);
        let finding = judge(&seen).pods[0].findings[0].clone();
        assert_eq!((finding.cause.id, finding.confidence), ("FileSystemFrozen", Confidence::Probable));
    }
}
