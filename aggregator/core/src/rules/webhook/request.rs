//! Requests that webhooks may be asked about, and which webhooks are.

use crate::rules::prelude::*;

/// A request that webhooks may be asked about.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// `DELETE`, `UPDATE`.
    pub operation: &'a str,
    /// The group of the object.
    pub group: &'a str,
    pub version: &'a str,
    /// Its resource, with a subresource: `pods/status`.
    pub resource: &'a str,
    /// The object's name; empty where it does not count.
    pub name: &'a str,
    /// The namespace it lives in; for a namespace, itself.
    pub namespace: Option<&'a str>,
    pub labels: &'a Texts,
}

impl<'a> Request<'a> {
    /// The request to do this to an object.
    pub fn about(target: &'a ObjectRef, meta: &'a Meta, operation: &'a str) -> Self {
        let Resource { group, version, plural } = &target.resource;
        let itself = target.is(known::NAMESPACES).then_some(target.name.as_str());
        let namespace = target.namespace.as_deref().or(itself);
        Request { operation, group, version, resource: plural, name: &target.name, namespace, labels: &meta.labels }
    }

    /// The same for a subresource: `pods/status`.
    pub fn at(self, resource: &'a str) -> Self {
        Request { resource, ..self }
    }

    fn is_namespaced(&self) -> bool {
        let is_namespace = self.group.is_empty() && self.resource.split('/').next() == Some("namespaces");
        self.namespace.is_some() && !is_namespace
    }
}

/// Whether a webhook is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Match {
    No,
    /// It is, as far as its rules and selectors show; this may still exclude the request.
    Perhaps(&'static str),
    Yes,
}

/// Whether a webhook is called about a request, by all that the server considers.
pub fn matches(case: &mut Case, webhook: &Webhook, request: Request) -> Match {
    // The server asks no webhook about webhooks and policies.
    if request.group == "admissionregistration.k8s.io" {
        return Match::No;
    }
    let Request { operation, group, resource, name, .. } = request;
    let versions = webhook.matching_versions(operation, group, (resource, name), request.is_namespaced());
    if versions.is_empty() || !webhook.object_selector.matches(request.labels) {
        return Match::No;
    }
    let version = matches_version(case, webhook, request, &versions);
    if version == Match::No {
        return Match::No;
    }
    match covers(case, webhook, request.namespace) {
        Match::Yes => match webhook.match_conditions.is_empty() {
            true => version,
            false => Match::Perhaps("has matchConditions, which may exclude it"),
        },
        other => other,
    }
}

/// Whether its rules are about the request's version, or about another one that the server knows of the same kind
/// (kubernetes: apiserver/pkg/admission/plugin/webhook/generic/webhook.go, `ShouldCallHook`). One that it knows no more
/// is equal to none.
fn matches_version(case: &mut Case, webhook: &Webhook, request: Request, versions: &[&str]) -> Match {
    if versions.contains(&"*") {
        return Match::Yes;
    }
    let is_named = versions.contains(&request.version);
    let plural = request.resource.split('/').next().unwrap_or_default();
    if webhook.is_exact() && request.operation == "UPDATE" {
        return matches_writers(case, request.group, plural, versions);
    }
    if is_named || webhook.is_exact() {
        return if is_named { Match::Yes } else { Match::No };
    }
    match known_versions(case, request.group, plural) {
        Some(known) if versions.iter().any(|version| known.contains(version)) => Match::Yes,
        Some(_) => Match::No,
        None => Match::Perhaps("is about another version, and which ones there are could not be seen"),
    }
}

/// Whether a webhook that is called about these versions alone is called about an update: a writer may use any that is
/// served. What deletes uses the preferred one.
fn matches_writers(case: &mut Case, group: &str, plural: &str, versions: &[&str]) -> Match {
    match served_versions(case, group, plural) {
        Some(served) if !served.iter().any(|version| versions.contains(version)) => Match::No,
        Some(served) if served.iter().all(|version| versions.contains(version)) => Match::Yes,
        Some(_) => Match::Perhaps(
            "is called for some versions of the kind only, and the version that the writer uses is unknown",
        ),
        None => Match::Perhaps("is asked about some versions alone, and which ones are served could not be seen"),
    }
}

/// The versions of a resource. Those of a CRD count whether they are served or not (kubernetes:
/// apiextensions-apiserver/pkg/apiserver/customresource_handler.go, `getOrCreateServingInfoFor`).
fn known_versions<'a>(case: &mut Case<'_, 'a>, group: &str, plural: &str) -> Option<Vec<&'a str>> {
    if !Resource::new(group.to_owned(), "", plural.to_owned()).is_built_in() {
        let answer = case.lister.get::<Crd>(known::CRDS, None, &format!("{plural}.{group}"));
        let is_missing = answer.is_missing();
        match case.diagnosis.silently(answer) {
            Some(crd) => return Some(crd.spec.versions.iter().map(|version| version.name.as_str()).collect()),
            None if !is_missing => return None,
            None => {}
        }
    }
    served_versions(case, group, plural)
}

/// The versions in which a resource is served; none while a part of its group does not answer.
fn served_versions<'a>(case: &mut Case<'_, 'a>, group: &str, plural: &str) -> Option<Vec<&'a str>> {
    let discovery = case.diagnosis.silently(case.lister.discovery())?;
    let of_group = || discovery.versions.iter().filter(|served| served.group == group);
    if of_group().any(|served| served.stale) {
        return None;
    }
    let has = |served: &&ServedVersion| served.resources.iter().any(|one| one.plural == plural);
    Some(of_group().filter(has).map(|served| served.version.as_str()).collect())
}

/// Whether its namespaceSelector covers the namespace; without one it covers all.
pub(super) fn covers(case: &mut Case, webhook: &Webhook, namespace: Option<&str>) -> Match {
    let (false, Some(name)) = (webhook.namespace_selector == Selector::default(), namespace) else { return Match::Yes };
    let answer = case.lister.namespace(name);
    match case.diagnosis.required(format!("Namespace {name}"), "whether a webhook is called for it", answer) {
        Some(found) if webhook.namespace_selector.matches(&found.metadata.labels) => Match::Yes,
        Some(_) => Match::No,
        None => Match::Perhaps("has a namespaceSelector, and the namespace's labels could not be seen"),
    }
}
