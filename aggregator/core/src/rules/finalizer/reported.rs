//! What an object, or the Events about it, say of a controller that does not finish.

use findings::{Cause, cause};

use crate::diagnosis::Diagnosis;
use crate::lister::Lister;
use crate::messages::{Message, errors};
use crate::rules::words::within;
use crate::state::*;

/// What was reported, and what it means.
pub struct Reported {
    /// The cause it makes.
    pub cause: &'static Cause,
    /// Its words, with a colon before them; empty when nothing was reported.
    pub words: String,
    /// Where it stands, and what it says there.
    pub evidence: Option<(String, String)>,
}

/// Reads the object's conditions and the warnings about it.
pub fn of(lister: &Lister, target: &ObjectRef, diagnosis: &mut Diagnosis) -> Reported {
    let answer = lister.with_status(&target.resource, target.namespace.as_deref(), &target.name);
    let object = diagnosis.required(target.to_string(), "what its controller reports", answer);
    let conditions = object.into_iter().flat_map(|object| &object.status.conditions);
    let bad = conditions.filter(|one| one.status == "False").map(|one| {
        let says = format!("{} is False, {} {}", one.kind, one.reason, one.message);
        (&one.message, (format!("status of {target}"), says))
    });
    let mut said: Vec<(&Message, (String, String))> = bad.collect();
    said.extend(warnings(lister, target, diagnosis).into_iter().map(|event| (&event.message, reported(target, event))));
    let first = |is_it: &dyn Fn(&Message) -> bool| {
        said.iter().find(|(message, _)| is_it(message)).map(|(_, evidence)| evidence.clone())
    };
    let (cause, evidence) = if let Some(evidence) = first(&errors::is_namespace_terminating) {
        (&cause::FINALIZER_CONTROLLER_BLOCKED, Some(evidence))
    } else if let Some(evidence) = first(&|message| errors::is_invalid(message, &target.name)) {
        (&cause::UPDATE_FAILS_VALIDATION, Some(evidence))
    } else {
        (&cause::FINALIZER_CONTROLLER_FAILING, first(&|_| true))
    };
    let words = evidence.as_ref().map_or(String::new(), |(_, says)| format!(": {says}"));
    Reported { cause, words, evidence }
}

/// Whether a warning says that the object's update is refused, for it is not valid: where, and what.
pub fn invalid(lister: &Lister, target: &ObjectRef, diagnosis: &mut Diagnosis) -> Option<(String, String)> {
    let all = warnings(lister, target, diagnosis);
    all.into_iter().find(|event| errors::is_invalid(&event.message, &target.name)).map(|event| reported(target, event))
}

fn reported(target: &ObjectRef, event: &Event) -> (String, String) {
    (format!("Event {} about {target}", event.reason), format!("{} {}", event.reason, event.message))
}

/// The warnings about an object, the latest first. They are asked for by kind: one list tells of all
/// objects of the kind that wait here.
fn warnings<'a>(lister: &Lister<'a>, target: &ObjectRef, diagnosis: &mut Diagnosis) -> Vec<&'a Event> {
    // Events about what lives in no namespace stand in this one.
    let namespace = target.namespace.as_deref().unwrap_or("default");
    let about = Select::Fields(format!("involvedObject.kind={},type=Warning", target.kind));
    let answer = lister.select::<Event>(known::EVENTS, within(namespace), about);
    let source = format!("events about {} in {namespace}", target.kind);
    let all = diagnosis.optional(source, "what its controller reports", answer).unwrap_or_default();
    let mut own: Vec<&Event> = all.into_iter().filter(|event| event.involved_object.name == target.name).collect();
    own.sort_by_key(|event| std::cmp::Reverse(event.last_timestamp.max(event.event_time)));
    own
}
