//! What a rule works with.

use crate::diagnosis::Diagnosis;
use crate::lister::Lister;
use crate::report::NOT_KNOWN;
use crate::state::{Answer, ObjectRef};

/// Where a rule looks, and what the rules have found at one object so far.
pub struct Case<'l, 'a> {
    pub lister: &'l Lister<'a>,
    pub diagnosis: Diagnosis,
}

impl<'l, 'a> Case<'l, 'a> {
    pub fn new(lister: &'l Lister<'a>) -> Self {
        Case { lister, diagnosis: Diagnosis::default() }
    }

    /// The object that is explained. Where it does not exist or could not be read, the diagnosis says that alone.
    pub fn explained<T>(&mut self, target: &ObjectRef, hides: &str, answer: Answer<T>) -> Option<T> {
        if answer.is_missing() {
            self.diagnosis = Diagnosis::missing();
            return None;
        }
        let seen = self.diagnosis.required(target.to_string(), hides, answer);
        if seen.is_none() {
            self.diagnosis.words = NOT_KNOWN.to_owned();
        }
        seen
    }

    /// What a rule finds at another object, apart from this one's.
    pub fn apart(&self, explain: fn(&mut Case<'l, 'a>, &ObjectRef), target: &ObjectRef) -> Diagnosis {
        let mut other = Case::new(self.lister);
        explain(&mut other, target);
        other.diagnosis
    }
}
