//! Why an aggregated API is said to be unavailable.

use findings::Creation;

use super::backed_api::Unavailable;
use super::unreachable;
use crate::messages::api_service::{Failure, failure};
use crate::rules::backend::{self, Backend};
use crate::rules::ca_bundle;
use crate::rules::prelude::*;

impl Unavailable<'_> {
    /// Explains it by what is behind the Service.
    pub fn explain(&self, case: &mut Case) {
        let unexplained =
            || self.found(&cause::API_SERVICE_UNAVAILABLE).at_itself(self.target, self.available.message.to_string());
        let root = match backend::inspect(case, self.reference) {
            Backend::NoEndpoint { node: Some(on), .. } => return case.diagnosis.wait_for(on),
            Backend::Unknown if case.diagnosis.pending => return,
            Backend::NoService => {
                let service = self.service();
                let place = service.namespace.as_deref().unwrap_or_default();
                let creation = match case.lister.is_namespace_terminating(place) {
                    true => Creation::Refused,
                    false => Creation::Possible,
                };
                self.found(&cause::API_SERVICE_WITHOUT_SERVICE)
                    .given(Circumstance::Creation(creation))
                    .evidence(service.to_string(), "not found")
                    .step(Step::about(&service, "does not exist"))
            }
            Backend::NoEndpoint { steps, workload, state, node: None } => {
                let root = self.found(&cause::API_SERVICE_WITHOUT_ENDPOINTS);
                let root = root.given(Circumstance::Controller(state));
                let root = root.name_if(Placeholder::Workload, workload.map(|object| object.typed_name()));
                steps.into_iter().fold(root, |root, step| root.evidence(&step.subject, &step.words).step(step))
            }
            Backend::Ready { node, .. } => self.by_message(case, node.as_deref()),
            Backend::External => unexplained(),
            Backend::Unknown => unexplained().probable("what runs behind its Service: that could not be looked at"),
        };
        case.diagnosis.causes.push(root);
    }

    /// There is a ready endpoint, so what the API server says about it decides.
    fn by_message(&self, case: &mut Case, node: Option<&str>) -> RootCause {
        let message = &self.available.message;
        let here = |cause| self.found(cause).at_itself(self.target, format!("not available: {message}"));
        match failure(message) {
            Failure::Certificate => {
                let root = here(&cause::API_SERVICE_CERTIFICATE_INVALID);
                let Some((_, words)) = ca_bundle::expired(case.lister, &self.api.spec.ca_bundle) else { return root };
                let bundle = Step::named(format!("caBundle of {}", self.target), words);
                root.evidence(&bundle.subject, &bundle.words).step(bundle)
            }
            Failure::Unauthorized => here(&cause::API_SERVICE_REFUSES_AGGREGATOR),
            Failure::Other => here(&cause::API_SERVICE_UNAVAILABLE),
            failure @ (Failure::ConnectionRefused | Failure::Unreachable | Failure::TimedOut) => {
                unreachable::explain(case, self, failure, node)
            }
        }
    }
}
