//! What terminates normally, in words: one line for all of it, for each kind how many and until when.

use std::collections::BTreeMap;

use findings::{clean, duration};

use super::{ClusterReport, TerminatingNormally};
use crate::diagnosis::MIN_AGE_SECONDS;
use crate::state::known;

pub struct NormalKind<'r>(pub Vec<&'r TerminatingNormally>);

impl ClusterReport {
    /// `3 namespaces and 75 pods are terminating normally; the last grace period ends in 15s.`
    pub fn normal_line(&self) -> Option<String> {
        self.line(false, |verb, until| format!("{verb} terminating normally{until}."))
    }

    /// `1 pod is held, for 13s: that is called stuck after 1m.` What waits for something younger may be older.
    pub fn young_line(&self) -> Option<String> {
        let young = self.terminating_normally.iter().filter(|one| one.is_young);
        let is_older = young.filter_map(|one| one.held.overdue_seconds).any(|seconds| seconds >= MIN_AGE_SECONDS);
        let what = if is_older { "what that waits for" } else { "that" };
        self.line(true, |verb, until| {
            format!("{verb} held{until}: {what} is called stuck after {}.", duration(MIN_AGE_SECONDS.unsigned_abs()))
        })
    }

    fn line(&self, is_young: bool, words: impl Fn(&str, &str) -> String) -> Option<String> {
        let kinds = self.normal_kinds(is_young);
        let counted: Vec<String> = kinds.iter().map(NormalKind::counted).collect();
        let (last, before) = counted.split_last()?;
        let before = if before.is_empty() { String::new() } else { format!("{} and ", before.join(", ")) };
        let all = NormalKind(kinds.into_iter().flat_map(|kind| kind.0).collect());
        let verb = if all.0.len() == 1 { "is" } else { "are" };
        Some(format!("{before}{last} {}", words(verb, &all.until())))
    }

    /// Namespaces first, then the most frequent kind.
    pub fn normal_kinds(&self, is_young: bool) -> Vec<NormalKind<'_>> {
        let mut kinds: BTreeMap<&str, Vec<&TerminatingNormally>> = BTreeMap::new();
        for one in self.terminating_normally.iter().filter(|one| one.is_young == is_young) {
            kinds.entry(&one.held.thing.kind).or_default().push(one);
        }
        let is_namespaces = |kind: &NormalKind| kind.0.iter().any(|one| one.held.thing.is(known::NAMESPACES));
        let mut kinds: Vec<NormalKind> = kinds.into_values().map(NormalKind).collect();
        kinds.sort_by_key(|kind| std::cmp::Reverse((is_namespaces(kind), kind.0.len())));
        kinds
    }
}

impl NormalKind<'_> {
    /// `75 pods`.
    pub fn counted(&self) -> String {
        match self.0.as_slice() {
            [] => String::new(),
            [one] => format!("1 {}", clean(&one.held.thing.kind.to_lowercase(), 63)),
            [first, ..] => format!("{} {}", self.0.len(), clean(&first.held.thing.resource.plural, 63)),
        }
    }

    /// When the last grace period ends; where there is none, for how long the oldest has been overdue.
    pub fn until(&self) -> String {
        let overdue = || self.0.iter().filter_map(|one| one.held.overdue_seconds);
        match (overdue().min(), overdue().max()) {
            (Some(left), _) if left < 0 => {
                let which = if self.0.len() == 1 { "its" } else { "the last" };
                format!("; {which} grace period ends in {}", duration(left.unsigned_abs()))
            }
            (_, Some(longest)) => {
                let which = if self.0.len() == 1 { "" } else { "the longest " };
                format!(", {which}for {}", duration(longest.unsigned_abs()))
            }
            _ => String::new(),
        }
    }
}
