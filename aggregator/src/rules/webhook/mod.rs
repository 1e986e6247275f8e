//! Webhooks that must agree, and whether they can be called.

mod request;

use findings::{Cause, Placeholder, cause};

pub use request::Request;

use self::request::{Asked, asked};
use super::backend::{self, Backend};
use crate::graph::{Found, Standing, Step, View};
use crate::state::*;

const KINDS: [(&str, Known); 2] =
    [("ValidatingWebhookConfiguration", known::VALIDATING), ("MutatingWebhookConfiguration", known::MUTATING)];

/// Explains a configuration: the webhooks in it that refuse because they cannot be called.
pub fn explain(view: &View, thing: &Thing) -> Standing {
    let mut standing = Standing::default();
    let known = if thing.is(known::MUTATING) { known::MUTATING } else { known::VALIDATING };
    let all = configurations(view, &mut standing, known);
    let Some(configuration) = all.into_iter().find(|one| one.metadata.name == thing.name) else {
        standing.words = "not known".to_owned();
        return standing;
    };
    let names: Vec<&str> = configuration.webhooks.iter().map(|webhook| webhook.name.as_str()).collect();
    standing.words = words(&names);
    for webhook in configuration.webhooks.iter().filter(|webhook| webhook.refuses_when_it_fails()) {
        match broken(view, &mut standing, thing, webhook) {
            Broken::With(found) => standing.found.push(found),
            Broken::By(node) => standing.wait_for(node),
            Broken::No if webhook.client_config.service.is_none() => standing.note(outside(webhook)),
            Broken::No => {}
        }
    }
    standing
}

fn configurations<'a>(view: &View<'a>, standing: &mut Standing, known: Known) -> Vec<&'a WebhookConfiguration> {
    let answer = view.list::<WebhookConfiguration>(known, Scope::All);
    standing.see(known.plural, "which webhooks must agree", answer).unwrap_or_default()
}

fn words(webhooks: &[&str]) -> String {
    format!("must be asked (webhook {})", webhooks.join(", "))
}

fn outside(webhook: &Webhook) -> String {
    let url = webhook.client_config.url.as_deref().unwrap_or_default();
    format!("Webhook {} is called outside of the cluster ({url}); whether it answers cannot be seen.", webhook.name)
}

/// Whether a webhook has somebody behind it.
enum Broken {
    /// As far as can be seen.
    No,
    /// Nobody; this says why.
    With(Found),
    /// All of it is on this node, which is not well.
    By(Thing),
}

fn broken(view: &View, standing: &mut Standing, configuration: &Thing, webhook: &Webhook) -> Broken {
    let Some(service) = &webhook.client_config.service else { return Broken::No };
    let base = |words: &str| {
        Found::below(cause_of(webhook), configuration)
            .same_as(format!("{configuration}:{service}"))
            .evidence(configuration.to_string(), format!("webhook {}: failurePolicy Fail; {words}", webhook.name))
            .name(Placeholder::Configuration, configuration.typed_name())
            .name(Placeholder::Service, service)
    };
    match backend::look(view, standing, service) {
        Backend::NoService => {
            let shown = Thing::namespaced("Service", known::SERVICES, &service.namespace, &service.name);
            Broken::With(base("its Service does not exist").step(Step::about(&shown, "does not exist")))
        }
        Backend::NoEndpoint { node: Some(node), .. } => Broken::By(node),
        Backend::NoEndpoint { steps, node: None, .. } => {
            Broken::With(steps.into_iter().fold(base("its Service has no ready endpoint"), Found::step))
        }
        // It can be called in principle; only an error's words can say more.
        Backend::Ready { .. } | Backend::Unknown => Broken::No,
    }
}

/// One root for all that the webhook holds, whatever each of them was refused.
fn cause_of(webhook: &Webhook) -> &'static Cause {
    let deletes = webhook.rules.iter().any(|rule| rule.operations.iter().any(|it| it == "DELETE" || it == "*"));
    if deletes { &cause::WEBHOOK_UNAVAILABLE } else { &cause::WEBHOOK_BLOCKS_UPDATE }
}

/// Whether the backend of a webhook explains that it could not be called; says so in `standing`.
fn blame(view: &View, standing: &mut Standing, configuration: &Thing, webhook: &Webhook, sure: &Asked) -> bool {
    match broken(view, standing, configuration, webhook) {
        Broken::No => false,
        Broken::By(_) => {
            standing.wait_for(configuration.clone());
            true
        }
        Broken::With(found) => {
            let found = found.under(Step::about(configuration, words(&[&webhook.name])));
            let found = match sure {
                Asked::Perhaps(why) => found.evidence(format!("webhook {}", webhook.name), why).probable(),
                Asked::Yes | Asked::No => found,
            };
            if standing.found.iter().all(|known| known.root != found.root) {
                standing.found.push(found);
            }
            true
        }
    }
}

/// Whether a webhook that cannot be called refuses one of these requests; each is told in `standing`.
pub fn refuses(view: &View, standing: &mut Standing, requests: &[Request]) -> bool {
    let mut any = false;
    for (kind, known) in KINDS {
        for configuration in configurations(view, standing, known) {
            let thing = Thing::cluster_wide(kind, known, &configuration.metadata.name);
            for webhook in configuration.webhooks.iter().filter(|webhook| webhook.refuses_when_it_fails()) {
                let sure = requests.iter().map(|request| asked(view, standing, webhook, *request));
                // Of several requests the surest counts.
                let sure = sure.reduce(|one, other| if one == Asked::Yes || other == Asked::No { one } else { other });
                match sure {
                    None | Some(Asked::No) => {}
                    Some(sure) => any |= blame(view, standing, &thing, webhook, &sure),
                }
            }
        }
    }
    any
}

/// Mutating webhooks that are asked about a request: what they add may make it invalid.
pub fn changers(view: &View, standing: &mut Standing, request: Request) -> Vec<String> {
    let mut names = Vec::new();
    for configuration in configurations(view, standing, known::MUTATING) {
        let mut webhooks = configuration.webhooks.iter();
        if webhooks.any(|webhook| asked(view, standing, webhook, request) != Asked::No) {
            names.push(configuration.metadata.name.clone());
        }
    }
    names
}

/// A webhook as an error names it, and what came of it.
pub struct Called {
    /// The configuration it stands in, if that was found.
    pub configuration: Option<Thing>,
    /// Whether `standing` says now why it cannot be called.
    pub is_explained: bool,
}

/// Looks behind a webhook that an error names: it was asked, whatever its rules say.
pub fn called(view: &View, standing: &mut Standing, webhook: &str) -> Called {
    let Some((configuration, webhook)) = find(view, standing, webhook) else {
        return Called { configuration: None, is_explained: false };
    };
    let is_explained = blame(view, standing, &configuration, webhook, &Asked::Yes);
    Called { configuration: Some(configuration), is_explained }
}

/// The configuration that has a webhook of this name, as errors print it.
pub fn configuration_of(view: &View, standing: &mut Standing, webhook: &str) -> Option<Thing> {
    find(view, standing, webhook).map(|(configuration, _)| configuration)
}

fn find<'a>(view: &View<'a>, standing: &mut Standing, name: &str) -> Option<(Thing, &'a Webhook)> {
    KINDS.iter().find_map(|(kind, known)| {
        configurations(view, standing, *known).into_iter().find_map(|configuration| {
            let webhook = configuration.webhooks.iter().find(|webhook| webhook.name == name)?;
            Some((Thing::cluster_wide(kind, *known, &configuration.metadata.name), webhook))
        })
    })
}
