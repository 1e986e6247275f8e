//! Owners that the garbage collector cannot find: in another namespace, or of a kind that is not
//! served. Neither holds a deletion; the one deletes an object, the other keeps it, and both look
//! like a deletion that went wrong.

use findings::{Cause, cause};

use super::words::within;
use crate::graph::{Found, Standing, View};
use crate::state::*;

/// More owners of one object are not looked for.
const MOST_OWNERS: usize = 8;

/// What is odd about an owner.
struct Odd {
    cause: &'static Cause,
    words: String,
    source: String,
    says: String,
}

/// Says what is odd about the owners of an object that is not being deleted.
pub fn of_living(view: &View, thing: &Thing, meta: &Meta, standing: &mut Standing) {
    if let Some(odd) = find(view, thing, meta, standing) {
        let words = format!("{}; {}", standing.words, odd.words);
        standing.found.push(found(odd, thing, words));
    }
}

/// Says why an object is being deleted that the user named.
pub fn of_going(view: &View, thing: &Thing, meta: &Meta, standing: &mut Standing) {
    if let Some(odd) = find(view, thing, meta, standing)
        && odd.cause.id == cause::OWNER_IN_OTHER_NAMESPACE.id
    {
        standing.note(format!("Why {thing} is being deleted: {}. {}: {}", odd.words, odd.source, odd.says));
    }
}

/// How an object stands that does not exist: the collector may have said why.
pub fn of_missing(view: &View, thing: &Thing) -> Standing {
    let mut standing = Standing::missing();
    let Some(event) = event(view, thing, &mut standing) else { return standing };
    standing.missing = false;
    let words = "does not exist: the garbage collector deleted it, because its owner is in another namespace";
    let odd = Odd {
        cause: &cause::OWNER_IN_OTHER_NAMESPACE,
        words: words.to_owned(),
        source: format!("Event {} about {thing}", event.reason),
        says: event.message.clone(),
    };
    standing.found.push(found(odd, thing, words.to_owned()));
    standing
}

fn found(odd: Odd, thing: &Thing, words: String) -> Found {
    Found::here(odd.cause, thing, words).evidence(odd.source, odd.says).not_stuck()
}

fn find(view: &View, thing: &Thing, meta: &Meta, standing: &mut Standing) -> Option<Odd> {
    if meta.owner_references.is_empty() {
        return None;
    }
    let answer = view.discovery();
    let discovery = standing.glance("API discovery", "whether the kinds of its owners are served", answer)?;
    let mut lost = Vec::new();
    for owner in meta.owner_references.iter().take(MOST_OWNERS) {
        match where_is(view, thing, owner, discovery, standing) {
            Place::Odd(odd) => return Some(odd),
            Place::Nowhere => lost.push(format!("{} {}", owner.kind, owner.name)),
            Place::Fine => {}
        }
    }
    if !standing.open && lost.len() == meta.owner_references.len() && meta.deletion_timestamp.is_none() {
        standing.note(format!(
            "Its owner does not exist (any more): {}. The garbage collector deletes such an object by itself, within \
             minutes.",
            lost.join(", ")
        ));
    }
    None
}

/// Where an owner is.
enum Place {
    /// Where it should be, or that could not be seen.
    Fine,
    /// There is none.
    Nowhere,
    /// Where the garbage collector does not look.
    Odd(Odd),
}

fn where_is(view: &View, thing: &Thing, owner: &Owner, discovery: &Discovery, standing: &mut Standing) -> Place {
    let (group, version) = owner.group_version();
    let Owner { api_version, kind, name, uid, .. } = owner;
    let says = format!("owner {api_version} {kind} {name}");
    let source = format!("ownerReferences of {thing}");
    let Some((resource, served)) = discovery.of_kind(group, version, kind) else {
        // What is served by an API that does not answer is not known.
        if discovery.is_stale(group) {
            return Place::Fine;
        }
        let words = format!("its owner {kind} {name} is of {api_version}, which the server does not serve");
        return Place::Odd(Odd { cause: &cause::OWNER_KIND_UNKNOWN, words, source, says });
    };
    let Some(namespace) = thing.namespace.as_deref().filter(|_| served.namespaced) else {
        if served.namespaced {
            let words = format!("it lives in no namespace, and its owner {kind} {name} does");
            return Place::Odd(Odd { cause: &cause::OWNER_KIND_UNKNOWN, words, source, says });
        }
        return exists(standing, owner, view.object(&resource, None, name));
    };
    // Secrets are never read.
    if group.is_empty() && resource.plural == "secrets" {
        return Place::Fine;
    }
    let place = exists(standing, owner, view.object(&resource, Some(namespace), name));
    if !matches!(place, Place::Nowhere) {
        return place;
    }
    let cause = &cause::OWNER_IN_OTHER_NAMESPACE;
    if let Some(event) = event(view, thing, standing) {
        let words = format!("its owner {kind} {name} is not in its namespace, so the garbage collector deletes it");
        let source = format!("Event {} about {thing}", event.reason);
        return Place::Odd(Odd { cause, words, source, says: event.message.clone() });
    }
    let answer = view.namesakes(&resource, name);
    let namesakes = standing.glance(format!("{resource} of other namespaces"), "whether its owner is there", answer);
    // Only the uid makes it the owner: names repeat from namespace to namespace.
    let mut elsewhere = namesakes.into_iter().flatten().filter(|one| !uid.is_empty() && one.metadata.uid == *uid);
    match elsewhere.next().and_then(|one| one.metadata.namespace.as_deref()) {
        Some(other) => {
            let words =
                format!("its owner {kind} {name} lives in namespace {other}, and the garbage collector deletes it");
            Place::Odd(Odd { cause, words, source: format!("{kind} {other}/{name}"), says: format!("uid {uid}") })
        }
        None => Place::Nowhere,
    }
}

fn exists(standing: &mut Standing, owner: &Owner, answer: Answer<&Object>) -> Place {
    let is_missing = answer.is_missing();
    match standing.glance(format!("{} {}", owner.kind, owner.name), "whether its owner exists", answer) {
        Some(object) if object.metadata.uid == owner.uid => Place::Fine,
        // Another one of the same name.
        Some(_) => Place::Nowhere,
        None if is_missing => Place::Nowhere,
        None => Place::Fine,
    }
}

/// What the garbage collector says of an object whose owner is not in its namespace.
fn event<'a>(view: &View<'a>, thing: &Thing, standing: &mut Standing) -> Option<&'a Event> {
    let namespace = thing.namespace.as_deref()?;
    let about = format!("involvedObject.name={},reason=OwnerRefInvalidNamespace", thing.name);
    let answer = view.select::<Event>(known::EVENTS, within(namespace), Select::Fields(about));
    let events = standing.glance(format!("events of {thing}"), "whether the garbage collector deletes it", answer)?;
    events.into_iter().find(|event| event.involved_object.kind == thing.kind)
}
