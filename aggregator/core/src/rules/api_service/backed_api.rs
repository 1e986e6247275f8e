//! An aggregated API, the Service behind it, and what the API server reports of it.

use crate::rules::phrases::condition_text;
use crate::rules::prelude::*;

/// An API that is served by a Service, and what the API server says of it.
pub struct Unavailable<'c> {
    pub target: &'c ObjectRef,
    pub api: &'c ApiService,
    pub available: &'c Condition,
    pub reference: &'c ServiceRef,
}

impl Unavailable<'_> {
    /// The Service that serves it.
    pub fn service(&self) -> ObjectRef {
        ObjectRef::namespaced(known::SERVICES, &self.reference.namespace, &self.reference.name)
    }

    /// What was found below it.
    pub fn found(&self, cause: &'static Cause) -> RootCause {
        RootCause::below(cause, self.target)
            .name(Placeholder::ApiService, &self.target.name)
            .name(Placeholder::Namespace, &self.reference.namespace)
            .name(Placeholder::Service, self.reference)
            .name(Placeholder::ServiceName, &self.reference.name)
            .evidence(format!("status of {}", self.target), condition_text(self.available))
    }
}
