//! What has happened to what a root holds, the latest first: events of the same second are together, and those of several
//! objects are one line.

use std::collections::{BTreeMap, BTreeSet};

use aggregator_core::report::Root;
use aggregator_core::state::ObjectRef;
use jiff::Timestamp;

use super::merged::{Merged, merged};
use crate::incidents::Incident;

/// All that happened in one second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    pub at: Timestamp,
    pub events: Vec<Merged>,
}

/// `incidents` are those that the caller may see.
pub fn timeline(root: &Root, incidents: &[Incident]) -> Vec<Moment> {
    let victims = root.victims.iter().map(|victim| &victim.held.thing);
    let held: BTreeSet<&ObjectRef> = victims.chain(&root.on_the_way).collect();
    let is_held = |incident: &&Incident| {
        incident.holds.iter().any(|hold| hold.root == root.id.to_string())
            && (incident.end.is_some() || held.contains(&incident.object))
    };
    let mut moments: BTreeMap<i64, Vec<(String, &str)>> = BTreeMap::new();
    for incident in incidents.iter().filter(is_held) {
        let mut note = |at: Timestamp, words| {
            moments.entry(at.as_second()).or_default().push((incident.object.to_string(), words));
        };
        note(incident.asked, "deletion requested");
        note(incident.stuck_since, "stuck");
        for hold in incident.holds.iter().filter(|hold| hold.root == root.id.to_string()) {
            note(hold.since, "held by this root cause");
            if let Some(until) = hold.until {
                note(until, "no longer held by this root cause");
            }
        }
        if let Some(end) = &incident.end {
            note(
                end.at,
                if end.left_behind.is_empty() { "deleted" } else { "force-deleted; something was left on the node" },
            );
        }
    }
    let moment = |(at, lines): (i64, Vec<(String, &str)>)| {
        let events = merged(lines.iter().map(|(object, words)| (object.as_str(), *words)));
        Some(Moment { at: Timestamp::from_second(at).ok()?, events })
    };
    moments.into_iter().rev().filter_map(moment).collect()
}
