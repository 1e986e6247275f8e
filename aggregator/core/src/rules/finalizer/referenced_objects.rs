//! Objects that show why the finalizer of another stays: its Job, its class, its issuer.

use crate::rules::phrases::Quote;
use crate::rules::prelude::*;

/// Who counts a pod.
pub enum CountedBy {
    /// The Job controller, as far as is known.
    JobController,
    /// The controller that its Job names, and where that is said.
    Other(String, Quote),
    /// Its owner is no Job.
    NoJob(Quote),
}

/// Who counts the pod of a Job.
pub fn counted_by(case: &mut Case, target: &ObjectRef, meta: &Meta) -> CountedBy {
    let Some(owner) = meta.owner_references.first() else { return CountedBy::JobController };
    if owner.kind != "Job" || owner.group_version().0 != known::JOBS.group {
        let says = format!(
            "owned by {} {}, which is no Job: the Job controller leaves such a pod alone",
            owner.kind, owner.name
        );
        return CountedBy::NoJob((target.to_string(), says));
    }
    let answer = case.lister.get::<Job>(known::JOBS, target.namespace.as_deref(), &owner.name);
    let shown = format!("Job {}", owner.name);
    match case.diagnosis.optional(&shown, "who counts the pod", answer).map(|job| job.spec.managed_by.as_str()) {
        None | Some("" | "kubernetes.io/job-controller") => CountedBy::JobController,
        Some(manager) => {
            let says = format!("spec.managedBy {manager}: that controller counts its pods");
            CountedBy::Other(manager.to_owned(), (shown, says))
        }
    }
}

/// What the objects of a kind need by name to be handled.
pub struct Needed {
    group: &'static str,
    plural: &'static str,
    field: Field,
    /// The group of what is named.
    of: &'static str,
    /// The kinds it may be, with their plurals; the first where the object does not say it.
    kinds: &'static [(&'static str, &'static str)],
    /// Whether its controller takes the object for its own without it.
    pub is_for_cleanup: bool,
    /// What follows when it does not exist.
    pub words: &'static str,
}

const NEEDED: &[Needed] = &[
    Needed {
        group: "gateway.networking.k8s.io",
        plural: "gateways",
        field: Field::GatewayClass,
        of: "gateway.networking.k8s.io",
        kinds: &[("GatewayClass", "gatewayclasses")],
        is_for_cleanup: false,
        words: "does not exist: no controller takes the object for its own",
    },
    // cert-manager: pkg/controller/acmechallenges/sync.go
    Needed {
        group: "acme.cert-manager.io",
        plural: "challenges",
        field: Field::Issuer,
        of: "cert-manager.io",
        kinds: &[("Issuer", "issuers"), ("ClusterIssuer", "clusterissuers")],
        is_for_cleanup: true,
        words: "does not exist: without it cert-manager cannot clean up",
    },
];

/// What the object names and needs, where it does not exist.
pub fn missing(case: &mut Case, target: &ObjectRef) -> Option<(ObjectRef, &'static Needed)> {
    let Resource { group, plural, .. } = &target.resource;
    let needed = NEEDED.iter().find(|one| one.group == group && one.plural == plural)?;
    let answer = case.lister.with_status(&target.resource, target.namespace.as_deref(), &target.name);
    let named = case.diagnosis.silently(answer)?.spec.references.first(needed.field)?;
    let (kind, plural) = match named.kind.as_str() {
        "" => needed.kinds.first(),
        said => needed.kinds.iter().find(|(kind, _)| *kind == said),
    }?;
    // In the version in which the object is served what it names may not be.
    let (resource, served) = case.diagnosis.silently(case.lister.discovery())?.find(needed.of, plural)?;
    let namespace = target.namespace.clone().filter(|_| served.namespaced);
    let object = ObjectRef { kind: (*kind).into(), resource, namespace, name: named.name.clone() };
    let answer = case.lister.object(&object.resource, object.namespace.as_deref(), &object.name);
    let is_gone = answer.is_missing();
    case.diagnosis.optional(object.to_string(), "whether what the object needs exists", answer);
    is_gone.then_some((object, needed))
}

/// Why no update of an Ingress is taken: the AWS controller's webhook refuses those whose class is gone.
pub fn ingress_class(case: &mut Case, target: &ObjectRef, finalizer: &str) -> Option<Quote> {
    if !target.is(known::INGRESSES) || finalizer != "ingress.k8s.aws/resources" {
        return None;
    }
    let answer = case.lister.get::<Ingress>(known::INGRESSES, target.namespace.as_deref(), &target.name);
    let class = &case.diagnosis.optional(target.to_string(), "its class", answer)?.spec.ingress_class_name;
    if class.is_empty() {
        return None;
    }
    let resource = Resource::new("networking.k8s.io", "v1", "ingressclasses");
    let answer = case.lister.object(&resource, None, class);
    let is_gone = answer.is_missing();
    case.diagnosis.optional(format!("IngressClass {class}"), "whether the Ingress may be updated", answer);
    is_gone.then(|| {
        let says = "does not exist: the controller's own webhook refuses every update of the Ingress until it does";
        (format!("IngressClass {class}"), says.to_owned())
    })
}
