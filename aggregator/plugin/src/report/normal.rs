//! What terminates normally: one line for all of it, and one for each kind where that is wanted.

use aggregator_core::report::ClusterReport;
use findings::render::Page;

use super::short_names::{short_name, some};

/// Writes the line for all of it.
pub fn line(page: &mut Page, report: &ClusterReport) {
    if let Some(line) = report.normal_line() {
        page.gap();
        page.filled("", &line);
    }
}

/// Writes one line for each kind, with what it waits for.
pub fn kinds(page: &mut Page, report: &ClusterReport) {
    for kind in report.normal_kinds() {
        let names: Vec<String> = kind.0.iter().map(|one| short_name(&one.held.thing)).collect();
        let first = kind.0.first().map_or("", |one| one.held.words.as_str());
        let waits_for = kind.0.iter().find_map(|one| one.waits_for.as_ref());
        let waits_for =
            waits_for.map_or(String::new(), |link| format!("; waiting for {}: {}", link.subject, link.state));
        match kind.0.len() {
            1 => page.filled("  ", &format!("{}: {first}{waits_for}", some(&names))),
            _ => page.filled("  ", &format!("{} ({}){}{waits_for}", kind.counted(), some(&names), kind.until())),
        }
    }
}
