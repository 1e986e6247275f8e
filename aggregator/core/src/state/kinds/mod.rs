//! The kinds of objects the rules read, each reduced to the fields they read.
//!
//! The field names are the API's own, so an answer of the server, a recording of one and a saved
//! state all read the same.

mod access;
mod admission;
mod agent;
mod api;
mod budget;
mod ca_bundle;
mod node;
mod pod;
mod references;
mod storage;
mod watched;
mod workload;

pub use access::*;
pub use admission::*;
pub use agent::*;
pub use api::*;
pub use budget::*;
pub use ca_bundle::CaBundle;
pub use node::*;
pub use pod::*;
pub use references::{Field, Named, References};
pub use storage::*;
pub use watched::ContainerSpec;
pub use workload::*;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::Meta;
use crate::messages::Message;
use crate::resource::ObjectRef;

/// Declares a type whose fields are all optional in the API.
macro_rules! lite {
    ($($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
            #[serde(rename_all = "camelCase", default)]
            pub struct $name {
                $($(#[$field_doc])* #[serde(deserialize_with = "crate::state::or_default")] pub $field: $type,)*
            }
        )*
    };
}
pub(in crate::state) use lite;

lite! {
    Namespace {
        metadata: Meta,
        spec: NamespaceSpec,
        status: NamespaceStatus,
    }

    /// What was asked of a namespace.
    NamespaceSpec {
        /// `kubernetes`, and those of others.
        finalizers: Vec<String>,
    }

    NamespaceStatus {
        /// `Active` or `Terminating`.
        phase: String,
        /// The five conditions of a deletion; none before Kubernetes 1.16.
        conditions: Vec<Condition>,
    }
}

lite! {
    /// A condition of any kind of object.
    Condition {
        /// Its type.
        #[serde(rename = "type")]
        kind: String,
        /// `True`, `False` or `Unknown`.
        status: String,
        reason: String,
        message: Message,
        /// When the status last changed.
        #[serde(skip_serializing_if = "Option::is_none")]
        last_transition_time: Option<Timestamp>,
        /// When it was last confirmed.
        #[serde(skip_serializing_if = "Option::is_none")]
        last_heartbeat_time: Option<Timestamp>,
        /// Of which generation of the object it is.
        #[serde(skip_serializing_if = "Option::is_none")]
        observed_generation: Option<i64>,
    }
}

impl Condition {
    /// Whether it was written before the object's deletion: of an earlier generation, which the deletion raises, or, where it
    /// does not say that, confirmed at an earlier time.
    pub fn is_of_before(&self, meta: &Meta) -> bool {
        match self.observed_generation.zip(meta.generation) {
            Some((observed, now)) => observed < now,
            None => is_earlier(self.last_heartbeat_time, meta),
        }
    }

    /// Whether it says no more than its status.
    pub fn is_bare(&self) -> bool {
        self.reason.is_empty() && self.message.is_empty()
    }

    /// Whether its status is as it was before the object's deletion. Its message may have been written since.
    pub fn is_unchanged(&self, meta: &Meta) -> bool {
        is_earlier(self.last_transition_time, meta)
    }
}

fn is_earlier(written: Option<Timestamp>, meta: &Meta) -> bool {
    written.zip(meta.deletion_requested_at()).is_some_and(|(written, asked)| written < asked)
}

/// The condition of this type.
pub fn condition<'a>(conditions: &'a [Condition], kind: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.kind == kind)
}

/// Whether the condition of this type is there and `True`.
pub fn is_true(conditions: &[Condition], kind: &str) -> bool {
    condition(conditions, kind).is_some_and(|condition| condition.status == "True")
}

lite! {
    /// An object of any other kind: its metadata, and of its status what most kinds have, where that was asked for.
    Object {
        metadata: Meta,
        #[serde(skip_serializing_if = "ObjectSpec::is_empty")]
        spec: ObjectSpec,
        /// The configuration that a ProviderConfigUsage stands for.
        #[serde(skip_serializing_if = "Named::is_empty")]
        provider_config_ref: Named,
        status: ObjectStatus,
    }
}

impl Object {
    /// Whether this field names this object.
    pub fn names(&self, field: Field, object: &ObjectRef) -> bool {
        match field {
            Field::ProviderConfig => self.provider_config_ref.is(object),
            field => self.spec.references.name(field, object),
        }
    }
}

/// What is read of what was asked of an object. Of a custom kind it may have any shape.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ObjectSpec {
    /// The machine that a Machine has become, as its cloud calls it.
    #[serde(rename = "providerID")]
    pub provider_id: String,
    #[serde(skip_serializing_if = "References::is_empty")]
    pub references: References,
    /// Whether what an Application manages is in another cluster.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_remote: bool,
}

impl ObjectSpec {
    fn is_empty(&self) -> bool {
        self.provider_id.is_empty() && self.references.is_empty() && !self.is_remote
    }
}

impl<'de> Deserialize<'de> for ObjectSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spec = Value::deserialize(deserializer)?;
        let provider_id = text(&spec, "providerID").to_owned();
        let other = |field, own| !["", own].contains(&text(&spec["destination"], field));
        let is_remote = other("server", "https://kubernetes.default.svc") || other("name", "in-cluster");
        Ok(ObjectSpec {
            provider_id,
            references: References::read(&spec),
            is_remote: is_remote || spec["is_remote"] == true,
        })
    }
}

