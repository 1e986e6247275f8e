//! The numbers of objects are the same in every form of an answer.

use std::collections::BTreeMap;

use aggregator_core::report::{ClusterReport, Root};
use aggregator_core::state::{ObjectRef, Subject};
use findings::Verdict;
use findings::render::Style;
use plugin::report::screen;

/// Each object is counted once, and screen, metrics and page show these numbers.
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
    on_screen(report);
    by_the_service(report);
}

fn on_screen(report: &ClusterReport) {
    let counts = report.counts;
    let text = screen(report, 200, Style::Plain);
    let first = text.lines().next().unwrap_or_default();
    let objects = if counts.stuck == 1 { "object" } else { "objects" };
    let starts = match counts.stuck {
        0 => String::new(),
        stuck => format!("{stuck} {objects} stuck"),
    };
    assert!(first.starts_with(&starts) && (counts.stuck > 0 || !first.contains(" stuck,")), "{text}");
    let kinds = || [true, false].into_iter().flat_map(|is_young| report.normal_kinds(is_young));
    assert_eq!(kinds().map(|kind| kind.0.len()).sum::<usize>(), report.terminating_normally.len());
    for kind in kinds() {
        assert!(text.replace('\n', " ").contains(&kind.counted()), "{}: {text}", kind.counted());
    }
    for root in &report.roots {
        let id = format!("{}  ", root.id);
        assert!(text.lines().any(|line| line.trim_start().starts_with(&id)), "nothing of {id}: {text}");
    }
}

fn by_the_service(report: &ClusterReport) {
    let (metrics, page) = service::rendered(report.clone());
    let sum = |series: &str, label: &str| {
        let lines =
            metrics.lines().filter_map(|line| line.strip_prefix("why_terminating_cluster_")?.strip_prefix(series));
        let values = lines.filter_map(|line| line.split_once(label)?.1.parse::<usize>().ok());
        values.sum::<usize>()
    };
    let counts = report.counts;
    let of_verdict = [
        (Verdict::Stuck, counts.stuck),
        (Verdict::CannotTell, counts.unknown),
        (Verdict::Progressing, counts.terminating_normally),
    ];
    for (verdict, number) in of_verdict {
        let explained = sum("objects{", &format!("verdict=\"{}\"}} ", verdict.as_str()));
        let unexplained = sum("unexplained_objects{", &format!("state=\"{}\"}} ", verdict.as_str()));
        assert_eq!(explained + unexplained, number, "{verdict:?}: {metrics}");
    }
    assert_eq!(page.matches("<li><a href=\"#root=").count(), report.roots.len(), "{page}");
    for root in &report.roots {
        let Root { id, verdict, .. } = root;
        let number = root.objects();
        let item = page.split("<li>").find(|item| item.contains(&format!("#root={id}"))).unwrap_or_default();
        assert!(item.contains(&format!("holds {number} object")), "{id}: {item}");
        let is_there = *verdict > Verdict::Progressing;
        let series = format!("root=\"{id}\"");
        let exported = metrics.lines().filter(|line| line.contains(&series));
        let exported: Vec<&str> = exported.filter_map(|line| line.rsplit(' ').next()).collect();
        assert!(exported == [number.to_string()][..usize::from(is_there)], "{id}: {exported:?}\n{metrics}");
    }
    for line in [report.young_line(), report.normal_line()].into_iter().flatten() {
        assert!(page.contains(&format!("<p>{line}</p>")), "{line}: {page}");
    }
}
