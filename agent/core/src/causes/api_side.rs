//! The node is done; the rest is between the kubelet and the API server, or the API server's alone.

use findings::{Finding, Gate, Placeholder, cause};

use super::{Found, runtime};
use crate::view::{PodView, RETRY_WINDOW_MS};

/// The kubelet has not reported the final status: the phase in the API is not terminal.
pub fn status_not_reported(view: &PodView) -> Option<Finding> {
    let api = view.api.filter(|pod| is_open(&pod.phase) && !pod.mirror)?;
    if !view.is_overdue_by(RETRY_WINDOW_MS) {
        return None;
    }
    let cause = &cause::STATUS_NOT_REPORTED;
    let found = runtime::named(view, Found::new(cause, Some(Gate::StatusReported)))
        .probable()
        .link("this node", "containers, sandboxes, volumes and cgroup are gone")
        .blame("API server", format!("status.phase is still {}", api.phase))
        .evidence("status.phase", &api.phase)
        .root(view.uid());
    Some(found.finish())
}

/// The kubelet has done its part and finalizers keep the object.
pub fn finalizers(view: &PodView) -> Option<Finding> {
    let api = view.api.filter(|pod| !pod.finalizers.is_empty())?;
    let cause = &cause::FINALIZERS_REMAIN;
    let names: Vec<String> = api.finalizers.iter().take(8).map(|name| findings::clean(name, 120)).collect();
    let found = runtime::named(view, Found::new(cause, Some(Gate::ObjectRemoved)))
        .link("this node", "containers, sandboxes, volumes and cgroup are gone")
        .blame("API server", format!("finalizers {}", names.join(", ")))
        .evidence("metadata.finalizers", names.join(", "))
        .root(view.uid());
    Some(found.finish())
}

/// Neither `Succeeded` nor `Failed`, as far as is known.
pub fn is_open(phase: &str) -> bool {
    !matches!(phase, "Succeeded" | "Failed" | "")
}

/// Devices (DRA) are still prepared for the pod.
pub fn devices(view: &PodView) -> Option<Finding> {
    let holds = view.seen.node.dra_pods.get()?.contains(view.uid());
    if !holds {
        return None;
    }
    let claims = view.api.map(|pod| pod.claims.join(", ")).unwrap_or_default();
    let cause = &cause::DRA_DRIVER_GONE;
    let found = runtime::named(view, Found::new(cause, Some(Gate::DevicesUnprepared)))
        .probable()
        .blame(format!("resource claims {claims}"), "the kubelet has not been able to unprepare them")
        .evidence("dra_manager_state", "still lists this pod")
        .name_if(Placeholder::Claim, (!claims.is_empty()).then_some(claims))
        .root(view.uid());
    Some(found.finish())
}
