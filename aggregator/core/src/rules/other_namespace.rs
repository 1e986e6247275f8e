//! An object that the user named and that is not there: it may be in another namespace.

use super::phrases::some;
use crate::diagnosis::Diagnosis;
use crate::lister::Lister;
use crate::state::*;

/// More namespaces are counted.
const MAX_NAMES: usize = 5;

/// Names the namespaces that have an object of this kind and name.
pub fn name_others(lister: &Lister, target: &ObjectRef, diagnosis: &mut Diagnosis) {
    if target.namespace.is_none() {
        return;
    }
    let answer = lister.namesakes(&target.resource, &target.name);
    let others: Vec<String> = diagnosis.silently(answer).into_iter().flatten().filter_map(place).collect();
    if !others.is_empty() {
        let be = if others.len() == 1 { "is one" } else { "are some" };
        diagnosis.words = format!("{}; there {be} in {}", diagnosis.words, some(&others, MAX_NAMES));
    }
}

/// `nc-node, Terminating`
fn place(object: &Object) -> Option<String> {
    let namespace = object.metadata.namespace.as_deref()?;
    let state = if object.metadata.deletion_timestamp.is_some() { " (Terminating)" } else { "" };
    Some(format!("{namespace}{state}"))
}
