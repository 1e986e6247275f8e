//! Webhooks that must agree, and whether they can be called.

mod certificate;
pub mod request;

use jiff::Timestamp;

pub use request::{Match, Request, matches};

use super::admission_policy;
use super::backend::{self, Backend};
use super::phrases::Quote;
use crate::rules::prelude::*;

const KINDS: [ApiResource; 2] = [known::VALIDATING, known::MUTATING];

/// Explains a configuration: the webhooks in it that refuse because they cannot be called.
pub fn explain(case: &mut Case, target: &ObjectRef) {
    let known = if target.is(known::MUTATING) { known::MUTATING } else { known::VALIDATING };
    let all = configurations(case, known);
    let Some(configuration) = all.into_iter().flatten().find(|one| one.metadata.name == target.name) else {
        case.diagnosis.words = crate::report::NOT_KNOWN.to_owned();
        return;
    };
    let names: Vec<&str> = configuration.webhooks.iter().map(|webhook| webhook.name.as_str()).collect();
    case.diagnosis.words = words(&names);
    for webhook in configuration.webhooks.iter().filter(|webhook| webhook.refuses_when_it_fails()) {
        match broken(case, target, webhook) {
            Broken::With(root) => case.diagnosis.causes.push(*root),
            Broken::By(node) => case.diagnosis.wait_for(node),
            Broken::No if webhook.client_config.service.is_none() => case.diagnosis.note(outside(webhook)),
            Broken::No => {}
        }
    }
}

