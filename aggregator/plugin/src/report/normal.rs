//! What has no root cause yet: what terminates normally, and what is held for less than a minute.

use aggregator_core::report::{ClusterReport, NormalKind};
use findings::Link;
use findings::render::Page;

use super::short_names::{short_name, some};

/// Writes a line for all of each; of what is held also what it waits for, and of the others where `all_kinds` is set.
pub fn lines(page: &mut Page, report: &ClusterReport, all_kinds: bool) {
    let lines = [(report.young_line(), true, true), (report.normal_line(), false, all_kinds)];
    for (line, is_young, has_kinds) in lines {
        let Some(line) = line else { continue };
        page.gap();
        page.filled("", &line);
        let kinds = report.normal_kinds(is_young);
        kinds.iter().filter(|_| has_kinds).for_each(|kind| one_kind(page, kind, &kinds));
    }
}

/// One line for a kind, with what it waits for; how that stands is not said twice.
fn one_kind(page: &mut Page, kind: &NormalKind, all: &[NormalKind]) {
    let names: Vec<String> = kind.0.iter().map(|one| short_name(&one.held.thing)).collect();
    let first = kind.0.first().map_or("", |one| one.held.words.as_str());
    let waits_for = kind.0.iter().find_map(|one| one.waits_for.as_ref());
    let is_only = |kind: &NormalKind, link: &Link| matches!(kind.0.as_slice(), [one] if one.held.thing.to_string() == link.subject);
    let waits_for = waits_for.map_or(String::new(), |link| match all.iter().any(|kind| is_only(kind, link)) {
        true => format!("; waiting for {}", link.subject),
        false => format!("; waiting for {}: {}", link.subject, link.state),
    });
    match kind.0.len() {
        1 => page.filled("  ", &format!("{}: {first}{waits_for}", some(&names))),
        _ => page.filled("  ", &format!("{} ({}){}{waits_for}", kind.counted(), some(&names), kind.until())),
    }
}
