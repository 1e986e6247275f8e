//! A file that the kubelet cannot remove: it is marked so.

use super::kubelet::AT_THE_KUBELET;
use crate::cause::page::*;

causes! {
    VOLUME_FILE_IMMUTABLE = Cause::gate(Gate::VolumesUnmounted, "VolumeFileImmutable")
        .title("A file of the volume is immutable")
        .meaning("An emptyDir, and what the kubelet writes for a ConfigMap, a Secret or a projected volume, is deleted with \
            all that is in it. A file or directory in it is marked immutable or append-only (chattr +i, +a), so the kernel \
            refuses to remove it, and the kubelet's removal fails each time with \"operation not permitted\".")
        .proof("statx says STATX_ATTR_IMMUTABLE or STATX_ATTR_APPEND of a file or directory in the volume's directory, \
            which is no mount and which the kubelet removes by itself.")
        .safe(&[
            check("See who has marked it, and whether it is still needed").run("ls -la {path}"),
            step("Take the mark off; the kubelet's next try removes the file").run("chattr -ia {path}")
                .lab("immutable-file"),
            check("Find what marks it (a security agent, a container with CAP_LINUX_IMMUTABLE), and have that unmark its files"),
        ])
        .dont("Do not run rm -rf on the volume's directory",
            "It fails at the same file, and removes the others, which may be worth keeping.")
        .sources(&["reference: kubelet emptyDir, os.RemoveAll", "reference: fs/namei.c may_delete"])
        .event_reason("PodVolumeFileImmutable")
        .outranked_by(AT_THE_KUBELET)
        .diagnosis(Proven::Lab("immutable-file"));
}
