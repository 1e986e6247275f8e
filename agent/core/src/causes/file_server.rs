//! Servers of network file systems beside NFS and FUSE that do not answer.

use super::blocked_task::{BlockedTask, distinct, host_mount, root_of};
use super::prelude::*;

/// A task waits for the server of one of these mounts.
pub fn not_responding(view: &PodView, waiting: &BlockedTask, mounts: &[&Mount]) -> Finding {
    let draft = waiting.finding(view, &cause::FILE_SERVER_NOT_RESPONDING);
    match distinct(mounts).as_slice() {
        [mount] => draft
            .blame(describe::mount(mount), format!("{} does not answer", mount.source.show()))
            .evidence("mountinfo of the task", format!("{} of {}", mount.source.show(), mount.fs_type))
            .mounted(view.seen, Placeholder::Mount, host_mount(view, mount).map(|there| &there.mount_point))
            .root(mount.source.show())
            .finish(),
        several => {
            let one_of = |mount: &&Mount| format!("one of these servers does not answer: {}", mount.source.show());
            let draft = several
                .iter()
                .fold(draft.probable("which of these file systems the task waits for"), |draft, mount| {
                    draft.link(describe::mount(mount), one_of(mount))
                });
            draft
                .blame("a file server", "one of these does not answer; which one is unknown")
                .root(root_of(several))
                .finish()
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::test_prelude::*;

    fn waiting_on(fs_type: &str, source: &str, wchan: &str) -> Observation {
        let mut seen = sample::running();
        block(&mut seen, INIT, wchan);
        container_table(
            &mut seen,
            vec![
                Mount { source: HostPath::from(source), ..mount(9, "0:60", "/data", fs_type) },
                mount(10, "254:0", "/etc/hosts", "ext4"),
            ],
        );
        seen
    }

    #[test]
    fn each_network_file_system_is_named_with_its_server() {
        for (fs_type, source, wchan) in [
            ("cifs", "//files.corp/share", "wait_for_response"),
            ("ceph", "10.0.0.7:6789:/volumes/a", "ceph_mdsc_wait_request"),
            ("9p", "hostshare", "p9_client_rpc"),
            ("lustre", "10.0.0.8@tcp:/scratch", "ptlrpc_set_wait"),
            ("gpfs", "gpfs0", "cxiWaitEventWait"),
            ("virtiofs", "vfs0", "request_wait_answer"),
        ] {
            let mut seen = waiting_on(fs_type, source, wchan);
            for file in [None, Some(OpenFile { fd: 5, path: HostPath::from("/data/x"), mount_id: Some(9) })] {
                seen.processes[0].threads[0].works_on = file;
                assert_eq!(causes(&seen), ["FileServerNotResponding"], "{fs_type}");
                let finding = judge(&seen).pods[0].findings[0].clone();
                assert_eq!(finding.confidence, Confidence::Proven, "{fs_type}");
                let root = finding.chain.last().unwrap();
                assert!(root.subject.contains("/data") && root.state.contains(source), "{root:?}");
            }
        }
    }

    #[test]
    fn a_descriptor_tells_it_though_the_function_is_not_known() {
        let mut seen = waiting_on("ceph", "mon:/a", "schedule_something_new");
        assert_eq!(causes(&seen), ["UninterruptibleTask"]);
        seen.processes[0].threads[0].works_on =
            Some(OpenFile { fd: 5, path: HostPath::from("/data/x"), mount_id: Some(9) });
        assert_eq!(causes(&seen), ["FileServerNotResponding"]);
    }

    /// virtiofs waits where FUSE does: neither its mount alone nor the function alone says that it is waited for.
    #[test]
    fn virtiofs_is_not_accused_of_what_something_else_may_wait_for() {
        assert_eq!(causes(&waiting_on("virtiofs", "vfs0", "schedule_something_new")), ["UninterruptibleTask"]);
        let mut seen = waiting_on("virtiofs", "vfs0", "request_wait_answer");
        seen.mounts.others[0].mounts.push(mount(11, "0:61", "/media", "fuse.s3fs"));
        assert_eq!(causes(&seen), ["FuseServerNotResponding"]);
    }

    #[test]
    fn what_closes_a_file_on_its_way_out_may_wait_for_a_share_of_its_pod() {
        let mut seen = sample::running();
        exit_blocked(&mut seen, INIT, 'D', "wait_for_response");
        seen.processes[0].mount_ns = None;
        assert_eq!(causes(&seen), ["UninterruptibleTask"]);
        let volume = format!("/var/lib/kubelet/pods/{UID}/volumes/kubernetes.io~csi/data/mount");
        table(&mut seen).push(Mount { source: HostPath::from("//files/share"), ..mount(50, "0:60", &volume, "cifs") });
        let finding = judge(&seen).pods[0].findings[0].clone();
        assert_eq!((finding.cause.id, finding.confidence), ("FileServerNotResponding", Confidence::Probable));
    }

    #[test]
    fn of_two_shares_neither_is_accused() {
        let mut seen = waiting_on("cifs", "//a/b", "wait_for_response");
        seen.mounts.others[0].mounts.push(mount(11, "0:61", "/other", "cifs"));
        let finding = judge(&seen).pods[0].findings[0].clone();
        assert_eq!((finding.cause.id, finding.confidence), ("FileServerNotResponding", Confidence::Probable));
    }
}
