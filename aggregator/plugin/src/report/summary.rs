//! What the first screen and the trees both say.

use std::collections::BTreeSet;

use aggregator_core::messages::Refusal;
use aggregator_core::report::{ClusterReport, Counts, Root, roots_in_words};
use aggregator_core::state::{Subject, known};
use findings::render::Style;
use findings::{Confidence, FaultKind, Unknown, Verdict, duration};

use super::short_names;

/// One line: how many objects are stuck, of how many causes, and for how long.
pub fn summary(report: &ClusterReport, style: Style) -> String {
    let Counts { stuck, unknown, .. } = report.counts;
    if report.is_deleted_already {
        return style.bad("It is being deleted already: what would hold it holds it now");
    }
    if matches!(report.subject, Subject::Before { .. }) {
        return match report.verdict {
            Verdict::Stuck => style.bad(&format!("{}{}", stuck_before(report), causes(report))),
            Verdict::CannotTell => {
                style.doubtful("Nothing was found that would hold it, but not everything could be read")
            }
            Verdict::Progressing => style.doubtful("It would be held for now; that is not called stuck yet"),
            Verdict::Clear => "Nothing would hold it".to_owned(),
        };
    }
    let mut parts = Vec::new();
    if stuck > 0 {
        let objects = if stuck == 1 { "object" } else { "objects" };
        let oldest = report.roots.iter().filter(|root| root.verdict == Verdict::Stuck).filter_map(|root| root.oldest());
        let oldest = oldest.max().map_or(String::new(), |seconds| format!(" (oldest {})", duration(seconds)));
        parts.push(format!("{}{}{oldest}", style.bad(&format!("{stuck} {objects} stuck")), causes(report)));
    }
    if unknown > 0 {
        parts.push(style.doubtful(&format!("{unknown} unknown")));
    }
    match (parts.is_empty(), report.verdict) {
        (false, _) => parts.join(", "),
        (true, Verdict::CannotTell) => style.doubtful("Nothing stuck was found, but not everything could be read"),
        // What holds no deletion: a pod made anew that is not ready, an object that the garbage collector deletes again.
        (true, Verdict::Clear) if !report.roots.is_empty() => "No deletion is stuck. Found beside that:".to_owned(),
        (true, _) if !report.not_scanned.is_empty() => "Nothing is stuck in what was scanned".to_owned(),
        (true, _) => "Nothing is stuck".to_owned(),
    }
}

/// A node is drained, and a drain can be taken back.
fn stuck_before(report: &ClusterReport) -> &'static str {
    let is_proven = |root: &Root| root.finding.confidence == Confidence::Proven;
    match &report.subject {
        Subject::Before { word, .. } if known::named(word) == Some(known::NODES) => "The drain would get stuck",
        _ if report.is_delete_refused && report.roots.iter().all(is_proven) => "The delete would be refused",
        _ if report.is_delete_refused => "The delete would probably be refused",
        _ => "The delete would be accepted, get stuck, and cannot be undone",
    }
}

/// `, 3 root causes`.
fn causes(report: &ClusterReport) -> String {
    let roots = roots_in_words(report.roots.iter().filter(|root| root.verdict == Verdict::Stuck));
    if roots.is_empty() { roots } else { format!(", {roots}") }
}

/// In one line what could not be read, for an answer that has no place for it, and which permission to ask for.
pub fn not_read(report: &ClusterReport) -> Option<String> {
    let groups = by_reason(&report.unknown);
    let words = |group: &NotSeen| match group.command() {
        Some(command) => format!("{}; to ask for it: {command}", group.why()),
        None => format!("{}: {}", short_names::some(&group.sources()), group.why()),
    };
    let all: Vec<String> = groups.iter().map(words).collect();
    (!all.is_empty()).then(|| format!("not everything could be read: {}", all.join("; ")))
}

/// What could not be seen for the same reason.
pub struct NotSeen<'a> {
    pub all: Vec<&'a Unknown>,
    /// Which rights are missing, as far as that is the reason.
    pub refusals: BTreeSet<Refusal>,
}

/// What could not be seen, grouped by why: one lost right hides many kinds, and all lost rights are said once.
pub fn by_reason(unknown: &[Unknown]) -> Vec<NotSeen<'_>> {
    let mut groups: Vec<NotSeen> = Vec::new();
    for one in unknown {
        let refusal = Refusal::read(&one.why).filter(|_| one.kind == Some(FaultKind::Denied));
        let is_same = |group: &&mut NotSeen| match &refusal {
            Some(_) => !group.refusals.is_empty(),
            None => group.refusals.is_empty() && group.all.iter().any(|other| other.why == one.why),
        };
        match groups.iter_mut().find(is_same) {
            Some(group) => {
                group.all.push(one);
                group.refusals.extend(refusal);
            }
            None => groups.push(NotSeen { all: vec![one], refusals: refusal.into_iter().collect() }),
        }
    }
    groups
}

impl NotSeen<'_> {
    /// What it is, each once.
    pub fn sources(&self) -> Vec<String> {
        let mut known = BTreeSet::new();
        let names = self.all.iter().map(|one| one.source.clone());
        names.filter(|name| known.insert(name.clone())).collect()
    }

    /// What that hides, each once.
    pub fn hides(&self) -> Vec<String> {
        let mut known = BTreeSet::new();
        let hidden = self.all.iter().map(|one| one.hides.clone());
        hidden.filter(|hides| !hides.is_empty() && known.insert(hides.clone())).collect()
    }

    /// Why: `you may not list nodes and pods (all namespaces)`.
    pub fn why(&self) -> String {
        if self.refusals.is_empty() {
            return self.all.first().map_or(String::new(), |one| one.why.clone());
        }
        Refusal::words(&self.refusals)
    }

    /// The command that shows what the caller may do.
    pub fn command(&self) -> Option<String> {
        Refusal::check(&self.refusals)
    }
}
