//! A volume without a known holder, and a socket that may be bound in it: its name is relative, leads through links, or is not
//! visible.

use crate::cause::page::*;

causes! {
    VOLUME_HELD_BY_SOCKET = Cause::gate(Gate::VolumesUnmounted, "VolumeHeldBySocket")
        .title("A unix socket may be bound in the volume: its name does not show where it is")
        .meaning("The volume is mounted and no process is seen to hold it, but a process has a unix socket that was bound by a \
            relative name, or by one that leads through a link, or one of a network namespace that no process is in. A bound socket keeps the mount of its file in use, also when \
            the file is deleted, and its name in /proc/net/unix is what was given to bind: where it lies is not shown.")
        .proof("The mount is in the kubelet's mountinfo, a search of all processes found no holder, and /proc/<pid>/net/unix \
            has such a name of a socket that a process with the mount in sight has open: a relative one, one that a link leads \
            into the volume, or one whose directory is gone. Or no network namespace of a process lists the socket. Anybody may choose such a name, so it is only probable.")
        .safe(&[
            check("Look at the sockets of {comm} (pid {pid}): beside the name stands the inode of its file (ino:)")
                .run("nsenter -t {pid} -n ss -xlpe").if_known().lab("socket-linked"),
            check("List the sockets in the volume, each with its inode").run("find {path} -xdev -type s -ls").lab("socket-linked"),
            step("If the socket is one of these, have its process close it, or end that process; the kubelet's next try unmounts the volume"),
        ])
        .dont("Do not kill each process that is named, or run umount -l on the volume",
            "The others have nothing to do with the volume. The lazy unmount only hides the mount while it is in use.")
        .sources(&["reference: net/unix/af_unix.c unix_bind, unix_seq_show"])
        .event_reason("PodVolumeBusy")
        .diagnosis(Proven::Lab("socket-linked"));
}
