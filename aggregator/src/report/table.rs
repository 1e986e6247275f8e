//! One line per root cause.

use aggregator_core::report::{ClusterReport, Held, Root};
use aggregator_core::state::{ObjectRef, known};
use findings::render::{Style, Table, cut};
use findings::{Verdict, clean, duration};

/// Writes the table; `width` cuts its last column, and no width leaves it whole.
pub fn table(report: &ClusterReport, headers: bool, width: Option<usize>, style: Style) -> String {
    let mut rows: Vec<[String; 5]> = report.roots.iter().map(row).collect();
    rows.extend(report.unexplained.iter().filter(|held| held.verdict > Verdict::Clear).map(unexplained));
    let head = ["NAMESPACE", "KIND", "STUCK", "VICTIMS", "ROOT CAUSE"];
    Table::new(headers.then_some(head), rows).render(width, style)
}

fn row(root: &Root) -> [String; 5] {
    let objects: Vec<&ObjectRef> = root.victims.iter().map(|victim| &victim.held.thing).collect();
    let kind = match objects.as_slice() {
        [only] => clean(&only.kind, 63),
        _ => root.finding.chain.last().map_or(String::new(), |link| kind_of(&link.subject)),
    };
    let stuck = root.victims.iter().filter_map(|victim| victim.held.overdue()).max();
    let stuck = match (root.verdict, stuck) {
        (Verdict::Progressing, _) | (_, None) => "-".to_owned(),
        (_, Some(seconds)) => duration(seconds),
    };
    let victims = match objects.as_slice() {
        [_] => counted(root.on_the_way.iter()),
        several => counted(several.iter().copied().chain(&root.on_the_way)),
    };
    let link = root.finding.chain.last();
    let place = root.told_by.as_ref().map_or(String::new(), |by| format!(" on {}", clean(&by.node, 253)));
    let cause = link.map_or(String::new(), |link| format!("{}{place}: {}", link.subject, link.state));
    [namespace(&objects), kind, stuck, victims, cause]
}

fn unexplained(held: &Held) -> [String; 5] {
    let stuck = held.overdue().map_or("-".to_owned(), duration);
    [namespace(&[&held.thing]), clean(&held.thing.kind, 63), stuck, "-".to_owned(), "cannot tell".to_owned()]
}

/// The one namespace of all, or `*`.
fn namespace(objects: &[&ObjectRef]) -> String {
    let of = |object: &ObjectRef| match &object.namespace {
        Some(namespace) => clean(namespace, 63),
        None if object.is(known::NAMESPACES) => clean(&object.name, 63),
        None => "-".to_owned(),
    };
    let mut all: Vec<String> = objects.iter().map(|object| of(object)).collect();
    all.sort_unstable();
    all.dedup();
    match all.as_slice() {
        [only] => only.clone(),
        _ => "*".to_owned(),
    }
}

/// `1 Pod`, `12 Namespaces`, or a plain number when they differ.
fn counted<'a>(objects: impl Iterator<Item = &'a ObjectRef>) -> String {
    let kinds: Vec<String> = objects.map(|object| clean(&object.kind, 63)).collect();
    let Some(first) = kinds.first() else { return "-".to_owned() };
    match kinds.len() {
        1 => format!("1 {first}"),
        number if kinds.iter().all(|kind| kind == first) => format!("{number} {first}s"),
        number => number.to_string(),
    }
}

/// `Node` of `Node node-b`, `CSI driver` of `CSI driver x`; a subject without a name is its own kind.
fn kind_of(subject: &str) -> String {
    cut(subject.rsplit_once(' ').map_or(subject, |(kind, _)| kind), 24)
}
