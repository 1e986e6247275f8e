//! Servers of network file systems beside NFS and FUSE that do not answer.

use crate::cause::node::uninterruptible::READ_STACK;
use crate::cause::page::*;

causes! {
    FILE_SERVER_NOT_RESPONDING = Cause::gate(Gate::ContainersStopped, "FileServerNotResponding")
        .title("The server of a network file system does not answer")
        .meaning("A task waits inside the kernel's client of a network file system (CIFS, Ceph, 9p, Lustre, GPFS, \
            virtiofs) for a server that does not answer. It is in state D and does not act on SIGKILL, so the \
            container cannot end. An unmount of the same file system waits as well.")
        .proof("A thread is D with SIGKILL pending and has not run between two looks at least a quarter of a second \
            apart; the descriptor of its system call is on such a mount, or it waits in a function of such a client \
            and its mount table has one mount of that type. With several of them it is only probable which. \
            A task that exits and waits for a page writes a file back as it closes it: where its only mount with a \
            server is CIFS, that is probable. Of one that has left its mount namespace as it exits, the kubelet's mounts that \
            its pod may have are known, and it is probable as well.")
        .safe(&[
            READ_STACK,
            step("Bring the server, or the network to it, back: the waiting tasks then continue by themselves"),
            step("If the server will not come back, make the requests of {mount} fail; data in flight is lost")
                .run("umount -f {mount}").if_known(),
            step("If a task stays in D after that, drain and reboot the node"),
        ])
        .dont("Do not run umount -l on the mount as the first thing, or kubectl delete pod --force",
            "The lazy unmount only hides the mount; the tasks keep waiting and data in flight is lost. After the \
                forced delete a replacement can write the same data as the old process.")
        .sources(&[
            "cri-o#9256", "kubernetes#72048", "reference: fs/smb/client/transport.c, fs/ceph, net/9p, fs/fuse/virtio_fs.c",
        ])
        .event_reason("PodProcessUninterruptible")
        .followed()
        .diagnosis(Proven::Lab("vm-cifs"));
}
