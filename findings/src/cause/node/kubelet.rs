//! The kubelet itself: not running, or running and doing nothing.

use crate::cause::page::*;

/// Beside these a pod says nothing of what the kubelet has not done yet.
pub(super) static AT_THE_KUBELET: &[&Cause] =
    &[&KUBELET_NOT_RUNNING, &KUBELET_STOPPED, &KUBELET_SYNC_LOOP_HUNG, &PLEG_STALLED];

/// What the kubelet's last tries for the pod came to.
pub(super) const KUBELET_SAYS: Advice =
    check("Read what the kubelet's log says about the pod").read(log_of!("kubelet", "-15min", "{uid}"));

causes! {
    KUBELET_NOT_RUNNING = Cause::node("KubeletNotRunning")
        .title("The kubelet does not run")
        .meaning("No kubelet process was found on this node. Nothing stops containers, unmounts volumes or reports a \
            status, so every terminating pod here stays as it is. The containers themselves may run on.")
        .proof("The scan of /proc was complete, saw the host's processes, and found no kubelet (nor a process of \
            k3s, RKE2, k0s, microk8s, MicroShift or KubeEdge that is or contains one) outside of pods.")
        .safe(&[
            check("Read why it ended").read(log_of!("kubelet", "-1h")),
            step("Start the kubelet; running containers are not touched").run("systemctl start {kubelet_unit}"),
            step("If it ends again, repair what its log names (configuration, certificate, runtime socket, full disk)"),
        ])
        .dont("Do not run kubectl delete pod --force for the pods of this node",
            "Their containers may still run here; replacements elsewhere write the same data.")
        .sources(&["reference: API-side look-alikes (kubelet down)"])
        .event_reason("NodeKubeletNotRunning")
        .diagnosis(Proven::Lab("kubelet-killed"));

    KUBELET_STOPPED = Cause::node("KubeletStopped")
        .title("The kubelet is stopped")
        .meaning("The kubelet's process is stopped (SIGSTOP, a debugger, a frozen job): it does not run \
            until it is continued (SIGCONT). Nothing stops containers, unmounts volumes or reports a status, so every \
            terminating pod here stays as it is. The containers themselves keep running.")
        .proof("/proc/<kubelet>/stat says state T (stopped) or t (stopped by a debugger).")
        .safe(&[
            step("Let the kubelet, pid {pid}, continue; it then does everything that has waited")
                .run("kill -CONT {pid}").lab("kubelet-stopped").if_known(),
            check("If it stays stopped, a debugger holds it: end that, TracerPid names it")
                .run("grep TracerPid /proc/{pid}/status"),
            check("Find out who stopped it before it happens again"),
        ])
        .dont("Do not run kubectl delete pod --force for the pods of this node",
            "Their containers still run here; replacements elsewhere write the same data.")
        .sources(&["reference: seen on a real kubelet 1.36"])
        .event_reason("NodeKubeletStopped")
        .diagnosis(Proven::Lab("kubelet-stopped"));

    KUBELET_SYNC_LOOP_HUNG = Cause::node("KubeletSyncLoopHung")
        .title("The kubelet's main loop hangs")
        .meaning("The kubelet runs, but its main loop stands still, usually in a stat or statfs on a mount whose NFS \
            or FUSE server does not answer. Housekeeping is part of this loop, so one dead mount stops every pod of \
            the node. Kubelets since 1.30 are less prone to it, because they use statx.")
        .proof("/healthz of the kubelet fails at its check syncloop.")
        .safe(&[
            check("See which kernel functions the kubelet's threads wait in").run("grep -H . /proc/{pid}/task/*/wchan"),
            step("Bring the NFS or FUSE server behind that mount back: the kubelet then continues by itself"),
            step("If it is a FUSE server that cannot answer any more, abort its connection (abort in \
                /sys/fs/fuse/connections): waiting requests fail and writes the server has not stored are lost"),
            step("If an NFS server will not come back, force the unmount (umount -f); data in flight is lost"),
        ])
        .dont("Do not restart the kubelet again and again",
            "A thread in D cannot die, so the old process stays, and the new one hangs at the same mount.")
        .sources(&[
            "kubernetes#100178", "kubernetes#101622", "kubernetes#90593", "kubernetes#31272", "kubernetes#122318",
            "kubernetes#122491",
        ])
        .event_reason("NodeKubeletHung")
        .diagnosis(Proven::Observation);

    PLEG_STALLED = Cause::node("PlegStalled")
        .title("The kubelet's container list is stale (PLEG)")
        .meaning("The kubelet's PLEG lists all containers every second, and it has not succeeded for more than 3 min. \
            Each pod worker waits, without a message, for a list newer than its last sync. So every terminating pod of \
            the node stands still.")
        .proof("The node's Ready condition says pleg was last seen active … ago; threshold is 3m0s, or \
            kubelet_pleg_last_seen_seconds is older than that, or the log says GenericPLEG: Unable to retrieve pods.")
        .safe(&[
            check("See whether the runtime lists its containers in time").run("{crictl} --runtime-endpoint {cri_endpoint} ps -a"),
            step("Repair what makes the list slow or hang: a hung runtime, a stopped shim, an overloaded disk"),
            step("If the runtime answers and the PLEG does not recover, restart the kubelet; containers keep running")
                .run("systemctl restart {kubelet_unit}"),
        ])
        .dont("Do not run kubectl delete pod --force for the pods of this node",
            "Their containers still run; replacements elsewhere write the same data.")
        .sources(&["kubernetes#121435", "reference: kubelet GenericPLEG, GetNewerThan"])
        .event_reason("NodePlegStalled")
        .diagnosis(Proven::Observation);
}
