//! What one entry of the registry says.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Gate;

/// Where a cause sits: at one of a pod's gates, or at the node (then it may hold many pods).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Area {
    /// It blocks this gate of one pod.
    Gate(Gate),
    /// It is a state of the node, named once with all the pods it holds.
    Node,
    /// The API shows it, and it may hold anything that is being deleted.
    Cluster(ClusterArea),
}

/// Where in the cluster a cause sits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClusterArea {
    /// Groups and versions that are not served.
    Api,
    /// The control plane's own programs.
    ControlPlane,
    /// The namespace object.
    Namespace,
    /// Webhooks, policies, conversion, stored data.
    Admission,
    /// Finalizers, owners and the controllers behind them.
    Finalizer,
    /// Pods, as the API shows them, and their nodes.
    Pod,
    /// Claims, volumes and attachments.
    Storage,
}

impl ClusterArea {
    /// All of them, from the widest to the narrowest.
    pub const ALL: [ClusterArea; 7] = [
        ClusterArea::Api,
        ClusterArea::ControlPlane,
        ClusterArea::Namespace,
        ClusterArea::Admission,
        ClusterArea::Finalizer,
        ClusterArea::Pod,
        ClusterArea::Storage,
    ];

    /// The stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            ClusterArea::Api => "Api",
            ClusterArea::ControlPlane => "ControlPlane",
            ClusterArea::Namespace => "Namespace",
            ClusterArea::Admission => "Admission",
            ClusterArea::Finalizer => "Finalizer",
            ClusterArea::Pod => "PodAndNode",
            ClusterArea::Storage => "Storage",
        }
    }
}

/// An entry of the registry.
#[derive(Debug)]
pub struct Cause {
    /// The stable id, never renamed: `FuseServerNotResponding`.
    pub id: &'static str,
    /// Where it sits.
    pub area: Area,
    /// A headline without a full stop.
    pub title: &'static str,
    /// What has happened and why that blocks the pod.
    pub meaning: &'static str,
    /// The facts without which the cause is not claimed.
    pub proof: &'static str,
    /// What to do, safest first. Commands are templates: `{pid}` is filled in and quoted.
    pub safe: &'static [Advice],
    /// What people do instead, and what that breaks.
    pub danger: Danger,
    /// Issues and sources that show it in the wild.
    pub sources: &'static [&'static str],
    /// The `reason` of the Event (≤ 128 characters).
    pub event_reason: &'static str,
    /// How the diagnosis was proven.
    pub diagnosis: Proven,
}

/// One piece of advice.
#[derive(Debug)]
pub struct Advice {
    /// What to do, as an imperative sentence without a full stop; may hold placeholders.
    pub text: &'static str,
    /// The command, when there is one.
    pub command: Option<&'static str>,
    /// How the advice was proven.
    pub proven: Proven,
}

impl Advice {
    /// Whether a test has executed it.
    pub fn is_tested(&self) -> bool {
        matches!(self.proven, Proven::Lab(_) | Proven::Typed)
    }
}

/// What not to do.
#[derive(Debug)]
pub struct Danger {
    /// The tempting command or act.
    pub action: &'static str,
    /// What it breaks.
    pub breaks: &'static str,
}

/// How something was proven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proven {
    /// By this lab scenario, on a real kernel with a real runtime.
    Lab(&'static str),
    /// Its command only reads: the real kubectl typed it, and got what it asks for from the fake
    /// API server that answers as recorded.
    Typed,
    /// By judging what a real API server answered in this recorded situation.
    Recording(&'static str),
    /// By judging a saved observation made after the reference; the lab cannot stage it.
    Observation,
    /// Not by a test: the page and the output say so.
    Untested,
}

/// A reference to an entry; serialized as its id.
#[derive(Clone, Copy, Debug)]
pub struct CauseRef(pub &'static Cause);

impl std::ops::Deref for CauseRef {
    type Target = Cause;
    fn deref(&self) -> &Cause {
        self.0
    }
}

impl PartialEq for CauseRef {
    fn eq(&self, other: &Self) -> bool {
        self.0.id == other.0.id
    }
}

impl Eq for CauseRef {}

impl Serialize for CauseRef {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.id)
    }
}

impl JsonSchema for CauseRef {
    fn schema_name() -> Cow<'static, str> {
        "Cause".into()
    }

    /// Any id, because a newer version knows more of them.
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "The id of a cause; docs/causes.md explains each. Newer versions know more of them.",
            "pattern": "^[A-Z][A-Za-z0-9]*$",
        })
    }
}

impl<'de> Deserialize<'de> for CauseRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let id = String::deserialize(deserializer)?;
        super::find(&id).map(CauseRef).ok_or_else(|| serde::de::Error::custom(UnknownCause(id)))
    }
}

/// A finding names a cause that this version does not know.
#[derive(Debug, thiserror::Error)]
#[error("cause {0:?} is not in this version's registry; use the version that wrote it, or a newer one")]
pub struct UnknownCause(pub String);

/// Declares the causes of one area, and `ALL` of them.
macro_rules! causes {
    ($($(#[$doc:meta])* $name:ident = $cause:expr;)*) => {
        $($(#[$doc])* pub static $name: $crate::cause::Cause = $cause;)*
        pub(in crate::cause) static ALL: &[&$crate::cause::Cause] = &[$(&$name),*];
    };
}
