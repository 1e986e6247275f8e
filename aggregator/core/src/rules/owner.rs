//! Owners: a foreground deletion waits for what the object owns.

use findings::cause;

use super::admission_policy::{self, Seen};
use super::finalizer::controller_manager::by_controller_manager;
use super::phrases::{count, some, within};
use super::webhook::Request;
use super::{control_plane, garbage_collector, invalid_owner, webhook};
use crate::diagnosis::{Diagnosis, RootCause, Step};
use crate::lister::Lister;
use crate::state::*;

/// Kinds that mostly own and are owned. Others are looked at when none of these is a dependent.
const USUAL: &[ApiResource] = &[known::PODS, known::CLAIMS, known::SERVICES];
const USUAL_GROUPS: &[&str] = &["apps", "batch"];

/// Of more dependents it is not asked whether their deletion is refused.
const MAX_DEPENDENTS: usize = 3;

/// `foregroundDeletion`: the garbage collector takes it off when no dependent blocks any more.
pub fn foreground(lister: &Lister, target: &ObjectRef, meta: &Meta, diagnosis: &mut Diagnosis) {
    let seen = diagnosis.unknown.len();
    let is_blocked = |owner: &Owner| owner.uid == meta.uid && owner.block_owner_deletion;
    let dependents = dependents(lister, target, diagnosis, &is_blocked);
    if diagnosis.pending {
        return;
    }
    let is_blind = diagnosis.unknown.len() > seen;
    let mut free = Vec::new();
    for (dependent, its) in &dependents {
        match its.deletion_timestamp {
            Some(_) => diagnosis.wait_for(dependent.clone()),
            None => free.push((dependent, *its)),
        }
    }
    if !free.is_empty() {
        let found = not_deleted(lister, target, meta, &free, diagnosis);
        diagnosis.causes.extend(found);
    } else if !diagnosis.waits_for.is_empty() {
        // Those go first.
    } else if is_blind {
        // What could not be looked at may block; a controller manager that is silent is a reason all the same.
        let silent = control_plane::silent(lister, diagnosis, target);
        diagnosis.causes.extend(silent);
    } else {
        by_controller_manager(
            lister,
            target,
            meta,
            "foregroundDeletion",
            &cause::GARBAGE_COLLECTOR_NOT_WORKING,
            diagnosis,
        );
    }
}

/// `orphan`: the garbage collector first takes the object off the owners of each dependent, with a patch of that.
pub fn orphan(lister: &Lister, target: &ObjectRef, meta: &Meta, diagnosis: &mut Diagnosis) {
    let is_owned = |owner: &Owner| owner.uid == meta.uid;
    let dependents = dependents(lister, target, diagnosis, &is_owned);
    let mut refused = false;
    let mut suspect = None;
    for (dependent, its) in dependents.iter().take(MAX_DEPENDENTS) {
        let request = Request::about(dependent, its, "UPDATE");
        refused |= webhook::refuses(lister, diagnosis, &[request]);
        refused |= garbage_collector::is_kept_from(lister, diagnosis, dependent);
        suspect = suspect.or_else(|| admission_policy::suspect(lister, diagnosis, dependent, request));
    }
    if let Some((dependent, _)) = dependents.first() {
        let words = "its ownerReferences still name the object";
        suspect = suspect.map(|it| it.under(Step::about(dependent, words)));
    }
    if refused || diagnosis.pending {
        return;
    }
    by_controller_manager(lister, target, meta, "orphan", &cause::ORPHAN_FINALIZER_PENDING, diagnosis);
    let Some(suspect) = suspect else { return };
    // Where another reason is known, a policy that may refuse it is none.
    let has_not_acted = |root: &mut RootCause| root.draft.cause.id == cause::ORPHAN_FINALIZER_PENDING.id;
    match diagnosis.causes.pop_if(has_not_acted) {
        Some(root) => {
            let root = admission_policy::beside(diagnosis, Some(suspect), root, Seen::NotActed);
            diagnosis.causes.push(root);
        }
        None if diagnosis.causes.is_empty() => diagnosis.causes.push(suspect.into_root()),
        None => {}
    }
}

