//! The shim, the runtime or its bookkeeping keeps a container from ending.

use crate::Gate;
use crate::cause::entry::{Cause, Danger, Patience, Proven, step};

causes! {
    /// The shim of the sandbox is stopped or hangs.
    SHIM_NOT_RESPONDING = Cause::at(Gate::ContainersStopped, "ShimNotResponding")
        .title("The containerd shim does not respond")
        .meaning("The runtime reaches every container of a pod through one shim process. This shim lives but does not \
            answer: it is stopped, or its threads are blocked. Stop requests run into their deadline and the \
            containers stay as they are.")
        .proof("The shim process of the sandbox (-id <sandbox>) exists and is in state T, or its threads are D or wait \
            without end, and CRI still reports RUNNING. containerd may log: get state for <id>: context deadline \
            exceeded.")
        .safe(&[
            step("If shim pid {shim_pid} is stopped (state T), let it run again")
                .run("kill -CONT {shim_pid}").lab("shim-stopped"),
            step("Ask the shim for a stack dump: it shows where it hangs").run("kill -USR1 {shim_pid}"),
            step("Look at the threads of the shim: one in state D waits for a file system or device, repair that"),
            step("Kill this shim; containerd cleans up after it, and every container of this pod that still runs ends \
                at once, without its grace period")
                .run("kill -9 {shim_pid}"),
        ])
        .danger(Danger::new(
            "kubectl delete pod --force",
            "The containers go on running behind the hung shim and nothing stops them any more; a replacement can \
                write the same data.",
        ))
        .sources(&["containerd#2438", "containerd#6080"])
        .event_reason("PodShimNotResponding")
        .diagnosis(Proven::Lab("shim-stopped"));

    /// The shim is gone and the container's init lives on.
    SHIM_GONE = Cause::at(Gate::ContainersStopped, "ShimGone")
        .title("The shim is gone while the container still runs")
        .meaning("The shim of this sandbox has died, but the container's init lives on with another parent. containerd \
            normally notices this and cleans up within seconds. If it lasts, containerd has missed it (it was down, or \
            could not load the shim again), and no stop request can reach the container.")
        .proof("CRI says RUNNING, and the container's init lives in a pid namespace of its own with pid 1 as its \
            parent: the shim that started it, and would be its parent, is gone.")
        .safe(&[
            step("Wait a minute and look again: containerd usually cleans up after a lost shim by itself"),
            step("Restart the runtime so that it loads its state again; other containers keep running")
                .run("systemctl restart {runtime_unit}"),
            step("If it still lives after its grace period, kill the container's init, pid {pid}; data that the \
                application has only in memory is lost")
                .run("kill -9 {pid}").lab("shim-killed"),
        ])
        .danger(Danger::new(
            "kubectl delete pod --force",
            "The container runs on with neither a shim nor an API object to find it by; a replacement can write the \
                same data.",
        ))
        .sources(&["reference: containerd \"shim disconnected\", \"failed to clean up after shim disconnected\""])
        .event_reason("PodShimGone")
        .diagnosis(Proven::Lab("shim-killed"));

    /// The process has ended but the runtime says RUNNING.
    RUNTIME_LOST_EXIT = Cause::at(Gate::ContainersStopped, "RuntimeLostExit")
        .title("The runtime says RUNNING but the process is gone")
        .meaning("The container's process has ended, but the runtime still reports RUNNING. It missed the exit, or the \
            clean-up after the exit (runc delete, unmounting the rootfs) keeps failing. The kubelet believes the \
            runtime and waits.")
        .proof("CRI says RUNNING; the init pid of the verbose ContainerStatus no longer exists or has another start \
            time, no task is in the container's cgroup, and no holder of the rootfs was found.")
        .safe(&[
            step("Search the runtime's log for this container and repair what its clean-up fails at")
                .run("journalctl -u {runtime_unit} --since -1h --no-pager --grep {container}"),
            step("Wait one back-off (containerd retries after 1 s up to 5 min)"),
            step("Restart the runtime: it loads its state again and marks the container as exited; other containers \
                keep running")
                .run("systemctl restart {runtime_unit}"),
        ])
        .danger(Danger::new(
            "Deleting the runtime's state or bundle directory by hand",
            "A rootfs or volume may still be mounted in it and its content would be deleted; the runtime loses what it \
                needs to clean up.",
        ))
        .sources(&["containerd#4016", "containerd#5708", "reference: containerd TaskExit handling"])
        .event_reason("PodRuntimeLostExit")
        .diagnosis(Proven::Observation);

    /// Something uses the container's root file system, so the runtime cannot unmount it.
    ROOTFS_BUSY = Cause::at(Gate::ContainersStopped, "RootfsBusy")
        .title("The container's root file system is in use")
        .meaning("The container's process has ended, but another process on the node keeps a file or its working \
            directory in the container's root file system. The runtime cannot unmount it, so the container never \
            becomes EXITED.")
        .proof("CRI says RUNNING and the init pid is gone; <bundle>/rootfs is still in mountinfo, and a process \
            outside the container has its cwd, root, exe, an fd or a mapping on that mount.")
        .safe(&[
            step("End or restart {comm} (pid {pid}), which holds the root file system")
                .run("kill {pid}").lab("rootfs-busy").if_known(),
            step("The holder belongs to {owner}: stop its habit of entering other containers' file systems").if_known(),
            step("When the holder is gone, wait: the runtime retries after 1 s up to 5 min"),
        ])
        .danger(Danger::new(
            "umount -l of the rootfs, or deleting the bundle directory",
            "The lazy unmount hides the mount while the holder keeps it and its snapshot in use. Deleting the \
                directory deletes through whatever is still mounted there.",
        ))
        .sources(&["containerd#4020", "gvisor#9834", "reference: containerd \"failed rootfs umount\""])
        .event_reason("PodRootfsBusy")
        .diagnosis(Proven::Lab("rootfs-busy"));

    /// A slow unmount made the runtime forget a shim.
    SHIM_LEAKED = Cause::at(Gate::ContainersStopped, "ShimLeaked")
        .title("A shim is left over from an exit that took too long")
        .meaning("The clean-up after an exit took longer than containerd's 10 s, usually an unmount under slow I/O. \
            containerd before the fix lost track of it: a shim remains for a sandbox that is gone, or a container \
            stays RUNNING without a task.")
        .proof("CRI lists a RUNNING container whose pid is gone, the sandbox has no process either, and a process that \
            runs containerd-shim-runc-* stands in the bundle of that sandbox and has no child.")
        .safe(&[
            step("Check that the disk is not overloaded and wait for the runtime's next try (up to 5 min)"),
            step("End the left-over shim, pid {shim_pid}, once no process of the pod is left under it")
                .run("kill {shim_pid}"),
            step("Upgrade containerd to a release with the fix (PR #8954; 1.7: #9003, 1.6: #9004)"),
        ])
        .danger(Danger::new("Killing all shims of the node", "Every running pod of this node loses its containers."))
        .sources(&["containerd#7496", "containerd#8931", "containerd#9309", "containerd#8954"])
        .event_reason("PodShimLeaked")
        .diagnosis(Proven::Observation);

    /// CRI-O's stop loop for a container makes no progress.
    CRIO_STOP_LOOP_STUCK = Cause::at(Gate::ContainersStopped, "CrioStopLoopStuck")
        .title("The stop loop of CRI-O is stuck")
        .meaning("CRI-O runs one background loop that stops a container. This loop is deadlocked, known after a \
            kubelet restart with a long grace period. The process is alive and could be killed, but every further \
            StopContainer waits for the stuck loop.")
        .proof("The runtime is CRI-O; the container is RUNNING past its deadline; its tasks are alive, not in D, and \
            SIGKILL is not pending although StopContainer has been called.")
        .safe(&[
            step("Restart CRI-O; running containers stay, and the kubelet asks again")
                .run("systemctl restart {runtime_unit}"),
            step("Upgrade CRI-O to a release in which the deadlock is fixed"),
        ])
        .danger(Danger::new(
            "kubectl delete pod --force",
            "The container runs on without an API object; a replacement can write the same data.",
        ))
        .sources(&["cri-o#6699", "cri-o#9754", "cri-o#6865"])
        .event_reason("PodRuntimeStopStuck")
        .patience(Patience::Seconds(180))
        .diagnosis(Proven::Observation);

    /// conmon and the container process are both gone.
    CONMON_GONE = Cause::at(Gate::ContainersStopped, "ConmonGone")
        .title("conmon is gone and nobody recorded the exit")
        .meaning("CRI-O learns of an exit from a file that conmon writes. Here conmon and the container's process are \
            both gone and the file was never written. CRI-O goes on reporting a running container.")
        .proof("The runtime is CRI-O; CRI says RUNNING; the container's pid and its conmon do not exist, and \
            /var/run/crio/exits/<id> is missing.")
        .safe(&[
            step("Restart CRI-O: it checks its containers again; running ones stay")
                .run("systemctl restart {runtime_unit}"),
            step("Find out what killed conmon (memory pressure, a stop of the whole pod slice) and prevent it"),
        ])
        .danger(Danger::new(
            "Writing the exit file by hand",
            "CRI-O takes an invented exit code for the truth and reports it to the kubelet.",
        ))
        .sources(&["cri-o#9406", "cri-o#7053"])
        .event_reason("PodRuntimeLostExit")
        .diagnosis(Proven::Observation);

    /// The guest of a VM or sandboxed runtime is gone, its shim stays.
    SANDBOXED_GUEST_GONE = Cause::at(Gate::ContainersStopped, "SandboxedGuestGone")
        .title("The guest of a sandboxed runtime is gone")
        .meaning("The pod runs under a VM or sandboxed runtime (Kata, gVisor, wasm). Its guest has died, for example \
            the qemu process was killed, but the shim still lives and asks a guest that cannot answer. The containers \
            stay RUNNING.")
        .proof("CRI lists a RUNNING container whose pid is gone, and the process that stands in the bundle of its \
            sandbox runs another shim than containerd-shim-runc-* and has no child: no guest (qemu, the sentry, …) is \
            left below it.")
        .safe(&[
            step("See whether the kernel killed the guest (out of memory)").run("dmesg -T"),
            step("End the shim, pid {shim_pid}: the guest it serves no longer exists").run("kill {shim_pid}"),
            step("Upgrade the sandboxed runtime"),
        ])
        .danger(Danger::new(
            "Killing shims of other pods, or deleting the sandbox's directory",
            "Other pods lose their containers; deleted directories may still have volumes mounted in them.",
        ))
        .sources(&["gvisor#9834", "kata-runtime#2611", "containerd-wasm-shims#207"])
        .event_reason("PodSandboxedGuestGone")
        .diagnosis(Proven::Observation);

    /// The runtime could not load the container's state.
    CONTAINER_STATE_UNKNOWN = Cause::at(Gate::ContainersStopped, "ContainerStateUnknown")
        .title("The runtime does not know the container's state")
        .meaning("The runtime could not load this container when it started, so it reports UNKNOWN. The kubelet stops \
            only RUNNING containers one by one and leaves this one to StopPodSandbox, which should clear it. If it \
            stays, StopPodSandbox fails, or a process of the container is still there.")
        .proof("CRI lists the container as CONTAINER_UNKNOWN past the pod's deadline.")
        .safe(&[
            step("Wait for the kubelet's next StopPodSandbox (10 to 15 s after the last failure) and look again"),
            step("Read why the runtime could not load the container")
                .run("journalctl -u {runtime_unit} --since -1h --no-pager --grep {container}"),
            step("Restart the runtime so that it tries to load the container again; running ones stay")
                .run("systemctl restart {runtime_unit}"),
        ])
        .danger(Danger::new(
            "crictl rm -f of the container, or deleting its bundle",
            "UNKNOWN does not mean dead: a process may still run and write, and after the removal nobody tracks it.",
        ))
        .sources(&["reference: containerd state load, kubelet ConvertPodStatusToRunningPod"])
        .event_reason("PodContainerStateUnknown")
        .diagnosis(Proven::Observation);

    /// An old static pod keeps the full name that its successor needs.
    STATIC_POD_NAME_HELD = Cause::at(Gate::ContainersStopped, "StaticPodNameHeld")
        .title("An old static pod holds the name of its successor")
        .meaning("A static pod's manifest was changed, which makes a pod with a new UID and the same full name. The \
            kubelet starts it only when the worker of the old UID has finished. The old one has not, so a component \
            (perhaps of the control plane) does not start.")
        .proof("Two UIDs of the same namespace and name are known from CRI labels or cgroups, and the containers of \
            the old one still run or its worker has not finished.")
        .safe(&[
            step("Treat what blocks the old UID (see its own findings); the new pod then starts after 10 to 15 s"),
            step("Stop the container of the old UID").run("crictl stop {container}"),
            step("If the worker of the old UID still does not finish, restart the kubelet; running containers stay")
                .run("systemctl restart {kubelet_unit}"),
        ])
        .danger(Danger::new(
            "kubectl delete of the mirror pod",
            "The mirror object is only a picture: the kubelet makes it again, and nothing on the node changes.",
        ))
        .sources(&["kubernetes#109596", "kubernetes#112814", "kubernetes#116880", "kubernetes#107483"])
        .event_reason("PodStaticNameHeld")
        .diagnosis(Proven::Observation);

    /// The pod is gone from the API but its containers run.
    FORCE_DELETED_STILL_RUNNING = Cause::at(Gate::ContainersStopped, "ForceDeletedStillRunning")
        .title("The pod is gone from the API but its containers still run")
        .meaning("The API object was deleted by force, or lost, while containers of the pod still run here. Nothing in \
            the API shows them. A replacement of this pod may write the same data at the same time: data can be \
            damaged.")
        .proof("CRI lists RUNNING containers with a pod UID that the API server does not know on this node, for longer \
            than the kubelet's clean-up of orphans takes; static and mirror pods are excluded.")
        .safe(&[
            step("Check whether a replacement runs on the same data and, if so, scale it down first"),
            step("Stop the container in the orderly way, with 30 s to finish")
                .run("crictl stop --timeout 30 {container}"),
            step("If it does not stop, kill its init, pid {pid}; what it has only in memory is lost")
                .run("kill -9 {pid}").lab("force-deleted").if_known(),
        ])
        .danger(Danger::new(
            "Letting the replacement run on, or forcing the next delete",
            "Two instances write one volume or claim one identity; data can be lost without any error.",
        ))
        .sources(&["reference: kubelet SyncTerminatingRuntimePod, HandlePodCleanups"])
        .event_reason("PodForceDeletedStillRunning")
        .diagnosis(Proven::Lab("force-deleted"));
}
