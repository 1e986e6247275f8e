//! A volume on a multipath map that has lost its paths: what was written waits, and so does `umount`.

use crate::cause::page::*;

causes! {
    MULTIPATH_STALE = Cause::gate(Gate::VolumesUnmounted, "MultipathStale")
        .title("A multipath map has lost all its paths")
        .meaning("All paths of the volume's multipath map are gone, but the map is still open and set to queue I/O. \
            Every write to the storage, and with it the unmount, waits for a path that may never come back. A task that waits \
            so is in state D, where SIGKILL has no effect.")
        .proof("The mount's device is, or is built on, a device-mapper device whose uuid begins with mpath-, and in \
            sysfs its slaves directory is empty or every path's state is known and neither running nor live. Whether \
            it queues (queue_if_no_path) is not in sysfs, so it is only probable, unless a task of the pod waits in state D for \
            this device.")
        .safe(&[
            check("Look at the map and its paths").run("multipath -ll {map}"),
            step("Bring a path to the storage back (network, iSCSI session, FC zoning): queued I/O is then written and \
                everything continues"),
            step("If the storage is gone for good, stop queueing: all waiting writes fail and are lost")
                .run("multipathd disablequeueing map {map}").lab("vm-multipath"),
            step("Then, when the unmount has gone through, flush the map; it refuses one in use")
                .run("multipath -f {map}"),
        ])
        .dont("Do not delete the SCSI devices or the map while it is mounted",
            "Queued writes are lost and the file system can be damaged.")
        .sources(&[
            "seagate-exos-x-csi#141", "dell-csm#666", "dell-csm#896", "hpe-common-host-libs#238", "kubernetes#59946",
        ])
        .event_reason("PodBlockDeviceBusy")
        .stays()
        .followed()
        .diagnosis(Proven::Lab("vm-multipath"));
}
