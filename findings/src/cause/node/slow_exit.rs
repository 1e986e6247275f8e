//! Processes that have been killed and go on.

use super::kubelet::{AT_THE_KUBELET, KUBELET_SAYS};
use crate::cause::page::*;

causes! {
    EXIT_NOT_FINISHED = Cause::gate(Gate::ContainersStopped, "ExitNotFinished")
        .title("The container has been killed and is still ending")
        .meaning("A process of the container has been killed or exits, and the kernel is at it: it writes back what the \
            process has written (to a slow disk or file server), frees its memory (hundreds of GiB, or pages that a \
            device has pinned), or writes a core dump. It runs, or went on between two looks, so it is not stuck as far \
            as was seen.")
        .proof("A SIGKILL is pending for the container's init, or all of its threads exit (PF_EXITING), and a task of it runs, or \
            has run between two looks at least a quarter of a second apart. Whether it ends in the end does not show, so this \
            is only probable.")
        .safe(&[
            KUBELET_SAYS,
            check("Wait, and look again: as long as it goes on this is said, and when it stands still, what it waits for"),
        ])
        .dont("Do not reboot the node, or run kubectl delete pod --force",
            "What the process has written and the kernel has not stored yet is lost; after the forced delete a \
                replacement meets the old process still writing.")
        .sources(&["reference: kernel do_exit, exit_mmap, NFS close-to-open"])
        .event_reason("PodExitNotFinished")
        .patience(Patience::NextTry)
        .outranked_by(AT_THE_KUBELET)
        .diagnosis(Proven::Lab("slow-exit"));
}
