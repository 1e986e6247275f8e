//! Webhooks whose caBundle has expired: the API server believes no certificate that they could show.

use crate::rules::ca_bundle;
use crate::rules::prelude::*;

/// The cause, if every certificate of the bundle has expired.
pub fn expired(lister: &Lister, configuration: &ObjectRef, webhook: &Webhook) -> Option<RootCause> {
    let (end, words) = ca_bundle::expired(lister, &webhook.client_config.ca_bundle)?;
    let says = format!("webhook {}: failurePolicy Fail; caBundle: {words}", webhook.name);
    let found = RootCause::below(&cause::WEBHOOK_CERTIFICATE_INVALID, configuration)
        .same_as(format!("{configuration}:{end}"))
        .step(Step::named(format!("caBundle of webhook {}", webhook.name), words))
        .evidence(configuration.to_string(), says)
        .name(Placeholder::Configuration, configuration.typed_name());
    Some(found)
}
