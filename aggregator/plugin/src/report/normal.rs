//! What has no root cause yet: what terminates normally, and what is held for less than a minute.

use aggregator_core::report::{ClusterReport, NormalKind};
use findings::Link;
use findings::render::Page;

use super::short_names::{short_name, some};

/// So many lines for one kind.
const MAX_PARTS: usize = 4;

/// Writes a line for all of each; of what is held also what it waits for, and of the others where `all_kinds` is set.
pub fn lines(page: &mut Page, report: &ClusterReport, all_kinds: bool) {
    let lines = [(report.young_line(), true, true), (report.normal_line(), false, all_kinds)];
    for (line, is_young, has_kinds) in lines {
        let Some(line) = line else { continue };
        page.gap();
        page.filled("", &line);
        let kinds = report.normal_kinds(is_young);
        for kind in kinds.iter().filter(|_| has_kinds) {
            let parts = if is_young { by_wait(kind) } else { vec![NormalKind(kind.0.clone())] };
            parts.iter().for_each(|part| one_kind(page, part, &kinds));
        }
    }
}

/// The objects of a kind, apart by what they wait for; all in one where that is mostly another.
fn by_wait<'r>(kind: &NormalKind<'r>) -> Vec<NormalKind<'r>> {
    let mut parts: Vec<NormalKind> = Vec::new();
    for one in &kind.0 {
        let is_same = |part: &&mut NormalKind| part.0.first().is_some_and(|first| first.waits_for == one.waits_for);
        match parts.iter_mut().find(is_same) {
            Some(part) => part.0.push(one),
            None => parts.push(NormalKind(vec![one])),
        }
    }
    if parts.len() > MAX_PARTS { vec![NormalKind(kind.0.clone())] } else { parts }
}

/// One line for a kind, with what it waits for; how that stands is not said twice.
fn one_kind(page: &mut Page, kind: &NormalKind, all: &[NormalKind]) {
    let names: Vec<String> = kind.0.iter().map(|one| short_name(&one.held.thing)).collect();
    let first = kind.0.first().map_or("", |one| one.held.words.as_str());
    let waits_for = kind.0.first().and_then(|one| one.waits_for.as_ref());
    let waits_for = waits_for.filter(|link| kind.0.iter().all(|one| one.waits_for.as_ref() == Some(*link)));
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
