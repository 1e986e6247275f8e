//! Answers for the pages of the causes.

use std::fs;
use std::path::Path;

use aggregator_core::report::ClusterReport;
use aggregator_core::state::Subject;
use findings::golden_answers::Answer;
use findings::render::{Detail, Style};
use findings::{Cause, Confidence, Proven, Verdict};
use plugin::report::tree;

/// What names a cause, and not because an agent says so, is an answer for its page. That of a user's own thread comes
/// first; none is better than a recorded one.
pub fn is_as_kept(report: &ClusterReport) {
    let Some(test) = findings::golden_answers::current_test() else { return };
    let is_of_thread = module_path!().starts_with("threads");
    let is_before = matches!(report.subject, Subject::Before { .. });
    for root in report.roots.iter().filter(|root| root.told_by.is_none() && !is_recorded(root.finding.cause.0)) {
        let is_probable = root.finding.confidence != Confidence::Proven;
        let faults = [is_before, report.roots.len() > 1, root.verdict != Verdict::Stuck, is_probable, !is_of_thread];
        let text = tree(report, Detail::Short, 80, Style::Plain);
        let answer = Answer { cause: root.finding.cause.id, faults: &faults, text: &text };
        findings::golden_answers::check_kept(&findings::golden_answers::folder("cluster"), &test, &answer);
    }
}

fn is_recorded(cause: &Cause) -> bool {
    let Proven::Recording(name) = cause.diagnosis else { return false };
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.80.txt"));
    fs::read_to_string(golden).is_ok_and(|text| text.contains(&format!("{} {}:", cause.label(), cause.id)))
}
