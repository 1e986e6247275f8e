//! Objects of the same API group that belong to the one that is being deleted or name it, and are not being deleted
//! themselves.

use findings::Users;

use super::blocking_finalizer::BlockingFinalizer;
use super::parts::{belongs, scope_of};
use super::referenced_objects::{Lack, Need};
use crate::messages::Message;
use crate::rules::object_reports::{self, ObjectReport, Weight};
use crate::rules::phrases::some;
use crate::rules::prelude::*;

/// More kinds of one group are not listed.
const MAX_KINDS: usize = 16;
/// More of them are counted.
const MAX_NAMES: usize = 5;

/// One of them.
struct Dependent<'a> {
    object: ObjectRef,
    meta: &'a Meta,
    /// Whether it belongs to the other one, and does not only name it.
    belongs: bool,
}

/// What its controller made for the clean-up, since the deletion was requested, and reports a failure: as the
/// ClusterDeprovision of a ClusterDeployment (openshift/hive: pkg/controller/clusterdeployment).
pub fn failing_clean_up(case: &mut Case, blocking: &BlockingFinalizer) -> Option<Need> {
    let asked = blocking.meta.deletion_requested_at()?;
    let all = find(case, blocking);
    let made = all.iter().filter(|one| one.belongs && one.meta.creation_timestamp.is_some_and(|made| made >= asked));
    made.take(MAX_NAMES).find_map(|one| {
        let said = object_reports::read(case, &one.object, one.meta);
        let first =
            said.into_iter().find(|said| matches!(said.weight, Weight::Blocks | Weight::Warns | Weight::Fails))?;
        let lack = Lack::Failing(first.brief(), (first.source, first.says));
        Some(Need { object: one.object.clone(), lack, is_for_cleanup: true })
    })
}

/// Those that use it, where its own words say that some of their kind must be gone first: the root is the first of them.
pub fn used(case: &mut Case, blocking: &BlockingFinalizer, found: &RootCause) -> Option<RootCause> {
    let said = object_reports::read(case, blocking.target, blocking.meta);
    let said: Vec<ObjectReport> =
        said.into_iter().filter(|said| !said.is_outdated && said.message.is_of_first()).collect();
    if said.is_empty() {
        return None;
    }
    let all = find(case, blocking);
    let words = said.iter().find(|said| all.iter().any(|one| is_meant(said.message, &one.object)))?;
    let users: Vec<&ObjectRef> =
        all.iter().map(|one| &one.object).filter(|object| is_meant(words.message, object)).collect();
    let (first, others) = users.split_first()?;
    // Who may not read it does not see it here.
    case.diagnosis.silently(case.lister.object(&first.resource, first.namespace.as_deref(), &first.name));
    let names: Vec<String> = others.iter().map(|one| one.to_string()).collect();
    let more = if names.is_empty() { String::new() } else { format!("; so is {}", some(&names, MAX_NAMES)) };
    let found = found
        .clone()
        .instead(&cause::PROTECTED_WHILE_IN_USE)
        .given(Circumstance::Users(Users::Some))
        .name(Placeholder::User, first.typed_name())
        .name_if(Placeholder::UserNamespace, first.namespace.as_deref())
        .same_as(*first)
        .evidence(&words.source, &words.says)
        .evidence(first.to_string(), "belongs to it or names it, and is not being deleted");
    let found = found.step(Step::about(first, format!("is left, and is not being deleted{more}")));
    Some(
        found.probable("that its controller waits for it: the object's words name the kind, and its fields the object"),
    )
}

/// Whether the words are about an object of this kind or name.
fn is_meant(words: &Message, object: &ObjectRef) -> bool {
    words.waits_for(&object.name) || words.is_of_kind(&object.kind)
}

fn find<'a>(case: &mut Case<'_, 'a>, blocking: &BlockingFinalizer) -> Vec<Dependent<'a>> {
    let BlockingFinalizer { target, meta, .. } = blocking;
    let Some(discovery) = case.diagnosis.silently(case.lister.discovery()) else { return Vec::new() };
    let mut kinds = discovery.deletable_kinds();
    kinds.retain(|(resource, served)| {
        resource.group == target.resource.group && (served.namespaced || target.namespace.is_none())
    });
    let mut found = Vec::new();
    for (resource, served) in kinds.into_iter().take(MAX_KINDS) {
        let scope = scope_of(target.namespace.as_deref());
        // Each that is named is shown to those who may read it.
        let (answer, _) = case.lister.read_apart(|lister| lister.objects(&resource, scope));
        let all = case.diagnosis.optional(resource.for_kubectl(), "whether one of them belongs to it", answer);
        for one in all.unwrap_or_default() {
            let namespace = one.metadata.namespace.clone();
            let name = one.metadata.name.clone();
            let object = ObjectRef { kind: served.kind.clone().into(), resource: resource.clone(), namespace, name };
            let belongs = belongs(&one.metadata, target, meta);
            let is_above = meta.owner_references.iter().any(|owner| owner.uid == one.metadata.uid);
            let names = || one.spec.references.name_by_kind(target) && !is_above;
            if object != **target && one.metadata.deletion_timestamp.is_none() && (belongs || names()) {
                found.push(Dependent { object, meta: &one.metadata, belongs });
            }
        }
    }
    found
}
