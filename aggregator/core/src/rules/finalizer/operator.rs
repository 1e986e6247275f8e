//! The operator of a kind where RBAC shows nothing: the program that converts its objects, answers the webhooks about them,
//! serves its API, or was installed together with its CRD.

use std::collections::BTreeMap;

use super::installation::{OLM, PROVIDER};
use crate::rules::phrases::{Quote, within};
use crate::rules::prelude::*;

/// More Services, and more namespaces, are not looked into.
const MAX_PLACES: usize = 4;

const MANAGED_BY: &str = "app.kubernetes.io/managed-by";

/// Who was found.
pub enum Operator<'a> {
    /// An answer is still out.
    Open,
    /// This workload, for this reason.
    Workload {
        target: ObjectRef,
        object: &'a Workload,
        /// What links it to the kind.
        link: Quote,
    },
    /// None; what is known of who installed the kind.
    Nobody(Vec<Quote>),
}

/// Looks for the operator of a kind.
pub fn find<'a>(case: &mut Case<'_, 'a>, resource: &Resource) -> Operator<'a> {
    let name = format!("{}.{}", resource.plural, resource.group);
    let shown = format!("CustomResourceDefinition {name}");
    let answer = case.lister.get::<Crd>(known::CRDS, None, &name);
    let is_aggregated = answer.is_missing();
    let crd = case.diagnosis.optional(&shown, "who installed the kind", answer);
    // The strongest link first: who serves the kind's objects knows them, who was installed with the CRD may not.
    let mut found = None;
    let mut known_of_it = Vec::new();
    let services = match is_aggregated {
        true => Vec::from_iter(server(case, resource)),
        false => converter(crd, &shown),
    };
    for (service, says) in services.into_iter().chain(callees(case, &resource.group)).take(MAX_PLACES) {
        let Some(selector) = selector(case, &service) else { continue };
        let is_it = |one: &Workload| fits(&selector, &one.spec.template.metadata.labels);
        found = found.or(best(workloads(case, &service.namespace, is_it, &says)));
    }
    if let Some(meta) = crd.map(|crd| &crd.metadata) {
        found = found.or(best(installed(case, meta, &shown, &mut known_of_it)));
    }
    match found {
        _ if case.diagnosis.pending => Operator::Open,
        Some((target, object, link)) => Operator::Workload { target, object, link },
        None => Operator::Nobody(known_of_it),
    }
}

type Linked<'a> = (ObjectRef, &'a Workload, Quote);

fn best(found: Vec<Linked>) -> Option<Linked> {
    found.into_iter().max_by_key(|(_, object, _)| object.ready())
}

/// A Service, and what links it to the kind.
type Link = (ServiceRef, Quote);

/// Who converts the kind's objects.
fn converter(crd: Option<&Crd>, shown: &str) -> Vec<Link> {
    let link = |service: &ServiceRef| {
        (service.clone(), (shown.to_owned(), format!("objects are converted by Service {service}")))
    };
    crd.and_then(Crd::converter).map(link).into_iter().collect()
}

/// Who serves a kind that no CRD defines.
fn server(case: &mut Case, resource: &Resource) -> Option<Link> {
    let name = format!("{}.{}", resource.version, resource.group);
    let answer = case.lister.get::<ApiService>(known::API_SERVICES, None, &name);
    let served = case.diagnosis.optional(format!("APIService {name}"), "what serves the kind", answer)?;
    let service = served.spec.service.clone()?;
    let says = format!("served by Service {service}");
    Some((service, (format!("APIService {name}"), says)))
}

/// Who answers webhooks about the group alone.
fn callees(case: &mut Case, group: &str) -> Vec<Link> {
    let mut found = Vec::new();
    for known in [known::VALIDATING, known::MUTATING] {
        let answer = case.lister.list::<WebhookConfiguration>(known, Scope::All);
        let all =
            case.diagnosis.optional(known.plural, "whose webhooks are called for the kind", answer).unwrap_or_default();
        for configuration in all {
            for webhook in configuration.webhooks.iter().filter(|webhook| webhook.is_only_about(group)) {
                let Some(service) = webhook.client_config.service.clone() else { continue };
                let source = format!("{} {}", known.plural, configuration.metadata.name);
                let says =
                    format!("webhook {} is about {group} only and is answered by Service {service}", webhook.name);
                found.push((service, (source, says)));
            }
        }
    }
    // An operator's webhooks mostly share one Service.
    found.dedup_by(|one, other| one.0 == other.0);
    found
}

