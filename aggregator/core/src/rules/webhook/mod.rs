//! Webhooks that must agree, and whether they can be called.

mod certificate;
pub mod request;

use findings::{Cause, Placeholder, cause};
use jiff::Timestamp;

pub use request::{Match, Request, matches};

use super::admission_policy;
use super::backend::{self, Backend};
use crate::diagnosis::{Diagnosis, RootCause, Step};
use crate::lister::Lister;
use crate::state::*;

const KINDS: [ApiResource; 2] = [known::VALIDATING, known::MUTATING];

/// Explains a configuration: the webhooks in it that refuse because they cannot be called.
pub fn explain(lister: &Lister, target: &ObjectRef) -> Diagnosis {
    let mut diagnosis = Diagnosis::default();
    let known = if target.is(known::MUTATING) { known::MUTATING } else { known::VALIDATING };
    let all = configurations(lister, &mut diagnosis, known);
    let Some(configuration) = all.into_iter().flatten().find(|one| one.metadata.name == target.name) else {
        diagnosis.words = crate::report::NOT_KNOWN.to_owned();
        return diagnosis;
    };
    let names: Vec<&str> = configuration.webhooks.iter().map(|webhook| webhook.name.as_str()).collect();
    diagnosis.words = words(&names);
    for webhook in configuration.webhooks.iter().filter(|webhook| webhook.refuses_when_it_fails()) {
        match broken(lister, &mut diagnosis, target, webhook) {
            Broken::With(root) => diagnosis.causes.push(*root),
            Broken::By(node) => diagnosis.wait_for(node),
            Broken::No if webhook.client_config.service.is_none() => diagnosis.note(outside(webhook)),
            Broken::No => {}
        }
    }
    diagnosis
}

/// All of a kind; nothing when they cannot be seen.
fn configurations<'a>(
    lister: &Lister<'a>,
    diagnosis: &mut Diagnosis,
    known: ApiResource,
) -> Option<Vec<&'a WebhookConfiguration>> {
    let answer = lister.list::<WebhookConfiguration>(known, Scope::All);
    diagnosis.required(known.plural, "which webhooks must agree", answer)
}

fn words(webhooks: &[&str]) -> String {
    let webhooks = webhooks.join(", ");
    format!("admission calls webhook {webhooks} (failurePolicy: Fail)")
}

fn outside(webhook: &Webhook) -> String {
    let url = webhook.client_config.url.as_deref().unwrap_or_default();
    format!("Webhook {} is called outside of the cluster ({url}); whether it answers cannot be seen.", webhook.name)
}

/// Whether a webhook has a backend.
enum Broken {
    /// As far as can be seen.
    No,
    /// It has no backend; this says why.
    With(Box<RootCause>),
    /// All of it is on this node, which is not well.
    By(ObjectRef),
}

fn broken(lister: &Lister, diagnosis: &mut Diagnosis, configuration: &ObjectRef, webhook: &Webhook) -> Broken {
    if let Some(root) = certificate::expired(lister, configuration, webhook) {
        return Broken::With(Box::new(root));
    }
    let Some(service) = &webhook.client_config.service else { return Broken::No };
    let base = |words: &str| {
        let is_lost = lister.is_namespace_terminating(&service.namespace);
        let cause = if is_lost { &cause::WEBHOOK_GONE_WITH_NAMESPACE } else { cause_of(webhook) };
        let root = RootCause::below(cause, configuration);
        let root = match is_lost {
            true => {
                let words =
                    format!("{}: nothing new can be created in it", lister.namespace_deletion(&service.namespace));
                root.evidence(format!("Namespace {}", service.namespace), words)
            }
            false => root,
        };
        root.same_as(format!("{configuration}:{service}"))
            .evidence(configuration.to_string(), format!("webhook {}: failurePolicy Fail; {words}", webhook.name))
            .name(Placeholder::Configuration, configuration.typed_name())
            .name(Placeholder::Service, service)
    };
    match backend::inspect_called(lister, diagnosis, service) {
        Backend::NoService => {
            let shown = ObjectRef::namespaced(known::SERVICES, &service.namespace, &service.name);
            let words = match lister.is_namespace_terminating(&service.namespace) {
                true => format!(
                    "does not exist, and cannot be created again: its namespace {}",
                    lister.namespace_deletion(&service.namespace)
                ),
                false => "does not exist".to_owned(),
            };
            Broken::With(Box::new(base("its Service does not exist").step(Step::about(&shown, words))))
        }
        Backend::NoEndpoint { node: Some(node), .. } => Broken::By(node),
        Backend::NoEndpoint { steps, node: None, .. } => {
            Broken::With(Box::new(steps.into_iter().fold(base("its Service has no ready endpoint"), RootCause::step)))
        }
        // It can be called in principle; only an error's words can say more.
        Backend::Ready { .. } | Backend::External | Backend::Unknown => Broken::No,
    }
}

