//! How long a deletion may take before anything is called stuck.

use findings::Verdict;

use crate::diagnosis::{Diagnosis, MIN_AGE_SECONDS};

/// What holds an object that should have been gone for less than a minute is reported as what it waits for. An agent has a
/// patience of its own.
pub fn spare(diagnosis: &mut Diagnosis) {
    if !diagnosis.terminating || !diagnosis.is_younger_than(MIN_AGE_SECONDS) {
        return;
    }
    for root in diagnosis.causes.iter_mut().filter(|root| root.agent.is_none()) {
        root.is_young = root.verdict == Verdict::Stuck;
        root.verdict = root.verdict.min(Verdict::Progressing);
    }
}
