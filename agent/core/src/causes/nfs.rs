//! NFS servers that do not answer.

use findings::{Finding, Gate, Link, Placeholder, cause};

use super::{finding_builder::Mounted as _, waiting::on_host, waits, words};
use crate::{
    observation::{Mount, Process, Question, Thread},
    view::PodView,
};

/// Functions of the kernel's NFS and RPC clients in which a task waits for the server.
pub fn is_nfs_function(function: &str) -> bool {
    function.starts_with("nfs") || function.starts_with("rpc_") || function.starts_with("__rpc_")
}

/// A task waits for an answer of one of these mounts' servers.
pub fn not_responding(
    view: &PodView,
    mounts: &[&Mount],
    thread: &Thread,
    process: &Process,
    head: &[Link],
    gate: Option<Gate>,
) -> Finding {
    let found = waits::waits(view, &cause::NFS_SERVER_NOT_RESPONDING, process, thread, head, gate);
    let found = match mounts {
        [mount] => found
            .blame(words::mount(mount), format!("{} does not answer", mount.source.show()))
            .mounted(view.seen, Placeholder::Mount, on_host(view, mount).map(|there| &there.mount_point))
            .root(mount.source.show()),
        several => {
            let one_of = |mount: &&Mount| format!("one of these servers does not answer: {}", mount.source.show());
            let found =
                several.iter().fold(found.probable("which of these NFS mounts the task waits for"), |found, mount| {
                    found.link(words::mount(mount), one_of(mount))
                });
            found
                .blame("an NFS server", "which of these does not answer cannot be told")
                .root(thread.wchan.get().map_or("", String::as_str))
        }
    };
    found.finish()
}

/// Between `umount.nfs4` and the kubelet stands the `umount` that has started it (libmount, `context_umount.c`), and
/// before that perhaps what brings it into the host's mount namespace.
const MOST_BETWEEN: usize = 2;

/// A volume on NFS whose `umount` waits for the server in D: the kubelet's, or that of a CSI driver.
pub fn of_volume(view: &PodView, mount: &Mount, head: &[Link], gate: Option<Gate>) -> Option<Finding> {
    if !mount.is_nfs() {
        return None;
    }
    view.seen.is_settled(Question::Unmounts);
    let umounts = view.seen.processes.iter().filter(|process| process.comm.starts_with("umount"));
    let waits = |process: &Process, thread: &Thread| {
        thread.state == 'D' && view.is_steady(process, thread) && thread.wchan.get().is_some_and(|w| is_nfs_function(w))
    };
    let threads = umounts.flat_map(|process| process.threads.iter().map(move |thread| (process, thread)));
    let waiting: Vec<(&Process, &Thread)> = threads.filter(|(process, thread)| waits(process, thread)).collect();
    let of_kubelet = waiting.iter().find(|(process, _)| is_below_kubelet(view, process));
    let sees_it = |process: &Process, thread: &Thread| {
        view.table(process, thread).is_none_or(|table| table.mounts.iter().any(|other| other.dev == mount.dev))
    };
    let (process, thread) = of_kubelet.or_else(|| waiting.iter().find(|(process, thread)| sees_it(process, thread)))?;
    let mut head = head.to_vec();
    head.push(Link::new(words::task(process, thread), words::waiting(process, thread)));
    // Which mount it unmounts stands in its command line, which is not read: with several on NFS
    // it may be another.
    let nfs: Vec<&Mount> = view.kubelet_mounts().iter().filter(|mount| mount.is_nfs()).collect();
    let mut finding = not_responding(view, &nfs, thread, process, &head, gate);
    if of_kubelet.is_none() {
        finding.doubt("whether it is this volume that it unmounts: its command line is not read");
    }
    Some(finding)
}

fn is_below_kubelet<'a>(view: &PodView<'a>, process: &'a Process) -> bool {
    let Some(kubelet) = view.seen.node.kubelet.get() else { return false };
    let mut of = process;
    for _ in 0..MOST_BETWEEN {
        if of.parent == kubelet.pid {
            return true;
        }
        let Some(parent) = view.parent(of) else { return false };
        of = parent;
    }
    of.parent == kubelet.pid
}

#[cfg(test)]
mod tests {
    use findings::{Confidence, Verdict};

    use crate::{
        gates::judge,
        observation::{
            sample::{self, INIT, UID, block, causes, container_table, mount, process, table, verdict},
            *,
        },
    };

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
        // The descriptor of its call tells.
        seen.mounts.others[0].mounts[1].source = HostPath::from("other:/export");
        seen.processes[0].threads[0].works_on =
            Some(OpenFile { fd: 5, path: HostPath::from("/b/x"), mount_id: Some(10) });
        let finding = judge(&seen).pods[0].findings[0].clone();
        assert_eq!((finding.cause.id, finding.confidence), ("NfsServerNotResponding", Confidence::Proven));
        assert!(finding.chain.last().unwrap().state.contains("other:/export"), "{finding:?}");
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
        assert_eq!(finding.confidence, Confidence::Proven);
        assert!(finding.chain.iter().any(|link| link.subject.contains("pid 801 umount.nfs4")), "{finding:?}");
        // An older libmount, or a kubelet whose umount needs no helper.
        seen.processes[1].parent = kubelet;
        assert_eq!(judge(&seen).pods[0].findings[0].confidence, Confidence::Proven);
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
