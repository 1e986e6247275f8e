//! What an object waits for that belongs to it: what it names or owns and is being deleted too, and the Job that cleans up
//! for it.

use std::collections::BTreeSet;

use super::referenced_objects::Lack;
use crate::messages::leads::{self, Lead};
use crate::messages::{Message, quote};
use crate::rules::backend;
use crate::rules::object_reports;
use crate::rules::phrases::within;
use crate::rules::prelude::*;

/// More kinds of one name are not looked at.
const MAX_KINDS: usize = 3;
/// Nor more of one group.
const MAX_GROUP_KINDS: usize = 24;
/// More parts that an object names are not looked up, nor more Jobs.
const MAX_PARTS: usize = 16;
/// More of a sentence is not shown as evidence.
const MAX_CHARS: usize = 400;

/// The one object of this kind and name that is being deleted, in this namespace or in none.
pub fn being_deleted(case: &mut Case, kind: &str, namespace: Option<&str>, name: &str) -> Option<ObjectRef> {
    let all = case.diagnosis.silently(case.lister.discovery())?.all_named(kind);
    let mut found = all.into_iter().take(MAX_KINDS).filter_map(|(resource, served)| {
        let namespace = namespace.filter(|_| served.namespaced);
        let answer = case.lister.object(&resource, namespace, name);
        let one = case.diagnosis.silently(answer)?;
        one.metadata.deletion_timestamp?;
        let (kind, namespace) = (served.kind.clone().into(), namespace.map(str::to_owned));
        Some(ObjectRef { kind, resource, namespace, name: name.to_owned() })
    });
    let first = found.next();
    first.filter(|_| found.next().is_none())
}

/// Waits for each part of the object that is being deleted.
pub fn wait_for(case: &mut Case, target: &ObjectRef, meta: &Meta) {
    if target.resource.is_built_in() {
        return;
    }
    named(case, target);
    if !case.diagnosis.pending && case.diagnosis.waits_for.is_empty() {
        owned(case, target, meta);
    }
}

/// What its spec names: the parts of an object of Cluster API (cluster-api: internal/controllers/machine/machine_controller.go
/// and cluster/cluster_controller.go, `reconcileDelete`), those of a claim or a composite of Crossplane.
fn named(case: &mut Case, target: &ObjectRef) {
    let Resource { group, plural, .. } = &target.resource;
    let fields: &[Field] = match (group.as_ref(), plural.as_ref()) {
        ("cluster.x-k8s.io", "machines") => &[Field::Infrastructure],
        ("cluster.x-k8s.io", "clusters") => &[Field::ControlPlane, Field::Infrastructure],
        _ => &[Field::Composed],
    };
    let namespace = target.namespace.as_deref();
    let answer = case.lister.with_status(&target.resource, namespace, &target.name);
    let Some(object) = case.diagnosis.silently(answer) else { return };
    for named in fields.iter().flat_map(|field| object.spec.references.all(*field)).take(MAX_PARTS) {
        let own = Some(named.namespace.as_str()).filter(|namespace| !namespace.is_empty()).or(namespace);
        let part = being_deleted(case, &named.kind, own, &named.name);
        part.into_iter().for_each(|part| case.diagnosis.wait_for(part));
    }
    if (group.as_ref(), plural.as_ref()) == ("cluster.x-k8s.io", "clusters") {
        let machines = Resource::new("cluster.x-k8s.io", target.resource.version.clone(), "machines");
        let of = format!("cluster.x-k8s.io/cluster-name={}", target.name);
        let answer = case.lister.labelled(&machines, scope_of(namespace), &of);
        for machine in case.diagnosis.silently(answer).unwrap_or_default() {
            if machine.metadata.deletion_timestamp.is_some() {
                let (name, namespace) = (machine.metadata.name.clone(), machine.metadata.namespace.clone());
                let (kind, resource) = ("Machine".into(), machines.clone());
                case.diagnosis.wait_for(ObjectRef { kind, resource, namespace, name });
            }
        }
    }
}

