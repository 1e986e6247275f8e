//! What the agent of a pod's node says of the pod. Whoever may write Events in `default` can speak
//! as an agent, so all of it is a claim: checked, bounded, cleaned and told as such.

mod advice;
mod claim;
mod link;
mod silence;

use findings::{Confidence, Evidence};
use jiff::Timestamp;

use self::claim::{Claim, Heard};
use crate::diagnosis::{AgentFinding, Diagnosis, RootCause, Step, ToldBy};
use crate::lister::Lister;
use crate::state::*;

/// An agent says again every half an hour what holds; after this it is late.
pub(super) const RENEWED: i64 = 40 * 60;
/// Events live for an hour. An older one is there only because the server keeps them longer.
const EXPIRED: i64 = 65 * 60;
/// More findings of one pod are not told.
const MOST: usize = 8;
/// More steps of a chain are not told.
const MOST_LINKS: usize = 16;
/// More evidence of one finding is not told.
const MOST_EVIDENCE: usize = 12;

/// What the agent says of a pod that should be gone and waits for its node; `words` say how the pod
/// stands. Nothing when there is no such word, and then a note says why.
pub fn findings(
    view: &Lister,
    standing: &mut Diagnosis,
    thing: &ObjectRef,
    pod: &Pod,
    on: &Node,
    words: &str,
) -> Vec<RootCause> {
    let name = on.metadata.name.as_str();
    let answer = view.agent_events(name);
    let is_open = matches!(answer, Answer::Unasked);
    let is_missing = answer.is_missing();
    let events = match standing.see("Events of the agents", "what the agents of the nodes say", answer) {
        Some(events) => events,
        // A server without this group has no Events of an agent.
        None if is_missing => Vec::new(),
        None => {
            if !is_open {
                silence::not_visible(standing);
            }
            return Vec::new();
        }
    };
    let Heard { mut claims, refused } = claim::heard(&events, pod, on);
    if let Some(note) = refused {
        standing.note(note);
    }
    claims.retain(|claim| {
        let age = view.state.seconds_since(claim.written);
        if age > EXPIRED {
            standing.note(silence::expired(claim, name, age));
        }
        age <= EXPIRED
    });
    if claims.is_empty() {
        silence::explain(view, standing, name);
    }
    if claims.len() > MOST {
        standing.note(format!("The agent on {name} names {} more causes.", claims.len() - MOST));
    }
    claims.iter().take(MOST).map(|claim| found(view, claim, thing, on, words)).collect()
}

/// When the agent of a silent node was last heard: it has its own way to the API server. What it wrote
/// must be an agent's, and of this Node. `None` when its Events could not be seen.
pub fn last_word(view: &Lister, on: &Node, standing: &mut Diagnosis) -> Option<Option<Timestamp>> {
    let answer = view.agent_events(&on.metadata.name);
    let events = standing.glance("Events of the agents", "whether its agent reaches the API server", answer)?;
    let is_its = |event: &&&AgentEvent| event.regarding.uid == on.metadata.uid && event.said().is_ok();
    Some(events.iter().filter(is_its).filter_map(|event| event.written()).max())
}

fn found(view: &Lister, claim: &Claim, thing: &ObjectRef, on: &Node, words: &str) -> RootCause {
    let node = on.metadata.name.as_str();
    let ready = if is_true(&on.status.conditions, "Ready") { "Ready" } else { "NotReady" };
    let finding = &claim.carried.finding;
    let cause = finding.cause.0;
    let age = view.state.seconds_since(claim.written);
    let seconds = |since: i64| u64::try_from(since).unwrap_or(0);
    let since = claim.carried.since.parse().ok().map(|since| seconds(view.state.seconds_since(since)));
    let by = ToldBy {
        node: node.to_owned(),
        seconds_ago: seconds(age),
        first_seen_seconds_ago: since,
        overdue: age > RENEWED,
    };
    let is_sure = finding.confidence == Confidence::Proven && claim.is_named && !by.overdue;
    let mut found = RootCause::below(cause, thing)
        .same_as(format!("{node}:{}", finding.root))
        .in_place_of_own()
        .step(Step::about(thing, words))
        .step(Step::about(&ObjectRef::node(node), format!("{ready}; its agent says what follows")));
    let (root, above): (Vec<_>, Vec<_>) = finding.chain.iter().partition(|link| link.root);
    for link in above.into_iter().take(MOST_LINKS).chain(root.into_iter().take(1)) {
        found = found.step(link::step(link));
    }
    if finding.chain.is_empty() {
        found = found.step(Step::named(format!("node {node}"), cause.title));
    }
    for Evidence { source, says } in finding.evidence.iter().take(MOST_EVIDENCE) {
        found = found.evidence(format!("agent on {node}: {source}"), says);
    }
    if !claim.is_named {
        let (count, named) = (claim.carried.pod_count, claim.carried.pods.len());
        let says = format!("it holds {count} pods of the node and names {named} of them, not this one");
        found = found.evidence(format!("agent on {node}"), says);
    }
    found = found.by_agent(AgentFinding { by, gate: finding.gate, remedy: advice::checked(cause, &finding.remedy) });
    if is_sure { found } else { found.probable() }
}
