//! Owners: a foreground deletion waits for what the object owns.

use super::admission_policy::{self, Seen};
use super::finalizer::controller_manager::by_controller_manager;
use super::phrases::{count, some, within};
use super::webhook::Request;
use super::{control_plane, garbage_collector, invalid_owner, webhook};
use crate::rules::prelude::*;

/// Kinds that mostly own and are owned. Others are looked at when none of these is a dependent.
const USUAL: &[ApiResource] = &[known::PODS, known::CLAIMS, known::SERVICES];
const USUAL_GROUPS: &[&str] = &["apps", "batch"];

/// Of more dependents it is not asked whether their deletion is refused.
const MAX_DEPENDENTS: usize = 3;

/// `foregroundDeletion`: the garbage collector takes it off when no dependent blocks any more.
pub fn foreground(case: &mut Case, target: &ObjectRef, meta: &Meta) {
    let seen = case.diagnosis.unknown.len();
    let is_blocked = |owner: &Owner| owner.uid == meta.uid && owner.block_owner_deletion;
    let dependents = dependents(case, target, &is_blocked);
    if case.diagnosis.pending {
        return;
    }
    let is_blind = case.diagnosis.unknown.len() > seen;
    let mut free = Vec::new();
    for (dependent, its) in &dependents {
        match its.deletion_timestamp {
            Some(_) => {
                case.diagnosis.wait_for(dependent.clone());
                case.diagnosis.dependents.insert(dependent.clone());
            }
            None => free.push((dependent, *its)),
        }
    }
    if !free.is_empty() {
        let found = not_deleted(case, target, meta, &free);
        case.diagnosis.causes.extend(found);
    } else if !case.diagnosis.waits_for.is_empty() {
        // Those go first.
    } else if is_blind {
        // What could not be looked at may block; a controller manager that is silent is a reason all the same.
        let silent = control_plane::silent(case, target);
        case.diagnosis.causes.extend(silent);
    } else {
        by_controller_manager(case, target, meta, "foregroundDeletion", &cause::GARBAGE_COLLECTOR_NOT_WORKING);
    }
}

/// `orphan`: the garbage collector first takes the object off the owners of each dependent, with a patch of that.
pub fn orphan(case: &mut Case, target: &ObjectRef, meta: &Meta) {
    let is_owned = |owner: &Owner| owner.uid == meta.uid;
    let dependents = dependents(case, target, &is_owned);
    let mut refused = false;
    let mut suspect = None;
    for (dependent, its) in dependents.iter().take(MAX_DEPENDENTS) {
        let request = Request::about(dependent, its, "UPDATE");
        refused |= webhook::refuses(case, &[request]);
        refused |= garbage_collector::is_kept_from(case, dependent);
        suspect = suspect.or_else(|| admission_policy::suspect(case, dependent, request));
    }
    if let Some((dependent, _)) = dependents.first() {
        let words = "its ownerReferences still name the object";
        suspect = suspect.map(|it| it.under(Step::about(dependent, words)));
    }
    if refused || case.diagnosis.pending {
        return;
    }
    by_controller_manager(case, target, meta, "orphan", &cause::ORPHAN_FINALIZER_PENDING);
    let Some(suspect) = suspect else { return };
    // Where another reason is known, a policy that may refuse it is none.
    let has_not_acted = |root: &mut RootCause| root.draft.cause.id == cause::ORPHAN_FINALIZER_PENDING.id;
    match case.diagnosis.causes.pop_if(has_not_acted) {
        Some(root) => {
            let root = admission_policy::beside(&mut case.diagnosis, Some(suspect), root, Seen::NotActed);
            case.diagnosis.causes.push(root);
        }
        None if case.diagnosis.causes.is_empty() => case.diagnosis.causes.push(suspect.into_root()),
        None => {}
    }
}

/// Why the garbage collector has not deleted these dependents; nothing when that was said in `diagnosis`.
fn not_deleted(case: &mut Case, target: &ObjectRef, meta: &Meta, free: &[(&ObjectRef, &Meta)]) -> Option<RootCause> {
    if let Some(silent) = control_plane::silent(case, target) {
        return Some(silent);
    }
    let mut refused = false;
    let mut suspect = None;
    let mut names: Vec<String> = free.iter().map(|(dependent, _)| dependent.to_string()).collect();
    for ((dependent, its), name) in free.iter().zip(&mut names).take(MAX_DEPENDENTS) {
        if let Some(found) = invalid_owner::explain_dependent(case.lister, dependent, its) {
            return Some(found.evidence(target.to_string(), "finalizer foregroundDeletion"));
        }
        // Of one with another owner the collector takes this one off its list, which is no deletion (kubernetes:
        // pkg/controller/garbagecollector/garbagecollector.go, `attemptToDeleteItem`).
        let operation = match invalid_owner::has_another(case, dependent, its, &meta.uid) {
            true => {
                name.push_str(" (has another owner)");
                "UPDATE"
            }
            false => "DELETE",
        };
        let request = Request::about(dependent, its, operation);
        refused |= webhook::refuses(case, &[request]);
        refused |= garbage_collector::is_kept_from_dependent(case, dependent, its);
        suspect = suspect.or_else(|| admission_policy::suspect(case, target, request));
    }
    if refused || case.diagnosis.pending {
        return None;
    }
    let root = RootCause::below(&cause::FOREGROUND_DEPENDENTS_REMAIN, target)
        .step(Step::named(count(names.len(), "dependent"), format!("not being deleted yet: {}", some(&names, 3))))
        .evidence(target.to_string(), "finalizer foregroundDeletion");
    Some(admission_policy::beside(&mut case.diagnosis, suspect, root, Seen::NotActed))
}

