//! Raw block volumes: the loop device the kubelet locks them with, and what is built on it.

use crate::cause::page::*;

causes! {
    LOOP_DEVICE_LEFT = Cause::gate(Gate::VolumesUnmounted, "LoopDeviceLeft")
        .title("The loop device of a raw block volume is left over")
        .meaning("For a raw block volume the kubelet binds the device below volumeDevices and locks it with a loop \
            device. The loop device is still there and pins the volume. The kubelet's unmap fails, so it still \
            remembers the volume.")
        .proof("/sys/block/loopN/loop/backing_file names …/volumeDevices/<volume>/dev/<pod uid> (perhaps followed by \
            \" (deleted)\") of this pod.")
        .safe(&[
            check("Check that nothing uses the loop device: no mount, no holder, no LVM volume on it")
                .run("lsblk {device}"),
            step("Detach the loop device; the kubelet's next try then releases the volume")
                .run("losetup -d {device}").lab("loop-left"),
            step("If it comes back after a kubelet restart, upgrade the kubelet to 1.28 or later"),
        ])
        .dont("Do not detach the disk at the storage side first",
            "The loop device writes into nothing: unwritten data is lost and later tasks hang in state D.")
        .sources(&["kubernetes#119608", "longhorn#6919", "longhorn#2474", "kubernetes#109132"])
        .event_reason("PodBlockDeviceBusy")
        .keeps_attached()
        .diagnosis(Proven::Lab("loop-left"));

    BLOCK_DEVICE_HELD = Cause::gate(Gate::VolumesUnmounted, "BlockDeviceHeld")
        .title("Something on the node is built on the raw block device")
        .meaning("The pod's raw block device is used by another layer: LVM has activated a volume group found on it, \
            or a device mapper, RAID or swap sits on it. The kernel keeps the device claimed, and the kubelet's unmap \
            fails.")
        .proof("/sys/block/loopN/loop/backing_file names …/volumeDevices/<volume>/dev/<pod uid> of this pod, and \
            /sys/block/loopN/holders has an entry: losetup -d reports success and leaves the loop device until that is gone.")
        .safe(&[
            check("See what is built on the device").run("lsblk {device}"),
            step("Remove the device-mapper device, which refuses while it is in use; of LVM this deactivates the volume")
                .run("dmsetup remove {map}").lab("vm-lvm-on-block").if_known(),
            step("Stop the RAID; it refuses while it is in use").run("mdadm --stop {raid}").lab("vm-md-on-block").if_known(),
            step("Keep LVM on the nodes away from volumes of pods (filter in lvm.conf)"),
        ])
        .dont("Do not run wipefs or dmsetup remove -f",
            "wipefs destroys the data. The forced removal makes all further I/O fail and loses what was not written.")
        .sources(&["kubernetes#110163", "kubernetes#109132"])
        .event_reason("PodBlockDeviceBusy")
        .diagnosis(Proven::Lab("vm-lvm-on-block"));
}
