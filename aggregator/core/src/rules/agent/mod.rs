//! What the agent of a pod's node says of the pod. Whoever may write Events in `default` can speak
//! as an agent, so all of it is a claim: checked, bounded, cleaned and told as such.

mod advice;
mod claims;
mod event_policy;
mod link;
mod live_query;
mod missing_agent;
mod trust;

use findings::{Confidence, Evidence, Link};
use jiff::Timestamp;

pub(super) use self::claims::MAX_SKEW_SECONDS;
use self::claims::{Claim, Heard};
use self::event_policy::Policy;
use crate::diagnosis::{AgentFinding, Diagnosis, RootCause, Step, ToldBy};
use crate::lister::Lister;
use crate::rules::phrases::count;
use crate::state::*;

/// An agent says again every half an hour what holds; after this it is late.
pub(super) const MAX_RENEWAL_SECONDS: i64 = 40 * 60;
/// Events live for an hour. An older one is there only because the server keeps them longer.
const MAX_EVENT_AGE_SECONDS: i64 = 65 * 60;
/// More findings of one pod are not told.
const MAX_FINDINGS: usize = 8;
/// More steps of a chain are not told.
const MAX_LINKS: usize = 16;
/// More evidence of one finding is not told.
const MAX_EVIDENCE: usize = 12;

/// What the agent says of a pod that should be gone and waits for its node; `words` say how the pod
/// stands. Nothing when there is no such word, and then a note says why.
pub fn findings(
    lister: &Lister,
    diagnosis: &mut Diagnosis,
    target: &ObjectRef,
    pod: &Pod,
    on: &Node,
    words: &str,
) -> Vec<RootCause> {
    let name = on.metadata.name.as_str();
    if let Some(said) = live_query::ask(lister, diagnosis, pod, on, live_query::About::Terminating) {
        let claims = claims::now(&said, pod);
        let at = At { lister, policy: None, target, pod, on };
        return claims.iter().take(MAX_FINDINGS).map(|claim| found(&at, claim, words)).collect();
    }
    if lister.state.live && diagnosis.pending {
        return Vec::new();
    }
    let answer = lister.agent_events(name);
    let is_open = matches!(answer, Answer::Unasked);
    let is_missing = answer.is_missing();
    let events = match diagnosis.required("Events of the agents", "what the agents of the nodes say", answer) {
        Some(events) => events,
        // A server without this group has no Events of an agent.
        None if is_missing => Vec::new(),
        None => {
            if !is_open {
                missing_agent::not_visible(diagnosis);
            }
            return Vec::new();
        }
    };
    let Heard { mut claims, over, refused } = claims::heard(lister, &events, pod, on);
    if let Some(note) = refused {
        diagnosis.note(note);
    }
    claims.retain(|claim| {
        let age = lister.state.seconds_since(claim.written);
        if age > MAX_EVENT_AGE_SECONDS {
            diagnosis.note(missing_agent::expired(claim, name, age));
        }
        age <= MAX_EVENT_AGE_SECONDS
    });
    match over.filter(|over| lister.state.seconds_since(over.written) <= MAX_EVENT_AGE_SECONDS) {
        // The API shows the pod, whatever is said.
        Some(over) => {
            let doubt = Policy::of(lister, diagnosis).doubts(over.event);
            diagnosis.note(missing_agent::over(&over, pod, name, lister.state.seconds_since(over.written), doubt));
        }
        None if claims.is_empty() => missing_agent::explain(lister, diagnosis, on),
        None => {}
    }
    if claims.is_empty() {
        return Vec::new();
    }
    if claims.len() > MAX_FINDINGS {
        diagnosis.note(format!("The agent on {name} names {}.", count(claims.len() - MAX_FINDINGS, "more cause")));
    }
    let policy = Some(Policy::of(lister, diagnosis));
    let at = At { lister, policy, target, pod, on };
    claims.iter().take(MAX_FINDINGS).map(|claim| found(&at, claim, words)).collect()
}

/// What an agent that was asked now says of the volumes of a pod that runs.
pub enum Held {
    /// These would hold them, or nobody.
    By(Vec<RootCause>),
    /// It was not asked, or did not answer; a note says why.
    NotTold,
}

/// Who outside of a pod that runs would hold its volumes if it were deleted now.
pub fn would_hold(lister: &Lister, diagnosis: &mut Diagnosis, pod: &Pod) -> Held {
    let answer = lister.get::<Node>(known::NODES, None, &pod.spec.node_name);
    let Some(on) = diagnosis.silently(answer) else { return Held::NotTold };
    let Some(said) = live_query::ask(lister, diagnosis, pod, on, live_query::About::Running) else {
        return Held::NotTold;
    };
    let target = ObjectRef::pod(pod.metadata.namespace.as_deref().unwrap_or_default(), &pod.metadata.name);
    let at = At { lister, policy: None, target: &target, pod, on };
    let words = format!("{} on {}", pod.status.phase, on.metadata.name);
    let missing = "whether it still holds it when the kubelet unmounts it: it was seen once, before any deletion";
    let held = claims::now(&said, pod).into_iter().take(MAX_FINDINGS).map(|claim| {
        let mut found = found(&at, &claim, &words).probable(missing);
        found.here = false;
        found
    });
    Held::By(held.collect())
}

