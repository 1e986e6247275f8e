//! The `Status` object that a Kubernetes API server answers errors with.

use serde_json::{Map, Value, json};

use crate::{attributes::Attributes, catalog::Resource};

/// The user in every refusal.
const USER: &str = "system:serviceaccount:default:fake";

/// An answer that is no object.
#[derive(Debug)]
pub(crate) struct Status {
    pub(crate) code: u16,
    reason: &'static str,
    message: String,
    details: Value,
}

impl Status {
    pub(crate) fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: Value::Null }
    }

    pub(crate) fn with_details(mut self, details: Value) -> Self {
        self.details = details;
        self
    }

    /// There is no such path.
    pub(crate) fn no_such_path() -> Self {
        Self::new(404, "NotFound", "the server could not find the requested resource").with_details(json!({}))
    }

    /// There is no such object.
    pub(crate) fn not_found(resource: &Resource, name: &str) -> Self {
        Self::new(404, "NotFound", format!("{} \"{name}\" not found", resource.qualified()))
            .with_details(resource.details(name))
    }

    pub(crate) fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(405, "MethodNotAllowed", message).with_details(json!({}))
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// The client's view is too old: it has to list again.
    pub(crate) fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    pub(crate) fn conflict(resource: &Resource, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {} \"{name}\": {why}", resource.qualified());
        Self::new(409, "Conflict", message).with_details(resource.details(name))
    }

    /// As role based access control refuses a path that is no resource's.
    pub(crate) fn forbidden_path(verb: &str, path: &str) -> Self {
        let message = format!("forbidden: User \"{USER}\" cannot {verb} path \"{path}\"");
        Self::new(403, "Forbidden", message).with_details(json!({}))
    }

    /// As role based access control refuses.
    pub(crate) fn forbidden_by_rbac(asked: &Attributes) -> Self {
        let Attributes { verb, group, resource, namespace, name } = asked;
        let plural = resource.split('/').next().unwrap_or_default();
        let qualified = if group.is_empty() { plural.to_owned() } else { format!("{plural}.{group}") };
        let named = if name.is_empty() { String::new() } else { format!(" \"{name}\"") };
        let place = match namespace {
            Some(namespace) => format!("in the namespace \"{namespace}\""),
            None => "at the cluster scope".to_owned(),
        };
        let message = format!(
            "{qualified}{named} is forbidden: User \"{USER}\" cannot {verb} resource \"{resource}\" in API group \
             \"{group}\" {place}"
        );
        let mut details = json!({"kind": plural});
        if !name.is_empty() {
            details["name"] = json!(name);
        }
        if !group.is_empty() {
            details["group"] = json!(group);
        }
        Self::new(403, "Forbidden", message).with_details(details)
    }

    /// The object as it is sent.
    pub(crate) fn object(&self) -> Value {
        let mut object = Map::new();
        object.insert("kind".into(), json!("Status"));
        object.insert("apiVersion".into(), json!("v1"));
        object.insert("metadata".into(), json!({}));
        object.insert("status".into(), json!("Failure"));
        object.insert("message".into(), json!(self.message));
        if !self.reason.is_empty() {
            object.insert("reason".into(), json!(self.reason));
        }
        if !self.details.is_null() {
            object.insert("details".into(), self.details.clone());
        }
        object.insert("code".into(), json!(self.code));
        Value::Object(object)
    }
}

impl From<anyhow::Error> for Status {
    fn from(error: anyhow::Error) -> Self {
        Self::new(500, "InternalError", format!("Internal error occurred: {error:#}"))
    }
}
