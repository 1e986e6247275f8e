//! Which kinds were scanned and which were not: what "nothing is stuck" speaks of.

use aggregator_core::report::{ClusterReport, NotScanned};
use findings::FaultKind;
use findings::render::Page;

use super::short_names::some;

/// More kinds are counted.
const MAX_NAMED: usize = 8;

/// Adds the lines.
pub fn lines(page: &mut Page, report: &ClusterReport) {
    if report.looked_at.is_empty() && report.not_scanned.is_empty() {
        return;
    }
    page.gap();
    page.filled("Scanned      ", &kinds(&report.looked_at));
    for (number, (reason, kinds)) in by_reason(&report.not_scanned).into_iter().enumerate() {
        let label = if number == 0 { "Not scanned  " } else { "             " };
        page.filled(label, &format!("{}: {reason}", some(&kinds)));
    }
}

fn kinds(all: &[String]) -> String {
    match all.len() {
        1..=MAX_NAMED => all.join(", "),
        many => format!("{many} kinds (-o json lists them)"),
    }
}

/// The kinds of each reason, with how many objects were left out.
fn by_reason(all: &[NotScanned]) -> Vec<(&'static str, Vec<String>)> {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for one in all {
        let name = match (one.reason, one.objects) {
            (FaultKind::TooLarge, Some(objects)) => format!("{} ({objects} objects left)", one.kind),
            _ => one.kind.clone(),
        };
        let reason = reason(one.reason);
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, kinds)) => kinds.push(name),
            None => reasons.push((reason, vec![name])),
        }
    }
    reasons
}

fn reason(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::NotAsked => "only with --all-kinds, by metadata",
        FaultKind::TooLarge => "the time or bytes of a quick scan did not suffice; --all-kinds scans all",
        FaultKind::Denied => "no permission to list",
        FaultKind::Stale => "the API server cannot reach its backend",
        _ => "the list failed",
    }
}
