//! Objects that show why the finalizer of another stays: its Job, its class, its issuer.

use findings::Creation;

use super::blocking_finalizer::BlockingFinalizer;
use crate::rules::object_reports::{self, Weight};
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

/// Where an object names another.
#[derive(Clone, Copy)]
enum Named {
    Field(Field),
    Label(&'static str),
    /// It is called as the object's namespace.
    Namespace,
}

/// What the objects of a kind need by name to be handled.
struct Needed {
    group: &'static str,
    plural: &'static str,
    by: Named,
    /// The group of what is named.
    of: &'static str,
    /// The kinds it may be, with their plurals; the first where the object does not say it.
    kinds: &'static [(&'static str, &'static str)],
    /// Whether its controller takes the object for its own without it.
    is_for_cleanup: bool,
    /// What follows when it does not exist.
    words: &'static str,
}

const NEEDED: &[Needed] = &[
    Needed {
        group: "gateway.networking.k8s.io",
        plural: "gateways",
        by: Named::Field(Field::GatewayClass),
        of: "gateway.networking.k8s.io",
        kinds: &[("GatewayClass", "gatewayclasses")],
        is_for_cleanup: false,
        words: "does not exist: no controller takes the object for its own",
    },
    // cert-manager: pkg/controller/acmechallenges/sync.go
    Needed {
        group: "acme.cert-manager.io",
        plural: "challenges",
        by: Named::Field(Field::Issuer),
        of: "cert-manager.io",
        kinds: &[("Issuer", "issuers"), ("ClusterIssuer", "clusterissuers")],
        is_for_cleanup: true,
        words: "does not exist: without it cert-manager cannot clean up",
    },
    // fluxcd/kustomize-controller and helm-controller: docs/spec, "Service Account reference"
    of_flux("kustomize.toolkit.fluxcd.io", "kustomizations"),
    of_flux("helm.toolkit.fluxcd.io", "helmreleases"),
    // strimzi/strimzi-kafka-operator: the operators of topics and users are containers of the Entity Operator of that Kafka
    of_kafka("kafkatopics"),
    of_kafka("kafkausers"),
    // external-secrets/external-secrets: pkg/controllers/pushsecret
    Needed {
        group: "external-secrets.io",
        plural: "pushsecrets",
        by: Named::Field(Field::PushedTo),
        of: "external-secrets.io",
        kinds: &[("SecretStore", "secretstores"), ("ClusterSecretStore", "clustersecretstores")],
        is_for_cleanup: true,
        words: "does not exist: without it the secret cannot be deleted where it was pushed to",
    },
    // open-cluster-management-io/ocm: pkg/work/spoke; the agent of the managed cluster removes the finalizer
    Needed {
        group: "work.open-cluster-management.io",
        plural: "manifestworks",
        by: Named::Namespace,
        of: "cluster.open-cluster-management.io",
        kinds: &[("ManagedCluster", "managedclusters")],
        is_for_cleanup: true,
        words: "does not exist: the agent of that cluster removes the finalizer",
    },
];

const fn of_flux(group: &'static str, plural: &'static str) -> Needed {
    Needed {
        group,
        plural,
        by: Named::Field(Field::Account),
        of: "",
        kinds: &[("ServiceAccount", "serviceaccounts")],
        is_for_cleanup: true,
        words: "does not exist: Flux cannot act as it",
    }
}

const fn of_kafka(plural: &'static str) -> Needed {
    Needed {
        group: "kafka.strimzi.io",
        plural,
        by: Named::Label("strimzi.io/cluster"),
        of: "kafka.strimzi.io",
        kinds: &[("Kafka", "kafkas")],
        is_for_cleanup: true,
        words: "does not exist: the operator that removes the finalizer went with it",
    }
}

/// What the removal of this one finalizer takes.
pub const LAST_STEP: [Placeholder; 3] = [Placeholder::Finalizer, Placeholder::FinalizerPatch, Placeholder::Lost];

/// How what an object needs stands.
pub enum Lack {
    /// It does not exist, and what follows from that.
    Missing(&'static str),
    /// It reports this: in brief, where, and all of it.
    Failing(String, Quote),
}

/// What an object needs to be handled, and does not have.
pub struct Need {
    pub object: ObjectRef,
    pub lack: Lack,
    /// Whether its controller takes the object for its own without it.
    pub is_for_cleanup: bool,
}

impl Need {
    /// Without its class an object is no controller's; without its issuer its controller does not finish. `found` is what was
    /// found of that controller.
    pub fn root(self, case: &Case, blocking: &BlockingFinalizer, found: RootCause) -> RootCause {
        let Need { object, lack, is_for_cleanup } = self;
        let is_refused = || object.namespace.as_deref().is_some_and(|at| case.lister.is_namespace_terminating(at));
        let (state, words, (source, says)) = match lack {
            Lack::Missing(words) => {
                let state = if is_refused() { Creation::Refused } else { Creation::Possible };
                (state, words.to_owned(), (object.to_string(), "not found".to_owned()))
            }
            Lack::Failing(brief, quote) => (Creation::Exists, format!("its controller needs it: {brief}"), quote),
        };
        let root = RootCause::below(&cause::FINALIZER_CONTROLLER_NEEDS_MISSING, blocking.target)
            .same_as(&object)
            .in_place_of_own()
            .given(Circumstance::Creation(state))
            .name(Placeholder::User, object.typed_name())
            .name_if(Placeholder::UserNamespace, object.namespace.as_deref())
            .evidence(source, says)
            .with_evidence(found.draft.evidence.iter().map(|one| (&one.source, &one.says)));
        let root = LAST_STEP.into_iter().fold(root, |root, value| root.name_if(value, found.value(value)));
        let (links, missing) = match is_for_cleanup {
            true => (found.steps.len(), "that this alone keeps its controller from finishing"),
            false => (1, "that its controller looks at the class first: some do not"),
        };
        let links = found.steps.into_iter().take(links).fold(root, RootCause::step);
        links.step(Step::about(&object, words)).probable(missing)
    }
}

/// What the object names and needs, where it does not exist or does not work.
pub fn lacking(case: &mut Case, target: &ObjectRef, meta: &Meta) -> Option<Need> {
    let Resource { group, plural, .. } = &target.resource;
    let needed = NEEDED.iter().find(|one| one.group == group && one.plural == plural)?;
    let (said, name) = match needed.by {
        Named::Field(field) => {
            let answer = case.lister.with_status(&target.resource, target.namespace.as_deref(), &target.name);
            let named = case.diagnosis.silently(answer)?.spec.references.first(field)?;
            (named.kind.as_str(), named.name.clone())
        }
        Named::Label(key) => ("", meta.labels.get(key)?.to_owned()),
        Named::Namespace => ("", target.namespace.clone()?),
    };
    let (kind, plural) = match said {
        "" => needed.kinds.first(),
        said => needed.kinds.iter().find(|(kind, _)| *kind == said),
    }?;
    // In the version in which the object is served what it names may not be.
    let (resource, served) = case.diagnosis.silently(case.lister.discovery())?.find(needed.of, plural)?;
    let namespace = target.namespace.clone().filter(|_| served.namespaced);
    let object = ObjectRef { kind: (*kind).into(), resource, namespace, name };
    let answer = case.lister.object(&object.resource, object.namespace.as_deref(), &object.name);
    let is_for_cleanup = needed.is_for_cleanup;
    if answer.is_missing() {
        return Some(Need { object, lack: Lack::Missing(needed.words), is_for_cleanup });
    }
    let found = case.diagnosis.optional(object.to_string(), "whether what the object needs exists", answer)?;
    let said = object_reports::read(case, &object, &found.metadata).into_iter();
    let first = said.filter(|said| FAILS.contains(&said.weight)).find(|_| is_for_cleanup)?;
    Some(Need { object, lack: Lack::Failing(first.brief(), (first.source, first.says)), is_for_cleanup })
}

/// Conditions with which an object does not work.
const FAILS: [Weight; 3] = [Weight::Blocks, Weight::Fails, Weight::Doubts];

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