/// Whether it is known that no agent runs on this node.
pub fn is_absent(lister: &Lister, node: &str) -> bool {
    lister.agents().seen().is_some_and(|agents| agents.iter().all(|agent| agent.spec.node_name != node))
}

/// The last Event of the agent of a silent node, which has its own way to the API server, and when it was written. It must
/// be as an agent of this Node writes it. `None` when its Events could not be seen.
pub fn last_word<'a>(
    lister: &Lister<'a>,
    on: &Node,
    diagnosis: &mut Diagnosis,
) -> Option<Option<(Timestamp, &'a AgentEvent)>> {
    let answer = lister.agent_events(&on.metadata.name);
    let events = diagnosis.optional("Events of the agents", "whether its agent reaches the API server", answer)?;
    let is_its = |event: &&&AgentEvent| {
        let is_by_now = event.said().is_ok_and(|carried| claims::is_by_now(lister, event, carried));
        event.regarding.uid == on.metadata.uid && event.reporting_instance == on.metadata.name && is_by_now
    };
    let written = events.iter().filter(is_its).filter_map(|event| Some((event.written()?, *event)));
    Some(written.max_by_key(|(written, _)| *written))
}

/// Why somebody else may have written it.
pub fn doubt(lister: &Lister, event: &AgentEvent, diagnosis: &mut Diagnosis) -> Option<String> {
    let absent = || is_absent(lister, &event.regarding.name).then(|| "no agent is deployed there".to_owned());
    Policy::of(lister, diagnosis).doubts(event).or_else(absent)
}

/// Where a claim is told.
struct At<'v, 'a> {
    lister: &'v Lister<'a>,
    /// What keeps others from writing as an agent; none where the agent itself was asked.
    policy: Option<Policy>,
    target: &'v ObjectRef,
    pod: &'v Pod,
    on: &'v Node,
}

fn found(at: &At, claim: &Claim, words: &str) -> RootCause {
    let At { lister, policy, target, pod, on } = at;
    let node = on.metadata.name.as_str();
    let ready = if is_true(&on.status.conditions, "Ready") { "Ready" } else { "NotReady" };
    let finding = &claim.carried.finding;
    let cause = finding.cause.0;
    let age = lister.state.seconds_since(claim.written);
    let seconds = |since: i64| u64::try_from(since).unwrap_or(0);
    let since = claim.carried.since.parse().ok().map(|since| seconds(lister.state.seconds_since(since)));
    let by = ToldBy {
        node: node.to_owned(),
        seconds_ago: seconds(age),
        first_seen_seconds_ago: since,
        overdue: age > MAX_RENEWAL_SECONDS,
        unverified: policy.as_ref().and_then(|policy| policy.doubts(claim.event)),
    };
    let is_sure = finding.confidence == Confidence::Proven && claim.is_named && !by.overdue;
    let mut found = RootCause::below(cause, target)
        .same_as(format!("{node}:{}", finding.root))
        .in_place_of_own()
        .step(Step::about(target, words))
        .step(Step::about(&ObjectRef::node(node), format!("{ready}; its agent says what follows")));
    let (root, above): (Vec<_>, Vec<_>) = finding.chain.iter().partition(|link| link.root);
    // Several roots stand side by side, and each has to end; the agent's own answer names them all.
    let told = root.first().map(|first| match root.len() {
        1 => (*first).clone(),
        all => Link { state: format!("{}; and {} more", first.state, all - 1), ..(*first).clone() },
    });
    for link in above.into_iter().take(MAX_LINKS).chain(&told) {
        found = found.step(link::step(link));
    }
    if finding.chain.is_empty() {
        found = found.step(Step::named(format!("node {node}"), cause.title));
    }
    for Evidence { source, says } in finding.evidence.iter().take(MAX_EVIDENCE) {
        found = found.evidence(format!("agent on {node}: {source}"), says);
    }
    if !claim.is_named {
        let (count, named) = (claim.carried.pod_count, claim.carried.pods.len());
        let says = format!("it holds {count} pods of the node and names {named} of them, not this one");
        found = found.evidence(format!("agent on {node}"), says);
    }
    let remedy = advice::steps(claim, pod, &by, policy.is_none());
    found = found.by_agent(AgentFinding { by, gate: finding.gate, remedy });
    match (is_sure, finding.confidence) {
        (true, _) => found,
        (false, Confidence::Probable) => {
            let all = "part of the agent's proof: the agent itself says probable";
            found.probable(finding.missing.as_deref().unwrap_or(all))
        }
        (false, Confidence::Proven) if !claim.is_named => {
            found.probable("whether this pod is one of them: the agent names some of those that it holds")
        }
        (false, Confidence::Proven) => {
            found.probable("whether it still is so: the agent should have said it again since")
        }
    }
}
