//! The pod's cgroup stays, or only the API side is left.

use super::entry::{Advice, Area, Cause, Danger, Proven};
use crate::Gate;

causes! {
    /// A task in state D sits in the pod's cgroup.
    CGROUP_HELD_BY_TASK = Cause {
        id: "CgroupHeldByTask",
        area: Area::Gate(Gate::CgroupRemoved),
        title: "A task in state D holds the pod's cgroup",
        meaning: "The containers count as ended, but a task in the pod's cgroup waits in the kernel in state D. It \
            accepts the kubelet's SIGKILL without dying. A cgroup with a task in it cannot be removed: rmdir says \
            busy, and the kubelet repeats it every 10 to 15 s.",
        proof: "cgroup.procs of the pod's cgroup or a child names a pid; one of its threads is D and has not run \
            between two looks at least a quarter of a second apart, and no FUSE or NFS wait is recognised.",
        safe: &[
            Advice {
                text: "See which kernel function pid {pid} waits in",
                command: Some("cat /proc/{pid}/stack"),
                proven: Proven::Untested,
            },
            Advice {
                text: "Repair what the task waits for: bring the file server or the device back",
                command: None,
                proven: Proven::Untested,
            },
            Advice {
                text: "If it waits for a FUSE server that cannot answer any more, abort that connection: every \
                    waiting request fails and writes the server has not stored are lost",
                command: Some("echo 1 > /sys/fs/fuse/connections/{connection}/abort"),
                proven: Proven::Observation,
            },
            Advice {
                text: "If nothing ends the wait, drain the node and reboot it",
                command: None,
                proven: Proven::Untested,
            },
        ],
        danger: Danger {
            action: "Moving the task to another cgroup to get rid of this one",
            breaks: "The pod goes, but the task and whatever it may still write stay, with nothing left that points \
                to the pod.",
        },
        sources: &["kubernetes#123766", "containerd#8102", "kubernetes#84595"],
        event_reason: "PodCgroupBusy",
        diagnosis: Proven::Observation,
    };

    /// A zombie leader with a live thread sits in the pod's cgroup.
    CGROUP_HELD_BY_THREAD = Cause {
        id: "CgroupHeldByThread",
        area: Area::Gate(Gate::CgroupRemoved),
        title: "A thread of a process that looks dead holds the pod's cgroup",
        meaning: "The main thread of a process has ended and shows as a zombie, but another of its threads still \
            lives, usually in state D. A plain zombie blocks nothing; this one stays in cgroup.procs and the cgroup \
            cannot be removed.",
        proof: "cgroup.procs names a pid whose /proc/<pid>/stat says Z, and a further thread of it is D and has not \
            run between two looks at least a quarter of a second apart.",
        safe: &[
            Advice {
                text: "See which kernel function thread {tid} waits in",
                command: Some("cat /proc/{pid}/task/{tid}/stack"),
                proven: Proven::Untested,
            },
            Advice {
                text: "Repair what the thread waits for: bring the file server or the device back",
                command: None,
                proven: Proven::Untested,
            },
            Advice {
                text: "If it waits for a FUSE server that cannot answer any more, abort that connection: every \
                    waiting request fails and writes the server has not stored are lost",
                command: Some("echo 1 > /sys/fs/fuse/connections/{connection}/abort"),
                proven: Proven::Untested,
            },
        ],
        danger: Danger {
            action: "Killing the parent because of the zombie",
            breaks: "The thread, not the parent, is the reason: the cgroup stays and a healthy process is lost.",
        },
        sources: &["reference: experiment with a zombie leader and a live thread"],
        event_reason: "PodCgroupBusy",
        diagnosis: Proven::Observation,
    };

    /// Child cgroups below the pod's cgroup stay.
    CGROUP_HELD_BY_CHILD = Cause {
        id: "CgroupHeldByChild",
        area: Area::Gate(Gate::CgroupRemoved),
        title: "Child cgroups keep the pod's cgroup",
        meaning: "The pod's cgroup has child cgroups that are not removed, made by a privileged container or a \
            nested runtime (docker in docker, systemd in a container). A cgroup with children cannot be removed, and \
            the kubelet or systemd does not get all of them.",
        proof: "A directory below the pod's cgroup exists, and no process is in the pod's cgroup or any child. The \
            kubelet's next try may remove it, so it is only probable.",
        safe: &[
            Advice {
                text: "See the child cgroups",
                command: Some("systemd-cgls {cgroup}"),
                proven: Proven::Untested,
            },
            Advice {
                text: "Remove the empty child cgroups, deepest first (rmdir refuses one that has tasks)",
                command: Some("rmdir {path}"),
                proven: Proven::Lab("nested-cgroup"),
            },
            Advice {
                text: "When no child is left, wait: the kubelet tries again within 15 s",
                command: None,
                proven: Proven::Untested,
            },
        ],
        danger: Danger {
            action: "rm -rf of the cgroup directory",
            breaks: "It cannot work: cgroup files cannot be deleted, only empty cgroups removed with rmdir. With a \
                wrong path it deletes something else.",
        },
        sources: &["kubernetes#123766", "reference: kubelet cgroup Destroy"],
        event_reason: "PodCgroupBusy",
        diagnosis: Proven::Lab("nested-cgroup"),
    };

    /// A live process was moved into the pod's cgroup.
    CGROUP_PROCESS_ALIVE = Cause {
        id: "CgroupProcessAlive",
        area: Area::Gate(Gate::CgroupRemoved),
        title: "A live process is in the pod's cgroup",
        meaning: "A process that could be killed sits in the pod's cgroup after all containers have ended. It was \
            moved in or started there later, or something starts it again. While it is there the cgroup cannot be \
            removed.",
        proof: "cgroup.procs of the pod's cgroup or a child names a pid that is not D, Z or frozen and has no SIGKILL \
            pending, while CRI has no RUNNING container of the pod.",
        safe: &[
            Advice {
                text: "Wait for the kubelet's next try: it kills what it finds in the cgroup",
                command: None,
                proven: Proven::Untested,
            },
            Advice {
                text: "End {comm} (pid {pid}) in the orderly way",
                command: Some("kill {pid}"),
                proven: Proven::Untested,
            },
            Advice {
                text: "The process belongs to {owner}: stop that from putting processes into the pod's cgroup",
                command: None,
                proven: Proven::Untested,
            },
            Advice {
                text: "If it ignores SIGTERM, kill it; what it has not written yet is lost",
                command: Some("kill -9 {pid}"),
                proven: Proven::Untested,
            },
        ],
        danger: Danger {
            action: "echo 1 > cgroup.kill of a parent cgroup",
            breaks: "Every process below it dies: with kubepods that is every pod of the node.",
        },
        sources: &["reference: kubelet tryKillingCgroupProcesses"],
        event_reason: "PodCgroupBusy",
        diagnosis: Proven::Observation,
    };

    /// A cgroup v1 hierarchy that the kubelet does not know keeps the pod's cgroup.
    CGROUP_HIERARCHY_UNKNOWN = Cause {
        id: "CgroupHierarchyUnknown",
        area: Area::Gate(Gate::CgroupRemoved),
        title: "A cgroup v1 hierarchy unknown to the kubelet keeps the pod's cgroup",
        meaning: "This kernel has a cgroup v1 hierarchy that runc and the kubelet do not know (for example files on \
            EulerOS). The pod's directory there is never removed. It does not hold the pod object; the kubelet finds \
            an orphan again every 2 s and burns CPU.",
        proof: "The pod's cgroup is gone from all hierarchies the kubelet knows and still exists under another mount \
            of type cgroup in mountinfo.",
        safe: &[
            Advice {
                text: "Remove the empty directory in that hierarchy (rmdir refuses one that has tasks)",
                command: Some("rmdir {path}"),
                proven: Proven::Untested,
            },
            Advice {
                text: "Unmount the hierarchy if nothing needs it, or upgrade to a runtime that knows it",
                command: None,
                proven: Proven::Untested,
            },
        ],
        danger: Danger {
            action: "kubectl delete pod --force",
            breaks: "It helps nothing: the directory stays, and the API object was not waiting for it.",
        },
        sources: &["runc#4181"],
        event_reason: "PodCgroupLeft",
        diagnosis: Proven::Observation,
    };

    /// systemd does not finish the stop of the pod's slice.
    CGROUP_SYSTEMD_TIMEOUT = Cause {
        id: "CgroupSystemdTimeout",
        area: Area::Gate(Gate::CgroupRemoved),
        title: "systemd does not remove the pod's slice in time",
        meaning: "With the systemd cgroup driver the kubelet asks systemd to stop the pod's slice and waits 30 s. \
            systemd did not finish: it is overloaded, or its job hangs on a scope in the slice. Often this is \
            transient and the next try succeeds.",
        proof: "The slice still exists and its cgroup has no task and no child; the kubelet says Timed out while \
            waiting for systemd to remove, or systemd shows the unit as stopping or failed.",
        safe: &[
            Advice {
                text: "Wait for the kubelet's next try (10 to 15 s) and look again",
                command: None,
                proven: Proven::Untested,
            },
            Advice {
                text: "See what systemd says about the slice",
                command: Some("systemctl status --no-pager {unit}"),
                proven: Proven::Untested,
            },
            Advice {
                text: "Stop the pod's slice",
                command: Some("systemctl stop {unit}"),
                proven: Proven::Untested,
            },
            Advice {
                text: "Then let systemd forget its failed state",
                command: Some("systemctl reset-failed {unit}"),
                proven: Proven::Untested,
            },
        ],
        danger: Danger {
            action: "systemctl stop of kubepods.slice",
            breaks: "Every pod of the node is killed.",
        },
        sources: &["kubernetes#97497", "kubernetes#108891"],
        event_reason: "PodCgroupBusy",
        diagnosis: Proven::Observation,
    };

    /// The node is done, but the API has not taken the final status.
    STATUS_NOT_REPORTED = Cause {
        id: "StatusNotReported",
        area: Area::Gate(Gate::StatusReported),
        title: "The kubelet's final status has not reached the API",
        meaning: "Nothing of the pod is left on the node, but the API does not show its final phase. The kubelet \
            cannot read or patch the status: its certificate has expired, it is not allowed to, a webhook refuses, or \
            the API server cannot be reached. It tries again every 10 s.",
        proof: "No container, sandbox, mount or cgroup of the pod is left, and the pod's phase in the API stays \
            non-terminal for longer than a minute. The kubelet says Failed to update status for pod.",
        safe: &[
            Advice {
                text: "Read the kubelet's reason",
                command: Some("journalctl -u {kubelet_unit} --since -15min --no-pager --grep \"status for pod\""),
                proven: Proven::Untested,
            },
            Advice {
                text: "Check whether the node is Ready, whether the kubelet's client certificate is valid, and \
                    whether an admission webhook matches pods/status",
                command: None,
                proven: Proven::Untested,
            },
            Advice {
                text: "Once that is repaired, wait 10 s: the kubelet reports by itself",
                command: None,
                proven: Proven::Untested,
            },
        ],
        danger: Danger {
            action: "kubectl delete pod --force on every stuck pod",
            breaks: "The reason stays, so every later pod of this node is stuck too, and the next one may still run.",
        },
        sources: &["reference: kubelet status manager syncPod, API-side look-alikes"],
        event_reason: "PodStatusNotReported",
        diagnosis: Proven::Observation,
    };

    /// The node is done; the object is kept by the API side.
    FINALIZERS_REMAIN = Cause {
        id: "FinalizersRemain",
        area: Area::Gate(Gate::ObjectRemoved),
        title: "The node is done; the API side keeps the object",
        meaning: "The kubelet has released everything and its final status is in the API. What keeps the object is \
            on the API side: a finalizer that its controller has not removed, or a webhook that refuses the last \
            delete. Nothing on this node can help.",
        proof: "Nothing of the pod is left on the node, its phase is terminal, and metadata.finalizers is not empty \
            (or the kubelet's log says Failed to delete status for pod).",
        safe: &[
            Advice {
                text: "Look at metadata.finalizers of the pod, find the controller that owns each, and bring it back; \
                    it removes its own finalizer when its work is done",
                command: None,
                proven: Proven::Untested,
            },
            Advice {
                text: "Ask the API side what keeps {pod}: kubectl why-terminating",
                command: None,
                proven: Proven::Untested,
            },
            Advice {
                text: "If there is no finalizer, look for an admission webhook that refuses DELETE of pods",
                command: None,
                proven: Proven::Untested,
            },
        ],
        danger: Danger {
            action: "Patching the finalizers away",
            breaks: "The work they stand for is never done: external resources, addresses or records leak.",
        },
        sources: &["reference: kubelet canBeDeleted, API-side look-alikes"],
        event_reason: "PodFinalizersRemain",
        diagnosis: Proven::Observation,
    };
}
