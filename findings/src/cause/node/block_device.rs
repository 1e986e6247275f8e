//! A block device below a mount that does not finish what it was given.

use crate::cause::page::*;

causes! {
    BLOCK_DEVICE_SUSPENDED = Cause::gate(Gate::ContainersStopped, "BlockDeviceSuspended")
        .title("A device-mapper device is suspended")
        .meaning("The device below the file system (a logical volume, a multipath map, an encrypted volume) is \
            suspended: it was stopped to change its table, and not resumed. All that is written to it \
            waits, and so do the tasks that write, in state D without acting on SIGKILL.")
        .proof("A thread is D with SIGKILL pending, and has not run between two looks at least a quarter of a second \
            apart; the descriptor of its system call is on a mount whose device is, or is built on, one with \
            /sys/block/dm-N/dm/suspended = 1. Where the call has a path, the only file system on a device that it can \
            see is probable.")
        .safe(&[
            check("Look at its table").run("dmsetup info {map}"),
            check("See whether a program still changes it (lvconvert, pvmove, multipathd): it resumes the device"),
            step("Resume it; what waits is then written").run("dmsetup resume {map}").lab("vm-dm-suspended"),
        ])
        .dont("Do not run dmsetup remove --force",
            "It replaces the table by one that fails everything: what waits to be written is lost.")
        .sources(&["reference: drivers/md/dm.c dm_suspend, drivers/md/dm-sysfs.c"])
        .event_reason("PodProcessUninterruptible")
        .stays()
        .followed()
        .diagnosis(Proven::Lab("vm-dm-suspended"));

    BLOCK_DEVICE_NOT_RESPONDING = Cause::gate(Gate::ContainersStopped, "BlockDeviceNotResponding")
        .title("A block device does not answer")
        .meaning("A task waits in state D for the device below a file system, and does not act on SIGKILL before the \
            device answers or its driver gives up. The chain goes from the mount down to the disk that has requests in \
            flight and finishes none, or whose driver says that it does not work. The driver of a disk that is blocked gives up by \
            itself: an iSCSI session after its recovery_tmo, by default two minutes. What waits then fails, and data in flight is \
            lost.")
        .proof("A thread is D with SIGKILL pending in a function of the file system's journal, the page cache or the \
            block layer, and has not run between two looks at least a quarter of a second apart; the descriptor of its \
            system call is on a mount whose device is not running, or all that it is built on: one dead path of a \
            multipath map, or one dead disk of a mirror, proves nothing. Below a loop device the chain goes on to what its file \
            lies on. Where the call has a path, of the file systems it sees the others have devices that are idle or finish \
            their requests. Requests in flight of which none is finished \
            between two looks make it probable, and so does a disk that is blocked, or an NVMe controller that is connecting: its \
            driver gives up by itself.")
        .safe(&[
            check("Look for messages of the disk and its driver, and repair what they name").run("dmesg -T"),
            check("See what the device is built on").run("lsblk -s {device}").if_known(),
            step("Bring the storage or the path to it back: what waits is then written and the tasks end"),
            step("If it will not come back, drain the node and reboot it; what was not written is lost"),
        ])
        .dont("Do not remove the device from the kernel, or run kubectl delete pod --force",
            "What waits to be written is lost, and the tasks may stay. After the forced delete a replacement can use \
                the same volume.")
        .sources(&["cri-o#7736", "concourse#4477", "reference: block/genhd.c (stat, inflight)"])
        .event_reason("PodProcessUninterruptible")
        .stays()
        .followed()
        .diagnosis(Proven::Lab("vm-nbd"));
}
