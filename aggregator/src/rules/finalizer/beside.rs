//! What stands beside an object and tells why its finalizer stays: its Job, its IngressClass.

use crate::graph::{Standing, View};
use crate::state::*;

/// Who says what.
type Says = (String, String);

/// Why a pod may not be counted: its Job is another controller's, or it has none.
pub fn job(view: &View, thing: &Thing, meta: &Meta, standing: &mut Standing) -> Option<Says> {
    let owner = meta.owner_references.first()?;
    if owner.kind != "Job" || owner.group_version().0 != known::JOBS.group {
        let says = format!(
            "owned by {} {}, which is no Job: the Job controller leaves such a pod alone",
            owner.kind, owner.name
        );
        return Some((thing.to_string(), says));
    }
    let answer = view.get::<Job>(known::JOBS, thing.namespace.as_deref(), &owner.name);
    let shown = format!("Job {}", owner.name);
    let job = standing.glance(&shown, "who counts the pod", answer)?;
    let manager = &job.spec.managed_by;
    let is_foreign = !manager.is_empty() && manager != "kubernetes.io/job-controller";
    is_foreign.then(|| (shown, format!("spec.managedBy {manager}: that controller counts its pods")))
}

/// Why no update of an Ingress is taken: the AWS controller's webhook refuses those whose class is gone.
pub fn ingress_class(view: &View, thing: &Thing, finalizer: &str, standing: &mut Standing) -> Option<Says> {
    if !thing.is(known::INGRESSES) || finalizer != "ingress.k8s.aws/resources" {
        return None;
    }
    let answer = view.get::<Ingress>(known::INGRESSES, thing.namespace.as_deref(), &thing.name);
    let class = &standing.glance(thing.to_string(), "its class", answer)?.spec.ingress_class_name;
    if class.is_empty() {
        return None;
    }
    let resource = Resource::new("networking.k8s.io", "v1", "ingressclasses");
    let answer = view.object(&resource, None, class);
    let is_gone = answer.is_missing();
    standing.glance(format!("IngressClass {class}"), "whether the Ingress may be updated", answer);
    is_gone.then(|| {
        let says = "does not exist: the controller's own webhook refuses every update of the Ingress until it does";
        (format!("IngressClass {class}"), says.to_owned())
    })
}
