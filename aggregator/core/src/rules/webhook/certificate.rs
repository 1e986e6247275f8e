//! Webhooks whose caBundle has expired: the API server believes no certificate that they could show.

use findings::{Placeholder, cause};

use crate::diagnosis::{RootCause, Step};
use crate::lister::Lister;
use crate::rules::words::age;
use crate::state::*;

/// The cause, if every certificate of the bundle has expired.
pub fn expired(lister: &Lister, configuration: &ObjectRef, webhook: &Webhook) -> Option<RootCause> {
    let end = webhook.client_config.ca_bundle.expires()?;
    if lister.state.seconds_since(end) <= 0 {
        return None;
    }
    let words = format!("its last certificate expired at {end}, {} ago", age(lister, end));
    let says = format!("webhook {}: failurePolicy Fail; caBundle: {words}", webhook.name);
    let found = RootCause::below(&cause::WEBHOOK_CA_EXPIRED, configuration)
        .same_as(format!("{configuration}:{end}"))
        .step(Step::named(format!("caBundle of webhook {}", webhook.name), words))
        .evidence(configuration.to_string(), says)
        .name(Placeholder::Configuration, configuration.typed_name());
    Some(found)
}
