//! What can be asked of the API server.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::resource::Resource;

/// Which objects of a resource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Scope {
    All,
    Namespace(String),
    /// One object.
    Named(Option<String>, String),
}

/// Which of them to keep.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Select {
    Every,
    /// What the server selects by this field selector.
    Fields(String),
    /// What the server selects by this label selector.
    Labels(String),
    /// Those with a deletion timestamp. No server can select by it, so the others are dropped as
    /// they arrive.
    Terminating,
    /// Volumes that are a path of one node. As with those that are being deleted.
    Local,
}

impl Select {
    /// Pods that wait to start.
    pub fn pending() -> Self {
        Select::Fields("status.phase=Pending".to_owned())
    }
}

/// How much of each object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Detail {
    /// The object, of which the state keeps what the rules read.
    Full,
    Metadata,
    /// The object, of which the state keeps what is read of any kind: also of one that has rules of its own.
    AnyKind,
}

/// One question to the API server. Nothing here can change anything.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Question {
    /// Which version it runs.
    Version,
    /// Which groups and resources it serves, and which of them are dead.
    Discovery,
    /// Which of its own checks the API server fails.
    Health,
    /// What a kubelet has written about a pod.
    KubeletLog {
        node: String,
        uid: String,
    },
    /// What the agent of a node says of a pod when it is asked now.
    Live {
        /// The agent's pod: its namespace and name.
        agent: (String, String),
        /// The pod: its namespace and name.
        pod: (String, String),
        /// Whether it is not being deleted, and who would hold its volumes if it were is to be said.
        #[serde(skip_serializing_if = "std::ops::Not::not", default)]
        before: bool,
    },
    /// How many objects of a kind a namespace has, counted twice.
    Counts {
        resource: Resource,
        namespace: String,
    },
    Objects {
        resource: Resource,
        scope: Scope,
        select: Select,
        detail: Detail,
    },
}

impl Question {
    pub fn objects(resource: impl Into<Resource>, scope: Scope, select: Select, detail: Detail) -> Self {
        Question::Objects { resource: resource.into(), scope, select, detail }
    }

    /// The metadata of all that is being deleted.
    pub fn terminating_metadata(resource: impl Into<Resource>, scope: Scope) -> Self {
        Question::objects(resource, scope, Select::Terminating, Detail::Metadata)
    }

    /// Whether it is one of the many that scan every kind.
    pub fn is_scan(&self) -> bool {
        matches!(self, Question::Objects { select: Select::Terminating, detail: Detail::Metadata, .. })
    }
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (resource, scope, select) = match self {
            Question::Version => return f.write_str("version"),
            Question::Discovery => return f.write_str("API discovery"),
            Question::Health => return f.write_str("checks of the API server"),
            Question::KubeletLog { node, uid } => return write!(f, "kubelet log of {node} about {uid}"),
            Question::Live { agent, pod, .. } => {
                return write!(f, "agent {}/{} about {}/{}", agent.0, agent.1, pod.0, pod.1);
            }
            Question::Counts { resource, namespace } => {
                return write!(f, "number of {resource} of namespace {namespace}");
            }
            Question::Objects { resource, scope, select, .. } => (resource, scope, select),
        };
        write!(f, "{resource}")?;
        match scope {
            Scope::All => {}
            Scope::Namespace(namespace) => write!(f, " of namespace {namespace}")?,
            Scope::Named(Some(namespace), name) => write!(f, " {namespace}/{name}")?,
            Scope::Named(None, name) => write!(f, " {name}")?,
        }
        match select {
            Select::Fields(selector) | Select::Labels(selector) => write!(f, " ({selector})"),
            Select::Every | Select::Terminating => Ok(()),
            Select::Local => f.write_str(" (local)"),
        }
    }
}
