//! Which Events speak of a pod, and which of them may be believed.

use std::collections::BTreeSet;

use findings::event::{FindingAnnotation, Phase};
use findings::{Area, Entity, Gate, clean};
use jiff::Timestamp;

use super::event_age;
use crate::lister::Lister;
use crate::state::{AgentEvent, Node, Pod};

/// A finding that an agent says holds a pod.
pub struct Claim<'a> {
    /// The Event that says it.
    pub event: &'a AgentEvent,
    /// What it says.
    pub carried: &'a FindingAnnotation,
    /// When it was last said.
    pub written: Timestamp,
    /// Whether the pod is named; else it is one of more pods than are named.
    pub is_named: bool,
    /// Whether another Event says the same with other values.
    pub disputed: bool,
    /// The pod's uid when it is about one pod only, as the Event has it.
    related: Option<&'a str>,
}

/// What was heard of a pod.
#[derive(Default)]
pub struct Claims<'a> {
    /// What holds it, the first gate first.
    pub claims: Vec<Claim<'a>>,
    /// The last that is said to be over, when nothing else is said to hold it.
    pub over: Option<Claim<'a>>,
    /// What was not believed, and why: of many the first.
    pub refused: Option<String>,
}

/// What the Events of a node say of a pod of it.
pub fn read_claims<'a>(lister: &Lister, events: &[&'a AgentEvent], pod: &Pod, on: &Node) -> Claims<'a> {
    let mut heard = Claims::default();
    let mut over = Vec::new();
    let name = clean(&on.metadata.name, 63);
    for event in events {
        let related = event.related.as_ref().map(|related| related.uid.as_str());
        if related.is_some_and(|uid| uid != pod.metadata.uid) {
            continue;
        }
        let carried = match read(lister, event) {
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
        if event.reporting_instance != event.regarding.name {
            let why = "was written by one that calls itself an agent of another node";
            heard.refused.get_or_insert_with(|| format!("An Event about {name} {why} and is not used."));
            continue;
        }
        let Some(written) = event.written() else { continue };
        let claim = Claim { event, carried, written, is_named, disputed: false, related };
        match (claim.carried.phase, event.kind.as_str()) {
            (Phase::Holds, "Warning") => heard.claims.push(claim),
            (Phase::Over, "Normal") => over.push(claim),
            // The Event of the node reports it.
            _ => {}
        }
    }
    heard.claims.retain(|claim| !over.iter().any(|over| over.ends(claim)));
    let is_any_named = heard.claims.iter().any(|claim| claim.is_named);
    heard.claims.retain(|claim| claim.is_named || !is_any_named);
    // The latest word counts when it is said twice: by an agent of before, or of one pod and of all.
    heard.claims.sort_by_key(|claim| std::cmp::Reverse(claim.written));
    heard.claims.sort_by(|one, other| one.order().cmp(&other.order()));
    heard.claims.dedup_by(|older, latest| {
        let is_same = older.order() == latest.order();
        latest.disputed |= is_same && older.carried.finding.values != latest.carried.finding.values;
        is_same
    });
    if heard.claims.is_empty() {
        heard.over = over.into_iter().filter(|over| over.is_named).max_by_key(|over| over.written);
    }
    heard
}

/// Pods whose volumes cannot be unmounted, as Events of agents say that are not too old.
pub fn pods_held_by_mounts(lister: &Lister, events: &[AgentEvent]) -> BTreeSet<(String, String)> {
    let holds = |event: &&AgentEvent| {
        let is_of_now = event.written().is_some_and(|written| !event_age::has_expired(lister, written));
        is_of_now && event.kind == "Warning"
    };
    let carried = events.iter().filter(holds).filter_map(|event| event.carried().ok());
    let carried =
        carried.filter(|carried| carried.phase == Phase::Holds && carried.finding.gate == Some(Gate::VolumesUnmounted));
    let pods = carried.flat_map(|carried| &carried.pods);
    pods.filter_map(|pod| pod.namespace.clone().zip(pod.name.clone())).collect()
}

