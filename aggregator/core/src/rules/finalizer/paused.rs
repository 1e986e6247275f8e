//! An object that is paused: its controller runs, and does nothing with it.

use findings::clean;

use super::blocking_finalizer::BlockingFinalizer;
use super::controller_reports::MAX_STEP_CHARS;
use crate::rules::prelude::*;

/// More of a value is not shown.
const MAX_VALUE_CHARS: usize = 20;

/// What was found, with the pause as its cause.
pub fn explain(blocking: &BlockingFinalizer, found: &RootCause) -> Option<RootCause> {
    let BlockingFinalizer { target, meta, .. } = blocking;
    // Of a built-in kind's object it may be of any tool.
    let pause = meta.pause().filter(|_| blocking.is_custom() || blocking.known.is_some())?;
    let (says, key, name) = match pause {
        Pause::Annotation(key, value) => (shown("annotation", key, value), key, Placeholder::PauseAnnotation),
        Pause::Label(key, value) => (shown("label", key, value), key, Placeholder::PauseLabel),
    };
    let mut root = found.clone().instead(&cause::RECONCILIATION_PAUSED);
    root.steps.truncate(1);
    if let Some(step) = root.steps.first_mut() {
        step.words = clean(&format!("{}; paused by {says}", step.words), MAX_STEP_CHARS);
    }
    let root = root.in_place_of_own().same_as(target).name(name, key).evidence(target.to_string(), &says);
    Some(root.probable(format!("that its controller reads {key}")))
}

fn shown(what: &str, key: &str, value: &str) -> String {
    format!("{what} {key}={}", clean(value, MAX_VALUE_CHARS))
}