/// One root for all that the webhook holds, whatever each of them was refused.
fn cause_of(webhook: &Webhook) -> &'static Cause {
    if webhook.is_about_deletions() { &cause::WEBHOOK_UNAVAILABLE } else { &cause::WEBHOOK_BLOCKS_UPDATE }
}

/// Whether the backend of a webhook explains that it could not be called; says so in `diagnosis`.
fn blame(
    lister: &Lister,
    diagnosis: &mut Diagnosis,
    configuration: &ObjectRef,
    webhook: &Webhook,
    sure: &Match,
) -> bool {
    match broken(lister, diagnosis, configuration, webhook) {
        Broken::No => false,
        Broken::By(_) => {
            diagnosis.wait_for(configuration.clone());
            true
        }
        Broken::With(root) => {
            let root = root.under(Step::about(configuration, words(&[&webhook.name])));
            let root = match sure {
                Match::Perhaps(why) => {
                    let missing = format!("whether webhook {} is called for it: it {why}", webhook.name);
                    root.evidence(format!("webhook {}", webhook.name), why).probable(missing)
                }
                Match::Yes | Match::No => root,
            };
            if diagnosis.causes.iter().all(|known| known.draft.root != root.draft.root) {
                diagnosis.causes.push(root);
            }
            true
        }
    }
}

/// Whether a webhook that cannot be called, or a policy without its parameters, refuses one of these requests; each is
/// reported in `diagnosis`.
pub fn refuses(lister: &Lister, diagnosis: &mut Diagnosis, requests: &[Request]) -> bool {
    let mut any = admission_policy::refuses(lister, diagnosis, requests);
    for known in KINDS {
        for configuration in configurations(lister, diagnosis, known).into_iter().flatten() {
            let target = ObjectRef::cluster_wide(known, &configuration.metadata.name);
            for webhook in configuration.webhooks.iter().filter(|webhook| webhook.refuses_when_it_fails()) {
                let sure = requests.iter().map(|request| matches(lister, diagnosis, webhook, *request));
                // Of several requests the surest counts.
                let sure = sure.reduce(|one, other| if one == Match::Yes || other == Match::No { one } else { other });
                match sure {
                    None | Some(Match::No) => {}
                    Some(sure) => any |= blame(lister, diagnosis, &target, webhook, &sure),
                }
            }
        }
    }
    any
}

/// The causes of a webhook that refuses because it cannot be called.
static REFUSES: [&Cause; 4] = [
    &cause::WEBHOOK_UNAVAILABLE,
    &cause::WEBHOOK_BLOCKS_UPDATE,
    &cause::WEBHOOK_GONE_WITH_NAMESPACE,
    &cause::WEBHOOK_CA_EXPIRED,
];

/// Whether each reported webhook may as well not be called.
pub fn may_be_skipped(diagnosis: &Diagnosis) -> bool {
    let is_webhook = |root: &&RootCause| REFUSES.iter().any(|cause| cause.id == root.draft.cause.id);
    let mut refusals = diagnosis.causes.iter().filter(is_webhook).peekable();
    refusals.peek().is_some() && refusals.all(|root| root.draft.missing.is_some())
}

