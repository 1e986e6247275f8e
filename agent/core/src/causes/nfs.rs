//! NFS servers that do not answer.

use findings::{Finding, Gate, Link, Placeholder, cause};

use super::{waits, words};
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
            .name_if(Placeholder::Mount, mount.mount_point.as_str())
            .name_if(Placeholder::Path, mount.mount_point.as_str())
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

/// A volume on NFS whose `umount`, a child of the kubelet, waits for the server in D.
pub fn of_volume(view: &PodView, mount: &Mount, head: &[Link], gate: Option<Gate>) -> Option<Finding> {
    if !mount.is_nfs() {
        return None;
    }
    let kubelet = view.seen.node.kubelet.get()?.pid;
    view.seen.is_settled(Question::Children(kubelet));
    let umounts = view.seen.processes.iter().filter(|p| p.parent == kubelet && p.comm.starts_with("umount"));
    let waits = |process: &Process, thread: &Thread| {
        thread.state == 'D' && view.is_steady(process, thread) && thread.wchan.get().is_some_and(|w| is_nfs_function(w))
    };
    let threads = umounts.flat_map(|process| process.threads.iter().map(move |thread| (process, thread)));
    let (process, thread) = threads.into_iter().find(|(process, thread)| waits(process, thread))?;
    let mut head = head.to_vec();
    head.push(Link::new(words::task(process, thread), words::waiting(process, thread)));
    // Which mount it unmounts stands in its command line, which is not read: with several on NFS
    // it may be another.
    let nfs: Vec<&Mount> = view.kubelet_mounts().iter().filter(|mount| mount.is_nfs()).collect();
    Some(not_responding(view, &nfs, thread, process, &head, gate))
}

#[cfg(test)]
mod tests {
    use findings::{Confidence, Verdict};

    use crate::{
        gates::judge,
        observation::{
            sample::{self, INIT, block, causes, container_table, mount, process, verdict},
            *,
        },
    };

    #[test]
    fn a_task_on_nfs_names_the_server() {
        let mut seen = sample::running();
        block(&mut seen, INIT, "rpc_wait_bit_killable");
        container_table(&mut seen, vec![mount(9, "0:55", "/data", "nfs4")]);
        assert_eq!(causes(&seen), ["NfsServerNotResponding"]);
        assert_eq!(verdict(&seen), Verdict::Stuck);
        let finding = judge(&seen).pods[0].findings[0].clone();
        assert!(finding.chain.last().unwrap().state.contains("server:/export"), "{finding:?}");
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

    #[test]
    fn a_volume_on_nfs_whose_umount_hangs() {
        let mut seen = sample::mounted("nfs4");
        let mut umount = process(801, "umount.nfs4", 'S', 77);
        umount.threads[0].state = 'D';
        umount.threads[0].wchan = Seen::Seen("rpc_wait_bit_killable".into());
        seen.processes.push(umount);
        assert_eq!(causes(&seen), ["NfsServerNotResponding"]);
        // That of somebody else may be for another mount.
        seen.processes[0].parent = 5;
        assert_eq!(causes(&seen), ["CsiUnpublishLeftMount"]);
    }
}
