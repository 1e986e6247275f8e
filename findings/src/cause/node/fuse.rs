//! FUSE servers that do not answer, and mounts whose server is gone.

use crate::cause::CSI_DRIVER_NOT_REGISTERED;
use crate::cause::page::*;

causes! {
    FUSE_SERVER_NOT_RESPONDING = Cause::gate(Gate::ContainersStopped, "FuseServerNotResponding")
        .title("A FUSE server does not answer")
        .meaning("A task waits for a FUSE server that has read its request and does not answer. From then on the wait \
            cannot be interrupted: SIGKILL stays pending and the task stays in state D. Neither the container nor a \
            mount that this task uses can go before the server answers, ends, or its connection is aborted.")
        .proof("A thread is in a FUSE wait (request_wait_answer, fuse_*), in D with a pending SIGKILL or exiting (the \
            kernel drops a SIGKILL sent to a task that exits, and it may wait in S), and has not run between two looks \
            at least a quarter of a second apart; the mount comes from the descriptor of its system call, else from \
            the one mount it can see whose /sys/fs/fuse/connections/<number>/waiting is above 0; what it sees includes the layers of its overlays, and the \
            file of a loop device that has requests and finishes none. For a volume: its \
            server is stopped (T), or a stat in a disposable child gets no answer. Of several mounts those are left out whose \
            requests are all waited for by tasks whose descriptors are there. Several mounts that are left, a holder that \
            is not being killed, a process that runs another program (nothing shows its wait; runc asks a container's init \
            before it kills it), a task that waits for another one's look into the same directory, or a node without \
            fusectl, make it only probable.")
        .safe(&[
            step("If {server} (pid {server_pid}) is only stopped (state T), let it run again")
                .run("kill -CONT {server_pid}").if_known(),
            step("Make the FUSE server answer: restore what it waits for (its network, its storage) or restart it"),
            check("The requests of a connection can be counted and aborted only when fusectl is mounted; mount it")
                .run("mount -t fusectl fusectl {fusectl}").lab("fuse-without-fusectl").if_known(),
            step("If it cannot answer any more, abort FUSE connection {connection}: every waiting request fails, every \
                user of its mount gets errors, and writes the server has not stored are lost")
                .run("echo 1 > /sys/fs/fuse/connections/{connection}/abort").lab("dstate-fuse").if_known(),
        ])
        .dont("Do not run umount -l on the FUSE mount, or kubectl delete pod --force",
            "The lazy unmount hides the mount from mountinfo and the process stays in D. After the forced delete it \
                stays too, and a replacement can write the same data.")
        .sources(&[
            "cri-o#9256", "fluid#4002", "kubernetes#96361", "gcs-fuse#50",
            "reference: experiments on Linux 6.18 (FUSE waits, abort)",
        ])
        .event_reason("PodProcessUninterruptible")
        .outranked_by(&[&crate::cause::CSI_DRIVER_NOT_REGISTERED])
        .stays()
        .followed()
        .diagnosis(Proven::Lab("dstate-fuse"));

    FUSE_SERVER_GONE = Cause::gate(Gate::VolumesUnmounted, "FuseServerGone")
        .title("The FUSE server of the volume has died")
        .meaning("The volume is a FUSE mount and its server process is gone. Every access says \"transport endpoint is \
            not connected\", and many drivers fail their unpublish with it. The dead mount stays, and for the kubelet \
            it still counts as mounted.")
        .proof("mountinfo has a fuse mount for the volume and /sys/fs/fuse/connections/<number> is gone, or a look in \
            the disposable child gives ENOTCONN; statx with AT_STATX_DONT_SYNC still says mount root.")
        .safe(&[
            step("Unmount the dead mount; what the server had not stored is lost already")
                .run("umount {path}").lab("fuse-dead"),
            step("Bring the driver's pod on this node back, so that the kubelet's next unpublish is answered"),
        ])
        .dont("Do not run umount -l, or rm -rf on the directory",
            "A plain umount works on a dead server. The lazy one hides a mount that may be in use, and the removal \
                deletes data if the driver mounts it again meanwhile.")
        .sources(&["fluid#4002", "kubernetes#96361", "kadalu#1003", "kadalu#913", "juicefs#907", "gcs-fuse#50"])
        .event_reason("PodVolumeServerGone")
        .outranked_by(&[&CSI_DRIVER_NOT_REGISTERED])
        .diagnosis(Proven::Lab("fuse-dead"));
}
