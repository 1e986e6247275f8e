//! Gate `CgroupRemoved`: why `rmdir` of the pod's cgroup fails.

use super::kubelet::AT_THE_KUBELET;
use crate::cause::node::holder::{KILL, READ_PROCESS};
use crate::cause::page::*;

causes! {
    CGROUP_PROCESS_ALIVE = Cause::gate(Gate::CgroupRemoved, "CgroupProcessAlive")
        .title("A live process is in the pod's cgroup")
        .meaning("A process that could be killed sits in the pod's cgroup after all containers have ended. It was \
            moved in or started there later, or something starts it again. While it is there the cgroup cannot be \
            removed.")
        .proof("cgroup.procs of the pod's cgroup or a child names a pid that is not frozen, not a zombie and does not stay \
            in D, that has no SIGKILL pending and is not exiting, while CRI has no RUNNING container of the pod.")
        .safe(&[
            READ_PROCESS,
            check("Wait for the kubelet's next try: it kills what it finds in the cgroup"),
            step("End {comm} (pid {pid}) in the orderly way").run("kill {pid}").if_known(),
            step("The process belongs to {owner}: stop that from putting processes into the pod's cgroup").if_known(),
            KILL,
        ])
        .dont("Do not write 1 to cgroup.kill of a parent cgroup",
            "Every process below it dies: with kubepods that is every pod of the node.")
        .sources(&["kubernetes#41450", "reference: kubelet tryKillingCgroupProcesses"])
        .event_reason("PodCgroupBusy")
        .followed()
        .diagnosis(Proven::Observation);

    CGROUP_HIERARCHY_UNKNOWN = Cause::gate(Gate::CgroupRemoved, "CgroupHierarchyUnknown")
        .title("A cgroup v1 hierarchy unknown to the kubelet keeps the pod's cgroup")
        .meaning("This kernel has a cgroup v1 hierarchy that runc and the kubelet do not know (for example files on \
            EulerOS). The pod's directory there is never removed. It does not hold the pod object; the kubelet finds \
            an orphan again every 2 s and burns CPU.")
        .proof("The pod's cgroup is gone from all hierarchies the kubelet knows and still exists under another mount \
            of type cgroup in mountinfo.")
        .safe(&[
            step("Remove the empty directory in that hierarchy (rmdir refuses one that has tasks)").run("rmdir {path}"),
            step("Unmount the hierarchy if nothing needs it, or upgrade to a runtime that knows it"),
        ])
        .dont("Do not run kubectl delete pod --force",
            "It helps nothing: the directory stays, and the API object was not waiting for it.")
        .sources(&["runc#4181"])
        .event_reason("PodCgroupLeft")
        .diagnosis(Proven::Observation);

    CGROUP_NOT_REMOVED = Cause::gate(Gate::CgroupRemoved, "CgroupNotRemoved")
        .title("The pod's cgroup is empty and is not removed")
        .meaning("No process is in the pod's cgroup, and it stays. With the systemd cgroup driver the kubelet asks systemd \
            to stop the pod's slice and waits 30 s: systemd is overloaded, or its job hangs on a scope in the slice. Child \
            cgroups are removed together with it, unless a program makes them again (docker in docker, systemd in a \
            container). Often this is transient and the next try succeeds.")
        .proof("The pod's cgroup still exists and no process is in it or any child. The kubelet says Timed out while \
            waiting for systemd to remove, or systemd shows the unit as stopping or failed. The kubelet's next try may \
            remove it, so it is only probable.")
        .safe(&[
            check("See what systemd says about the slice").run("systemctl status --no-pager {unit}").if_known(),
            check("See the child cgroups").run("systemd-cgls {cgroup}").if_known(),
            check("Wait for the kubelet's next try (10 to 15 s) and look again"),
            step("Remove the empty child cgroups, deepest first (rmdir refuses one that has tasks)")
                .run("rmdir {path}").if_known(),
            step("Stop the pod's slice").run("systemctl stop {unit}").if_known(),
            step("Then let systemd forget its failed state").run("systemctl reset-failed {unit}").if_known(),
        ])
        .dont("Do not stop kubepods.slice with systemctl", "Every pod of the node is killed.")
        .sources(&["kubernetes#97497", "kubernetes#108891", "kubernetes#112151"])
        .event_reason("PodCgroupBusy")
        .outranked_by(AT_THE_KUBELET)
        .diagnosis(Proven::Observation);

    CGROUP_FROZEN = Cause::gate(Gate::ContainersStopped, "CgroupFrozen")
        .title("The pod's cgroup is frozen")
        .meaning("The cgroup freezer holds the tasks of the pod. With cgroup v1 a frozen task does not even receive \
            SIGKILL before it is thawed, so the container never ends. With cgroup v2 SIGKILL gets through, but the \
            stop signal is not handled, so the container ends only after its whole grace period.")
        .proof("v1: freezer.state of the cgroup or a parent says FROZEN or FREEZING (freezer.self_freezing and \
            freezer.parent_freezing show which). v2: cgroup.freeze is 1 and cgroup.events says frozen 1.")
        .safe(&[
            check("Read whether it is still frozen (v1)").run("cat {freezer_state}").if_known(),
            check("Read whether it is still frozen (v2)").run("cat {cgroup_freeze}").if_known(),
            check("Find out who froze the cgroup (a paused container, a checkpoint, a runc that died halfway) and let \
                it finish if it still works"),
            step("Thaw the cgroup (v1); pending signals are delivered at once")
                .run("echo THAWED > {freezer_state}").lab("frozen-v1").if_known(),
            step("Thaw the cgroup (v2); the stop signal is handled at once")
                .run("echo 0 > {cgroup_freeze}").lab("frozen-v2").if_known(),
        ])
        .dont("Do not run kill -9 on the frozen processes (v1), or kubectl delete pod --force",
            "On v1 the signal waits for the thaw. After the forced delete the frozen processes stay; thawed later they \
                run on beside a replacement and can write the same data.")
        .sources(&["runc#3217", "runc#3081", "runc#2105", "kubernetes#104280"])
        .event_reason("PodCgroupFrozen")
        .followed()
        .diagnosis(Proven::Lab("frozen-v1"));

    KUBELET_REMEMBERS_VOLUME = Cause::gate(Gate::VolumesUnmounted, "KubeletRemembersVolume")
        .title("The kubelet probably still remembers a volume that is not on disk")
        .meaning("Nothing of the pod is mounted, yet the kubelet behaves as if its volumes were not gone. The likely \
            reason is an entry marked uncertain in its memory, after an unmount that failed in the middle. This memory \
            cannot be seen from outside, so it is a conclusion and not an observation.")
        .proof("The API phase is terminal, no mount is below pods/<uid>/volumes, and the pod's cgroup has cpu.weight 1 \
            (v1: cpu.shares 2), which the kubelet sets while it waits for volumes; a pod of which no container asks for \
            30 m of a processor or more may have that all its life, and is not judged by it. A log line with the pod's \
            UID confirms it.")
        .safe(&[
            check("Search the kubelet's log for the operation that keeps failing, and treat that")
                .read(log_of!("kubelet", "-15min", "{uid}")),
            check("Check that the volume's CSI driver runs on this node and answers"),
            step("Restart the kubelet: it builds its memory anew from the disk; containers keep running")
                .run("systemctl restart {kubelet_unit}"),
        ])
        .dont("Do not run kubectl delete pod --force",
            "The driver may not have unpublished the volume; mounted elsewhere it can be damaged.")
        .sources(&["reference: kubelet HasPossiblyMountedVolumesForPod, ReduceCPULimits"])
        .event_reason("PodVolumeRemembered")
        .patience(Patience::NextTry)
        .outranked_by(AT_THE_KUBELET)
        .diagnosis(Proven::Observation);
}
