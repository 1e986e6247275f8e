//! Which pod the user asks for.

use findings::PodUid;
use serde::{Deserialize, Serialize};

/// A pod the user asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PodFilter {
    Uid(PodUid),
    /// By namespace and name.
    Name(String, String),
}

impl PodFilter {
    /// Whether it means this pod.
    pub fn matches(&self, pod: &findings::PodRef) -> bool {
        match self {
            PodFilter::Uid(uid) => pod.uid == *uid,
            PodFilter::Name(namespace, name) => {
                pod.namespace.as_ref() == Some(namespace) && pod.name.as_ref() == Some(name)
            }
        }
    }
}

impl std::fmt::Display for PodFilter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PodFilter::Uid(uid) => uid.fmt(f),
            PodFilter::Name(namespace, name) => {
                write!(f, "{}/{}", findings::clean(namespace, 63), findings::clean(name, 253))
            }
        }
    }
}