fn selector(case: &mut Case, service: &ServiceRef) -> Option<BTreeMap<String, String>> {
    let answer = case.lister.get::<Service>(known::SERVICES, Some(&service.namespace), &service.name);
    let found = case.diagnosis.optional(format!("Service {service}"), "what runs behind it", answer)?;
    Some(found.spec.selector.clone()).filter(|selector| !selector.is_empty())
}

fn fits(selector: &BTreeMap<String, String>, labels: &Texts) -> bool {
    selector.iter().all(|(key, value)| labels.get(key) == Some(value))
}

/// Workloads of the same Helm release, the same operator or the same provider as the CRD.
fn installed<'a>(case: &mut Case<'_, 'a>, meta: &Meta, shown: &str, known_of_it: &mut Vec<Quote>) -> Vec<Linked<'a>> {
    let mut found = Vec::new();
    let release = meta.annotations.get(release::NAME).zip(meta.annotations.get(release::NAMESPACE));
    if let Some((release, namespace)) = release {
        let says = (shown.to_owned(), format!("installed by Helm release {namespace}/{release}"));
        let is_of = |one: &Workload| one.metadata.annotations.get(release::NAME) == Some(release);
        let own = workloads(case, namespace, is_of, &says);
        if own.is_empty() {
            known_of_it.push((says.0, format!("{}, which has no workload (any more)", says.1)));
        }
        found.extend(own);
    }
    for key in meta.labels.keys().filter(|key| key.starts_with(OLM)).take(MAX_PLACES) {
        let Some((_, namespace)) = key.rsplit_once('.') else { continue };
        let says = (shown.to_owned(), format!("installed by an operator subscription: label {key}"));
        let own = workloads(case, namespace, |one| one.metadata.labels.contains_key(key), &says);
        if own.is_empty() {
            known_of_it.push((says.0, format!("{}; no workload there has it", says.1)));
        }
        found.extend(own);
    }
    if let Some(provider) = meta.labels.get(PROVIDER) {
        let labels = Select::Labels(format!("{PROVIDER}={provider}"));
        let answer = case.lister.select::<Workload>(known::DEPLOYMENTS, Scope::All, labels);
        let all = case.diagnosis.optional("deployments", "whether the controller runs", answer).unwrap_or_default();
        let says = (shown.to_owned(), format!("label {PROVIDER}: {provider}"));
        if all.is_empty() {
            known_of_it.push((says.0.clone(), format!("{}; no Deployment has it", says.1)));
        }
        let target = |one: &Workload| {
            let namespace = one.metadata.namespace.as_deref().unwrap_or_default();
            ObjectRef::namespaced(known::DEPLOYMENTS, namespace, &one.metadata.name)
        };
        found.extend(all.into_iter().map(|one| (target(one), one, says.clone())));
    }
    if let Some(manager) = meta.labels.get(MANAGED_BY).filter(|_| release.is_none()) {
        known_of_it.push((shown.to_owned(), format!("label {MANAGED_BY}: {manager}")));
    }
    found
}

fn workloads<'a>(
    case: &mut Case<'_, 'a>,
    namespace: &str,
    is_it: impl Fn(&Workload) -> bool,
    says: &Quote,
) -> Vec<Linked<'a>> {
    let mut found = Vec::new();
    for known in crate::state::WORKLOADS {
        let answer = case.lister.list::<Workload>(known, within(namespace));
        let source = format!("{} of {namespace}", known.plural);
        for one in case.diagnosis.optional(source, "whether the controller runs", answer).unwrap_or_default() {
            if is_it(one) {
                found.push((ObjectRef::namespaced(known, namespace, &one.metadata.name), one, says.clone()));
            }
        }
    }
    found
}
