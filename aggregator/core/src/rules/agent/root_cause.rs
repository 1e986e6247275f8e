//! A claim of an agent as a root cause.

use findings::{Confidence, Evidence, Link};

use super::advice::{self, Source};
use super::believed_events::Claim;
use super::event_policy::Policy;
use super::{event_age, link};
use crate::diagnosis::{AgentFinding, FromAgent, ToldBy};
use crate::rules::prelude::*;

/// More steps of a chain are not shown.
const MAX_LINKS: usize = 16;
/// More evidence of one finding is not shown.
const MAX_EVIDENCE: usize = 12;

/// Where a claim is shown.
pub struct Context<'v, 'a> {
    pub lister: &'v Lister<'a>,
    /// What keeps others from writing as an agent; none where the agent itself was asked.
    pub policy: Option<Policy>,
    /// What else the agents of the node report.
    pub events: &'v [&'a AgentEvent],
    pub target: &'v ObjectRef,
    pub pod: &'v Pod,
    pub on: &'v Node,
}

/// What a pod that stands as `words` say waits for.
pub fn root_cause(at: &Context, claim: &Claim, words: &str) -> FromAgent {
    let Context { lister, policy, events, target, pod, on } = at;
    let node = on.metadata.name.as_str();
    let ready = if is_true(&on.status.conditions, "Ready") { "Ready" } else { "NotReady" };
    let finding = &claim.carried.finding;
    let cause = finding.cause.0;
    let age = lister.seconds_since(claim.written);
    let seconds = |since: i64| u64::try_from(since).unwrap_or(0);
    let since = claim.carried.since.parse().ok().map(|since| seconds(lister.seconds_since(since)));
    let by = ToldBy {
        node: node.to_owned(),
        seconds_ago: seconds(age),
        first_seen_seconds_ago: since,
        overdue: event_age::is_late(lister, claim.written),
        unverified: policy.as_ref().and_then(|policy| policy.doubts(claim.event)),
    };
    let is_sure = finding.confidence == Confidence::Proven && claim.is_named && !by.overdue;
    let mut found = RootCause::below(cause, target)
        .same_as(format!("{node}:{}", finding.root))
        .in_place_of_own()
        .step(Step::about(target, words))
        .step(Step::about(&ObjectRef::node(node), format!("{ready}; agent reports:")));
    let (root, above): (Vec<_>, Vec<_>) = finding.chain.iter().partition(|link| link.root);
    // Several roots stand side by side, and each has to end; the agent's own answer names them all.
    let root_link = root.first().map(|first| match root.len() {
        1 => (*first).clone(),
        all => Link { state: format!("{}; and {} more", first.state, all - 1), ..(*first).clone() },
    });
    for link in above.into_iter().take(MAX_LINKS).chain(&root_link) {
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
    let source = match (policy, lister.node_check(pod)) {
        (Some(_), _) => Source::Event,
        (None, Some(_)) => Source::NodeCheck,
        (None, None) => Source::Agent,
    };
    let remedy = advice::steps(claim, pod, on, &by, source);
    let found = match (is_sure, finding.confidence) {
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
    };
    let only_pod = claim.is_of_one_pod(lister, events, pod).then(|| (*target).clone());
    found.by_agent(AgentFinding { by, gate: finding.gate, remedy, only_pod })
}
