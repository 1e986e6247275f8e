//! A deletion without a request: the objects in question count as deleted a moment ago when they arrive, so that the same
//! rules say what would hold them.

use super::{Answer, Answered, Facts, Meta, Question, Release, Resource, State, Subject, known};

/// Marks what would be deleted.
pub fn mark(state: &State, answered: &mut Answered) {
    let Subject::Before { word, namespace, name } = &state.subject else { return };
    let (Question::Objects { resource, .. }, Answer::Seen(facts)) = (&answered.question, &mut answered.answer) else {
        return;
    };
    let is_named = names(state, word, resource);
    let release = Release::new(&state.subject);
    let is_of_going_crd = release.is_some() && is_defined_by_going(state, resource);
    let is_set = names(state, word, &Resource::from(known::STATEFUL_SETS));
    let is_meant = |meta: &Meta| match known::named(word) {
        Some(known::NODES) => false,
        Some(known::NAMESPACES) => (is_named && meta.name == *name) || meta.namespace.as_ref() == Some(name),
        Some(known::CRDS) => (is_named && meta.name == *name) || resource.for_kubectl() == *name,
        _ if release.is_some_and(|release| release.takes(meta)) => true,
        _ if is_of_going_crd => true,
        // The garbage collector deletes its pods, and the claims that name it.
        _ if is_set && meta.namespace.as_ref() == Some(namespace) && is_owned_by_set(meta, name) => true,
        _ => is_named && meta.name == *name && meta.namespace.as_ref().is_none_or(|at| at == namespace),
    };
    let at = state.at;
    facts.for_each_meta(|meta| {
        if meta.deletion_timestamp.is_none() && is_meant(meta) {
            meta.deletion_timestamp = Some(at);
        }
    });
}

fn is_owned_by_set(meta: &Meta, name: &str) -> bool {
    meta.owner_references.iter().any(|owner| owner.kind == known::STATEFUL_SETS.kind && owner.name == name)
}

/// Whether a CRD that would be deleted defines this resource: its objects go with it.
fn is_defined_by_going(state: &State, resource: &Resource) -> bool {
    let name = resource.for_kubectl();
    let is_it = |meta: &Meta| meta.deletion_timestamp.is_some() && meta.name == name;
    state.answers.values().any(|answered| match (&answered.question, &answered.answer) {
        (Question::Objects { resource, .. }, Answer::Seen(facts)) if *resource == Resource::from(known::CRDS) => {
            facts.metas().into_iter().any(is_it)
        }
        _ => false,
    })
}

/// Whether the word that the user typed means this resource.
fn names(state: &State, word: &str, resource: &Resource) -> bool {
    if let Some(known) = known::named(word) {
        return *resource == Resource::from(known);
    }
    let discovery = state.answers.get(&Question::Discovery).and_then(|answered| match &answered.answer {
        Answer::Seen(Facts::Discovery(discovery)) => Some(discovery),
        _ => None,
    });
    discovery.is_some_and(|all| all.all_named(word).iter().any(|(named, _)| named == resource))
}
