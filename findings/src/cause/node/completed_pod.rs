//! A pod that has ended, and whose volume stays mounted because a process uses it.

use crate::cause::node::holder::{AFTER_HOLDER, KILL, STOP, STOP_OWNER};
use crate::cause::page::*;

causes! {
    COMPLETED_POD_VOLUME_BUSY = Cause::gate(Gate::VolumesUnmounted, "CompletedPodVolumeBusy")
        .title("A volume of a completed pod cannot be unmounted, because a process uses it")
        .meaning("The pod has ended by itself (a finished Job) and was not deleted, so nothing is \
            Terminating and no event reports it. The kubelet unmounts its volumes all the same, and the kernel says \
            \"target is busy\": a process outside of the pod uses one. As long as it is mounted the volume cannot be \
            detached, and the next pod that needs it on another node waits.")
        .proof("The API says Succeeded or Failed, all containers are terminated for 15 s and more, and there is no \
            deletionTimestamp; a volume of the pod is in the kubelet's mountinfo, and a link of \
            /proc/<pid>/{fd,cwd,root,exe}, the mnt_id in /proc/<pid>/fdinfo or a mapping of a process points to that \
            mount, or to a copy that propagation ties to it.")
        .safe(&[
            STOP.lab("completed-pod").if_known(),
            STOP_OWNER,
            AFTER_HOLDER,
            KILL,
        ])
        .dont("Do not delete the pod to get rid of its volume",
            "The pod is deleted at once and the mount stays, now as that of a pod that the API does not have; the \
                volume is as busy as before.")
        .sources(&["reference: kubelet 1.36, completed pods whose volume is busy"])
        .event_reason("PodVolumeBusy")
        .keeps_attached()
        .followed()
        .diagnosis(Proven::Lab("completed-pod"));
}
