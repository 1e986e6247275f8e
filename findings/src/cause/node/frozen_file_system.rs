//! A frozen file system: every writer waits until it is thawed.

use crate::cause::page::*;

causes! {
    FILE_SYSTEM_FROZEN = Cause::gate(Gate::ContainersStopped, "FileSystemFrozen")
        .title("A file system is frozen and has not been thawed")
        .meaning("The file system was frozen, as for the moment of a snapshot or a backup (fsfreeze, \
            a hook of a backup program, a guest agent), and not thawed. Processes that write to it wait in state D, \
            where SIGKILL has no effect. It cannot be unmounted either.")
        .proof("A thread is D with SIGKILL pending in the wait for a superblock's freeze protection \
            (percpu_rwsem_wait), and has not run between two looks at least a quarter of a second apart; its system \
            call writes, and the call's descriptor is on this mount. Where the call has a path, of the file systems on \
            devices that it sees, and those below its overlays, the others are read-only or were written to between two \
            looks. The only one that it sees, or one that another task waits for, is probable; of several, one is. A task that has left \
            its mount namespace as it exits removes a deleted file: of the kubelet's mounts that its pod may have, that is \
            probable.")
        .safe(&[
            check("Read which device the mount is of").run("findmnt {mount}").if_known(),
            check("See what has frozen it: a backup or snapshot that still runs ends the freeze by itself"),
            check("See whether {device} is frozen: an ext4 with a journal (has_journal) that is mounted for writing has \
                needs_recovery among its features, and a frozen one has not")
                .run("dumpe2fs -h {device}").if_known(),
            step("Thaw it; if it says \"Invalid argument\" it was not frozen").run("fsfreeze -u {mount}")
                .lab("frozen-file-system").if_known(),
            step("Repair the hook that thaws it after the snapshot, and take the snapshot again"),
        ])
        .dont("Do not run kubectl delete pod --force",
            "The processes stay, and write to the volume as soon as it is thawed, beside those of a replacement.")
        .sources(&["velero#2113", "azure-linux-extensions#951", "reference: fs/super.c freeze_super, include/linux/fs.h sb_start_write"])
        .event_reason("PodProcessUninterruptible")
        .stays()
        .followed()
        .diagnosis(Proven::Lab("frozen-file-system"));
}
