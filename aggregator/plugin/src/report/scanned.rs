//! Which kinds were scanned and which were not: what "nothing is stuck" speaks of.

use aggregator_core::report::{ClusterReport, by_reason};
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
    for (number, (reason, kinds)) in by_reason(&report.not_scanned, "--all-kinds").into_iter().enumerate() {
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
