//! What an object, or the Events about it, say of a controller that does not finish.

use findings::{Cause, cause};

use crate::graph::{Standing, View};
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
pub fn of(view: &View, thing: &Thing, standing: &mut Standing) -> Reported {
    let answer = view.with_status(&thing.resource, thing.namespace.as_deref(), &thing.name);
    let object = standing.see(thing.to_string(), "what its controller reports", answer);
    let conditions = object.into_iter().flat_map(|object| &object.status.conditions);
    let bad = conditions.filter(|one| one.status == "False").map(|one| {
        let says = format!("{} is False, {} {}", one.kind, one.reason, one.message);
        (format!("status of {thing}"), says)
    });
    let mut said: Vec<(String, String)> = bad.collect();
    said.extend(warnings(view, thing, standing).into_iter().map(|event| told(thing, event)));
    let first = |part: &str| said.iter().find(|(_, says)| says.contains(part)).cloned();
    let (cause, evidence) = if let Some(evidence) = first("because it is being terminated") {
        (&cause::FINALIZER_CONTROLLER_BLOCKED, Some(evidence))
    } else if let Some(evidence) = first(&refusal(thing)) {
        (&cause::UPDATE_FAILS_VALIDATION, Some(evidence))
    } else {
        (&cause::FINALIZER_CONTROLLER_FAILING, said.first().cloned())
    };
    let words = evidence.as_ref().map_or(String::new(), |(_, says)| format!(": {says}"));
    Reported { cause, words, evidence }
}

/// Whether a warning says that the object's update is refused, for it is not valid: where, and what.
pub fn invalid(view: &View, thing: &Thing, standing: &mut Standing) -> Option<(String, String)> {
    let all = warnings(view, thing, standing);
    all.into_iter().find(|event| event.message.contains(&refusal(thing))).map(|event| told(thing, event))
}

/// As the API server words a 422.
fn refusal(thing: &Thing) -> String {
    format!("\"{}\" is invalid", thing.name)
}

fn told(thing: &Thing, event: &Event) -> (String, String) {
    (format!("Event {} about {thing}", event.reason), format!("{} {}", event.reason, event.message))
}

/// The warnings about an object, the latest first. They are asked for by kind: one list tells of all
/// objects of the kind that wait here.
fn warnings<'a>(view: &View<'a>, thing: &Thing, standing: &mut Standing) -> Vec<&'a Event> {
    // Events about what lives in no namespace stand in this one.
    let namespace = thing.namespace.as_deref().unwrap_or("default");
    let about = Select::Fields(format!("involvedObject.kind={},type=Warning", thing.kind));
    let answer = view.select::<Event>(known::EVENTS, within(namespace), about);
    let source = format!("events about {} in {namespace}", thing.kind);
    let all = standing.glance(source, "what its controller reports", answer).unwrap_or_default();
    let mut own: Vec<&Event> = all.into_iter().filter(|event| event.involved_object.name == thing.name).collect();
    own.sort_by_key(|event| std::cmp::Reverse(event.last_timestamp.max(event.event_time)));
    own
}
