//! Gate `ContainersStopped`: why a container that should have ended is RUNNING.

use super::kubelet::AT_THE_KUBELET;
use crate::cause::node::uninterruptible::READ_STACK;
use crate::cause::page::*;

causes! {
    GRACE_PERIOD_RUNNING = Cause::gate(Gate::ContainersStopped, "GracePeriodRunning")
        .title("The grace period is still running")
        .meaning("The pod was asked to end and its time for that is not over. A preStop hook and the reaction to the \
            stop signal share this time. The kubelet sends SIGKILL only when it has passed, so this is progress, not a \
            fault.")
        .proof("metadata.deletionTimestamp (it already includes the grace period) lies in the future.")
        .safe(&[
            check("Wait until the grace period has ended").lab("grace"),
            check("Read the log of container {container} if the application should have ended by now: a preStop hook or \
                a handler of the stop signal may wait for something")
                .run("{crictl} --runtime-endpoint {cri_endpoint} logs --tail 50 {container}"),
            step("If you do not need the orderly end, shorten it: kubectl delete pod with a smaller --grace-period (at \
                least 1); what the application has not written by then is lost"),
        ])
        .dont("Do not run kubectl delete pod --grace-period=0 --force",
            "The API forgets the pod at once while its processes may still run; a replacement can write the same data \
                at the same time.")
        .sources(&["kubernetes#127339", "reference: kubelet killPod, calculateEffectiveGracePeriod"])
        .patience(Patience::NextTry)
        .event_reason("PodInGracePeriod")
        .diagnosis(Proven::Lab("grace"));

    RUNC_INIT_STUCK = Cause::gate(Gate::ContainersStopped, "RuncInitStuck")
        .title("A runc init process hangs in the pod's cgroup")
        .meaning("The runtime started a container and its helper, runc init, never became the application: it is \
            frozen or in state D. The container is not running in the usual sense, but the process keeps the start, \
            the stop and the cgroup busy.")
        .proof("A process in the pod's cgroup has had the comm runc:[1:CHILD] or runc:[2:INIT] for 15 s and more, and the \
            pod's deadline has passed. Whatever is executed in a container is called so for a moment, and a process can \
            call itself so, so it is only probable.")
        .safe(&[
            READ_STACK,
            step("If its cgroup is frozen, thaw it; runc init then dies or continues"),
            step("If it is in state D, repair the memory, disk or file system it waits for"),
            step("If it is not in state D, kill it; no application has started in it").run("kill -9 {pid}"),
        ])
        .dont("Do not run kubectl delete pod --force",
            "runc init stays and keeps the pod's cgroup busy; the node leaks a cgroup for each such pod.")
        .sources(&["containerd#8102", "kubernetes#123766", "runc#2105", "kubernetes#104280", "runc#3217"])
        .event_reason("PodProcessUninterruptible")
        .diagnosis(Proven::Observation);

    KILL_NOT_ATTEMPTED = Cause::gate(Gate::ContainersStopped, "KillNotAttempted")
        .title("The kubelet has not tried to kill the containers yet")
        .meaning("The deadline has passed, but no process of the pod has SIGKILL pending or is exiting, and none is \
            held by the kernel: the signal was not sent. The kubelet's pod worker has not come to the termination. It still waits for a \
            SyncPod in progress (an image pull, a container start) or for a fresh list from the PLEG.")
        .proof("CRI says RUNNING past deletionTimestamp; every task of the containers is alive without SIGKILL (0x100) \
            in SigPnd or ShdPnd and not in D, T or frozen. No Killing event exists, or kubelet_pleg_last_seen is old.")
        .safe(&[
            check("Check the runtime: a hanging pull, start or list keeps the pod worker waiting; repair that")
                .run("{crictl} --runtime-endpoint {cri_endpoint} ps -a"),
            check("Read the kubelet's log of the last minutes for this pod")
                .read(log_of!("kubelet", "-15min", "{uid}")),
            check("Wait until the current sync has returned; the kubelet then kills the containers by itself"),
            step("If it never returns, restart the kubelet; containers keep running and it starts the termination anew")
                .run("systemctl restart {kubelet_unit}"),
        ])
        .dont("Do not run kubectl delete pod --force",
            "The containers are healthy and run on without an API object; a replacement can write the same data at the \
                same time.")
        .sources(&["kubernetes#121435", "kubernetes#113606", "reference: kubelet podWorkerLoop GetNewerThan"])
        .event_reason("PodKillNotAttempted")
        .outranked_by(AT_THE_KUBELET)
        .diagnosis(Proven::Observation);

    RUNTIME_LOST_EXIT = Cause::gate(Gate::ContainersStopped, "RuntimeLostExit")
        .title("The runtime says RUNNING but the process is gone")
        .meaning("The container's process has ended, but the runtime still reports RUNNING. It missed the exit, or the \
            clean-up after the exit (runc delete, unmounting the rootfs, writing the new state to a disk that is full) keeps \
            failing, or took longer than containerd's 10 s. CRI-O reads the exit from a file that conmon writes, and \
            conmon may be gone too. The kubelet believes the runtime and waits.")
        .proof("CRI says RUNNING; the init pid of the verbose ContainerStatus no longer exists, or is a process outside of \
            the pod's cgroup that is younger than the container; no task is in the container's cgroup, and no holder of \
            the rootfs was found. A shim in the bundle of the sandbox that has no child is left over. Where one of these \
            could not be looked at, it is only probable, and so it is on CRI-O.")
        .safe(&[
            check("Search the runtime's log for this container and repair what its clean-up fails at; for \"no space left on \
                device\" make room on the runtime's disk")
                .read(log_of!("runtime", "-1h", "{container}")),
            check("See whether its conmon still runs, where CRI-O's own setting puts it")
                .run("systemctl is-active {unit}").if_known(),
            check("Wait one back-off (containerd retries after 1 s up to 5 min)"),
            step("End the left-over shim, pid {shim_pid}, once no process of the pod is left under it")
                .run("kill {shim_pid}").if_known(),
            step("Restart the runtime: it loads its state again and marks the container as exited; other containers \
                keep running")
                .run("systemctl restart {runtime_unit}"),
        ])
        .dont("Do not delete the runtime's state or bundle directory by hand",
            "A rootfs or volume may still be mounted in it and its content would be deleted; the runtime loses what it \
                needs to clean up.")
        .sources(&[
            "containerd#4016", "containerd#5708", "containerd#12678", "containerd#7496", "containerd#8931", "containerd#9309",
            "containerd#8954", "cri-o#9406", "cri-o#7053", "reference: containerd TaskExit handling",
        ])
        .event_reason("PodRuntimeLostExit")
        .diagnosis(Proven::Lab("full-disk"));

    CRIO_STOP_LOOP_STUCK = Cause::gate(Gate::ContainersStopped, "CrioStopLoopStuck")
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
        .dont("Do not run kubectl delete pod --force",
            "The container runs on without an API object; a replacement can write the same data.")
        .sources(&["cri-o#6699", "cri-o#9754", "cri-o#6865"])
        .event_reason("PodRuntimeStopStuck")
        .patience(Patience::Seconds(180))
        .outranked_by(AT_THE_KUBELET)
        .diagnosis(Proven::Observation);
}
