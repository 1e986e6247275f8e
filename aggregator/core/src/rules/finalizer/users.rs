//! Objects that use one whose finalizer waits for the last of them.

use findings::Users as Fact;

use super::blocking_finalizer::BlockingFinalizer;
use super::controller_reports::MAX_STEP_CHARS;
use super::registry::{Back, CORE, UsedBy};
use crate::rules::object_reports;
use crate::rules::phrases::{some, within};
use crate::rules::prelude::*;

/// More of them are counted.
const MAX_NAMES: usize = 5;

/// One that uses the object.
struct User<'a> {
    target: ObjectRef,
    by: Back,
    meta: &'a Meta,
}

/// Who uses the object, as far as the kinds show it that its finalizer waits for.
enum Found<'a> {
    /// Some of them could not be looked at.
    Unseen,
    /// These; and those that name an object of this name in another namespace.
    Users(Vec<User<'a>>, Vec<User<'a>>),
}

/// Adds to what was found of a finalizer who uses the object: they become the chain. Where all of them are being deleted they
/// are waited for, and nothing else is said.
pub fn add(case: &mut Case, blocking: &BlockingFinalizer, found: RootCause) -> Option<RootCause> {
    let kinds = blocking.known.map_or(&[][..], |known| known.used_by);
    let kinds: Vec<&UsedBy> = kinds.iter().filter(|used_by| used_by.is_for(&blocking.target.kind)).collect();
    if kinds.is_empty() {
        return Some(found);
    }
    match look(case, blocking, &kinds) {
        _ if case.diagnosis.pending => None,
        Found::Unseen => Some(found.given(Circumstance::Users(Fact::Unknown))),
        Found::Users(own, elsewhere) => match (own.as_slice(), elsewhere.as_slice()) {
            ([], []) if kinds.iter().any(|used_by| used_by.or_others) => Some(found),
            ([], []) => Some(unused(found, blocking, &kinds)),
            ([], [first, ..]) => Some(counted_elsewhere(found, blocking, first, &elsewhere)),
            (own, _) => used(case, blocking, found, own),
        },
    }
}

fn look<'a>(case: &mut Case<'_, 'a>, blocking: &BlockingFinalizer, kinds: &[&UsedBy]) -> Found<'a> {
    let (mut own, mut elsewhere, mut is_whole) = (Vec::new(), Vec::new(), true);
    for used_by in kinds {
        let answer = case.lister.discovery();
        let Some(discovery) = case.diagnosis.optional("API discovery", "who uses the object", answer) else {
            return Found::Unseen;
        };
        let group = match used_by.group {
            "" => blocking.target.resource.group.as_ref(),
            CORE => "",
            group => group,
        };
        // Of a kind that is not served no object is left, or none that anybody sees.
        let Some((resource, kind, is_namespaced)) = served(discovery, group, used_by.plural) else {
            if discovery.stale().any(|served| served.group == group) {
                return Found::Unseen;
            }
            continue;
        };
        let is_beside = is_namespaced && used_by.is_beside;
        let own_namespace = blocking.target.namespace.as_deref().filter(|_| is_beside);
        // Who is counted in another namespace by mistake is seen only where all are.
        let scope = match own_namespace {
            Some(namespace) if !used_by.by_name => within(namespace),
            _ => Scope::All,
        };
        let (answer, detail) = match used_by.by {
            Back::Field(_) => (case.lister.objects(&resource, scope.clone()), Lister::detail_of_any(&resource)),
            Back::Owner => (case.lister.metadata(&resource, scope.clone()), Detail::Metadata),
        };
        is_whole &= case.lister.is_whole(&resource, scope, detail);
        let source = resource.for_kubectl();
        let Some(all) = case.diagnosis.optional(&source, "who uses the object", answer) else { return Found::Unseen };
        for one in all.into_iter().filter(|one| used_by.is_used(one, blocking)) {
            let namespace = one.metadata.namespace.clone();
            let is_own = own_namespace.is_none_or(|own| namespace.as_deref() == Some(own));
            let target = ObjectRef {
                kind: kind.clone().into(),
                resource: resource.clone(),
                namespace,
                name: one.metadata.name.clone(),
            };
            let user = User { target, by: used_by.by, meta: &one.metadata };
            if is_own { own.push(user) } else { elsewhere.push(user) }
        }
    }
    // Of those that were left out one may use it.
    if own.is_empty() && !is_whole { Found::Unseen } else { Found::Users(own, elsewhere) }
}

/// The resource in its preferred version, its kind, and whether its objects live in namespaces.
fn served(discovery: &Discovery, group: &str, plural: &str) -> Option<(Resource, String, bool)> {
    let versions = discovery.versions.iter().filter(|served| served.group == group);
    let mut found = versions.flat_map(|served| served.resources.iter().map(move |one| (served, one)));
    let (served, one) = found.find(|(_, one)| one.plural == plural)?;
    let resource = Resource::new(group.to_owned(), served.version.clone(), plural.to_owned());
    Some((resource, one.kind.clone(), one.namespaced))
}

