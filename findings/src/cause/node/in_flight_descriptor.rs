//! A volume without a visible holder, and descriptors that are on their way between processes: one of them may hold it.

use crate::cause::page::*;

causes! {
    VOLUME_HELD_IN_FLIGHT = Cause::gate(Gate::VolumesUnmounted, "VolumeHeldInFlight")
        .title("A file descriptor on its way between two processes may hold the volume")
        .meaning("The volume is mounted and no process holds it, but descriptors were sent to a process over a unix \
            socket (SCM_RIGHTS) and it has not received them. Such a descriptor keeps its file open and the mount in \
            use, and stands in no descriptor table: neither lsof nor fuser finds it.")
        .proof("The mount is in the kubelet's mountinfo, a search of all processes found no holder, and \
            /proc/<pid>/fdinfo of a unix socket says scm_fds above 0. No source shows which file was sent, so it is only \
            probable, and nothing that is proven gives way to it. A process of another pod that has the file system \
            nowhere in its mount table is blamed only where nothing else is found.")
        .safe(&[
            check("Read the open files of {comm}: descriptors in flight are not among them").run("ls -l /proc/{pid}/fd").if_known(),
            check("See whether {comm} takes files of this volume from other processes, and why it does not receive them; end it \
                only then, for it may have nothing to do with the volume"),
            step("The process belongs to {owner}: whatever ends it, that may start it again").if_known(),
            check("When it has gone, or has received them and closed them, wait: the kubelet's next try unmounts the \
                volume"),
        ])
        .dont("Do not run umount -l on the volume",
            "The receiver of the descriptor keeps writing to a volume that looks free: data can be damaged once it is \
                attached elsewhere.")
        .sources(&["reference: net/unix/af_unix.c unix_show_fdinfo"])
        .event_reason("PodVolumeBusy")
        .diagnosis(Proven::Lab("fd-in-flight"));
}
