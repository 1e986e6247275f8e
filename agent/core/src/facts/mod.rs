//! What the judgement knows, and what it lacks.
//!
//! The causes and the gates ask [`Facts`]. What the node was not asked yet becomes a [`Question`], and the judgement goes on
//! without the answer.

mod answered;

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::ops::Deref;

use crate::observation::{Observation, Process, Question};

/// What was seen, and the questions that came up without an answer.
pub struct Facts<'a> {
    seen: &'a Observation,
    /// Where each process stands in the observation.
    processes: HashMap<u32, usize>,
    /// `None` when nothing will be asked any more: then what is not there is not there.
    open: Option<RefCell<BTreeSet<Question>>>,
}

impl<'a> Facts<'a> {
    /// All that will ever be known.
    pub fn complete(seen: &'a Observation) -> Self {
        let processes = seen.processes.iter().enumerate().map(|(at, process)| (process.pid, at)).collect();
        Facts { seen, processes, open: None }
    }

    /// All that is known by now.
    pub fn recording(seen: &'a Observation) -> Self {
        Facts { open: Some(RefCell::default()), ..Facts::complete(seen) }
    }

    /// Whether the answer is known, be it that there is none. If not, the question is asked next.
    pub fn is_settled(&self, question: Question) -> bool {
        let Some(open) = &self.open else { return true };
        let settled = question.is_answered(self);
        if !settled {
            open.borrow_mut().insert(question);
        }
        settled
    }

    /// Whether questions are still answered.
    pub fn is_recording(&self) -> bool {
        self.open.is_some()
    }

    /// A process, if it was read.
    pub fn process(&self, pid: u32) -> Option<&'a Process> {
        self.processes.get(&pid).and_then(|at| self.seen.processes.get(*at))
    }

    /// What came up.
    pub fn into_open(self) -> BTreeSet<Question> {
        self.open.map(RefCell::into_inner).unwrap_or_default()
    }
}

impl Deref for Facts<'_> {
    type Target = Observation;

    fn deref(&self) -> &Observation {
        self.seen
    }
}