/// What most kinds have in their status. Of a custom kind it may have any shape; what has another one is passed over.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectStatus {
    pub conditions: Vec<Condition>,
    /// One word, beside the conditions or in their place.
    pub reason: String,
    /// A sentence, beside the conditions or in their place.
    pub message: Message,
    /// A sentence about what failed.
    pub error_message: Message,
    /// The node that a Machine or a NodeClaim has become.
    pub node_name: String,
    /// The uid of that node, where it is reported.
    pub node_uid: String,
    /// Whether what it was made for is done: a snapshot is ready to use, a claim is bound, a pod has ended.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_done: bool,
    /// What an Application manages.
    #[serde(rename = "resources", skip_serializing_if = "<[Named]>::is_empty")]
    pub managed: Box<[Named]>,
}

impl<'de> Deserialize<'de> for ObjectStatus {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let status = Value::deserialize(deserializer)?;
        let of_node = |own: &str, field: &str| match text(&status, own) {
            "" => text(&status["nodeRef"], field).to_owned(),
            told => told.to_owned(),
        };
        let first = |fields: &[&str]| fields.iter().map(|field| text(&status, field)).find(|text| !text.is_empty());
        let reason = first(&["reason", "failureReason", "errorReason"]).unwrap_or_default();
        // cert-manager's Challenge has its whole sentence there.
        let (reason, message) = match text(&status, "message") {
            "" if reason.contains(' ') => ("", reason),
            "" => (reason, other_sentence(&status).unwrap_or_default()),
            message => (reason, message),
        };
        let error = first(&["errorMessage", "failureMessage"]).or_else(|| error_field(&status)).unwrap_or_default();
        // Beside a phase that is a failure its sentence is about that.
        let failed = ["phase", "state"].map(|field| text(&status, field)).into_iter().find(|state| is_failure(state));
        let (reason, message, error) = match failed.filter(|_| error.is_empty() && !message.is_empty()) {
            Some(state) => (if reason.is_empty() { state } else { reason }, "", message),
            None => (reason, message, error),
        };
        Ok(ObjectStatus {
            conditions: status["conditions"].as_array().into_iter().flatten().map(loose_condition).collect(),
            reason: reason.to_owned(),
            message: message.into(),
            node_name: of_node("nodeName", "name"),
            node_uid: of_node("nodeUid", "uid"),
            error_message: error.into(),
            is_done: ["readyToUse", "isDone"].iter().any(|field| status[*field] == true)
                || matches!(text(&status, "phase"), "Bound" | "Succeeded" | "Failed"),
            managed: Named::list(&status["resources"]),
        })
    }
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

/// The first field of a status that has a sentence, whatever it is called.
fn other_sentence(status: &Value) -> Option<&str> {
    let fields = status.as_object()?.iter().filter(|(name, _)| !is_failure(name));
    let texts = fields.filter_map(|(_, value)| value.as_str());
    texts.into_iter().find(|text| text.split(' ').filter(|word| !word.is_empty()).nth(MIN_WORDS - 1).is_some())
}

/// The first field that is called an error: a sentence, or an object with one, as of a snapshot.
fn error_field(status: &Value) -> Option<&str> {
    let mut fields = status.as_object()?.iter().filter(|(name, _)| name.to_ascii_lowercase().ends_with("error"));
    fields.find_map(|(_, value)| {
        Some(value.as_str().unwrap_or_else(|| text(value, "message"))).filter(|said| !said.is_empty())
    })
}

/// Whether the name of a field, or of a phase, is that of a failure.
fn is_failure(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.contains("error") || name.contains("fail")
}

/// Fewer words are a name or a state.
const MIN_WORDS: usize = 4;

/// A time that cannot be read leaves the rest of the condition as it is.
fn loose_condition(value: &Value) -> Condition {
    let time = |field| text(value, field).parse().ok();
    // VirtualMachineBackups of KubeVirt have their sentence there.
    let (reason, message) = match (text(value, "reason"), text(value, "message")) {
        (sentence, "") if sentence.contains(' ') => ("", sentence),
        both => both,
    };
    Condition {
        kind: text(value, "type").to_owned(),
        status: text(value, "status").to_owned(),
        reason: reason.to_owned(),
        message: message.into(),
        last_transition_time: time("lastTransitionTime"),
        last_heartbeat_time: time("lastHeartbeatTime"),
        observed_generation: value["observedGeneration"].as_i64(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn again(read: &Object) -> Object {
        serde_json::from_str(&serde_json::to_string(read).unwrap()).unwrap()
    }

    #[test]
    fn a_status_of_any_shape_can_be_read() {
        for odd in [r#""Ready""#, "null", "7", r#"{"conditions": {"Ready": true}, "message": {"a": 1}, "reason": 7}"#] {
            let read: Object = serde_json::from_str(&format!(r#"{{"status": {odd}}}"#)).unwrap();
            assert_eq!(read.status, ObjectStatus::default(), "{odd}");
            let read: Object = serde_json::from_str(&format!(r#"{{"spec": {odd}}}"#)).unwrap();
            assert_eq!(read.spec, ObjectSpec::default(), "{odd}");
        }
        let odd = r#"{"status": {"conditions": [{"type": "Synced", "status": "False", "lastTransitionTime": ""}, 7]}}"#;
        let read: Object = serde_json::from_str(odd).unwrap();
        assert_eq!(read.status.conditions[0].kind, "Synced");
        assert_eq!(again(&read), read);
        let machine = r#"{"spec": {"providerID": "x"}, "status": {"nodeRef": {"name": "n", "uid": "u"}}}"#;
        let read: Object = serde_json::from_str(machine).unwrap();
        let ObjectStatus { node_name, node_uid, .. } = &read.status;
        assert_eq!((read.spec.provider_id.as_str(), node_name.as_str(), node_uid.as_str()), ("x", "n", "u"));
        assert_eq!(again(&read), read);
    }
}