/// What it owns, of the kinds of its own group and of those that its words wait for; and what its words name of its group.
fn owned(case: &mut Case, target: &ObjectRef, meta: &Meta) {
    let Some(discovery) = case.diagnosis.silently(case.lister.discovery()) else { return };
    let said = object_reports::read(case, target, meta);
    let words: Vec<&Message> = said.iter().filter(|said| !said.is_of_before).map(|said| said.message).collect();
    let waited_for = words.iter().flat_map(|words| leads::read(words)).filter_map(|lead| match lead {
        Lead::Waiting { kind, name } if name.is_empty() => Some(kind),
        _ => None,
    });
    let waited_for: BTreeSet<String> = waited_for.map(|kind| kind.to_lowercase()).collect();
    let is_waited_for = |served: &ServedResource| {
        [&served.kind, &served.plural].iter().any(|it| waited_for.contains(&it.to_lowercase()))
    };
    let mut kinds = discovery.deletable_kinds();
    kinds.retain(|(resource, served)| {
        (resource.group == target.resource.group || is_waited_for(served))
            && (served.namespaced || target.namespace.is_none())
    });
    kinds.sort_by_key(|(_, served)| !is_waited_for(served));
    for (resource, served) in kinds.into_iter().take(MAX_GROUP_KINDS) {
        let scope = match case.lister.scans_cluster() {
            true => Scope::All,
            false => scope_of(target.namespace.as_deref().filter(|_| served.namespaced)),
        };
        let all = case.diagnosis.silently(case.lister.terminating_metadata(&resource, scope)).unwrap_or_default();
        for one in all {
            let Meta { name, namespace, uid, owner_references, .. } = &one.metadata;
            let is_own = !meta.uid.is_empty() && owner_references.iter().any(|owner| owner.uid == meta.uid);
            let is_above = meta.owner_references.iter().any(|owner| owner.uid == *uid);
            let is_beside = *namespace == target.namespace && resource.group == target.resource.group;
            let is_named = || is_beside && !is_above && words.iter().any(|words| words.waits_for(name));
            let (kind, resource) = (served.kind.clone().into(), resource.clone());
            let part = ObjectRef { kind, resource, namespace: namespace.clone(), name: name.clone() };
            if part != *target && (is_own || is_named()) {
                case.diagnosis.wait_for(part);
            }
        }
    }
}

fn scope_of(namespace: Option<&str>) -> Scope {
    namespace.map_or(Scope::All, within)
}

/// A Job or a pod that the object owns, where that does not end well: made since the deletion, or named in the object's
/// words, it is how the controller cleans up.
pub fn failing_clean_up(case: &mut Case, target: &ObjectRef, meta: &Meta) -> Option<(ObjectRef, Lack)> {
    let namespace = target.namespace.as_deref().filter(|_| !target.resource.is_built_in())?;
    let jobs = case.diagnosis.silently(case.lister.list::<Job>(known::JOBS, within(namespace)))?;
    let pods = case.diagnosis.silently(case.lister.list::<Pod>(known::PODS, within(namespace)))?;
    let said = object_reports::read(case, target, meta);
    let asked = meta.deletion_requested_at();
    let is_of_deletion = |one: &Meta| {
        one.owner_references.iter().any(|owner| owner.uid == meta.uid)
            && (one.creation_timestamp.zip(asked).is_some_and(|(made, asked)| made >= asked)
                || said.iter().any(|said| said.message.names(&one.name)))
    };
    let mut jobs = jobs.into_iter().filter(|job| is_of_deletion(&job.metadata)).take(MAX_PARTS);
    let of_job = jobs.find_map(|job| not_ending(case, namespace, job, &pods));
    of_job.or_else(|| {
        let own = pods.into_iter().filter(|pod| is_of_deletion(&pod.metadata));
        own.take(MAX_PARTS).find_map(|pod| not_running(case, namespace, pod, ""))
    })
}

fn not_ending(case: &mut Case, namespace: &str, job: &Job, pods: &[&Pod]) -> Option<(ObjectRef, Lack)> {
    let shown = ObjectRef::namespaced(known::JOBS, namespace, &job.metadata.name);
    let source = format!("status of {shown}");
    let failed = job.status.conditions.iter().find(|one| one.kind == "Failed" && one.status == "True");
    if let Some(failed) = failed {
        let brief = format!("failed ({})", failed.reason);
        return Some((shown, Lack::Failing(brief, (source, quote(&failed.message, MAX_CHARS)))));
    }
    if job.spec.suspend {
        let says = "spec.suspend: true".to_owned();
        return Some((shown, Lack::Failing(format!("suspended ({says})"), (source, says))));
    }
    let own = pods.iter().filter(|pod| pod.metadata.labels.get("job-name") == Some(&job.metadata.name));
    own.take(MAX_PARTS).find_map(|pod| not_running(case, namespace, pod, &format!("of {shown}: ")))
}

fn not_running(case: &mut Case, namespace: &str, pod: &Pod, of: &str) -> Option<(ObjectRef, Lack)> {
    let shown = ObjectRef::pod(namespace, &pod.metadata.name);
    let words = match pod.status.phase.as_str() {
        "Failed" => "failed".to_owned(),
        "Pending" => backend::not_ready(case.lister, &[pod]),
        _ => return None,
    };
    let says = format!("phase {}: {words}", pod.status.phase);
    Some((shown.clone(), Lack::Failing(format!("{of}{words}"), (format!("status of {shown}"), says))))
}
