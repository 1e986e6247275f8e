//! Owners that the garbage collector cannot find: in another namespace, or of a kind that is not
//! served. The one deletes an object, the other keeps it, and both look like a deletion that went
//! wrong; an owner that waits for what is kept is held by it.

use super::phrases::within;
use crate::rules::prelude::*;

/// More owners of one object are not looked for.
const MAX_OWNERS: usize = 8;

/// What is odd about an owner.
struct Odd {
    cause: &'static Cause,
    words: String,
    source: String,
    says: String,
}

/// Says what is odd about the owners of an object that is not being deleted.
pub fn explain_live(case: &mut Case, target: &ObjectRef, meta: &Meta) {
    if let Some(odd) = find(case, target, meta) {
        let words = format!("{}; {}", case.diagnosis.words, odd.words);
        case.diagnosis.causes.push(root_cause(odd, target, words));
    }
}

/// Says why an object is being deleted that the user named.
pub fn explain_terminating(case: &mut Case, target: &ObjectRef, meta: &Meta) {
    if let Some(odd) = find(case, target, meta)
        && odd.cause.id == cause::OWNER_IN_OTHER_NAMESPACE.id
    {
        case.diagnosis.note(format!("Why {target} is being deleted: {}. {}: {}", odd.words, odd.source, odd.says));
    }
}

/// Why the garbage collector neither deletes this dependent nor takes an owner off it: it forgets what has an owner that it
/// cannot look up, or tries for ever.
pub fn explain_dependent(lister: &Lister, target: &ObjectRef, meta: &Meta) -> Option<RootCause> {
    let discovery = lister.discovery().seen()?;
    let mut owners = meta.owner_references.iter().take(MAX_OWNERS);
    let odd = owners.find_map(|owner| unknown(target, owner, discovery))?;
    let words = format!("the garbage collector passes it over: {}", odd.words);
    Some(RootCause::below(odd.cause, target).step(Step::about(target, words)).evidence(odd.source, odd.says))
}

/// Whether an owner beside the one with this uid is there.
pub fn has_another(case: &mut Case, target: &ObjectRef, meta: &Meta, uid: &str) -> bool {
    let Some(discovery) = case.lister.discovery().seen() else { return false };
    let mut others = meta.owner_references.iter().filter(|owner| owner.uid != uid).take(MAX_OWNERS);
    others.any(|owner| matches!(where_is(case, target, owner, discovery), Place::Fine))
}

/// How an object stands that does not exist: the collector may have said why.
pub fn explain_missing(case: &mut Case, target: &ObjectRef) {
    case.diagnosis = Diagnosis::missing();
    let Some(event) = event(case, target) else { return };
    case.diagnosis.missing = false;
    let words = "does not exist: the garbage collector deleted it, because its owner is in another namespace";
    let odd = Odd {
        cause: &cause::OWNER_IN_OTHER_NAMESPACE,
        words: words.to_owned(),
        source: format!("Event {} about {target}", event.reason),
        says: event.message.to_string(),
    };
    case.diagnosis.causes.push(root_cause(odd, target, words.to_owned()));
}

fn root_cause(odd: Odd, target: &ObjectRef, words: String) -> RootCause {
    RootCause::here(odd.cause, target, words).evidence(odd.source, odd.says).not_stuck()
}

