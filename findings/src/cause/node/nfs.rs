//! NFS servers that do not answer.

use crate::cause::node::uninterruptible::READ_STACK;
use crate::cause::page::*;

causes! {
    NFS_SERVER_NOT_RESPONDING = Cause::gate(Gate::ContainersStopped, "NfsServerNotResponding")
        .title("An NFS server does not answer")
        .meaning("A task waits inside the NFS client for a server that does not answer. The task is in state D and \
            does not act on SIGKILL, so the container cannot end. An unmount of the same file system waits as well.")
        .proof("A thread waits in an nfs or rpc function, in D with a pending SIGKILL, or exiting (the kernel drops a \
            SIGKILL sent to a task that exits), or as an umount in D of the kubelet (umount.nfs4 below it) or a CSI driver, \
            and has not run between two looks at least a quarter of a second apart; mountinfo shows the NFS mount it uses. \
            With several NFS mounts it is only probable which, and so it always is with an umount, whose command line is \
            not read and whose mount may have left the table. A task that exits and waits for a page writes a file back as it closes it: where this is its only \
            mount with a server, that is probable. One that exits and has left its mount namespace closes its last files, \
            which NFS 4 sends to the server: of the kubelet's mounts that its pod may have, that too is probable.")
        .safe(&[
            READ_STACK.if_known(),
            check("See whether a connection to the server stands, and whether it retransmits").run("ss -tno dport = :2049"),
            step("Bring the NFS server, or the network to it, back: the waiting tasks then continue by themselves. One at \
                127.0.0.1 is a proxy on this node, for EFS in the node's pod of its CSI driver: see whether that was restarted"),
            step("If the server will not come back, make the requests of {mount} fail; data in flight is lost. This ended \
                the wait on NFS 3, and not on NFS 4.2").run("umount -f {mount}").if_known().lab("vm-nfs3-writer"),
            step("If a task stays in D after that, drain and reboot the node"),
        ])
        .dont("Do not run umount -l on the NFS mount as the first thing, or kubectl delete pod --force",
            "The lazy unmount only hides the mount; the tasks keep waiting and data in flight is lost. After the \
                forced delete a replacement can write the same data as the old process.")
        .sources(&[
            "kubernetes#72048", "kubernetes#123960", "kubernetes#16104", "rook#6327", "cri-o#9256", "concourse#4477",
        ])
        .event_reason("PodProcessUninterruptible")
        .followed()
        .diagnosis(Proven::Lab("vm-nfs4-writer"));
}