/// What an agent that was asked now says of a pod: of one that has the same name and another uid, nothing.
pub fn read_live<'a>(said: &[&'a AgentEvent], pod: &Pod) -> Vec<Claim<'a>> {
    let is_of_node = |carried: &&FindingAnnotation| matches!(carried.finding.cause.area, Area::Gate(_) | Area::Node);
    let claim = |event: &&'a AgentEvent| {
        let carried =
            event.carried().ok().filter(is_of_node).filter(|carried| speaks_of(carried, pod) == Some(true))?;
        let written = event.written()?;
        Some(Claim { event, carried, written, is_named: true, disputed: false, related: None })
    };
    said.iter().filter_map(claim).collect()
}

/// Whether an Event was written by now.
pub fn is_by_now(lister: &Lister, event: &AgentEvent, carried: &FindingAnnotation) -> bool {
    let times = [&carried.since, &carried.seen].map(|time| time.parse().ok());
    let all_times = times.into_iter().chain([event.written(), event.event_time]);
    !all_times.flatten().any(|time| event_age::is_after(time, lister.now()))
}

fn read<'a>(lister: &Lister, event: &'a AgentEvent) -> Result<&'a FindingAnnotation, String> {
    let carried = event.carried()?;
    if !is_by_now(lister, event, carried) {
        return Err("its time lies in the future (are the clocks right?)".to_owned());
    }
    match carried.finding.cause.area {
        Area::Gate(_) | Area::Node => Ok(carried),
        Area::Cluster(_) => Err(format!("it names {}, which no agent finds", carried.finding.cause.id)),
    }
}

/// Whether it is about this pod; `Some(false)` when it may be, as one of more pods than are named.
fn speaks_of(carried: &FindingAnnotation, pod: &Pod) -> Option<bool> {
    if carried.pods.iter().any(|named| named.uid.as_str() == pod.metadata.uid) {
        return Some(true);
    }
    let fits = carried.finding.gate != Some(Gate::ContainersStopped) || !pod.has_ended();
    (carried.pod_count > carried.pods.len() && fits).then_some(false)
}

impl Claim<'_> {
    /// Equal for the same finding.
    fn key(&self) -> (&'static str, &str) {
        (self.carried.finding.cause.0.id, &self.carried.finding.root)
    }

    fn order(&self) -> (Option<Gate>, (&'static str, &str)) {
        (self.carried.finding.gate, self.key())
    }

    /// Whether what it names holds this pod and, by the other Events of the node, no other one. A driver holds whatever uses
    /// it, now or next.
    pub fn is_of_one_pod(&self, lister: &Lister, events: &[&AgentEvent], pod: &Pod) -> bool {
        let what = |carried: &FindingAnnotation| {
            let root = carried.finding.chain.iter().find(|link| link.root)?.what.as_ref()?;
            let is_of_pods = matches!(carried.finding.cause.area, Area::Gate(_));
            let is_driver = matches!(root, Entity::CsiDriver { .. });
            (is_of_pods && !is_driver).then(|| root.identity().unwrap_or_else(|| carried.finding.root.clone()))
        };
        let Some(own) = what(self.carried) else { return false };
        let is_over = |event: &AgentEvent| {
            let name = format!("{}.", event.metadata.name);
            let ends = |other: &&AgentEvent| {
                other.metadata.name.starts_with(&name) && other.carried().is_ok_and(|end| end.phase == Phase::Over)
            };
            let written = event.written();
            written.is_none_or(|written| event_age::has_expired(lister, written)) || events.iter().any(ends)
        };
        let holds_another = |event: &&AgentEvent| {
            event.carried().is_ok_and(|carried| {
                carried.phase != Phase::Over
                    && carried.pods.iter().any(|other| other.uid.as_str() != pod.metadata.uid)
                    && what(carried).is_some_and(|what| what == own)
                    && !is_over(event)
            })
        };
        self.carried.pod_count == 1 && !events.iter().any(holds_another)
    }

    /// Whether this is the end of `other`: an agent names the end after what it ends.
    fn ends(&self, other: &Claim) -> bool {
        let [end, ended] = [self, other].map(|claim| claim.event.metadata.name.as_str());
        let is_named_after = end.strip_prefix(ended).is_some_and(|rest| rest.starts_with('.'));
        is_named_after
            && self.order() == other.order()
            && self.related == other.related
            && self.written >= other.written
    }
}