/// All of a kind; nothing when they cannot be seen.
fn configurations<'a>(case: &mut Case<'_, 'a>, known: ApiResource) -> Option<Vec<&'a WebhookConfiguration>> {
    let answer = case.lister.list::<WebhookConfiguration>(known, Scope::All);
    case.diagnosis.required(known.plural, "which webhooks must agree", answer)
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

fn broken(case: &mut Case, configuration: &ObjectRef, webhook: &Webhook) -> Broken {
    if let Some(root) = certificate::expired(case.lister, configuration, webhook) {
        return Broken::With(Box::new(root));
    }
    let Some(service) = &webhook.client_config.service else { return Broken::No };
    let base = |words: &str| {
        let is_lost = case.lister.is_namespace_terminating(&service.namespace);
        let cause = if is_lost { &cause::WEBHOOK_GONE_WITH_NAMESPACE } else { cause_of(webhook) };
        let root = RootCause::below(cause, configuration);
        let root = match is_lost {
            true => {
                let words =
                    format!("{}: nothing new can be created in it", case.lister.namespace_deletion(&service.namespace));
                root.evidence(format!("Namespace {}", service.namespace), words)
            }
            false => root,
        };
        root.same_as(format!("{configuration}:{service}"))
            .evidence(configuration.to_string(), format!("webhook {}: failurePolicy Fail; {words}", webhook.name))
            .name(Placeholder::Configuration, configuration.typed_name())
            .name(Placeholder::Service, service)
    };
    match backend::inspect_called(case, service) {
        Backend::NoService => {
            let shown = ObjectRef::namespaced(known::SERVICES, &service.namespace, &service.name);
            let words = match case.lister.is_namespace_terminating(&service.namespace) {
                true => format!(
                    "does not exist, and cannot be created again: its namespace {}",
                    case.lister.namespace_deletion(&service.namespace)
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
fn blame(case: &mut Case, configuration: &ObjectRef, webhook: &Webhook, sure: &Match) -> bool {
    match broken(case, configuration, webhook) {
        Broken::No => false,
        Broken::By(_) => {
            case.diagnosis.wait_for(configuration.clone());
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
            if case.diagnosis.causes.iter().all(|known| known.draft.root != root.draft.root) {
                case.diagnosis.causes.push(root);
            }
            true
        }
    }
}

/// Whether a webhook that cannot be called, or a policy without its parameters, refuses one of these requests; each is
/// reported in `diagnosis`.
pub fn refuses(case: &mut Case, requests: &[Request]) -> bool {
    let mut any = admission_policy::refuses(case, requests);
    for known in KINDS {
        for configuration in configurations(case, known).into_iter().flatten() {
            let target = ObjectRef::cluster_wide(known, &configuration.metadata.name);
            for webhook in configuration.webhooks.iter().filter(|webhook| webhook.refuses_when_it_fails()) {
                let sure = requests.iter().map(|request| matches(case, webhook, *request));
                // Of several requests the surest counts.
                let sure = sure.reduce(|one, other| if one == Match::Yes || other == Match::No { one } else { other });
                match sure {
                    None | Some(Match::No) => {}
                    Some(sure) => any |= blame(case, &target, webhook, &sure),
                }
            }
        }
    }
    any
}

/// Names to a cause whose steps delete this object what would refuse that, where it may be seen. That nothing does needs no
/// right to know.
pub fn name_refusal(case: &mut Case, root: RootCause, target: &ObjectRef, meta: &Meta) -> RootCause {
    let lister = case.lister;
    let refusal = |case: &mut Case| {
        let mut other = Case::new(lister);
        refuses(&mut other, &[Request::about(target, meta, "DELETE")]);
        case.diagnosis.pending |= other.diagnosis.pending;
        let mut by = other.diagnosis.causes.iter().filter_map(|cause| cause.value(Placeholder::Configuration));
        by.next().map(str::to_owned).or(other.diagnosis.waits_for.first().map(ObjectRef::typed_name))
    };
    match lister.read_apart(|_| refusal(case)) {
        (None, _) => root,
        (Some(_), _) => root.name_if(Placeholder::RefusedBy, refusal(case)),
    }
}

/// The causes of a webhook that refuses because it cannot be called.
static REFUSES: [&Cause; 4] = [
    &cause::WEBHOOK_UNAVAILABLE,
    &cause::WEBHOOK_BLOCKS_UPDATE,
    &cause::WEBHOOK_GONE_WITH_NAMESPACE,
    &cause::WEBHOOK_CERTIFICATE_INVALID,
];

/// Whether each reported webhook may as well not be called.
pub fn may_be_skipped(diagnosis: &Diagnosis) -> bool {
    let is_webhook = |root: &&RootCause| REFUSES.iter().any(|cause| cause.id == root.draft.cause.id);
    let mut refusals = diagnosis.causes.iter().filter(is_webhook).peekable();
    refusals.peek().is_some() && refusals.all(|root| root.draft.missing.is_some())
}

/// The webhooks of this kind that are called for a request, each with its configuration.
fn callees<'a>(case: &mut Case<'_, 'a>, known: ApiResource, request: Request) -> Vec<(ObjectRef, &'a Webhook)> {
    let mut found = Vec::new();
    for configuration in configurations(case, known).into_iter().flatten() {
        let target = ObjectRef::cluster_wide(known, &configuration.metadata.name);
        for webhook in &configuration.webhooks {
            if matches(case, webhook, request) != Match::No {
                found.push((target.clone(), webhook));
            }
        }
    }
    found
}

/// Mutating webhooks that are asked about a request: what they add may make it invalid.
pub fn changers(case: &mut Case, request: Request) -> Vec<String> {
    let mut names: Vec<String> =
        callees(case, known::MUTATING, request).into_iter().map(|(target, _)| target.name).collect();
    names.dedup();
    names
}

/// Validating webhooks that are called for a request and may refuse it, each with its configuration.
pub fn validators(case: &mut Case, request: Request) -> Vec<(ObjectRef, String)> {
    let found = callees(case, known::VALIDATING, request);
    found.into_iter().map(|(target, webhook)| (target, webhook.name.clone())).collect()
}

/// What each webhook that is called for a request may do to it, those first whose failure refuses it.
pub fn witnesses(case: &mut Case, request: Request) -> Vec<Quote> {
    let mut found: Vec<_> = KINDS.into_iter().flat_map(|known| callees(case, known, request)).collect();
    found.sort_by_key(|(_, webhook)| !webhook.refuses_when_it_fails());
    let says = |(target, webhook): (ObjectRef, &Webhook)| {
        let does = if target.is(known::MUTATING) { "change or refuse" } else { "refuse" };
        let (name, policy) = (&webhook.name, webhook.policy());
        let words = format!(
            "webhook {name} (failurePolicy: {policy}) is called for each update of the object, and may {does} it"
        );
        (target.to_string(), words)
    };
    found.into_iter().map(says).collect()
}

/// The webhooks that are called for deletions in a namespace, those whose failure lets them pass first: each with its
/// configuration, and its failurePolicy.
pub fn of_deletions(case: &mut Case, namespace: &str) -> Vec<(ObjectRef, String, &'static str)> {
    let mut found = Vec::new();
    for known in KINDS {
        for configuration in configurations(case, known).into_iter().flatten() {
            for webhook in configuration.webhooks.iter().filter(|webhook| webhook.is_about_deletions()) {
                if request::covers(case, webhook, Some(namespace)) != Match::No {
                    let target = ObjectRef::cluster_wide(known, &configuration.metadata.name);
                    found.push((target, webhook.name.clone(), webhook.policy()));
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
pub fn called(case: &mut Case, webhook: &str, host: &str) -> Called {
    let (configuration, webhook) = match find(case, webhook, Some(host)) {
        Found::One(configuration, webhook) => (configuration, webhook),
        Found::None => return Called::Gone,
        Found::NotTold => return Called::NotTold(None),
    };
    if blame(case, &configuration, webhook, &Match::Yes) {
        return Called::Explained;
    }
    let service = webhook.client_config.service.as_ref();
    match service.map(|service| backend::inspect_called(case, service)) {
        Some(Backend::Ready { since, .. }) => Called::Serves { configuration, since },
        _ => Called::NotTold(Some(configuration)),
    }
}

/// A webhook of a name, and the configuration that it stands in.
pub enum Found<'a> {
    None,
    One(ObjectRef, &'a Webhook),
    /// It may be one or another, or one that cannot be seen.
    NotTold,
}

/// The webhook of this name, as errors print it. It is unique within its configuration only, so of several the host decides.
pub fn find<'a>(case: &mut Case<'_, 'a>, name: &str, host: Option<&str>) -> Found<'a> {
    let mut is_whole = true;
    let mut all = Vec::new();
    for known in KINDS {
        let seen = configurations(case, known);
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
