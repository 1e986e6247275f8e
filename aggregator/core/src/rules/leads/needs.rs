//! What a controller reports that it needs: a kind, a Service, a namespace, a node, a budget that allows an eviction.

use findings::Creation;

use super::{Followed, Sentence, repaired};
use crate::rules::backend::{self, Backend};
use crate::rules::finalizer::parts;
use crate::rules::node::drain;
use crate::rules::phrases::within;
use crate::rules::prelude::*;

impl Sentence<'_> {
    /// What the controller needs is seen to be missing.
    pub(super) fn missing(&self, case: &mut Case, steps: Vec<Step>) -> Followed {
        let Some(last) = steps.last() else { return Followed::Nothing };
        let (needed, how) = (last.subject.clone(), last.words.clone());
        let root = RootCause::below(&cause::FINALIZER_CONTROLLER_NEEDS_MISSING, self.target).same_as(&needed);
        let place = last.object.as_ref().and_then(|object| object.namespace.as_deref());
        let creation = match place.is_some_and(|place| case.lister.is_namespace_terminating(place)) {
            true => Creation::Refused,
            false => Creation::Possible,
        };
        let root = root.given(Circumstance::Creation(creation)).evidence(needed, how);
        let root = steps.into_iter().fold(root, RootCause::step);
        case.diagnosis.causes.push(root);
        Followed::Explained
    }

    pub(super) fn no_kind(&self, case: &mut Case, group: &str, version: &str, kind: &str) -> Followed {
        let Some(discovery) =
            case.diagnosis.optional("API discovery", "whether a kind is served", case.lister.discovery())
        else {
            return Followed::Nothing;
        };
        if discovery.is_stale(group) {
            return self.api(case, group, None);
        }
        if discovery.resource_of_kind(group, version, kind).is_some() {
            return repaired(format!("{kind} of {group}/{version}"), "is served now");
        }
        let step = Step::named(format!("kind {kind} of {group}/{version}"), "is not served: its CRD is missing");
        self.missing(case, vec![step])
    }

    pub(super) fn service_call(&self, case: &mut Case, namespace: &str, name: &str) -> Followed {
        let service = ServiceRef { namespace: namespace.to_owned(), name: name.to_owned(), port: None };
        match backend::inspect_called(case, &service) {
            Backend::NoService => {
                let shown = ObjectRef::namespaced(known::SERVICES, namespace, name);
                self.missing(case, vec![Step::about(&shown, "does not exist")])
            }
            Backend::NoEndpoint { node: Some(node), .. } => {
                case.diagnosis.wait_for(node);
                Followed::Explained
            }
            Backend::NoEndpoint { steps, node: None, .. } => self.missing(case, steps),
            Backend::Ready { .. } | Backend::External | Backend::Unknown => Followed::Nothing,
        }
    }

    /// The budget that allows no eviction of a pod: by its own name, or because it selects that pod.
    pub(super) fn budget(
        &self,
        case: &mut Case,
        pod: Option<&(Option<String>, String)>,
        named: Option<&str>,
    ) -> Followed {
        let own = self.target.namespace.as_deref();
        let Some(namespace) = pod.and_then(|(namespace, _)| namespace.as_deref()).or(own) else {
            return Followed::Nothing;
        };
        let adds = "which budget refuses the eviction";
        let answer = case.lister.list::<Budget>(known::BUDGETS, within(namespace));
        let all =
            case.diagnosis.optional(format!("poddisruptionbudgets of {namespace}"), adds, answer).unwrap_or_default();
        let pod = pod.map(|(_, name)| ObjectRef::pod(namespace, name));
        let found = pod.as_ref().and_then(|pod| {
            case.diagnosis.optional(
                pod.to_string(),
                adds,
                case.lister.get::<Pod>(known::PODS, Some(namespace), &pod.name),
            )
        });
        let is_it = |budget: &&Budget| match (named, found) {
            (Some(name), _) => budget.metadata.name == name,
            (None, Some(pod)) => budget.selects(&pod.metadata.labels),
            (None, None) => false,
        };
        let Some(budget) = all.into_iter().find(|budget| is_it(budget) && budget.refuses(true)) else {
            return Followed::Nothing;
        };
        let shown = ObjectRef::namespaced(known::BUDGETS, namespace, &budget.metadata.name);
        let BudgetStatus { current_healthy, desired_healthy, .. } = budget.status;
        let words = format!("allows 0 disruptions: it wants {desired_healthy} healthy pods, and {current_healthy} are");
        let root =
            RootCause::below(&cause::DRAIN_BUDGET_ALLOWS_NONE, &shown).evidence(format!("status of {shown}"), &words);
        let is_of_program = drain::program(budget, found.as_slice()).is_some();
        let root = root.given(Circumstance::Budget(drain::why_none(budget, is_of_program)));
        let root = drain::skippable(root, self.target);
        let unready = found.filter(|pod| !is_true(&pod.status.conditions, "Ready"));
        let root = root.name_if(Placeholder::Pod, unready.map(|pod| &pod.metadata.name));
        let root = pod.iter().fold(root, |root, pod| root.step(Step::about(pod, "not evicted")));
        case.diagnosis.causes.push(root.step(Step::about(&shown, words)));
        Followed::Explained
    }

    /// An object that the controller looked for. Words mostly name no namespace: it is looked for in that of the target, and one
    /// that is there proves nothing, for another may be meant.
    pub(super) fn not_found(
        &self,
        case: &mut Case,
        group: &str,
        kind: &str,
        (said, name): (Option<&str>, &str),
    ) -> Followed {
        let Some(discovery) = case.diagnosis.silently(case.lister.discovery()) else { return Followed::Nothing };
        let word = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
        let all = discovery.all_named(&word);
        // Without a group it is one of the core, or the only one of its name.
        let is_it = |(resource, _): &&(Resource, _)| all.len() == 1 || resource.group == group;
        let Some((resource, served)) = all.iter().find(is_it) else { return Followed::Nothing };
        // Pods come and go.
        if group.is_empty() && resource.plural == "pods" {
            return Followed::Nothing;
        }
        let own = said.or(self.target.namespace.as_deref());
        let namespace = own.filter(|_| served.namespaced);
        if served.namespaced && namespace.is_none() {
            return Followed::Nothing;
        }
        let shown = ObjectRef {
            kind: served.kind.clone().into(),
            resource: resource.clone(),
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
        };
        if shown == *self.target {
            return Followed::Nothing;
        }
        if group.is_empty() && resource.plural == "secrets" {
            let words = "is not found, as the controller reports; Secrets are not read here";
            return self.missing(case, vec![Step::about(&shown, words)]);
        }
        let answer = case.lister.object(resource, namespace, name);
        if answer.is_missing() {
            // Old words may be of one in another namespace that was created since.
            let is_another = self.is_of_before && said.is_none() && served.namespaced;
            let all = is_another.then(|| case.diagnosis.silently(case.lister.namesakes(resource, name))).flatten();
            if let Some(other) = all.unwrap_or_default().first() {
                return repaired(
                    ObjectRef { namespace: other.metadata.namespace.clone(), ..shown }.to_string(),
                    "exists",
                );
            }
            return self.missing(case, vec![Step::about(&shown, "does not exist")]);
        }
        match case.diagnosis.silently(answer) {
            Some(_) if namespace.is_none() => repaired(shown.to_string(), "exists"),
            _ => Followed::Nothing,
        }
    }

    /// An object that must be gone first: a link where it is there and is being deleted. Those without a name are parts of
    /// the target.
    pub(super) fn waiting(&self, case: &mut Case, kind: &str, name: &str) -> Followed {
        if name.is_empty() {
            return Followed::Nothing;
        }
        match parts::being_deleted(case, kind, self.target.namespace.as_deref(), name) {
            Some(object) if object != *self.target => {
                case.diagnosis.evidence(self.source, self.says);
                case.diagnosis.wait_for(object);
                Followed::Explained
            }
            _ => Followed::Nothing,
        }
    }

    pub(super) fn namespace_gone(&self, case: &mut Case, name: &str) -> Followed {
        let answer = case.lister.namespace(name);
        if answer.is_missing() {
            let shown = ObjectRef::cluster_wide(known::NAMESPACES, name);
            return self.missing(case, vec![Step::about(&shown, "does not exist")]);
        }
        match case.diagnosis.silently(answer) {
            Some(_) => repaired(format!("Namespace {name}"), "exists"),
            None => Followed::Nothing,
        }
    }

    pub(super) fn node(&self, case: &mut Case, name: &str) -> Followed {
        let answer = case.lister.get::<Node>(known::NODES, None, name);
        let shown = ObjectRef::node(name);
        if answer.is_missing() {
            return self.missing(case, vec![Step::about(&shown, "does not exist")]);
        }
        match case.diagnosis.optional(shown.to_string(), "whether it is Ready", answer) {
            Some(on) if is_true(&on.status.conditions, "Ready") => repaired(shown.to_string(), "is Ready"),
            Some(_) => {
                case.diagnosis.wait_for(shown);
                Followed::Explained
            }
            None => Followed::Nothing,
        }
    }
}
