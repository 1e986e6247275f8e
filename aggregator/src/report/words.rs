//! What the first screen and the trees both say.

use std::collections::BTreeSet;

use aggregator_core::report::{ClusterReport, Root};
use findings::render::Style;
use findings::{Unknown, Verdict, duration};

use super::blocks::blocks;

/// One line: how many things are stuck, of how many causes, and for how long.
pub fn summary(report: &ClusterReport, style: Style) -> String {
    let victims = |verdict: Verdict| {
        let of_roots = report.roots.iter().flat_map(|root| root.victims.iter().map(|victim| &victim.held));
        let all = of_roots.chain(&report.unexplained).filter(|held| held.verdict == verdict);
        all.map(|held| &held.thing).collect::<BTreeSet<_>>().len()
    };
    let stuck = victims(Verdict::Stuck);
    let mut parts = Vec::new();
    if stuck > 0 {
        let objects = if stuck == 1 { "object" } else { "objects" };
        let oldest = report.roots.iter().filter(|root| root.verdict == Verdict::Stuck).filter_map(|root| root.oldest());
        let oldest = oldest.max().map_or(String::new(), |seconds| format!(" (oldest {})", duration(seconds)));
        parts.push(format!("{}{}{oldest}", style.bad(&format!("{stuck} {objects} stuck")), causes(report)));
    }
    for (verdict, word) in [(Verdict::CannotTell, "unclear"), (Verdict::Progressing, "progressing")] {
        if victims(verdict) > 0 {
            parts.push(style.doubtful(&format!("{} {word}", victims(verdict))));
        }
    }
    if !parts.is_empty() {
        return parts.join(", ");
    }
    match report.verdict {
        Verdict::CannotTell => style.doubtful("Nothing stuck was seen, but not everything could be looked at"),
        _ => "Nothing is stuck".to_owned(),
    }
}

/// `, 3 root causes`; what only a node knows is not counted as known.
fn causes(report: &ClusterReport) -> String {
    let blocks = blocks(report);
    let stuck = blocks.iter().filter_map(|block| block.roots().first()).filter(|root| root.verdict == Verdict::Stuck);
    let (hidden, known): (Vec<&Root>, Vec<&Root>) = stuck.copied().partition(|root| root.look_on.is_some());
    let nodes: BTreeSet<_> = hidden.iter().filter_map(|root| root.look_on.as_deref()).collect();
    let known = match known.len() {
        0 => String::new(),
        1 => ", 1 root cause".to_owned(),
        many => format!(", {many} root causes"),
    };
    match nodes.len() {
        0 => known,
        1 => format!("{known}, 1 node to look on"),
        many => format!("{known}, {many} nodes to look on"),
    }
}

/// What could not be seen, grouped by why: one lost right hides many kinds.
pub fn by_reason(unknown: &[Unknown]) -> Vec<Vec<&Unknown>> {
    let mut groups: Vec<Vec<&Unknown>> = Vec::new();
    for one in unknown {
        match groups.iter_mut().find(|group| group.iter().any(|other| other.why == one.why)) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    groups
}
