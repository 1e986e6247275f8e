//! The pod's cgroup stays, or only the API side is left.

use crate::Gate;
use crate::cause::entry::{Cause, Danger, Proven, step};

causes! {
    /// A task in state D sits in the pod's cgroup.
    CGROUP_HELD_BY_TASK = Cause::at(Gate::CgroupRemoved, "CgroupHeldByTask")
        .title("A task in state D holds the pod's cgroup")
        .meaning("The containers count as ended, but a task in the pod's cgroup waits in the kernel in state D. It \
            accepts the kubelet's SIGKILL without dying. A cgroup with a task in it cannot be removed: rmdir says \
            busy, and the kubelet repeats it every 10 to 15 s.")
        .proof("cgroup.procs of the pod's cgroup or a child names a pid; one of its threads is D and has not run \
            between two looks at least a quarter of a second apart, and no FUSE or NFS wait is recognised.")
        .safe(&[
            step("See which kernel function pid {pid} waits in").run("cat /proc/{pid}/stack").if_known(),
            step("Repair what the task waits for: bring the file server or the device back"),
            step("If nothing ends the wait, drain the node and reboot it"),
        ])
        .danger(Danger::new(
            "Moving the task to another cgroup to get rid of this one",
            "The pod goes, but the task and whatever it may still write stay, with nothing left that points to the \
                pod.",
        ))
        .sources(&["kubernetes#123766", "containerd#8102", "kubernetes#84595"])
        .event_reason("PodCgroupBusy")
        .diagnosis(Proven::Observation);

    /// A zombie leader with a live thread sits in the pod's cgroup.
    CGROUP_HELD_BY_THREAD = Cause::at(Gate::CgroupRemoved, "CgroupHeldByThread")
        .title("A thread of a process that looks dead holds the pod's cgroup")
        .meaning("The main thread of a process has ended and shows as a zombie, but another of its threads still \
            lives, usually in state D. A plain zombie blocks nothing; this one stays in cgroup.procs and the cgroup \
            cannot be removed.")
        .proof("cgroup.procs names a pid whose /proc/<pid>/stat says Z, and a further thread of it is D and has not \
            run between two looks at least a quarter of a second apart.")
        .safe(&[
            step("See which kernel function thread {tid} waits in").run("cat /proc/{pid}/task/{tid}/stack").if_known(),
            step("Repair what the thread waits for: bring the file server or the device back"),
        ])
        .danger(Danger::new(
            "Killing the parent because of the zombie",
            "The thread, not the parent, is the reason: the cgroup stays and a healthy process is lost.",
        ))
        .sources(&["reference: experiment with a zombie leader and a live thread"])
        .event_reason("PodCgroupBusy")
        .diagnosis(Proven::Observation);

    /// Child cgroups below the pod's cgroup stay.
    CGROUP_HELD_BY_CHILD = Cause::at(Gate::CgroupRemoved, "CgroupHeldByChild")
        .title("Child cgroups keep the pod's cgroup")
        .meaning("The pod's cgroup has child cgroups that are not removed, made by a privileged container or a nested \
            runtime (docker in docker, systemd in a container). A cgroup with children cannot be removed, and the \
            kubelet or systemd does not get all of them.")
        .proof("A directory below the pod's cgroup exists, and no process is in the pod's cgroup or any child. The \
            kubelet's next try may remove it, so it is only probable.")
        .safe(&[
            step("See the child cgroups").run("systemd-cgls {cgroup}"),
            step("Remove the empty child cgroups, deepest first (rmdir refuses one that has tasks)")
                .run("rmdir {path}").lab("nested-cgroup"),
            step("When no child is left, wait: the kubelet tries again within 15 s"),
        ])
        .danger(Danger::new(
            "rm -rf of the cgroup directory",
            "It cannot work: cgroup files cannot be deleted, only empty cgroups removed with rmdir. With a wrong path \
                it deletes something else.",
        ))
        .sources(&["kubernetes#123766", "reference: kubelet cgroup Destroy"])
        .event_reason("PodCgroupBusy")
        .diagnosis(Proven::Lab("nested-cgroup"));

    /// A live process was moved into the pod's cgroup.
    CGROUP_PROCESS_ALIVE = Cause::at(Gate::CgroupRemoved, "CgroupProcessAlive")
        .title("A live process is in the pod's cgroup")
        .meaning("A process that could be killed sits in the pod's cgroup after all containers have ended. It was \
            moved in or started there later, or something starts it again. While it is there the cgroup cannot be \
            removed.")
        .proof("cgroup.procs of the pod's cgroup or a child names a pid that is not D, Z or frozen and has no SIGKILL \
            pending, while CRI has no RUNNING container of the pod.")
        .safe(&[
            step("Wait for the kubelet's next try: it kills what it finds in the cgroup"),
            step("End {comm} (pid {pid}) in the orderly way").run("kill {pid}").if_known(),
            step("The process belongs to {owner}: stop that from putting processes into the pod's cgroup").if_known(),
            step("If it ignores SIGTERM, kill it; what it has not written yet is lost").run("kill -9 {pid}").if_known(),
        ])
        .danger(Danger::new(
            "echo 1 > cgroup.kill of a parent cgroup",
            "Every process below it dies: with kubepods that is every pod of the node.",
        ))
        .sources(&["reference: kubelet tryKillingCgroupProcesses"])
        .event_reason("PodCgroupBusy")
        .diagnosis(Proven::Observation);

    /// A cgroup v1 hierarchy that the kubelet does not know keeps the pod's cgroup.
    CGROUP_HIERARCHY_UNKNOWN = Cause::at(Gate::CgroupRemoved, "CgroupHierarchyUnknown")
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
        .danger(Danger::new(
            "kubectl delete pod --force",
            "It helps nothing: the directory stays, and the API object was not waiting for it.",
        ))
        .sources(&["runc#4181"])
        .event_reason("PodCgroupLeft")
        .diagnosis(Proven::Observation);

    /// systemd does not finish the stop of the pod's slice.
    CGROUP_SYSTEMD_TIMEOUT = Cause::at(Gate::CgroupRemoved, "CgroupSystemdTimeout")
        .title("systemd does not remove the pod's slice in time")
        .meaning("With the systemd cgroup driver the kubelet asks systemd to stop the pod's slice and waits 30 s. \
            systemd did not finish: it is overloaded, or its job hangs on a scope in the slice. Often this is \
            transient and the next try succeeds.")
        .proof("The slice still exists and its cgroup has no task and no child; the kubelet says Timed out while \
            waiting for systemd to remove, or systemd shows the unit as stopping or failed.")
        .safe(&[
            step("Wait for the kubelet's next try (10 to 15 s) and look again"),
            step("See what systemd says about the slice").run("systemctl status --no-pager {unit}").if_known(),
            step("Stop the pod's slice").run("systemctl stop {unit}").if_known(),
            step("Then let systemd forget its failed state").run("systemctl reset-failed {unit}").if_known(),
        ])
        .danger(Danger::new("systemctl stop of kubepods.slice", "Every pod of the node is killed."))
        .sources(&["kubernetes#97497", "kubernetes#108891"])
        .event_reason("PodCgroupBusy")
        .diagnosis(Proven::Observation);

    /// The node is done, but the API has not taken the final status.
    STATUS_NOT_REPORTED = Cause::at(Gate::StatusReported, "StatusNotReported")
        .title("The kubelet's final status has not reached the API")
        .meaning("Nothing of the pod is left on the node, but the API does not show its final phase. The kubelet \
            cannot read or patch the status: its certificate has expired, it is not allowed to, a webhook refuses, or \
            the API server cannot be reached. It tries again every 10 s.")
        .proof("No container, sandbox, mount or cgroup of the pod is left, and the pod's phase in the API stays \
            non-terminal for longer than a minute. The kubelet says Failed to update status for pod.")
        .safe(&[
            step("Read the kubelet's reason")
                .run("journalctl -u {kubelet_unit} --since -15min --no-pager --grep \"status for pod\""),
            step("Check whether the node is Ready, whether the kubelet's client certificate is valid, and whether an \
                admission webhook matches pods/status"),
            step("Once that is repaired, wait 10 s: the kubelet reports by itself"),
        ])
        .danger(Danger::new(
            "kubectl delete pod --force on every stuck pod",
            "The reason stays, so every later pod of this node is stuck too, and the next one may still run.",
        ))
        .sources(&["reference: kubelet status manager syncPod, API-side look-alikes"])
        .event_reason("PodStatusNotReported")
        .diagnosis(Proven::Observation);

    /// The node is done; the object is kept by the API side.
    FINALIZERS_REMAIN = Cause::at(Gate::ObjectRemoved, "FinalizersRemain")
        .title("The node is done; the API side keeps the object")
        .meaning("The kubelet has released everything and its final status is in the API. What keeps the object is on \
            the API side: a finalizer that its controller has not removed, or a webhook that refuses the last delete. \
            Nothing on this node can help.")
        .proof("Nothing of the pod is left on the node, its phase is terminal, and metadata.finalizers is not empty \
            (or the kubelet's log says Failed to delete status for pod).")
        .safe(&[
            step("Look at metadata.finalizers of the pod, find the controller that owns each, and bring it back; it \
                removes its own finalizer when its work is done"),
            step("Ask the API side what keeps {pod}: kubectl why-terminating"),
            step("If there is no finalizer, look for an admission webhook that refuses DELETE of pods"),
        ])
        .danger(Danger::new(
            "Patching the finalizers away",
            "The work they stand for is never done: external resources, addresses or records leak.",
        ))
        .sources(&["reference: kubelet canBeDeleted, API-side look-alikes"])
        .event_reason("PodFinalizersRemain")
        .diagnosis(Proven::Observation);
}