/// What has such an owner: the nearest kinds are looked through first, the others when none of these has one.
fn dependents<'a>(
    case: &mut Case<'_, 'a>,
    target: &ObjectRef,
    is_it: &dyn Fn(&Owner) -> bool,
) -> Vec<(ObjectRef, &'a Meta)> {
    let Some(discovery) = case.diagnosis.required("API discovery", "what it owns", case.lister.discovery()) else {
        return Vec::new();
    };
    let cluster_wide = if target.namespace.is_none() { discovery.deletable_cluster_wide() } else { Vec::new() };
    let is_usual = |resource: &Resource| {
        USUAL_GROUPS.contains(&resource.group.as_ref())
            || USUAL.iter().any(|known| resource.group == known.group && resource.plural == known.plural)
            || (resource.group.is_empty() && resource.plural == "configmaps")
            || resource.group == target.resource.group
    };
    // What lives in no namespace is little, and mostly owned by its like.
    let is_near = |resource: &Resource| match target.namespace {
        Some(_) => is_usual(resource),
        None => resource.group == target.resource.group,
    };
    let (near, others): (Vec<Resource>, Vec<Resource>) =
        discovery.deletable_namespaced().into_iter().partition(is_near);
    let near: Vec<Resource> = cluster_wide.into_iter().chain(near).collect();
    let found = owned(case, target, is_it, &near);
    if !found.is_empty() || case.diagnosis.pending {
        return found;
    }
    let found = owned(case, target, is_it, &others);
    if !found.is_empty() || case.diagnosis.pending || target.namespace.is_none() {
        return found;
    }
    owned(case, target, is_it, &discovery.deletable_cluster_wide())
}

fn owned<'a>(
    case: &mut Case<'_, 'a>,
    target: &ObjectRef,
    is_it: &dyn Fn(&Owner) -> bool,
    resources: &[Resource],
) -> Vec<(ObjectRef, &'a Meta)> {
    let scope = target.namespace.as_deref().map_or(Scope::All, within);
    let mut found = Vec::new();
    for resource in resources.iter().filter(|resource| resource.plural != "secrets" && resource.plural != "events") {
        let served = case.lister.discovery().seen().and_then(|it| it.find(&resource.group, &resource.plural));
        let objects = match &target.namespace {
            // It should own none of these.
            Some(_) if served.as_ref().is_some_and(|(_, served)| !served.namespaced) => {
                case.diagnosis.silently(case.lister.metadata(resource, Scope::All))
            }
            _ => {
                let hides = format!("which {resource} it owns");
                case.diagnosis.required(resource.to_string(), &hides, case.lister.metadata(resource, scope.clone()))
            }
        };
        for object in objects.unwrap_or_default() {
            if object.metadata.owner_references.iter().any(is_it) {
                found.push((
                    ObjectRef {
                        kind: served.as_ref().map_or(resource.plural.clone(), |(_, served)| served.kind.clone().into()),
                        resource: resource.clone(),
                        namespace: object.metadata.namespace.clone(),
                        name: object.metadata.name.clone(),
                    },
                    &object.metadata,
                ));
            }
        }
    }
    found
}

/// What a missing or odd owner means, which people often take for the reason.
pub fn notes(case: &mut Case, target: &ObjectRef, meta: &Meta) {
    for owner in &meta.owner_references {
        let known = match owner.kind.as_str() {
            "StatefulSet" => known::STATEFUL_SETS,
            "DaemonSet" => known::DAEMON_SETS,
            _ => continue,
        };
        let answer = case.lister.get::<Workload>(known, target.namespace.as_deref(), &owner.name);
        if answer.is_missing() {
            case.diagnosis.note(format!(
                "Not the cause: the missing {} {}. {target} has a deletionTimestamp already, and a missing owner never \
                 holds what it owned.",
                owner.kind, owner.name
            ));
        } else if let Some(set) = answer.seen() {
            case.diagnosis.also_waits(format!("{} {} (waits for its pod)", owner.kind, owner.name));
            // More of its pods than this one.
            if owner.kind == "StatefulSet" && set.ready() + 1 < set.wanted() {
                let namespace = target.namespace.as_deref().unwrap_or_default();
                case.diagnosis.note(format!(
                    "StatefulSet {namespace}/{} has {} of {} pods ready. One that is not being deleted and not ready is \
                     looked at by its name: kubectl why-terminating pod/NAME -n {namespace}",
                    owner.name,
                    set.ready(),
                    set.wanted()
                ));
            }
        }
    }
}
