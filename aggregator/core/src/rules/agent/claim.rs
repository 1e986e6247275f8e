//! Which Events speak of a pod, and which of them may be believed.

use findings::event::{Carried, Phase};
use findings::{Area, Gate, clean};
use jiff::Timestamp;

use crate::state::{AgentEvent, Node, Pod};

/// A finding that an agent says holds a pod.
pub struct Claim<'a> {
    /// What it says.
    pub carried: &'a Carried,
    /// When it was last said.
    pub written: Timestamp,
    /// Whether the pod is named; else it is one of more pods than are named.
    pub is_named: bool,
    /// The pod's uid when it is about one pod only, as the Event has it.
    related: Option<&'a str>,
}

/// What was heard of a pod.
#[derive(Default)]
pub struct Heard<'a> {
    /// What holds it, the first gate first.
    pub claims: Vec<Claim<'a>>,
    /// What was not believed, and why: of many the first.
    pub refused: Option<String>,
}

/// What the Events of a node say of a pod of it.
pub fn heard<'a>(events: &[&'a AgentEvent], pod: &Pod, on: &Node) -> Heard<'a> {
    let mut heard = Heard::default();
    let mut over = Vec::new();
    let name = clean(&on.metadata.name, 63);
    for event in events {
        let related = event.related.as_ref().map(|related| related.uid.as_str());
        if related.is_some_and(|uid| uid != pod.metadata.uid) {
            continue;
        }
        let carried = match read(event) {
            Ok(carried) => carried,
            Err(why) => {
                heard.refused.get_or_insert_with(|| format!("An Event of the agent on {name} is not used: {why}."));
                continue;
            }
        };
        let Some(is_named) = speaks_of(carried, pod) else { continue };
        if event.regarding.uid != on.metadata.uid {
            let why = "regards another Node that was called so (it has another uid)";
            heard.refused.get_or_insert_with(|| format!("An Event of an agent on {name} {why} and is not used."));
            continue;
        }
        let Some(written) = event.written() else { continue };
        let claim = Claim { carried, written, is_named, related };
        match (claim.carried.phase, event.kind.as_str()) {
            (Phase::Holds, "Warning") => heard.claims.push(claim),
            (Phase::Over, _) => over.push(claim),
            // The Event of the node tells it.
            _ => {}
        }
    }
    heard.claims.retain(|claim| !over.iter().any(|over| over.ends(claim)));
    let is_any_named = heard.claims.iter().any(|claim| claim.is_named);
    heard.claims.retain(|claim| claim.is_named || !is_any_named);
    // The latest word counts when it is said twice: by an agent of before, or of one pod and of all.
    heard.claims.sort_by_key(|claim| std::cmp::Reverse(claim.written));
    heard.claims.sort_by(|one, other| one.order().cmp(&other.order()));
    heard.claims.dedup_by(|one, other| one.order() == other.order());
    heard
}

fn read(event: &AgentEvent) -> Result<&Carried, String> {
    let carried = event.said()?;
    match carried.finding.cause.area {
        Area::Gate(_) | Area::Node => Ok(carried),
        Area::Cluster(_) => Err(format!("it names {}, which no agent finds", carried.finding.cause.id)),
    }
}

/// Whether it is about this pod; `Some(false)` when it may be, as one of more pods than are named.
fn speaks_of(carried: &Carried, pod: &Pod) -> Option<bool> {
    if carried.pods.iter().any(|named| named.uid.as_str() == pod.metadata.uid) {
        return Some(true);
    }
    let fits = carried.finding.gate != Some(Gate::ContainersStopped) || !pod.has_ended();
    (carried.pod_count > carried.pods.len() && fits).then_some(false)
}

impl Claim<'_> {
    /// Equal for the same finding.
    fn what(&self) -> (&'static str, &str) {
        (self.carried.finding.cause.0.id, &self.carried.finding.root)
    }

    fn order(&self) -> (Option<Gate>, (&'static str, &str)) {
        (self.carried.finding.gate, self.what())
    }

    /// Whether this is the end of `other`.
    fn ends(&self, other: &Claim) -> bool {
        self.order() == other.order() && self.related == other.related && self.written >= other.written
    }
}
