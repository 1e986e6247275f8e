//! NFS servers that do not answer.

use super::blocked_task::{BlockedTask, distinct, host_mount, root_of, server_finding};
use super::prelude::*;

/// Functions of the kernel's NFS and RPC clients in which a task waits for the server.
pub fn is_nfs_function(function: &str) -> bool {
    function.starts_with("nfs") || function.starts_with("rpc_") || function.starts_with("__rpc_")
}

/// Whether a task waits in one of them.
pub fn is_waited_for(thread: &Thread) -> bool {
    thread.wchan.get().is_some_and(|wchan| is_nfs_function(wchan))
}

/// A task waits for an answer of one of these mounts' servers.
pub fn not_responding(view: &PodView, waiting: &BlockedTask, mounts: &[&Mount]) -> Finding {
    let draft = server_finding(view, &cause::NFS_SERVER_NOT_RESPONDING, waiting);
    let mounts = distinct(mounts);
    let draft = match mounts.as_slice() {
        [mount] => {
            let source = mount.source.show();
            let (state, root) = match is_loopback(mount) {
                // Each file system has a proxy of its own there, and their sources may be the same.
                true => (
                    format!("{source} does not answer: a proxy on this node, such as that of a CSI driver"),
                    format!("{source} {}", mount.dev),
                ),
                false => (format!("{source} does not answer"), source),
            };
            draft
                .blame(describe::mount(mount), state)
                .mounted(view.seen, Placeholder::Mount, host_mount(view, mount).map(|there| &there.mount_point))
                .root(root)
        }
        [] => draft
            .probable("which server the task waits for: no mount of it is seen")
            .blame("an NFS server", "does not answer")
            .root(format!("unknown:{}", waiting.process.pid)),
        several => {
            let one_of = |mount: &&Mount| format!("one of these servers does not answer: {}", mount.source.show());
            let draft =
                several.iter().fold(draft.probable("which of these NFS mounts the task waits for"), |draft, mount| {
                    draft.link(describe::mount(mount), one_of(mount))
                });
            draft.blame("an NFS server", "one of these does not answer; which one is unknown").root(root_of(several))
        }
    };
    draft.finish()
}

/// Whether the server's address is one of this node.
fn is_loopback(mount: &Mount) -> bool {
    mount
        .source
        .as_str()
        .is_some_and(|source| ["127.", "localhost:", "[::1]:"].iter().any(|own| source.starts_with(own)))
}

#[cfg(test)]
mod tests {
    use crate::test_prelude::*;

    #[test]
    fn a_task_on_nfs_names_the_server() {
        let mut seen = sample::running();
        block(&mut seen, INIT, "rpc_wait_bit_killable");
        container_table(&mut seen, vec![mount(9, "0:55", "/data", "nfs4")]);
        let volume = format!("/var/lib/kubelet/pods/{UID}/volumes/kubernetes.io~nfs/pv-1");
        table(&mut seen).push(mount(50, "0:55", &volume, "nfs4"));
        assert_eq!(causes(&seen), ["NfsServerNotResponding"]);
        assert_eq!(verdict(&seen), Verdict::Stuck);
        let finding = judge(&seen).pods[0].findings[0].clone();
        assert!(finding.chain.last().unwrap().state.contains("server:/export"), "{finding:?}");
    }

    /// The container's path is nothing on the host, or something else.
    #[test]
    fn only_what_the_kubelet_has_mounted_is_unmounted() {
        let mut seen = sample::running();
        block(&mut seen, INIT, "rpc_wait_bit_killable");
        container_table(&mut seen, vec![mount(9, "0:55", "/data", "nfs4")]);
        let steps = |seen: &Observation| serde_json::to_string(&judge(seen).pods[0].findings[0].remedy.steps).unwrap();
        assert!(!steps(&seen).contains("umount"), "{}", steps(&seen));
        let there = format!("/var/lib/kubelet/pods/{UID}/volumes/kubernetes.io~nfs/x");
        table(&mut seen).push(mount(50, "0:55", &there, "nfs4"));
        assert!(steps(&seen).contains(&format!("umount -f '{there}'")), "{}", steps(&seen));
    }