fn names(users: &[User]) -> String {
    let names: Vec<String> = users.iter().map(|user| user.target.to_string()).collect();
    some(&names, MAX_NAMES)
}

fn named(found: RootCause, user: &User) -> RootCause {
    found
        .name(Placeholder::User, user.target.typed_name())
        .name_if(Placeholder::UserNamespace, user.target.namespace.as_deref())
}

/// They hold it: the root is the first that is not being deleted.
fn used(case: &mut Case, blocking: &BlockingFinalizer, found: RootCause, users: &[User]) -> Option<RootCause> {
    let (going, staying): (Vec<&User>, Vec<&User>) =
        users.iter().partition(|user| user.meta.deletion_timestamp.is_some());
    for user in going {
        case.diagnosis.wait_for(user.target.clone());
    }
    let (first, others) = staying.split_first()?;
    let said = object_reports::read(case, &first.target, first.meta);
    let reported = said.first().map_or(String::new(), |said| format!(": {}", said.brief()));
    let more = match others.len() {
        0 => String::new(),
        _ => {
            format!(
                "; so does {}",
                some(&others.iter().map(|one| one.target.to_string()).collect::<Vec<_>>(), MAX_NAMES)
            )
        }
    };
    let words = findings::clean(&format!("{}{reported}{more}", first.by.words()), MAX_STEP_CHARS);
    // It waits for that, whether its controller runs or not.
    let found = blocking.known.map_or(found.clone(), |known| found.instead(known.cause));
    let mut found = named(found, first)
        .given(Circumstance::Users(Fact::Some))
        .evidence(first.target.to_string(), format!("{}, and is not being deleted", first.by.words()))
        .with_evidence(said.iter().take(MAX_NAMES).map(|said| (&said.source, &said.says)));
    // What the controller waits for is known then, whatever other accounts there are.
    found.holds_from_the_start = true;
    (found.draft.confidence, found.draft.missing) = (findings::Confidence::Proven, None);
    found.steps.truncate(1);
    Some(found.step(Step { words, ..Step::about(&first.target, "") }))
}

/// Its controller, which was not seen to be broken, is what has not acted.
fn unused(found: RootCause, blocking: &BlockingFinalizer, kinds: &[&UsedBy]) -> RootCause {
    let plurals: Vec<&str> = kinds.iter().map(|used_by| used_by.plural).collect();
    let plurals = plurals.join(", ");
    let is_open = blocking.is_open(&found);
    let found = found.given(Circumstance::Users(Fact::None));
    let Some(known) = blocking.known.filter(|_| kinds.iter().any(|used_by| used_by.by != Back::Owner)) else {
        return append(found, &format!("it has no {plurals}"));
    };
    let by = known.released_by;
    let found = match is_open {
        true => found.instead(&cause::PROTECTED_WITHOUT_USERS).loses(known.lost).name(Placeholder::ReleasedBy, by),
        false => found,
    };
    let words = format!("nothing uses it any more (no {plurals} that need it): {by} should have removed the finalizer");
    append(found, &words)
}

fn counted_elsewhere(found: RootCause, blocking: &BlockingFinalizer, first: &User, all: &[User]) -> RootCause {
    let own = blocking.target.namespace.as_deref().unwrap_or_default();
    let words = format!(
        "nothing in {own} uses it; {} names one of the same name in another namespace, and may be counted as well",
        names(all)
    );
    append(named(found, first).given(Circumstance::Users(Fact::Elsewhere)), &words)
}

/// Says it where the chain ends.
fn append(mut found: RootCause, words: &str) -> RootCause {
    if let Some(step) = found.steps.last_mut() {
        step.words = findings::clean(&format!("{}; {words}", step.words), MAX_STEP_CHARS);
    }
    found
}

impl Back {
    fn words(self) -> &'static str {
        match self {
            Back::Field(Field::Snapshot) => "is its content",
            Back::Field(Field::DataSource) => "is made of it, and is not bound",
            Back::Field(_) => "uses it",
            Back::Owner => "belongs to it",
        }
    }
}

impl UsedBy {
    /// Whether this object names the one that is held, and still needs it.
    fn is_used(&self, one: &Object, blocking: &BlockingFinalizer) -> bool {
        let is_done = self.until_done && one.status.is_done;
        let names = match self.by {
            Back::Field(field) => one.names(field, blocking.target),
            Back::Owner => one.metadata.owner_references.iter().any(|owner| owner.uid == blocking.meta.uid),
        };
        names && !is_done
    }
}
