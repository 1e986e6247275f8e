//! The node is done; the rest is between the kubelet and the API server, or the API server's alone.

use super::prelude::*;

/// The kubelet has not reported the final status: the phase in the API is not terminal.
pub fn status_not_reported(view: &PodView) -> Option<Finding> {
    let api = view.api?;
    if !view.is_overdue_by(RETRY_WINDOW_MS) {
        return None;
    }
    let draft = pod_finding(view, &cause::STATUS_NOT_REPORTED, Some(Gate::StatusReported), &[])
        .probable("why the kubelet has not reported it: that is in its log only")
        .link("this node", "containers, sandboxes, volumes and cgroup are gone")
        .blame("API server", format!("status.phase is still {}", api.phase))
        .evidence("status.phase", &api.phase)
        .root(view.uid());
    Some(draft.finish())
}

/// Everything of it that can be seen has ended, and its volumes or its cgroup are still there; the phase says that the
/// kubelet has not come to them.
pub fn termination_not_finished(view: &PodView) -> Option<Finding> {
    let api = view.api.filter(|_| is_before_volumes(view))?;
    let phase = match api.phase.as_str() {
        "Pending" => "Pending, as long as a container of it never ran".to_owned(),
        phase => format!("{phase}; it is terminal when the kubelet comes to the volumes"),
    };
    let draft = pod_finding(view, &cause::TERMINATION_NOT_FINISHED, Some(Gate::SandboxStopped), &[])
        .probable("which of the two it is: the kubelet's log has that")
        .link("this node", "all containers have ended, no sandbox is READY")
        .blame(
            "the kubelet",
            "has not got through StopPodSandbox and the release of devices, or cannot report that it has",
        )
        .evidence("status.phase", phase)
        .name_if(Placeholder::Sandbox, view.sandboxes.first().map(|sandbox| &sandbox.id))
        .root(view.uid());
    let draft = match view.has_lowered_cpu() {
        Some(false) => {
            draft.evidence("cpu.weight of the pod's cgroup", "not lowered, as it is while volumes are awaited")
        }
        _ => draft,
    };
    Some(draft.finish())
}

/// Whether the phase shows that the kubelet is before the gate of the volumes, and has had the time to report. Of a
/// pod that is Pending it does not, but its share of the processors may: while the kubelet waits for volumes it has
/// lowered that.
pub fn is_before_volumes(view: &PodView) -> bool {
    let is_before = match view.is_reported_ended() {
        Some(ended) => !ended && view.has_lowered_cpu() != Some(true),
        None => is_pending(view) && view.has_lowered_cpu() == Some(false),
    };
    is_before && view.is_overdue_by(RETRY_WINDOW_MS)
}

/// Pending in the API, where a phase is informative.
fn is_pending(view: &PodView) -> bool {
    may_be_starting(view) && !view.is_stale() && !view.kubelet.tests_together()
}

/// Whether not all of its containers have started, as far as the API server knows (`getPhase`): then the kubelet may be
/// at that still.
pub fn may_be_starting(view: &PodView) -> bool {
    view.api.is_some_and(|pod| pod.phase == "Pending" && !pod.mirror)
}

/// Finalizers that keep the object: alone when the kubelet has done its part, else after what is left.
pub fn finalizers(view: &PodView, is_alone: bool) -> Option<Finding> {
    let api = view.api.filter(|pod| !pod.finalizers.is_empty())?;
    let names: Vec<String> = api.finalizers.iter().take(8).map(|name| findings::clean(name, 120)).collect();
    let draft = pod_finding(view, &cause::FINALIZERS_REMAIN, Some(Gate::ObjectRemoved), &[]);
    let draft = if api.mirror {
        draft.link("this node", "the object only mirrors a static pod, which does not end with it")
    } else if is_alone {
        draft.link("this node", "containers, sandboxes, volumes and cgroup are gone")
    } else {
        draft
            .probable("that nothing else is left when the node has finished")
            .link("this node", "not done yet; the object stays also when it is")
    };
    let draft = draft
        .blame("API server", format!("finalizers {}", names.join(", ")))
        .evidence("metadata.finalizers", names.join(", "))
        .root(view.uid());
    Some(draft.finish())
}

/// Nothing keeps the object, neither here nor in itself.
pub fn not_deleted(view: &PodView) -> Option<Finding> {
    let is_kept = |pod: &&ApiPod| pod.deletion.is_some() && !pod.mirror && pod.finalizers.is_empty();
    // Up to 1.26 the kubelet asks for no deletion before each container's state is reported, which is not read here.
    let is_reported = view.is_reported_ended() == Some(true) && !view.kubelet.tests_together();
    let api = view.api.filter(is_kept).filter(|_| is_reported && view.is_overdue_by(UNMOUNT_RETRY_MS))?;
    let draft = pod_finding(view, &cause::OBJECT_NOT_DELETED, Some(Gate::ObjectRemoved), &[])
        .probable("who refuses the kubelet's DELETE: that is in its log only")
        .link("this node", "containers, sandboxes, volumes and cgroup are gone")
        .blame("API server", "has the object, without a finalizer; the kubelet's DELETE has not been accepted")
        .evidence("status.phase", findings::clean(&api.phase, 40))
        .root(view.uid());
    Some(draft.finish())
}

/// Neither `Succeeded` nor `Failed`, as far as is known.
pub fn is_open(phase: &str) -> bool {
    !matches!(phase, "Succeeded" | "Failed" | "")
}

#[cfg(test)]
mod tests {
    use crate::test_prelude::*;

    #[test]
    fn a_finalizer_is_not_the_node() {
        let mut seen = sample::deleted();
        seen.api.get_mut().unwrap().pods[0].finalizers = vec!["example.com/hold".into()];
        assert_eq!(causes(&seen), ["FinalizersRemain"]);
    }

    #[test]
    fn a_delete_that_is_not_accepted() {
        let mut seen = sample::deleted();
        assert_eq!(causes(&seen), ["ObjectNotDeleted"]);
        let finding = crate::gates::judge(&seen).pods.remove(0).findings.remove(0);
        assert_eq!(finding.confidence, findings::Confidence::Probable);
        assert!(serde_json::to_string(&finding.remedy.steps).unwrap().contains("webhook"));
        // The kubelet has a moment for it, and deletes a mirror otherwise.
        seen.api.get_mut().unwrap().pods[0].mirror = true;
        assert_eq!(causes(&seen), Vec::<&str>::new());
        let api = seen.api.get_mut().unwrap();
        api.pods[0].mirror = false;
        api.pods[0].deletion = Some(Deletion { deadline_ms: sample::NOW - 60_000, grace_s: 30 });
        assert_eq!(causes(&seen), Vec::<&str>::new());
    }

    #[test]
    fn volumes_that_the_kubelet_has_not_come_to() {
        let mut seen = sample::mounted("ext4");
        sample::set_phase(&mut seen, "Running");
        assert_eq!(causes(&seen), ["TerminationNotFinished"]);
        sample::set_phase(&mut seen, "Succeeded");
        assert_eq!(causes(&seen), ["CsiUnpublishLeftMount"]);
    }

    #[test]
    fn a_status_that_is_not_reported() {
        let mut seen = sample::deleted();
        sample::set_phase(&mut seen, "Running");
        assert_eq!(causes(&seen), ["StatusNotReported"]);
    }
}
