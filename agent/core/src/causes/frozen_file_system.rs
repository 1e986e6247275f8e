//! A file system that somebody has frozen: whoever writes waits until it is thawed.

use findings::{Finding, Placeholder, cause};

use super::{
    blocked_task::{BlockedTask, Sure, path_to},
    describe,
    finding_builder::pod_finding,
};
use crate::{observation::Mount, view::PodView};

/// A task waits for the thaw of this mount's file system.
pub fn frozen(view: &PodView, waiting: &BlockedTask, mount: &Mount, sure: Sure) -> Finding {
    let BlockedTask { process, thread, function, head, gate } = waiting;
    let draft = pod_finding(view, &cause::FILE_SYSTEM_FROZEN, *gate, head)
        .blame(describe::mount(mount), format!("frozen: {} waits for the thaw", waiting.call()))
        .evidence(waiting.wchan(), function)
        .evidence(waiting.syscall(), waiting.call())
        .evidence("mountinfo of the task", format!("{} of {}", mount.fs_type, mount.source.show()))
        .name(Placeholder::Pid, process.id())
        .name(Placeholder::Tid, thread.tid)
        .name_if(Placeholder::Mount, path_to(view, waiting, mount))
        .root(mount.dev);
    // That lock has other users; beside a call that writes on this very mount there is no other.
    let writes = describe::writes(thread);
    if sure == Sure::Yes && writes {
        draft
    } else {
        draft.probable("that the lock which the task waits for is that of a freeze")
    }
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
        assert_eq!(causes(&seen), ["UninterruptibleTask"], "which of the two cannot be told");
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

    #[test]
    fn without_a_descriptor_the_only_file_system_that_can_be_frozen_is_likely() {
        let mut seen = sample::running();
        block(&mut seen, INIT, "percpu_rwsem_wait");
        container_table(&mut seen, vec![mount(9, "7:0", "/data", "ext4"), mount(10, "0:44", "/x", "tmpfs")]);
        let finding = judge(&seen).pods[0].findings[0].clone();
        assert_eq!((finding.cause.id, finding.confidence), ("FileSystemFrozen", Confidence::Probable));
    }
}
