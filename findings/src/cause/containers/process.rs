//! The container's processes themselves do not end.

use crate::Gate;
use crate::cause::entry::{Cause, Danger, Proven, step};

causes! {
    /// The pod is inside its grace period; nothing is wrong.
    GRACE_PERIOD_RUNNING = Cause::at(Gate::ContainersStopped, "GracePeriodRunning")
        .title("The grace period is still running")
        .meaning("The pod was asked to end and its time for that is not over. A preStop hook and the reaction to the \
            stop signal share this time. The kubelet sends SIGKILL only when it has passed, so this is progress, not a \
            fault.")
        .proof("metadata.deletionTimestamp (it already includes the grace period) lies in the future.")
        .safe(&[
            step("Wait until the grace period is over").lab("grace"),
            step("Read the log of container {container} if the application should have ended by now: a preStop hook or \
                a handler of the stop signal may wait for something")
                .run("crictl logs --tail 50 {container}"),
            step("If nobody needs the orderly end, shorten it: kubectl delete pod with a smaller --grace-period (at \
                least 1); what the application has not written by then is lost"),
        ])
        .danger(Danger::new(
            "kubectl delete pod --grace-period=0 --force",
            "The API forgets the pod at once while its processes may still run; a replacement can write the same data \
                at the same time.",
        ))
        .sources(&["kubernetes#127339", "reference: kubelet killPod, calculateEffectiveGracePeriod"])
        .event_reason("PodInGracePeriod")
        .diagnosis(Proven::Lab("grace"));

    /// A FUSE server has taken a request and does not answer it.
    FUSE_SERVER_NOT_RESPONDING = Cause::at(Gate::ContainersStopped, "FuseServerNotResponding")
        .title("A FUSE server does not answer")
        .meaning("A task waits for a FUSE server that has read its request and does not answer. From then on the wait \
            cannot be interrupted: SIGKILL stays pending and the task stays in state D. Neither the container nor a \
            mount that this task uses can go before the server answers, ends, or its connection is aborted.")
        .proof("A thread is D in a FUSE wait (request_wait_answer, fuse_*), holds a pending SIGKILL, and has not run \
            between two looks at least a quarter of a second apart; the mount comes from the descriptor of its system \
            call, else from the one mount it can see whose /sys/fs/fuse/connections/<minor>/waiting is above 0. For a \
            volume: its server is stopped (T), or a stat in a disposable child gets no answer. Several possible \
            mounts, or a holder that is not being killed, make it only probable.")
        .safe(&[
            step("If {server} (pid {server_pid}) is only stopped (state T), let it run again")
                .run("kill -CONT {server_pid}").if_known(),
            step("Make the FUSE server answer: restore what it waits for (its network, its storage) or restart it"),
            step("If it cannot answer any more, abort FUSE connection {connection}: every waiting request fails, every \
                user of its mount gets errors, and writes the server has not stored are lost")
                .run("echo 1 > /sys/fs/fuse/connections/{connection}/abort").lab("dstate-fuse").if_known(),
        ])
        .danger(Danger::new(
            "umount -l of the FUSE mount, or kubectl delete pod --force",
            "The lazy unmount hides the mount from mountinfo and the process stays in D. After the forced delete it \
                stays too, and a replacement can write the same data.",
        ))
        .sources(&[
            "cri-o#9256", "fluid#4002", "kubernetes#96361", "gcs-fuse#50",
            "reference: experiments on Linux 6.18 (FUSE waits, abort)",
        ])
        .event_reason("PodProcessUninterruptible")
        .outranked_by(&[&crate::cause::CSI_DRIVER_NOT_REGISTERED])
        .diagnosis(Proven::Lab("dstate-fuse"));

    /// An NFS server does not answer and a task waits for it.
    NFS_SERVER_NOT_RESPONDING = Cause::at(Gate::ContainersStopped, "NfsServerNotResponding")
        .title("An NFS server does not answer")
        .meaning("A task waits inside the NFS client for a server that does not answer. The task is in state D and \
            does not act on SIGKILL, so the container cannot end. An unmount of the same file system waits as well.")
        .proof("A thread is D in an nfs or rpc function, holds a pending SIGKILL (or is the kubelet's umount), and has \
            not run between two looks at least a quarter of a second apart; mountinfo shows the NFS mount it uses. \
            With several NFS mounts it is only probable which.")
        .safe(&[
            step("Bring the NFS server, or the network to it, back: the waiting tasks then go on by themselves"),
            step("See which kernel function pid {pid} waits in").run("cat /proc/{pid}/stack"),
            step("If the server will not come back, make the requests of {mount} fail; data in flight is lost")
                .run("umount -f {mount}").if_known(),
            step("If a task stays in D after that, drain and reboot the node"),
        ])
        .danger(Danger::new(
            "umount -l on the NFS mount as the first thing, or kubectl delete pod --force",
            "The lazy unmount only hides the mount; the tasks keep waiting and data in flight is lost. After the \
                forced delete a replacement can write the same data as the old process.",
        ))
        .sources(&[
            "kubernetes#72048", "kubernetes#123960", "kubernetes#16104", "rook#6327", "cri-o#9256", "concourse#4477",
        ])
        .event_reason("PodProcessUninterruptible")
        .diagnosis(Proven::Observation);

    /// A task sleeps uninterruptibly and its file system or driver is not a known one.
    UNINTERRUPTIBLE_TASK = Cause::at(Gate::ContainersStopped, "UninterruptibleTask")
        .title("A task sleeps uninterruptibly in the kernel")
        .meaning("A task of the pod waits in the kernel in state D: for a local disk, a device driver, or a file \
            system that was not recognised. The kernel acts on SIGKILL only when this wait ends. Until then the \
            container stays RUNNING and StopContainer runs into its deadline.")
        .proof("A thread is D with SIGKILL pending in SigPnd or ShdPnd, in the same kernel function and with the same \
            count of context switches in two looks at least a quarter of a second apart, and no FUSE or NFS wait is \
            recognised.")
        .safe(&[
            step("See which kernel function pid {pid} waits in").run("cat /proc/{pid}/stack"),
            step("Look for disk, driver and hung task messages of the kernel and repair what they name")
                .run("dmesg -T"),
            step("If the device or driver cannot be made to answer, drain the node and reboot it; what was not written \
                to that device is lost"),
        ])
        .danger(Danger::new(
            "kill -9 again and again, or kubectl delete pod --force",
            "SIGKILL is already pending and a second one changes nothing. After the forced delete the task stays, and \
                a replacement can use the same device or data.",
        ))
        .sources(&[
            "cri-o#9256", "cri-o#7736", "concourse#4477", "reference: CRI-O \"blocked in uninterruptible sleep\"",
        ])
        .event_reason("PodProcessUninterruptible")
        .diagnosis(Proven::Observation);

    /// The init of the pid namespace waits for a zombie whose parent lives outside.
    PID_NAMESPACE_ZOMBIE_UNREAPED = Cause::at(Gate::ContainersStopped, "PidNamespaceZombieUnreaped")
        .title("A zombie in the pid namespace is not reaped by its parent outside")
        .meaning("The container's init was killed and may end only when its pid namespace is empty. One member of the \
            namespace is a zombie whose parent lives outside (an exec helper, nsenter, setns) and does not reap it. \
            Init waits in zap_pid_ns_processes with SIGKILL pending, and the container stays RUNNING.")
        .proof("/proc/<init>/wchan is zap_pid_ns_processes with SIGKILL (0x100) in ShdPnd; another process with the \
            same /proc/<pid>/ns/pid is Z without live threads and its PPid is a process outside that namespace.")
        .safe(&[
            step("End the parent that does not reap, {comm} (pid {parent_pid}), unless it is a shim, the runtime or \
                the kubelet: the zombie then goes to a process that reaps it")
                .run("kill {parent_pid}").lab("zombie-foreign-parent").if_known(),
            step("If the parent outside is the shim, the runtime or the kubelet, restart that one in its own way; \
                otherwise end the exec or nsenter session that started it"),
            step("If pid {parent_pid} does not react, kill it; work it has not finished is lost")
                .run("kill -9 {parent_pid}").if_known(),
        ])
        .danger(Danger::new(
            "kill -9 on the zombie or on the container's init",
            "Nothing happens: the zombie is already dead and init has SIGKILL pending. Time is lost while the true \
                holder, the parent, goes on.",
        ))
        .sources(&[
            "moby#37627", "kubernetes#66892", "reference: experiment with an unreaped child of a foreign parent",
        ])
        .event_reason("PodZombieUnreaped")
        .diagnosis(Proven::Lab("zombie-foreign-parent"));

    /// The container's init is a zombie and its shim does not reap it.
    CONTAINER_INIT_UNREAPED = Cause::at(Gate::ContainersStopped, "ContainerInitUnreaped")
        .title("The shim does not reap the container's init")
        .meaning("The container's init has ended and is a zombie. Its parent, the shim, does not collect it, so the \
            runtime never hears of the exit and keeps the container RUNNING. The shim hangs.")
        .proof("CRI says RUNNING; /proc/<init>/stat says Z with a single thread, and its parent is the shim of the \
            sandbox.")
        .safe(&[
            step("Ask shim pid {shim_pid} for a stack dump first: it shows where the shim hangs")
                .run("kill -USR1 {shim_pid}"),
            step("If the shim is stopped (state T), let it run again").run("kill -CONT {shim_pid}"),
            step("Find the pod's shim (the parent of the zombie) and look at the state of its threads"),
            step("Kill this shim; containerd cleans up after it, and every container of this pod that still runs ends \
                at once, without its grace period")
                .run("kill -9 {shim_pid}"),
        ])
        .danger(Danger::new(
            "kubectl delete pod --force",
            "The API forgets the pod; the hung shim, the sandbox and the mounts stay on the node.",
        ))
        .sources(&["containerd#11133", "containerd#3781", "moby#41323"])
        .event_reason("PodZombieUnreaped")
        .diagnosis(Proven::Observation);

    /// The freezer holds the pod's tasks.
    CGROUP_FROZEN = Cause::at(Gate::ContainersStopped, "CgroupFrozen")
        .title("The pod's cgroup is frozen")
        .meaning("The cgroup freezer holds the tasks of the pod. With cgroup v1 a frozen task does not even receive \
            SIGKILL before it is thawed, so the container never ends. With cgroup v2 SIGKILL gets through, but the \
            stop signal is not handled, so the container ends only after its whole grace period.")
        .proof("v1: freezer.state of the cgroup or a parent says FROZEN or FREEZING (freezer.self_freezing and \
            freezer.parent_freezing tell which). v2: cgroup.freeze is 1 and cgroup.events says frozen 1.")
        .safe(&[
            step("Find out who froze the cgroup (a paused container, a checkpoint, a runc that died halfway) and let \
                it finish if it still works"),
            step("Thaw the cgroup (v1); pending signals are delivered at once")
                .run("echo THAWED > {freezer_state}").lab("frozen-v1").if_known(),
            step("Thaw the cgroup (v2); the stop signal is handled at once")
                .run("echo 0 > {cgroup_freeze}").lab("frozen-v2").if_known(),
        ])
        .danger(Danger::new(
            "kill -9 on the frozen processes (v1), or kubectl delete pod --force",
            "On v1 the signal waits for the thaw. After the forced delete the frozen processes stay; thawed later they \
                run on beside a replacement and can write the same data.",
        ))
        .sources(&["runc#3217", "runc#3081", "runc#2105", "kubernetes#104280"])
        .event_reason("PodCgroupFrozen")
        .diagnosis(Proven::Lab("frozen-v1"));

    /// `runc init` never became the container.
    RUNC_INIT_STUCK = Cause::at(Gate::ContainersStopped, "RuncInitStuck")
        .title("A runc init process hangs in the pod's cgroup")
        .meaning("The runtime started a container and its helper, runc init, never became the application: it is \
            frozen or in state D. The container is not running in the usual sense, but the process keeps the start, \
            the stop and the cgroup busy.")
        .proof("A process in the pod's cgroup still has the comm runc:[1:CHILD] or runc:[2:INIT] although the pod's \
            deadline has passed.")
        .safe(&[
            step("If its cgroup is frozen, thaw it; runc init then dies or goes on"),
            step("See which kernel function pid {pid} waits in").run("cat /proc/{pid}/stack"),
            step("If it is in state D, repair the memory, disk or file system it waits for"),
            step("If it is not in state D, kill it; no application has started in it").run("kill -9 {pid}"),
        ])
        .danger(Danger::new(
            "kubectl delete pod --force",
            "runc init stays and keeps the pod's cgroup busy; the node leaks a cgroup for each such pod.",
        ))
        .sources(&["containerd#8102", "kubernetes#123766", "runc#2105", "kubernetes#104280", "runc#3217"])
        .event_reason("PodProcessUninterruptible")
        .diagnosis(Proven::Observation);

    /// The kubelet has not asked the runtime to stop anything yet.
    KILL_NOT_ATTEMPTED = Cause::at(Gate::ContainersStopped, "KillNotAttempted")
        .title("The kubelet has not tried to kill the containers yet")
        .meaning("The deadline has passed, but no process of the pod has SIGKILL pending and none is held by the \
            kernel: nobody has sent it. The kubelet's pod worker has not come to the termination. It still waits for a \
            SyncPod in progress (an image pull, a container start) or for a fresh list from the PLEG.")
        .proof("CRI says RUNNING past deletionTimestamp; every task of the containers is alive without SIGKILL (0x100) \
            in SigPnd or ShdPnd and not in D, T or frozen. No Killing event exists, or kubelet_pleg_last_seen is old.")
        .safe(&[
            step("Check the runtime: a hanging pull, start or list keeps the pod worker waiting; repair that")
                .run("crictl ps -a"),
            step("Read the kubelet's log of the last minutes for this pod")
                .run("journalctl -u {kubelet_unit} --since -15min --no-pager --grep {uid}"),
            step("Wait until the current sync has returned; the kubelet then kills the containers by itself"),
            step("If it never returns, restart the kubelet; containers keep running and it starts the termination anew")
                .run("systemctl restart {kubelet_unit}"),
        ])
        .danger(Danger::new(
            "kubectl delete pod --force",
            "The containers are healthy and run on without an API object; a replacement can write the same data at the \
                same time.",
        ))
        .sources(&["kubernetes#121435", "kubernetes#113606", "reference: kubelet podWorkerLoop GetNewerThan"])
        .event_reason("PodKillNotAttempted")
        .diagnosis(Proven::Observation);
}
