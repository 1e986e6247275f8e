//! Webhooks that must agree, and whether they can be called.

use findings::cause;

use super::backend::{self, Backend};
use super::namespace;
use crate::graph::{Found, Standing, Step, View};
use crate::state::*;

const KINDS: [(&str, Known); 2] =
    [("ValidatingWebhookConfiguration", known::VALIDATING), ("MutatingWebhookConfiguration", known::MUTATING)];

/// Explains a configuration: the webhooks in it that refuse because they cannot be called.
pub fn explain(view: &View, thing: &Thing) -> Standing {
    let mut standing = Standing::default();
    let known = if thing.is(known::MUTATING) { known::MUTATING } else { known::VALIDATING };
    let answer = view.list::<WebhookConfiguration>(known, Scope::All);
    let all = standing.see(known.plural, "which webhooks must agree", answer).unwrap_or_default();
    let Some(configuration) = all.into_iter().find(|one| one.metadata.name == thing.name) else {
        standing.words = "not known".to_owned();
        return standing;
    };
    let names: Vec<&str> = configuration.webhooks.iter().map(|webhook| webhook.name.as_str()).collect();
    standing.words = format!("must be asked (webhook {})", names.join(", "));
    for webhook in configuration.webhooks.iter().filter(|webhook| webhook.refuses_when_it_fails()) {
        judge(view, thing, webhook, &mut standing);
    }
    standing
}

fn judge(view: &View, thing: &Thing, webhook: &Webhook, standing: &mut Standing) {
    let base = |words: &str| {
        let deletes = webhook.rules.iter().any(|rule| rule.operations.iter().any(|it| it == "DELETE" || it == "*"));
        let cause = if deletes { &cause::WEBHOOK_UNAVAILABLE } else { &cause::WEBHOOK_BLOCKS_UPDATE };
        Found::below(cause, thing)
            .evidence(thing.to_string(), format!("webhook {}: failurePolicy Fail; {words}", webhook.name))
            .name("configuration", thing.typed_name())
            .name_if("service", webhook.client_config.service.as_ref())
    };
    let Some(service) = &webhook.client_config.service else {
        let url = webhook.client_config.url.as_deref().unwrap_or_default();
        standing.note(format!(
            "Webhook {} is called outside of the cluster ({url}); whether it answers cannot be seen.",
            webhook.name
        ));
        return;
    };
    let shown = Thing::namespaced("Service", known::SERVICES, &service.namespace, &service.name);
    match backend::look(view, standing, service) {
        Backend::NoService => {
            standing.found.push(base("its Service does not exist").step(Step::about(&shown, "does not exist")));
        }
        Backend::NoEndpoint { node: Some(node), .. } => standing.wait_for(node),
        Backend::NoEndpoint { steps, node: None, .. } => {
            let found = steps.into_iter().fold(base("its Service has no ready endpoint"), Found::step);
            standing.found.push(found);
        }
        Backend::Ready { .. } => {
            // It can be called in principle; only the condition's words can say more.
        }
        Backend::Unknown => {}
    }
}

/// Whether an error about this webhook is explained by its backend: the configuration then tells.
pub fn is_explained(view: &View, configuration: &Thing) -> bool {
    let its = explain(view, configuration);
    its.open || !its.found.is_empty() || !its.waits_for.is_empty()
}

/// The configuration that has a webhook of this name, as errors print it.
pub fn configuration_of(view: &View, standing: &mut Standing, webhook: &str) -> Option<Thing> {
    KINDS.iter().find_map(|(kind, known)| {
        let answer = view.list::<WebhookConfiguration>(*known, Scope::All);
        let all = standing.see(known.plural, "which webhooks must agree", answer)?;
        let found = all.into_iter().find(|one| one.webhooks.iter().any(|it| it.name == webhook))?;
        Some(Thing::cluster_wide(kind, *known, &found.metadata.name))
    })
}

/// A request that webhooks may be asked about.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// `DELETE`, `UPDATE`.
    pub operation: &'a str,
    /// The group of the object.
    pub group: &'a str,
    /// Its resource, with a subresource: `pods/status`.
    pub resource: &'a str,
    /// Its namespace; for a namespace, itself.
    pub namespace: Option<&'a str>,
}

/// Configurations with a webhook that must agree to this request and has no backend.
pub fn broken_for(view: &View, standing: &mut Standing, asked: Asked) -> Vec<Thing> {
    let mut broken = Vec::new();
    for (kind, known) in KINDS {
        let answer = view.list::<WebhookConfiguration>(known, Scope::All);
        for configuration in standing.see(known.plural, "which webhooks must agree", answer).unwrap_or_default() {
            if configuration.webhooks.iter().any(|webhook| refuses(view, standing, webhook, asked)) {
                broken.push(Thing::cluster_wide(kind, known, &configuration.metadata.name));
            }
        }
    }
    broken
}

fn refuses(view: &View, standing: &mut Standing, webhook: &Webhook, asked: Asked) -> bool {
    if !webhook.refuses_when_it_fails() || !webhook.asks_about(asked.operation, asked.group, asked.resource) {
        return false;
    }
    let Some(service) = &webhook.client_config.service else { return false };
    if !selects(view, standing, webhook, asked.namespace) {
        return false;
    }
    matches!(backend::look(view, standing, service), Backend::NoService | Backend::NoEndpoint { .. })
}

/// Whether its namespaceSelector covers the namespace; without one it covers all.
fn selects(view: &View, standing: &mut Standing, webhook: &Webhook, namespace: Option<&str>) -> bool {
    let (false, Some(name)) = (webhook.namespace_selector == Selector::default(), namespace) else { return true };
    let answer = namespace::find(view, name);
    let found = standing.see(format!("Namespace {name}"), "whether a webhook is asked about it", answer);
    found.is_none_or(|namespace| webhook.namespace_selector.matches(&namespace.metadata.labels))
}