    #[test]
    fn of_two_nfs_mounts_neither_is_accused() {
        let mut seen = sample::running();
        block(&mut seen, INIT, "nfs4_wait_clnt_recover");
        container_table(&mut seen, vec![mount(9, "0:55", "/a", "nfs4"), mount(10, "0:56", "/b", "nfs4")]);
        let finding = judge(&seen).pods[0].findings[0].clone();
        assert_eq!((finding.cause.id, finding.confidence), ("NfsServerNotResponding", Confidence::Probable));
        // The descriptor of its call decides.
        seen.mounts.others[0].mounts[1].source = HostPath::from("other:/export");
        seen.processes[0].threads[0].works_on =
            Some(OpenFile { fd: 5, path: HostPath::from("/b/x"), mount_id: Some(10) });
        let finding = judge(&seen).pods[0].findings[0].clone();
        assert_eq!((finding.cause.id, finding.confidence), ("NfsServerNotResponding", Confidence::Proven));
        assert!(finding.chain.last().unwrap().state.contains("other:/export"), "{finding:?}");
    }

    #[test]
    fn one_file_system_that_is_mounted_twice_is_one() {
        let mut seen = sample::running();
        block(&mut seen, INIT, "rpc_wait_bit_killable");
        container_table(&mut seen, vec![mount(9, "0:55", "/a", "nfs4"), mount(10, "0:55", "/b", "nfs4")]);
        let volume = format!("/var/lib/kubelet/pods/{UID}/volumes/kubernetes.io~nfs/pv-1");
        table(&mut seen).push(mount(50, "0:55", &volume, "nfs4"));
        let finding = judge(&seen).pods[0].findings[0].clone();
        assert_eq!((finding.cause.id, finding.confidence), ("NfsServerNotResponding", Confidence::Proven));
        let steps = serde_json::to_string(&finding.remedy.steps).unwrap();
        assert!(steps.contains(&format!("umount -f '{volume}'")), "{steps}");
    }

    /// What waits for one of two may wait for another pair of servers elsewhere, and each proxy of the node serves one.
    #[test]
    fn what_is_not_the_same_has_another_root() {
        let root = |mounts: Vec<Mount>| {
            let mut seen = sample::running();
            block(&mut seen, INIT, "rpc_wait_bit_killable");
            container_table(&mut seen, mounts);
            judge(&seen).pods.remove(0).findings.remove(0)
        };
        let pair = |a: &str, b: &str| root(vec![mount(9, a, "/a", "nfs4"), mount(10, b, "/b", "nfs4")]).root;
        assert_eq!(pair("0:55", "0:56"), pair("0:56", "0:55"));
        assert_ne!(pair("0:55", "0:56"), pair("0:57", "0:58"));
        let proxy =
            |dev: &str| root(vec![Mount { source: HostPath::from("127.0.0.1:/"), ..mount(9, dev, "/data", "nfs4") }]);
        assert_ne!(proxy("0:55").root, proxy("0:56").root);
        assert!(proxy("0:55").chain.last().unwrap().state.contains("a proxy on this node"));
    }

