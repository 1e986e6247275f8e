//! Requests that webhooks may be asked about, and which webhooks are.

use crate::diagnosis::Diagnosis;
use crate::lister::Lister;
use crate::state::*;

/// A request that webhooks may be asked about.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// `DELETE`, `UPDATE`.
    pub operation: &'a str,
    /// The group of the object.
    pub group: &'a str,
    /// The version.
    pub version: &'a str,
    /// Its resource, with a subresource: `pods/status`.
    pub resource: &'a str,
    /// The namespace it lives in; for a namespace, itself.
    pub namespace: Option<&'a str>,
    /// The object's labels.
    pub labels: &'a Texts,
}

impl<'a> Request<'a> {
    /// The request to do this to an object.
    pub fn about(target: &'a ObjectRef, meta: &'a Meta, operation: &'a str) -> Self {
        let Resource { group, version, plural } = &target.resource;
        let itself = target.is(known::NAMESPACES).then_some(target.name.as_str());
        let namespace = target.namespace.as_deref().or(itself);
        Request { operation, group, version, resource: plural, namespace, labels: &meta.labels }
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
pub enum Asked {
    /// It is not.
    No,
    /// It is, as far as its rules and selectors tell; this may still exclude the request.
    Perhaps(&'static str),
    /// It is.
    Yes,
}

/// Whether a webhook is asked about a request, by all that the server goes by.
pub fn asked(lister: &Lister, diagnosis: &mut Diagnosis, webhook: &Webhook, request: Request) -> Asked {
    // The server asks no webhook about webhooks and policies.
    if request.group == "admissionregistration.k8s.io" {
        return Asked::No;
    }
    let Request { operation, group, version, resource, .. } = request;
    let is_asked = webhook.asks_about(operation, group, version, resource, request.is_namespaced());
    if !is_asked || !webhook.object_selector.matches(request.labels) {
        return Asked::No;
    }
    match covers(lister, diagnosis, webhook, request.namespace) {
        Asked::Yes => match webhook.match_conditions.is_empty() {
            true => Asked::Yes,
            false => Asked::Perhaps("has matchConditions, which may exclude it"),
        },
        other => other,
    }
}

/// Whether its namespaceSelector covers the namespace; without one it covers all.
fn covers(lister: &Lister, diagnosis: &mut Diagnosis, webhook: &Webhook, namespace: Option<&str>) -> Asked {
    let (false, Some(name)) = (webhook.namespace_selector == Selector::default(), namespace) else { return Asked::Yes };
    let answer = lister.namespace(name);
    match diagnosis.required(format!("Namespace {name}"), "whether a webhook is called for it", answer) {
        Some(found) if webhook.namespace_selector.matches(&found.metadata.labels) => Asked::Yes,
        Some(_) => Asked::No,
        None => Asked::Perhaps("has a namespaceSelector, and the namespace's labels could not be seen"),
    }
}
