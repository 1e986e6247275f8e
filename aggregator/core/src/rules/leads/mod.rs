//! Follows what a sentence names. What it leads to is a cause or an edge only where it is seen to be broken; what cannot be
//! seen rests on the words, and what works again is said to.

mod admission;
mod api;
mod needs;
mod rights;

use findings::Unread;
use jiff::Timestamp;

pub use self::api::{ApiState, api_state};
use crate::messages::leads::Lead;
use crate::rules::prelude::*;

/// A sentence: whom it is about, and where it stands.
pub struct Sentence<'s> {
    /// The object that it is about.
    pub target: &'s ObjectRef,
    pub source: &'s str,
    pub says: &'s str,
    /// Whether it was written before the object's deletion, as far as is known.
    pub is_of_before: bool,
}

/// What came of a lead.
pub enum Followed {
    /// An answer is still out.
    Open,
    /// What it leads to is broken; `diagnosis` says so now.
    Explained,
    /// What it names works again, or is not there to refuse anything any more: the sentence is of before.
    Repaired(Repair),
    /// Nothing but the words says so.
    Claimed(Box<RootCause>),
    /// It names nothing that could be looked at.
    Nothing,
}

/// What works again.
pub struct Repair {
    pub name: String,
    /// How it stands: `answers again`.
    pub how: &'static str,
    /// Since when, where that is known.
    pub since: Option<Timestamp>,
}

/// It does what it did not.
pub const ANSWERS: &str = "answers again";
/// It is not asked any more.
pub const GONE: &str = "is served no more";
const NOT_CONFIGURED: &str = "is configured no more";

fn repaired(name: impl Into<String>, how: &'static str) -> Followed {
    Followed::Repaired(Repair { name: name.into(), how, since: None })
}

pub fn follow(case: &mut Case, sentence: &Sentence, lead: &Lead) -> Followed {
    let before = (case.diagnosis.causes.len(), case.diagnosis.waits_for.len());
    let followed = sentence.follow(case, lead);
    for root in case.diagnosis.causes.iter_mut().skip(before.0) {
        *root = root.clone().evidence(sentence.source, sentence.says);
    }
    match followed {
        Followed::Repaired(_) | Followed::Claimed(_) | Followed::Nothing if case.diagnosis.pending => Followed::Open,
        other => other,
    }
}

impl Sentence<'_> {
    fn follow(&self, case: &mut Case, lead: &Lead) -> Followed {
        match lead {
            // They are listed anyway, or follow from the resource's name.
            Lead::Unexpected { .. } => Followed::Nothing,
            Lead::WebhookCall { webhook, host, error } => self.webhook_call(case, webhook, host, error),
            Lead::WebhookDenial { webhook, why } => self.webhook_denial(case, webhook, why),
            Lead::PolicyDenial { policy, binding, why } => self.policy_denial(case, policy, binding, why),
            Lead::Conversion { group, kind, error } => self.conversion(case, group, kind, error),
            Lead::StoredVersion { group_version } => self.claimed(
                &cause::STORED_VERSION_NOT_SERVED,
                Step::named(
                    format!("Objects of {group_version}"),
                    "are stored in a version that the CRD does not have any more",
                ),
            ),
            Lead::NotDecryptable { key, error } => {
                self.unread(&format!("etcd key {key}"), &format!("cannot be decrypted: {error}"), Unread::Encrypted)
            }
            Lead::NotDecodable { error } => {
                self.unread("A stored object", &format!("cannot be decoded: {error}"), Unread::Unknown)
            }
            Lead::Etcd { error } => {
                self.claimed(&cause::ETCD_NOT_WORKING, Step::named("etcd", format!("answers {error}")))
            }
            Lead::Forbidden { user, why, to, scope } => {
                // A right elsewhere, or to a part of an object, is another one than that which roles are read for.
                let is_readable = scope.as_ref() == Some(&self.own_scope());
                self.forbidden(case, user, why, to.as_ref(), is_readable)
            }
            Lead::TooManyRequests => self.claimed(
                &cause::API_REQUESTS_REJECTED,
                Step::named("The API server", "rejects the namespace controller's requests (429 Too Many Requests)"),
            ),
            Lead::Api { group, version } => self.api(case, group, version.as_deref()),
            Lead::NoKind { group, version, kind } => self.no_kind(case, group, version, kind),
            Lead::ServiceCall { namespace, service, .. } => self.service_call(case, namespace, service),
            Lead::Node { name } => self.node(case, name),
            Lead::NotFound { group, kind, name, namespace } => {
                self.not_found(case, group, kind, (namespace.as_deref(), name))
            }
            Lead::Waiting { kind, name } => self.waiting(case, kind, name),
            Lead::NamespaceGone { name } => self.namespace_gone(case, name),
            Lead::Budget { pod, budget } => self.budget(case, pod.as_ref(), budget.as_deref()),
            Lead::TimedOut { error } => self.timed_out(case, error),
            Lead::Unknown { text } => self.claimed_as(
                &cause::NAMESPACE_CONTENT_FAILURE,
                &self.target.name,
                Step::named("Deleting the content", format!("fails: {text}")),
            ),
        }
    }

    fn unread(&self, object: &str, why: &str, kind: Unread) -> Followed {
        let root = self.claim(&cause::OBJECT_NOT_DECODABLE, object, Step::named(object, why));
        Followed::Claimed(Box::new(root.given(Circumstance::Unread(kind))))
    }

    /// A root that rests on the words alone.
    fn claim(&self, cause: &'static Cause, subject: &str, step: Step) -> RootCause {
        let Sentence { target, source, says, .. } = self;
        let root = RootCause::below(cause, target).same_as(subject).step(step).evidence(source, says);
        match target.is(known::NAMESPACES) {
            true => root.name(Placeholder::Namespace, &target.name),
            false => root,
        }
    }

    fn claimed_as(&self, cause: &'static Cause, subject: &str, step: Step) -> Followed {
        Followed::Claimed(Box::new(self.claim(cause, subject, step)))
    }

    fn claimed(&self, cause: &'static Cause, step: Step) -> Followed {
        let subject = step.subject.clone();
        self.claimed_as(cause, &subject, step)
    }
}
