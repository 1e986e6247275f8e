//! What names a kind of objects, and one object of it.

pub mod known;
mod object_ref;

use std::borrow::Cow;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use known::ApiResource;
pub use object_ref::ObjectRef;

/// A name that mostly is one of the API's own, which take no room: of thousands of objects each is named many times.
pub type Name = Cow<'static, str>;

/// A kind of object, as the API names it in its paths.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Resource {
    /// The group; empty for the core group.
    pub group: Name,
    /// The version.
    pub version: Name,
    /// The plural name: `pods`.
    pub plural: Name,
}

/// The groups of the API server with a dot in their names, those of older servers included.
const BUILT_IN: [&str; 18] = [
    "admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "authentication.k8s.io",
    "authorization.k8s.io", "certificates.k8s.io", "coordination.k8s.io", "discovery.k8s.io", "events.k8s.io",
    "flowcontrol.apiserver.k8s.io", "internal.apiserver.k8s.io", "networking.k8s.io", "node.k8s.io",
    "rbac.authorization.k8s.io", "resource.k8s.io", "scheduling.k8s.io", "storage.k8s.io", "storagemigration.k8s.io",
];

impl Resource {
    /// Names a resource.
    pub fn new(group: impl Into<Name>, version: impl Into<Name>, plural: impl Into<Name>) -> Self {
        Resource { group: group.into(), version: version.into(), plural: plural.into() }
    }

    /// Whether the API server itself serves it. A group of the project may also be a CRD's
    /// (`snapshot.storage.k8s.io`, `gateway.networking.k8s.io`) or an aggregated API's (`metrics.k8s.io`).
    pub fn is_built_in(&self) -> bool {
        !self.group.contains('.') || BUILT_IN.contains(&self.group.as_ref())
    }

    /// As kubectl wants to hear it: `pods`, `widgets.example.com`.
    pub fn for_kubectl(&self) -> String {
        match self.group.as_ref() {
            "" => self.plural.to_string(),
            group => format!("{}.{group}", self.plural),
        }
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.for_kubectl())
    }
}
