//! The kinds of objects the rules read, each reduced to the fields they read.
//!
//! The field names are the API's own, so an answer of the server, a recording of one and a saved
//! state all read the same.

mod access;
mod admission;
mod agent;
mod api;
mod ca_bundle;
mod node;
mod pod;
mod storage;
mod workload;

pub use access::*;
pub use admission::*;
pub use agent::*;
pub use api::*;
pub use ca_bundle::CaBundle;
pub use node::*;
pub use pod::*;
pub use storage::*;
pub use workload::*;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Meta, or_default};
use crate::messages::Message;

/// Declares a type whose fields are all optional in the API.
macro_rules! lite {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        pub struct $name {
            $($(#[$field_doc])* #[serde(deserialize_with = "crate::state::or_default")] pub $field: $type,)*
        }
    };
}
use lite;

lite! {
    /// A namespace.
    Namespace {
        /// Its metadata.
        metadata: Meta,
        /// What was asked for.
        spec: NamespaceSpec,
        /// How it stands.
        status: NamespaceStatus,
    }
}

lite! {
    /// What was asked of a namespace.
    NamespaceSpec {
        /// `kubernetes`, and those of others.
        finalizers: Vec<String>,
    }
}

lite! {
    /// How a namespace stands.
    NamespaceStatus {
        /// `Active` or `Terminating`.
        phase: String,
        /// The five conditions of a deletion; none before Kubernetes 1.16.
        conditions: Vec<Condition>,
    }
}

/// A condition of any kind of object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Condition {
    /// Its type.
    #[serde(rename = "type", deserialize_with = "or_default")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    #[serde(deserialize_with = "or_default")]
    pub status: String,
    /// One word.
    #[serde(deserialize_with = "or_default")]
    pub reason: String,
    /// A sentence.
    #[serde(deserialize_with = "or_default")]
    pub message: Message,
    /// When the status last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Timestamp>,
    /// When it was last confirmed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_heartbeat_time: Option<Timestamp>,
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
    /// An object of any other kind: its metadata, and its status conditions where they were asked for.
    Object {
        /// Its metadata.
        metadata: Meta,
        /// How it stands.
        status: ObjectStatus,
    }
}

lite! {
    /// What most kinds have in their status.
    ObjectStatus {
        /// Its conditions.
        conditions: Vec<Condition>,
    }
}
