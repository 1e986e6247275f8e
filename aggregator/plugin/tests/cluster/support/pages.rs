//! Answers for the pages of the causes.

use std::fs;
use std::path::Path;

use aggregator_core::report::{ClusterReport, Root};
use aggregator_core::state::Subject;
use answers::Answer;
use findings::render::{Detail, Style};
use findings::{Cause, Confidence, Proven, Verdict};
use plugin::report::tree;

/// What names a cause, and not because an agent says so, is an answer for its page. That of a user's own thread comes
/// first; none is better than a recorded one.
pub fn is_as_kept(report: &ClusterReport) {
    let Some(test) = answers::current_test() else { return };
    let is_of_thread = module_path!().starts_with("threads");
    let is_before = matches!(report.subject, Subject::Before { .. });
    let of_root = |root: &Root| (root.finding.cause, root.verdict, root.finding.confidence);
    let roots = report.roots.iter().filter(|root| root.told_by.is_none()).map(of_root);
    let normal = report.terminating_normally.iter().filter(|_| report.roots.is_empty());
    let all = roots.chain(normal.map(|one| (one.cause, Verdict::Progressing, Confidence::Proven)));
    for (cause, verdict, confidence) in all.filter(|(cause, ..)| !is_recorded(cause.0)) {
        let is_probable = confidence != Confidence::Proven;
        let faults = [is_before, report.roots.len() > 1, verdict != Verdict::Stuck, is_probable, !is_of_thread];
        let detail = if report.roots.is_empty() { Detail::Wide } else { Detail::Short };
        let text = tree(report, detail, 80, Style::Plain);
        let answer = Answer { cause: cause.id, faults: &faults, text: &text };
        answers::check_kept(&answers::folder("cluster"), &test, &answer);
    }
}

fn is_recorded(cause: &Cause) -> bool {
    let Proven::Recording(name) = cause.diagnosis else { return false };
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.80.txt"));
    fs::read_to_string(golden).is_ok_and(|text| text.contains(&format!("{} {}:", cause.label(), cause.id)))
}
