//! What an agent says holds a pod, and what it says would hold the volumes of one.

use super::believed_events::{self, Claims};
use super::event_policy::Policy;
use super::root_cause::{Context, root_cause};
use super::{event_age, live_query, missing_agent};
use crate::diagnosis::FromAgent;
use crate::rules::phrases::count;
use crate::rules::prelude::*;

/// More findings of one pod are not reported.
const MAX_FINDINGS: usize = 8;

/// What the agent says of a pod that should be gone and waits for its node; `words` say how the pod
/// stands. Nothing when there is no such word, and then a note says why. What others can have written is kept as a claim.
pub fn findings(case: &mut Case, target: &ObjectRef, pod: &Pod, on: &Node, words: &str) -> Vec<RootCause> {
    let name = on.metadata.name.as_str();
    if let Some(said) = live_query::ask(case, pod, on, live_query::About::Terminating) {
        let claims = believed_events::read_live(&said, pod);
        // Of other pods only the Events speak.
        let events = case.diagnosis.silently(case.lister.agent_events(name)).unwrap_or_default();
        let at = Context { lister: case.lister, policy: None, events: &events, target, pod, on };
        return causes(
            claims.iter().take(MAX_FINDINGS).map(|claim| root_cause(&at, claim, words)),
            &mut case.diagnosis,
        );
    }
    if case.lister.asks_live() && case.diagnosis.pending {
        return Vec::new();
    }
    let answer = case.lister.agent_events(name);
    let is_open = matches!(answer, Answer::Unasked);
    let is_missing = answer.is_missing();
    let events = match case.diagnosis.required("Events of the agents", "what the agents of the nodes say", answer) {
        Some(events) => events,
        // A server without this group has no Events of an agent.
        None if is_missing => Vec::new(),
        None => {
            if !is_open {
                missing_agent::not_visible(&mut case.diagnosis);
            }
            return Vec::new();
        }
    };
    let Claims { mut claims, over, refused } = believed_events::read_claims(case.lister, &events, pod, on);
    if let Some(note) = refused {
        case.diagnosis.note(note);
    }
    claims.retain(|claim| {
        let has_expired = event_age::has_expired(case.lister, claim.written);
        if has_expired {
            case.diagnosis.note(missing_agent::expired(claim, name, case.lister.seconds_since(claim.written)));
        }
        !has_expired
    });
    match over.filter(|over| !event_age::has_expired(case.lister, over.written)) {
        // The API shows the pod, whatever is said.
        Some(over) => {
            let doubt = Policy::read(case).doubts(over.event);
            case.diagnosis.note(missing_agent::over(&over, pod, name, case.lister.seconds_since(over.written), doubt));
        }
        None if claims.is_empty() => missing_agent::explain(case, on, &events),
        None => {}
    }
    if claims.is_empty() {
        return Vec::new();
    }
    if claims.len() > MAX_FINDINGS {
        case.diagnosis.note(format!("The agent on {name} names {}.", count(claims.len() - MAX_FINDINGS, "more cause")));
    }
    let policy = Some(Policy::read(case));
    let at = Context { lister: case.lister, policy, events: &events, target, pod, on };
    causes(claims.iter().take(MAX_FINDINGS).map(|claim| root_cause(&at, claim, words)), &mut case.diagnosis)
}

/// The same of a pod of which an agent need not say anything: then nothing is noted.
pub fn findings_if_any(case: &mut Case, target: &ObjectRef, pod: &Pod, on: &Node, words: &str) -> Vec<RootCause> {
    let mut own = Case::new(case.lister);
    let found = findings(&mut own, target, pod, on, words);
    case.diagnosis.pending |= own.diagnosis.pending;
    if !found.is_empty() {
        case.diagnosis.notes.extend(own.diagnosis.notes);
        case.diagnosis.unknown.extend(own.diagnosis.unknown);
    }
    case.diagnosis.claims.extend(own.diagnosis.claims);
    found
}

/// The causes among them; the claims are kept beside what the API shows.
fn causes(all: impl Iterator<Item = FromAgent>, diagnosis: &mut Diagnosis) -> Vec<RootCause> {
    let mut causes = Vec::new();
    for one in all {
        match one {
            FromAgent::Cause(cause) => causes.push(*cause),
            FromAgent::Claim(claim) => diagnosis.claims.push(claim),
        }
    }
    causes
}

/// What an agent that was asked now says of the volumes of a pod that runs.
pub enum Holders {
    /// These would hold them; none when it is empty.
    Known(Vec<RootCause>),
    /// It was not asked, or did not answer; a note says why.
    NotTold,
}

/// Who outside of a pod that runs would hold its volumes if it were deleted now.
pub fn would_hold(case: &mut Case, pod: &Pod) -> Holders {
    let answer = case.lister.get::<Node>(known::NODES, None, &pod.spec.node_name);
    let Some(on) = case.diagnosis.silently(answer) else { return Holders::NotTold };
    let Some(said) = live_query::ask(case, pod, on, live_query::About::Running) else {
        return Holders::NotTold;
    };
    let target = ObjectRef::pod(pod.metadata.namespace.as_deref().unwrap_or_default(), &pod.metadata.name);
    let at = Context { lister: case.lister, policy: None, events: &[], target: &target, pod, on };
    let words = format!("{} on {}", pod.status.phase, on.metadata.name);
    let missing = "whether it still holds it when the kubelet unmounts it: it was seen once, before any deletion";
    let all = believed_events::read_live(&said, pod);
    let mut held =
        causes(all.iter().take(MAX_FINDINGS).map(|claim| root_cause(&at, claim, &words)), &mut case.diagnosis);
    for found in &mut held {
        *found = found.clone().probable(missing);
        found.here = false;
    }
    Holders::Known(held)
}