/// Mutating webhooks that are asked about a request: what they add may make it invalid.
pub fn changers(lister: &Lister, diagnosis: &mut Diagnosis, request: Request) -> Vec<String> {
    let mut names = Vec::new();
    for configuration in configurations(lister, diagnosis, known::MUTATING).into_iter().flatten() {
        let mut webhooks = configuration.webhooks.iter();
        if webhooks.any(|webhook| matches(lister, diagnosis, webhook, request) != Match::No) {
            names.push(configuration.metadata.name.clone());
        }
    }
    names
}

/// The webhooks that are called for deletions in a namespace, those whose failure lets them pass first: each with its
/// configuration, and its failurePolicy.
pub fn of_deletions(
    lister: &Lister,
    diagnosis: &mut Diagnosis,
    namespace: &str,
) -> Vec<(ObjectRef, String, &'static str)> {
    let mut found = Vec::new();
    for known in KINDS {
        for configuration in configurations(lister, diagnosis, known).into_iter().flatten() {
            for webhook in configuration.webhooks.iter().filter(|webhook| webhook.is_about_deletions()) {
                if request::covers(lister, diagnosis, webhook, Some(namespace)) != Match::No {
                    let target = ObjectRef::cluster_wide(known, &configuration.metadata.name);
                    let policy = if webhook.refuses_when_it_fails() { "Fail" } else { "Ignore" };
                    found.push((target, webhook.name.clone(), policy));
                }
            }
        }
    }
    found.sort_by_key(|(.., policy)| *policy == "Fail");
    found
}

/// What came of a webhook that an error names.
pub enum Called {
    /// `diagnosis` says now why it cannot be called.
    Explained,
    /// No configuration has it.
    Gone,
    /// Its Service has a ready endpoint, since then if that is known.
    Serves { configuration: ObjectRef, since: Option<Timestamp> },
    /// That could not be seen.
    NotTold(Option<ObjectRef>),
}

/// Looks behind a webhook that an error names, and the host that was called: it was asked, whatever its rules say.
pub fn called(lister: &Lister, diagnosis: &mut Diagnosis, webhook: &str, host: &str) -> Called {
    let (configuration, webhook) = match find(lister, diagnosis, webhook, Some(host)) {
        Found::One(configuration, webhook) => (configuration, webhook),
        Found::None => return Called::Gone,
        Found::NotTold => return Called::NotTold(None),
    };
    if blame(lister, diagnosis, &configuration, webhook, &Match::Yes) {
        return Called::Explained;
    }
    let service = webhook.client_config.service.as_ref();
    match service.map(|service| backend::inspect_called(lister, diagnosis, service)) {
        Some(Backend::Ready { since, .. }) => Called::Serves { configuration, since },
        _ => Called::NotTold(Some(configuration)),
    }
}

/// A webhook of a name, and the configuration that it stands in.
pub enum Found<'a> {
    /// There is none.
    None,
    /// This one.
    One(ObjectRef, &'a Webhook),
    /// It may be one or another, or one that cannot be seen.
    NotTold,
}

/// The webhook of this name, as errors print it. It is unique within its configuration only, so of several the host decides.
pub fn find<'a>(lister: &Lister<'a>, diagnosis: &mut Diagnosis, name: &str, host: Option<&str>) -> Found<'a> {
    let mut is_whole = true;
    let mut all = Vec::new();
    for known in KINDS {
        let seen = configurations(lister, diagnosis, known);
        is_whole &= seen.is_some();
        for configuration in seen.into_iter().flatten() {
            let webhook = configuration.webhooks.iter().find(|webhook| webhook.name == name);
            let target = || ObjectRef::cluster_wide(known, &configuration.metadata.name);
            all.extend(webhook.map(|webhook| (target(), webhook)));
        }
    }
    if all.len() > 1 {
        all.retain(|(_, webhook)| host.is_some_and(|host| webhook.client_config.is_at(host)));
    } else if all.is_empty() && is_whole {
        return Found::None;
    }
    match (all.pop(), all.is_empty()) {
        (Some((configuration, webhook)), true) => Found::One(configuration, webhook),
        _ => Found::NotTold,
    }
}
