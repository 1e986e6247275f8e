//! Objects that tell why the finalizer of another stays: its Job, its IngressClass.

use crate::diagnosis::Diagnosis;
use crate::lister::Lister;
use crate::rules::phrases::Quote;
use crate::state::*;

/// Why a pod may not be counted: its Job is another controller's, or it has none.
pub fn job(lister: &Lister, target: &ObjectRef, meta: &Meta, diagnosis: &mut Diagnosis) -> Option<Quote> {
    let owner = meta.owner_references.first()?;
    if owner.kind != "Job" || owner.group_version().0 != known::JOBS.group {
        let says = format!(
            "owned by {} {}, which is no Job: the Job controller leaves such a pod alone",
            owner.kind, owner.name
        );
        return Some((target.to_string(), says));
    }
    let answer = lister.get::<Job>(known::JOBS, target.namespace.as_deref(), &owner.name);
    let shown = format!("Job {}", owner.name);
    let job = diagnosis.optional(&shown, "who counts the pod", answer)?;
    let manager = &job.spec.managed_by;
    let is_foreign = !manager.is_empty() && manager != "kubernetes.io/job-controller";
    is_foreign.then(|| (shown, format!("spec.managedBy {manager}: that controller counts its pods")))
}

/// Why no update of an Ingress is taken: the AWS controller's webhook refuses those whose class is gone.
pub fn ingress_class(lister: &Lister, target: &ObjectRef, finalizer: &str, diagnosis: &mut Diagnosis) -> Option<Quote> {
    if !target.is(known::INGRESSES) || finalizer != "ingress.k8s.aws/resources" {
        return None;
    }
    let answer = lister.get::<Ingress>(known::INGRESSES, target.namespace.as_deref(), &target.name);
    let class = &diagnosis.optional(target.to_string(), "its class", answer)?.spec.ingress_class_name;
    if class.is_empty() {
        return None;
    }
    let resource = Resource::new("networking.k8s.io", "v1", "ingressclasses");
    let answer = lister.object(&resource, None, class);
    let is_gone = answer.is_missing();
    diagnosis.optional(format!("IngressClass {class}"), "whether the Ingress may be updated", answer);
    is_gone.then(|| {
        let says = "does not exist: the controller's own webhook refuses every update of the Ingress until it does";
        (format!("IngressClass {class}"), says.to_owned())
    })
}
