//! Webhooks and admission policies that a sentence names.

use super::{ANSWERS, Followed, NOT_CONFIGURED, Repair, Sentence, repaired};
use crate::messages::errors;
use crate::rules::admission_policy;
use crate::rules::prelude::*;
use crate::rules::webhook::{self, Called};

/// A slow webhook delays each of several requests by 30 seconds at the most; after so long it does not go on.
const MAX_SLOW_SECONDS: i64 = 900;
/// More webhooks are not named.
const MAX_OTHERS: usize = 4;

impl Sentence<'_> {
    pub(super) fn webhook_call(&self, case: &mut Case, webhook: &str, host: &str, error: &str) -> Followed {
        let subject = format!("Webhook {webhook}");
        let configuration = match webhook::called(case, webhook, host) {
            Called::Explained => return Followed::Explained,
            Called::Gone => return repaired(subject, NOT_CONFIGURED),
            Called::Serves { since, .. } if errors::is_backend_missing(error) => {
                return Followed::Repaired(Repair { name: subject, how: ANSWERS, since });
            }
            Called::Serves { configuration, .. } | Called::NotTold(Some(configuration)) => Some(configuration),
            Called::NotTold(None) => None,
        };
        let cause = match errors::is_certificate(error) {
            true => &cause::WEBHOOK_CERTIFICATE_INVALID,
            false => &cause::WEBHOOK_UNAVAILABLE,
        };
        self.of_webhook(cause, webhook, configuration, &format!("cannot be called: {error}"))
    }

    /// What a request waits for: a webhook is called for each object, and one whose failure is ignored may take its whole
    /// time-out. What the request did not reach, the next one does.
    pub(super) fn timed_out(&self, case: &mut Case, error: &str) -> Followed {
        let target = self.target;
        if !target.is(known::NAMESPACES) {
            return Followed::Nothing;
        }
        let called = webhook::of_deletions(case, &target.name);
        let root = match called.first() {
            Some((configuration, webhook, policy)) => {
                let words = format!(
                    "its webhook {webhook} (failurePolicy: {policy}) is called for each deletion there, and requests take too \
                     long: {error}"
                );
                let others = called.iter().skip(1).take(MAX_OTHERS);
                self.claim(&cause::WEBHOOK_SLOW, &configuration.to_string(), Step::about(configuration, words))
                    .name(Placeholder::Configuration, configuration.typed_name())
                    .with_evidence(others.map(|(target, name, _)| (target.to_string(), format!("so is {name}"))))
                    .probable("whether it is this webhook that takes the time")
            }
            None => {
                let step = Step::named("Deleting the content", format!("takes too long: {error}"));
                self.claim(&cause::NAMESPACE_CONTENT_FAILURE, &target.name, step)
            }
        };
        let is_young = case.diagnosis.is_younger_than(MAX_SLOW_SECONDS);
        Followed::Claimed(Box::new(if is_young { root.progressing() } else { root }))
    }

    pub(super) fn webhook_denial(&self, case: &mut Case, webhook: &str, why: &str) -> Followed {
        let why = if why.is_empty() { "without giving a reason" } else { why };
        let configuration = match webhook::find(case, webhook, None) {
            webhook::Found::None => return repaired(format!("Webhook {webhook}"), NOT_CONFIGURED),
            webhook::Found::One(configuration, _) => Some(configuration),
            webhook::Found::NotTold => None,
        };
        self.of_webhook(&cause::WEBHOOK_REFUSES_DELETE, webhook, configuration, &format!("refuses the request: {why}"))
    }

    fn of_webhook(
        &self,
        cause: &'static Cause,
        webhook: &str,
        configuration: Option<ObjectRef>,
        words: &str,
    ) -> Followed {
        let subject = format!("Webhook {webhook}");
        let step = match &configuration {
            Some(configuration) => Step::about(configuration, format!("its webhook {webhook} {words}")),
            None => Step::named(&subject, words),
        };
        let root = self.claim(cause, &subject, step);
        let root = root.name_if(Placeholder::Configuration, configuration.map(|it| it.typed_name()));
        Followed::Claimed(Box::new(root))
    }

    pub(super) fn policy_denial(&self, case: &mut Case, policy: &str, binding: &str, why: &str) -> Followed {
        let Sentence { target, .. } = self;
        let itself = target.is(known::NAMESPACES).then_some(target.name.as_str());
        let namespace = target.namespace.as_deref().or(itself);
        let refused = |step: Step| {
            let root = self.claim(&cause::POLICY_REFUSES_DELETE, &step.subject.clone(), step);
            let root = root.name(Placeholder::Policy, policy).name(Placeholder::PolicyBinding, binding);
            Followed::Claimed(Box::new(root))
        };
        let words = format!("bound by {binding}, refuses the request: {why}");
        match admission_policy::named(case, policy, binding, namespace) {
            admission_policy::Named::Broken => Followed::Explained,
            admission_policy::Named::Gone => repaired(format!("ValidatingAdmissionPolicy {policy}"), NOT_CONFIGURED),
            admission_policy::Named::Bound(shown) => refused(Step::about(&shown, words)),
            admission_policy::Named::NotTold => {
                refused(Step::named(format!("ValidatingAdmissionPolicy {policy}"), words))
            }
        }
    }
}
