//! An operator and its own webhook that went together: neither is missing alone.

use super::blocking_finalizer::BlockingFinalizer;
use crate::rules::prelude::*;

/// Finds who takes a finalizer off, and why that one has not.
type OwnerOf = fn(&mut Case, &BlockingFinalizer) -> Option<RootCause>;

/// A webhook refuses the removal of the finalizer. When its Service went with its namespace, checks whether any controller
/// would remove the finalizer once the webhook is out of the way. Returns whether none would, which is then reported with
/// the webhook.
pub fn explain(case: &mut Case, blocking: &BlockingFinalizer, owner_of: OwnerOf) -> bool {
    let is_lost = |root: &RootCause| lost_namespace(case.lister, root).is_some();
    if !blocking.is_custom() || !case.diagnosis.causes.iter().any(is_lost) {
        return false;
    }
    // Whatever the finalizer is known for: only whether its owner runs counts.
    let bare = BlockingFinalizer { known: None, ..*blocking };
    let Some(owner) = owner_of(case, &bare) else { return false };
    let gone = [&cause::FINALIZER_CONTROLLER_GONE, &cause::FINALIZER_OWNER_IN_SAME_NAMESPACE];
    if !gone.iter().any(|gone| gone.id == owner.draft.cause.id) {
        return false;
    }
    for webhook in &mut case.diagnosis.causes {
        if let Some(why) = lost_namespace(case.lister, webhook) {
            *webhook = both(blocking, webhook, &owner, why);
        }
    }
    true
}

/// Why the Service behind a webhook is not simply started again.
fn lost_namespace(lister: &Lister, root: &RootCause) -> Option<&'static str> {
    let webhooks = [&cause::WEBHOOK_UNAVAILABLE, &cause::WEBHOOK_BLOCKS_UPDATE, &cause::WEBHOOK_GONE_WITH_NAMESPACE];
    let is_webhook = webhooks.iter().any(|webhook| webhook.id == root.draft.cause.id);
    let service = root.steps.iter().filter_map(|step| step.object.as_ref()).find(|object| object.is(known::SERVICES));
    let namespace = service.filter(|_| is_webhook)?.namespace.as_deref()?;
    match () {
        () if lister.namespace(namespace).is_missing() => Some("; nor does its namespace"),
        () if lister.is_namespace_terminating(namespace) => Some(""),
        () => None,
    }
}

fn both(blocking: &BlockingFinalizer, webhook: &RootCause, owner: &RootCause, why: &str) -> RootCause {
    let root = RootCause::below(&cause::WEBHOOK_GONE_WITH_NAMESPACE, blocking.target)
        .same_as_of(webhook)
        .name_if(Placeholder::Configuration, webhook.value(Placeholder::Configuration));
    let root = owner.steps.iter().fold(root, |root, step| root.step(step.clone()));
    let last = webhook.steps.len().saturating_sub(1);
    let root = webhook.steps.iter().enumerate().fold(root, |root, (at, step)| match at == last {
        true => root.step(Step { words: format!("{}{why}", step.words), ..step.clone() }),
        false => root.step(step.clone()),
    });
    let evidence = owner.draft.evidence.iter().chain(&webhook.draft.evidence);
    let root = evidence.fold(root, |root, one| root.evidence(&one.source, &one.says)).in_place_of_own();
    match owner.draft.missing.as_ref().or(webhook.draft.missing.as_ref()) {
        Some(missing) => root.probable(missing),
        None => root,
    }
}