fn find(case: &mut Case, target: &ObjectRef, meta: &Meta) -> Option<Odd> {
    if meta.owner_references.is_empty() {
        return None;
    }
    let answer = case.lister.discovery();
    let discovery = case.diagnosis.optional("API discovery", "whether the kinds of its owners are served", answer)?;
    let mut lost = Vec::new();
    for owner in meta.owner_references.iter().take(MAX_OWNERS) {
        match where_is(case, target, owner, discovery) {
            Place::Odd(odd) => return Some(odd),
            Place::Nowhere => lost.push(format!("{} {}", owner.kind, owner.name)),
            Place::Fine => {}
        }
    }
    if !case.diagnosis.pending && lost.len() == meta.owner_references.len() && meta.deletion_timestamp.is_none() {
        case.diagnosis.note(format!(
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

/// An owner of a kind that is not served, or in a namespace although `target` is in none.
fn unknown(target: &ObjectRef, owner: &Owner, discovery: &Discovery) -> Option<Odd> {
    let (group, version) = owner.group_version();
    let Owner { api_version, kind, name, .. } = owner;
    let words = match discovery.resource_of_kind(group, version, kind) {
        // What is served by an API that does not answer is not known.
        None if discovery.is_stale(group) => return None,
        None => format!("its owner {kind} {name} is of {api_version}, which the server does not serve"),
        Some((_, served)) if served.namespaced && target.namespace.is_none() => {
            format!("it is cluster-scoped, and its owner {kind} {name} is namespaced")
        }
        Some(_) => return None,
    };
    let says = format!("owner {api_version} {kind} {name}");
    Some(Odd { cause: &cause::OWNER_KIND_UNKNOWN, words, source: format!("ownerReferences of {target}"), says })
}

fn where_is(case: &mut Case, target: &ObjectRef, owner: &Owner, discovery: &Discovery) -> Place {
    let (group, version) = owner.group_version();
    let Owner { kind, name, uid, .. } = owner;
    if let Some(odd) = unknown(target, owner, discovery) {
        return Place::Odd(odd);
    }
    let Some((resource, served)) = discovery.resource_of_kind(group, version, kind) else { return Place::Fine };
    let Some(namespace) = target.namespace.as_deref().filter(|_| served.namespaced) else {
        return exists(&mut case.diagnosis, owner, case.lister.object(&resource, None, name));
    };
    // Secrets are never read.
    if group.is_empty() && resource.plural == "secrets" {
        return Place::Fine;
    }
    let place = exists(&mut case.diagnosis, owner, case.lister.object(&resource, Some(namespace), name));
    if !matches!(place, Place::Nowhere) {
        return place;
    }
    let cause = &cause::OWNER_IN_OTHER_NAMESPACE;
    if let Some(event) = event(case, target) {
        let words = format!("its owner {kind} {name} is not in its namespace, so the garbage collector deletes it");
        let source = format!("Event {} about {target}", event.reason);
        return Place::Odd(Odd { cause, words, source, says: event.message.to_string() });
    }
    let answer = case.lister.namesakes(&resource, name);
    let namesakes =
        case.diagnosis.optional(format!("{resource} of other namespaces"), "whether its owner is there", answer);
    // Only the uid makes it the owner: names repeat from namespace to namespace.
    let mut elsewhere = namesakes.into_iter().flatten().filter(|one| !uid.is_empty() && one.metadata.uid == *uid);
    match elsewhere.next().and_then(|one| one.metadata.namespace.as_deref()) {
        Some(other) => {
            let words =
                format!("its owner {kind} {name} is in namespace {other}, and the garbage collector deletes it");
            Place::Odd(Odd { cause, words, source: format!("{kind} {other}/{name}"), says: format!("uid {uid}") })
        }
        None => Place::Nowhere,
    }
}

fn exists(diagnosis: &mut Diagnosis, owner: &Owner, answer: Answer<&Object>) -> Place {
    let is_missing = answer.is_missing();
    match diagnosis.optional(format!("{} {}", owner.kind, owner.name), "whether its owner exists", answer) {
        Some(object) if object.metadata.uid == owner.uid => Place::Fine,
        // Another one of the same name.
        Some(_) => Place::Nowhere,
        None if is_missing => Place::Nowhere,
        None => Place::Fine,
    }
}

/// What the garbage collector says of an object whose owner is not in its namespace.
fn event<'a>(case: &mut Case<'_, 'a>, target: &ObjectRef) -> Option<&'a Event> {
    let namespace = target.namespace.as_deref()?;
    let about = format!("involvedObject.name={},reason=OwnerRefInvalidNamespace", target.name);
    let answer = case.lister.select::<Event>(known::EVENTS, within(namespace), Select::Fields(about));
    let events =
        case.diagnosis.optional(format!("events of {target}"), "whether the garbage collector deletes it", answer)?;
    events.into_iter().find(|event| event.involved_object.kind == target.kind)
}