/// Why the garbage collector has not deleted these dependents; nothing when that was said in `diagnosis`.
fn not_deleted(
    lister: &Lister,
    target: &ObjectRef,
    meta: &Meta,
    free: &[(&ObjectRef, &Meta)],
    diagnosis: &mut Diagnosis,
) -> Option<RootCause> {
    if let Some(silent) = control_plane::silent(lister, diagnosis, target) {
        return Some(silent);
    }
    let mut refused = false;
    let mut suspect = None;
    let mut names: Vec<String> = free.iter().map(|(dependent, _)| dependent.to_string()).collect();
    for ((dependent, its), name) in free.iter().zip(&mut names).take(MAX_DEPENDENTS) {
        if let Some(found) = invalid_owner::explain_dependent(lister, dependent, its) {
            return Some(found.evidence(target.to_string(), "finalizer foregroundDeletion"));
        }
        // Of one with another owner the collector takes this one off its list, which is no deletion (kubernetes:
        // pkg/controller/garbagecollector/garbagecollector.go, `attemptToDeleteItem`).
        let operation = match invalid_owner::has_another(lister, dependent, its, &meta.uid, diagnosis) {
            true => {
                name.push_str(" (has another owner)");
                "UPDATE"
            }
            false => "DELETE",
        };
        let request = Request::about(dependent, its, operation);
        refused |= webhook::refuses(lister, diagnosis, &[request]);
        refused |= garbage_collector::is_kept_from_dependent(lister, diagnosis, dependent, its);
        suspect = suspect.or_else(|| admission_policy::suspect(lister, diagnosis, target, request));
    }
    if refused || diagnosis.pending {
        return None;
    }
    let root = RootCause::below(&cause::FOREGROUND_DEPENDENTS_REMAIN, target)
        .step(Step::named(count(names.len(), "dependent"), format!("not being deleted yet: {}", some(&names, 3))))
        .evidence(target.to_string(), "finalizer foregroundDeletion");
    Some(admission_policy::beside(diagnosis, suspect, root, Seen::NotActed))
}

/// What has such an owner: the nearest kinds are looked through first, the others when none of these has one.
fn dependents<'a>(
    lister: &Lister<'a>,
    target: &ObjectRef,
    diagnosis: &mut Diagnosis,
    is_it: &dyn Fn(&Owner) -> bool,
) -> Vec<(ObjectRef, &'a Meta)> {
    let Some(discovery) = diagnosis.required("API discovery", "what it owns", lister.discovery()) else {
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
    let found = owned(lister, target, is_it, diagnosis, &near);
    if !found.is_empty() || diagnosis.pending {
        return found;
    }
    let found = owned(lister, target, is_it, diagnosis, &others);
    if !found.is_empty() || diagnosis.pending || target.namespace.is_none() {
        return found;
    }
    owned(lister, target, is_it, diagnosis, &discovery.deletable_cluster_wide())
}

fn owned<'a>(
    lister: &Lister<'a>,
    target: &ObjectRef,
    is_it: &dyn Fn(&Owner) -> bool,
    diagnosis: &mut Diagnosis,
    resources: &[Resource],
) -> Vec<(ObjectRef, &'a Meta)> {
    let scope = target.namespace.as_deref().map_or(Scope::All, within);
    let mut found = Vec::new();
    for resource in resources.iter().filter(|resource| resource.plural != "secrets" && resource.plural != "events") {
        let served = lister.discovery().seen().and_then(|it| it.find(&resource.group, &resource.plural));
        let objects = match &target.namespace {
            // It should own none of these.
            Some(_) if served.as_ref().is_some_and(|(_, served)| !served.namespaced) => {
                diagnosis.silently(lister.metadata(resource, Scope::All))
            }
            _ => {
                let hides = format!("which {resource} it owns");
                diagnosis.required(resource.to_string(), &hides, lister.metadata(resource, scope.clone()))
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
pub fn notes(lister: &Lister, target: &ObjectRef, meta: &Meta, diagnosis: &mut Diagnosis) {
    for owner in &meta.owner_references {
        let known = match owner.kind.as_str() {
            "StatefulSet" => known::STATEFUL_SETS,
            "DaemonSet" => known::DAEMON_SETS,
            _ => continue,
        };
        let answer = lister.get::<Workload>(known, target.namespace.as_deref(), &owner.name);
        if answer.is_missing() {
            diagnosis.note(format!(
                "Not the cause: the missing {} {}. {target} has a deletionTimestamp already, and a missing owner never \
                 holds what it owned.",
                owner.kind, owner.name
            ));
        } else if let Some(set) = answer.seen() {
            diagnosis.also_waits(format!("{} {} (waits for its pod)", owner.kind, owner.name));
            // More of its pods than this one.
            if owner.kind == "StatefulSet" && set.ready() + 1 < set.wanted() {
                let namespace = target.namespace.as_deref().unwrap_or_default();
                diagnosis.note(format!(
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