    /// The last descriptor of a file on NFS 4 is closed after the task has left its mount namespace.
    #[test]
    fn what_closes_a_file_on_its_way_out_may_wait_for_the_mounts_of_its_pod() {
        let mut seen = sample::running();
        exit_blocked(&mut seen, INIT, 'D', "rpc_wait_bit_killable");
        seen.processes[0].mount_ns = None;
        let volume = |uid: &str| format!("/var/lib/kubelet/pods/{uid}/volumes/kubernetes.io~nfs/data");
        let of = |server: &str, mount: Mount| Mount { source: HostPath::from(server), ..mount };
        table(&mut seen).push(of("other:/export", mount(51, "0:56", &volume("another"), "nfs4")));
        let finding = judge(&seen).pods[0].findings[0].clone();
        assert!(finding.chain.last().unwrap().subject.contains("an NFS server"), "{finding:?}");
        table(&mut seen).push(of("own:/export", mount(50, "0:55", &volume(UID), "nfs4")));
        let finding = judge(&seen).pods[0].findings[0].clone();
        assert_eq!((finding.cause.id, finding.confidence), ("NfsServerNotResponding", Confidence::Probable));
        assert!(finding.chain.last().unwrap().state.contains("own:/export"), "{finding:?}");
        assert!(finding.missing.is_some_and(|missing| missing.contains("has left its mount namespace")));
        // What is mounted elsewhere may be shown to the container as well.
        table(&mut seen).push(of("host:/export", mount(52, "0:57", "/srv/media", "nfs4")));
        let finding = judge(&seen).pods[0].findings[0].clone();
        let states: Vec<&str> = finding.chain.iter().map(|link| link.state.as_str()).collect();
        assert_eq!(states.iter().filter(|state| state.starts_with("one of these servers")).count(), 2, "{states:?}");
    }

    /// `umount` has started `umount.nfs4` and waits for it.
    fn unmounting(parent: u32) -> Observation {
        let mut seen = sample::mounted("nfs4");
        seen.processes.push(process(800, "umount", 'S', parent));
        let mut helper = process(801, "umount.nfs4", 'D', 800);
        helper.threads[0].wchan = Seen::Seen("rpc_wait_bit_killable".into());
        seen.processes.push(helper);
        seen
    }

    #[test]
    fn a_volume_on_nfs_whose_umount_hangs() {
        let kubelet = 77;
        let mut seen = unmounting(kubelet);
        assert_eq!(causes(&seen), ["NfsServerNotResponding"]);
        let finding = judge(&seen).pods[0].findings[0].clone();
        assert_eq!(finding.confidence, Confidence::Probable, "another mount that has left the table may be meant");
        assert_eq!(verdict(&seen), Verdict::Stuck);
        assert!(finding.chain.iter().any(|link| link.subject.contains("pid 801 umount.nfs4")), "{finding:?}");
        // An older libmount, or a kubelet whose umount needs no helper.
        seen.processes[1].parent = kubelet;
        assert_eq!(causes(&seen), ["NfsServerNotResponding"]);
        seen.processes[1].threads[0].steady = false;
        assert_eq!(causes(&seen), ["CsiUnpublishLeftMount"]);
    }

    #[test]
    fn the_umount_of_a_csi_driver_is_none_of_the_kubelets() {
        let mut seen = unmounting(810);
        seen.processes.push(process(810, "nfsplugin", 'S', 811));
        seen.processes.push(process(811, "containerd-shim", 'S', 1));
        seen.processes[1].mount_ns = Some(900);
        let sees = |seen: &mut Observation, dev: &str| {
            let mounts = vec![mount(9, dev, "/var/lib/kubelet/pods/x", "nfs4")];
            seen.mounts.others = vec![MountTable { ns: 900, through_pid: 801, total: 1, mounts }];
        };
        sees(&mut seen, "0:41");
        assert_eq!(causes(&seen), ["NfsServerNotResponding"]);
        let finding = judge(&seen).pods[0].findings[0].clone();
        assert_eq!(finding.confidence, Confidence::Probable);
        assert!(finding.missing.as_ref().is_some_and(|missing| missing.contains("its command line")), "{finding:?}");
        assert_eq!(verdict(&seen), Verdict::Stuck);
        // What is not mounted there it cannot unmount.
        sees(&mut seen, "0:77");
        assert_eq!(causes(&seen), ["CsiUnpublishLeftMount"]);
    }
}
