//! What the agent of a pod's node says of the pod. Whoever may write Events in `default` can speak
//! as an agent, so all of it is a claim: checked, bounded, cleaned and told as such.

mod advice;
mod claim;
mod link;
mod silence;
mod writer;

use findings::{Confidence, Evidence};
use jiff::Timestamp;

use self::claim::{Claim, Heard};
use self::writer::Policy;
use super::words::node as node_thing;
use crate::graph::{Found, Standing, Step, Told, ToldBy, View};
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
pub fn findings(view: &View, standing: &mut Standing, thing: &Thing, pod: &Pod, on: &Node, words: &str) -> Vec<Found> {
    let name = on.metadata.name.as_str();
    let answer = view.told_of(name);
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
    let Heard { mut claims, over, refused } = claim::heard(view, &events, pod, on);
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
    match over.filter(|over| view.state.seconds_since(over.written) <= EXPIRED) {
        // The API shows the pod, whatever is said.
        Some(over) => {
            let doubt = Policy::of(view, standing).doubts(over.event);
            standing.note(silence::over(&over, pod, name, view.state.seconds_since(over.written), doubt));
        }
        None if claims.is_empty() => silence::explain(view, standing, name),
        None => {}
    }
    if claims.is_empty() {
        return Vec::new();
    }
    if claims.len() > MOST {
        standing.note(format!("The agent on {name} names {} more causes.", claims.len() - MOST));
    }
    let policy = Policy::of(view, standing);
    let at = At { view, policy, thing, pod, on };
    claims.iter().take(MOST).map(|claim| found(&at, claim, words)).collect()
}

/// When the agent of a silent node was last heard: it has its own way to the API server. What it wrote
/// must be an agent's, and of this Node. `None` when its Events could not be seen.
pub fn last_word(view: &View, on: &Node, standing: &mut Standing) -> Option<Option<Timestamp>> {
    let answer = view.told_of(&on.metadata.name);
    let events = standing.glance("Events of the agents", "whether its agent reaches the API server", answer)?;
    let is_its = |event: &&&AgentEvent| {
        let is_by_now = event.said().is_ok_and(|carried| claim::is_by_now(view, event, carried));
        event.regarding.uid == on.metadata.uid && is_by_now
    };
    Some(events.iter().filter(is_its).filter_map(|event| event.written()).max())
}

/// Where a claim is told.
struct At<'v, 'a> {
    view: &'v View<'a>,
    policy: Policy,
    thing: &'v Thing,
    pod: &'v Pod,
    on: &'v Node,
}

fn found(at: &At, claim: &Claim, words: &str) -> Found {
    let At { view, policy, thing, pod, on } = at;
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
        unverified: policy.doubts(claim.event),
    };
    let is_sure = finding.confidence == Confidence::Proven && claim.is_named && !by.overdue;
    let mut found = Found::below(cause, thing)
        .same_as(format!("{node}:{}", finding.root))
        .in_place_of_own()
        .step(Step::about(thing, words))
        .step(Step::about(&node_thing(node), format!("{ready}; its agent says what follows")));
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
    found = found.told(Told { by, gate: finding.gate, remedy: advice::steps(claim, pod, node) });
    if is_sure { found } else { found.probable() }
}
