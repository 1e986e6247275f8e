//! One line per root cause, as kubectl prints lists: for a person, and for `grep`.

use aggregator_core::report::{ClusterReport, Held, Root};
use aggregator_core::state::ObjectRef;
use findings::render::{Style, Table};
use findings::{Verdict, clean, duration};

/// Writes the table. It is never cut: who wants it narrower has a pager.
pub fn table(report: &ClusterReport, headers: bool, style: Style) -> String {
    let mut rows: Vec<Vec<String>> = report.roots.iter().map(row).collect();
    rows.extend(report.unexplained.iter().filter(|held| held.verdict > Verdict::Clear).map(unexplained));
    let head = ["ID", "AGE", "CAUSE", "ROOT", "VICTIMS"];
    Table::new(headers.then(|| head.map(str::to_owned).to_vec()), rows).render(style)
}

fn row(root: &Root) -> Vec<String> {
    let age = match (root.verdict, root.oldest()) {
        (Verdict::Progressing, _) | (_, None) => "-".to_owned(),
        (_, Some(seconds)) => duration(seconds),
    };
    let place = root.told_by.as_ref().map_or(String::new(), |by| format!(" on {}", clean(&by.node, 253)));
    let known = root.finding.chain.last().map_or(String::new(), |link| format!("{}{place}", link.subject));
    let others = root.also.len() + root.more_explanations;
    let known = if place.is_empty() || others == 0 { known } else { format!("{known} (+{others})") };
    let shown =
        root.look_on.as_ref().map_or(known, |node| format!("unknown to the API: check node {}", clean(node, 253)));
    let victims: Vec<String> = root.victims.iter().map(|victim| name(&victim.held.thing)).collect();
    vec![root.id.to_string(), age, root.finding.cause.id.to_owned(), shown, victims.join(",")]
}

fn unexplained(held: &Held) -> Vec<String> {
    vec![
        "-".to_owned(),
        held.overdue().map_or("-".to_owned(), duration),
        "unknown".to_owned(),
        "-".to_owned(),
        name(&held.thing),
    ]
}

/// `pod/shop/db-0`, `namespace/shop`: one word for each.
fn name(object: &ObjectRef) -> String {
    let kind = object.type_for_kubectl();
    let namespace = object.namespace.as_deref().map_or(String::new(), |namespace| format!("{}/", clean(namespace, 63)));
    format!("{}/{namespace}{}", clean(&kind, 127), clean(&object.name, 253))
}
