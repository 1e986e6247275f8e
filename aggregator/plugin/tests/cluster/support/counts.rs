//! The numbers of objects are the same in every form of an answer.

use std::collections::BTreeMap;

use aggregator_core::report::ClusterReport;
use aggregator_core::state::{ObjectRef, Subject};
use findings::Verdict;
use findings::render::Style;
use plugin::report::screen;

/// Each object is counted once, and the screen shows these numbers.
pub fn agree(report: &ClusterReport) {
    let mut by_verdict: BTreeMap<Verdict, usize> = BTreeMap::new();
    for counted in report.objects() {
        *by_verdict.entry(counted.verdict).or_default() += 1;
    }
    let number = |verdict: Verdict| by_verdict.get(&verdict).copied().unwrap_or_default();
    let counts = report.counts;
    assert_eq!(
        [counts.stuck, counts.unknown, counts.terminating_normally],
        [number(Verdict::Stuck), number(Verdict::CannotTell), number(Verdict::Progressing)],
        "{report:#?}"
    );
    let name = |object: &ObjectRef| format!("{} {object}", object.resource.for_kubectl());
    let mut named: Vec<String> = report.objects().iter().map(|counted| name(counted.object)).collect();
    let all = named.len();
    named.sort_unstable();
    named.dedup();
    assert_eq!(named.len(), all, "an object is counted twice: {report:#?}");
    let mut ids: Vec<String> = report.roots.iter().map(|root| root.id.to_string()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), report.roots.len(), "two roots have one id: {report:#?}");
    if report.refused.is_some() || matches!(report.subject, Subject::Before { .. }) {
        return;
    }
    let text = screen(report, 200, Style::Plain);
    let first = text.lines().next().unwrap_or_default();
    let objects = if counts.stuck == 1 { "object" } else { "objects" };
    let starts = match counts.stuck {
        0 => String::new(),
        stuck => format!("{stuck} {objects} stuck"),
    };
    assert!(first.starts_with(&starts) && (counts.stuck > 0 || !first.contains(" stuck,")), "{text}");
    let normal = report.normal_kinds().iter().map(|kind| kind.0.len()).sum::<usize>();
    assert_eq!(normal, report.terminating_normally.len());
    for kind in report.normal_kinds() {
        assert!(text.replace('\n', " ").contains(&kind.counted()), "{}: {text}", kind.counted());
    }
}
