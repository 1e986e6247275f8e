//! Objects that show why the finalizer of another stays: its Job, its IngressClass.

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

/// Kinds whose objects are no controller's without the class that they name: group and plural, the field, and the class.
const CLASSES: &[(&str, &str, Field, &str, &str)] =
    &[("gateway.networking.k8s.io", "gateways", Field::GatewayClass, "gatewayclasses", "GatewayClass")];

/// The class that the object names, where it does not exist: then no controller takes the object for its own.
pub fn missing_class(lister: &Lister, target: &ObjectRef, diagnosis: &mut Diagnosis) -> Option<ObjectRef> {
    let Resource { group, plural, .. } = &target.resource;
    let (.., field, classes, kind) = CLASSES.iter().find(|(of, its, ..)| *of == group && *its == plural)?;
    let answer = lister.with_status(&target.resource, target.namespace.as_deref(), &target.name);
    let name = diagnosis.silently(answer)?.spec.references.first(*field)?;
    // In the version in which the object is served its class may not be.
    let (resource, _) = diagnosis.silently(lister.discovery())?.find(group, classes)?;
    let class = ObjectRef { kind: (*kind).into(), resource, namespace: None, name: name.to_owned() };
    let answer = lister.object(&class.resource, None, &class.name);
    let is_gone = answer.is_missing();
    diagnosis.optional(class.to_string(), "whether a controller takes the object for its own", answer);
    is_gone.then_some(class)
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
