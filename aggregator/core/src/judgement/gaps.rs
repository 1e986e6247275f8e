//! What an answer could not see, and what is worth knowing beside it.

use std::collections::{BTreeMap, BTreeSet};

use findings::{FaultKind, Unknown, clean};

use crate::diagnosis::{Diagnosis, NotSeen};
use crate::messages::Refusal;

/// More sources that could not be read are counted.
const MAX_UNKNOWN: usize = 100;
/// More notes are not kept: they only add to an answer.
const MAX_NOTES: usize = 200;

/// Collected from all that was looked into.
#[derive(Default)]
pub(super) struct Gaps {
    unknown: Vec<Unknown>,
    unknown_left_out: usize,
    notes: BTreeSet<String>,
    forbidden: BTreeSet<(String, String)>,
    refusals: BTreeSet<Refusal>,
}

impl Gaps {
    pub(super) fn add(&mut self, diagnosis: &Diagnosis) {
        for unknown in diagnosis.unknown.iter().map(NotSeen::unknown) {
            match (self.unknown.contains(&unknown), self.unknown.len() < MAX_UNKNOWN) {
                (true, _) => {}
                (false, true) => self.unknown.push(unknown),
                (false, false) => self.unknown_left_out += 1,
            }
        }
        self.notes.extend(diagnosis.notes.iter().take(MAX_NOTES.saturating_sub(self.notes.len())).cloned());
        self.forbidden.extend(diagnosis.forbidden.iter().take(MAX_NOTES.saturating_sub(self.forbidden.len())).cloned());
        self.refusals.extend(diagnosis.refusals.iter().cloned());
    }

    /// There is more of something than the answer has.
    pub(super) fn leave_out(&mut self, count: usize, what: &str, hides: &str) {
        if count > 0 {
            self.too_large(format!("{count} {what}"), hides);
        }
    }

    /// The cluster is larger than what is looked into.
    pub(super) fn too_large(&mut self, why: String, hides: &str) {
        let source = "the cluster".to_owned();
        self.unknown.push(Unknown { kind: Some(FaultKind::TooLarge), source, why, hides: hides.to_owned() });
    }

    pub(super) fn finish(mut self) -> (Vec<Unknown>, BTreeSet<String>) {
        self.leave_out(self.unknown_left_out, "more sources that could not be read", "what they hide");
        let without_rights = self.without_rights();
        self.notes.extend(without_rights);
        (self.unknown, self.notes)
    }

    /// What the caller has no permission to see and the verdict does not need: one note for all of it.
    fn without_rights(&self) -> Option<String> {
        let mut by_adds: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (source, adds) in &self.forbidden {
            by_adds.entry(adds).or_default().push(source);
        }
        let each = by_adds.into_iter().map(|(adds, sources)| format!("{} (would show {adds})", sources.join(", ")));
        let all = each.collect::<Vec<_>>().join("; ");
        let rights =
            Refusal::check(&self.refusals).map(|command| format!(" ({}: {command})", Refusal::words(&self.refusals)));
        (!self.forbidden.is_empty()).then(|| {
            let rights = rights.unwrap_or_default();
            clean(&format!("Not readable with these permissions, and not needed for the verdict: {all}{rights}."), 900)
        })
    }
}
