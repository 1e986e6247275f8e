//! How fast a namespace empties: what remains of each kind, counted twice.

use std::collections::BTreeMap;

use super::content::Left;
use super::terminating_namespace::TerminatingNamespace;
use crate::messages::namespace::remaining;
use crate::rules::prelude::*;

/// Fewer objects of a kind are gone at the next try of the namespace controller.
const MIN_OBJECTS: usize = 50;
/// More kinds are not counted, the largest first.
const MAX_KINDS: usize = 5;

/// What is left and how fast it falls, if it falls: `4,100 of 5,000 ConfigMaps left, about 40 a second, about 100 s`.
pub fn falling(case: &mut Case, terminating: &TerminatingNamespace, left: &Left) -> Option<String> {
    // What holds it is known: how fast it falls only adds to that.
    if case.diagnosis.is_explained() && !case.lister.is_named(terminating.target) {
        return None;
    }
    let counts: Vec<(String, Counts, usize)> = kinds(terminating, left, &case.diagnosis)
        .into_iter()
        .filter_map(|(resource, kind, _)| {
            let counts = case.diagnosis.silently(case.lister.counts(&resource, terminating.name))?;
            Some((kind, *counts, before(terminating, &resource)))
        })
        .collect();
    let sum = |each: fn(&Counts) -> usize| counts.iter().map(|(_, counts, _)| each(counts)).sum::<usize>();
    let (first, last) = (sum(|counts| counts.first), sum(|counts| counts.last));
    let millis = counts.iter().map(|(_, counts, _)| counts.millis).max().filter(|millis| *millis > 0)?;
    let fallen = u64::try_from(first.checked_sub(last).filter(|fallen| *fallen > 0)?).ok()?;
    let shown: Vec<String> = counts
        .iter()
        .map(|(kind, counts, before)| {
            let of = if *before > counts.last { format!(" of {}", grouped(*before)) } else { String::new() };
            format!("{}{of} {kind}s", grouped(counts.last))
        })
        .collect();
    let lasts = u64::try_from(last).ok()?.saturating_mul(millis).div_ceil(fallen).div_ceil(1000);
    Some(format!("{} left, {}, about {}", shown.join(", "), speed(fallen, millis), findings::duration(lasts)))
}

/// The kinds of which many objects remain, with how many of each were seen.
fn kinds(terminating: &TerminatingNamespace, left: &Left, diagnosis: &Diagnosis) -> Vec<(Resource, String, usize)> {
    let mut seen: BTreeMap<(&Resource, &str), usize> = BTreeMap::new();
    let going = diagnosis.waits_for.iter().filter(|one| one.namespace.as_deref() == Some(terminating.name));
    for one in going.chain(left.not_asked.iter().map(|(one, _)| one)) {
        *seen.entry((&one.resource, one.kind.as_ref())).or_default() += 1;
    }
    let many = seen.into_iter().filter(|(_, count)| *count >= MIN_OBJECTS);
    let mut many: Vec<_> = many.map(|((resource, kind), count)| (resource.clone(), kind.to_owned(), count)).collect();
    many.sort_by_key(|(_, _, count)| std::cmp::Reverse(*count));
    many.truncate(MAX_KINDS);
    many
}

/// How many there were when the namespace controller last wrote it down.
fn before(terminating: &TerminatingNamespace, resource: &Resource) -> usize {
    let said = terminating.failing("NamespaceContentRemaining").map(|condition| remaining(&condition.message));
    let is_it = |(plural, group, _): &(String, String, usize)| *plural == resource.plural && *group == resource.group;
    said.into_iter().flatten().find(is_it).map_or(0, |(_, _, count)| count)
}

/// `about 40 a second`.
fn speed(fallen: u64, millis: u64) -> String {
    match fallen.saturating_mul(1000) / millis {
        0 => format!("about {} a minute", grouped_u64((fallen.saturating_mul(60_000) / millis).max(1))),
        per_second => format!("about {} a second", grouped_u64(per_second)),
    }
}

/// `4,100`.
fn grouped(number: usize) -> String {
    grouped_u64(u64::try_from(number).unwrap_or(u64::MAX))
}

fn grouped_u64(number: u64) -> String {
    let digits = number.to_string();
    let mut shown = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_speed_has_the_unit_that_it_needs() {
        assert_eq!(speed(120, 3000), "about 40 a second");
        assert_eq!(speed(1, 3000), "about 20 a minute");
        assert_eq!([7, 4100, 1_234_567].map(grouped), ["7", "4,100", "1,234,567"]);
    }
}
