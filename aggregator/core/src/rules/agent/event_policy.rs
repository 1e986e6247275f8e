//! Whether only an agent can have written an Event. Every field of it is the word of its writer; what keeps others from
//! writing it is the policy in `deploy/`.

use jiff::Timestamp;

use super::missing_agent;
use crate::rules::prelude::*;
use crate::state::{AdmissionPolicy, AdmissionPolicyBinding, AgentEvent, Answer, known};

/// The name of the policy and of its binding.
const POLICY: &str = "why-terminating-findings";

/// What is known of the policy.
pub enum Policy {
    /// It refuses Events of others, since then.
    InForce(Timestamp),
    /// It does not, or that is unknown, for this reason.
    Not(String),
}

impl Policy {
    /// Asks for the binding, and for the policy when that is bound.
    pub fn read(case: &mut Case) -> Self {
        let answer = case.lister.get::<AdmissionPolicyBinding>(known::ADMISSION_POLICY_BINDINGS, None, POLICY);
        let binding = match seen(&mut case.diagnosis, answer) {
            Ok(binding) => binding,
            Err(not) => return not,
        };
        let spec = &binding.spec;
        let denies = spec.validation_actions.iter().any(|action| action == "Deny");
        if spec.policy_name != POLICY || !denies || spec.match_resources.is_some() {
            return Policy::Not(format!("the binding {POLICY} is not as deploy/ has it"));
        }
        let answer = case.lister.get::<AdmissionPolicy>(known::ADMISSION_POLICIES, None, POLICY);
        let policy = match seen(&mut case.diagnosis, answer) {
            Ok(policy) => policy,
            Err(not) => return not,
        };
        if policy.spec.failure_policy == "Ignore" || policy.spec.validations.is_empty() {
            return Policy::Not(format!("the policy {POLICY} is not as deploy/ has it"));
        }
        let made = [&binding.metadata, &policy.metadata].map(|one| one.creation_timestamp);
        match made.into_iter().collect::<Option<Vec<_>>>().and_then(|made| made.into_iter().max()) {
            Some(since) => Policy::InForce(since),
            None => Policy::Not(format!("the policy {POLICY} does not say since when it is there")),
        }
    }

    /// Why another account may have written this Event. The server itself records when it was made.
    pub fn doubts(&self, event: &AgentEvent) -> Option<String> {
        match self {
            Policy::Not(why) => Some(why.clone()),
            Policy::InForce(since) if event.metadata.creation_timestamp.is_some_and(|made| made > *since) => None,
            Policy::InForce(_) => Some(format!("it is older than the policy {POLICY}")),
        }
    }
}

/// Why another account may have written it.
pub fn doubt(case: &mut Case, event: &AgentEvent) -> Option<String> {
    let absent = || {
        missing_agent::is_absent(case.lister, &event.regarding.name).then(|| "no agent is deployed there".to_owned())
    };
    Policy::read(case).doubts(event).or_else(absent)
}

/// The answer does not rest on it, so what cannot be seen is only said beside the finding.
fn seen<T>(diagnosis: &mut Diagnosis, answer: Answer<T>) -> Result<T, Policy> {
    let why = match answer {
        Answer::Seen(seen) => return Ok(seen),
        Answer::Missing => {
            "any account that can create Events in default could have written this (no policy prevents it, see deploy/)"
                .to_owned()
        }
        Answer::Unasked => {
            diagnosis.pending = true;
            "not asked yet".to_owned()
        }
        Answer::Failed(fault) => format!("whether a policy keeps others from saying it is unknown ({})", fault.brief()),
    };
    Err(Policy::Not(why))
}
