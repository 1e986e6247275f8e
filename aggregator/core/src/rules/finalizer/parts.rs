//! What an object waits for that belongs to it: what it names or owns and is being deleted too, and the Job that cleans up
//! for it.

use std::collections::BTreeSet;

use super::blocking_finalizer::is_within;
use super::referenced_objects::{Lack, Need};
use crate::messages::leads::{self, Lead};
use crate::messages::{Message, quote};
use crate::rules::object_reports::{self, Weight};
use crate::rules::phrases::within;
use crate::rules::prelude::*;
use crate::rules::scan;

/// More kinds of one name are not looked at.
const MAX_KINDS: usize = 3;
/// Nor more for an object that was named: those of its own group and domain come first.
const MAX_KINDS_OF_ONE: usize = 64;
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
    owned(case, target, meta);
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
}

/// What belongs to it, of custom kinds and of those that its words wait for; and what its words name of its group.
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
    let is_of_domain = |resource: &Resource| domain(&resource.group) == domain(&target.resource.group);
    // Lists of the whole cluster cost too much for a guess.
    let is_near = |resource: &Resource| {
        !resource.is_built_in() && (case.lister.scans() || target.namespace.is_some() || is_of_domain(resource))
    };
    let mut kinds = discovery.deletable_kinds();
    kinds.retain(|(resource, served)| {
        (is_near(resource) || is_waited_for(served)) && (served.namespaced || target.namespace.is_none())
    });
    kinds.sort_by_key(|(resource, served)| {
        (!is_waited_for(served), resource.group != target.resource.group, !is_of_domain(resource))
    });
    // What a scan has listed is not asked again.
    let most = if case.lister.scans() { usize::MAX } else { MAX_KINDS_OF_ONE };
    for (resource, served) in kinds.into_iter().take(most) {
        let scope = match case.lister.scans_cluster() {
            true => Scope::All,
            false => scope_of(target.namespace.as_deref().filter(|_| served.namespaced)),
        };
        // Each link of the chain is shown to those who may read it.
        let (answer, _) = case.lister.read_apart(|lister| lister.terminating_metadata(&resource, scope));
        let all = match is_of_domain(&resource) {
            true => case.diagnosis.optional(resource.for_kubectl(), "whether one of them belongs to it", answer),
            false => case.diagnosis.silently(answer),
        };
        for one in all.unwrap_or_default() {
            let Meta { name, namespace, uid, .. } = &one.metadata;
            let is_above = meta.owner_references.iter().any(|owner| owner.uid == *uid);
            let is_beside = *namespace == target.namespace && resource.group == target.resource.group;
            let is_named = || is_beside && !is_above && words.iter().any(|words| words.waits_for(name));
            let part = scan::reference(&resource, &served.kind, one);
            if part != *target && (belongs(&one.metadata, target, meta) || is_named()) {
                case.diagnosis.wait_for(part);
            }
        }
    }
    let Some(namespace) = target.namespace.as_deref() else { return };
    let (pods, _) = case.lister.read_apart(|lister| lister.list::<Pod>(known::PODS, within(namespace)));
    let pods = case.diagnosis.silently(pods).unwrap_or_default().into_iter().map(|pod| &pod.metadata);
    for pod in pods.filter(|pod| pod.deletion_timestamp.is_some() && belongs(pod, target, meta)) {
        case.diagnosis.wait_for(ObjectRef::pod(namespace, &pod.name));
    }
}

/// `rook.io` of `ceph.rook.io`.
fn domain(group: &str) -> &str {
    group.rmatch_indices('.').nth(1).map_or(group, |(at, _)| &group[at + 1..])
}

/// Whether an object belongs to another one: by its owner, by a label with that one's uid, or by one with its name under a key
/// that is called as its kind: `cluster.x-k8s.io/cluster-name`.
pub fn belongs(one: &Meta, target: &ObjectRef, meta: &Meta) -> bool {
    let kind = target.kind.to_lowercase();
    let is_called_so = |key: &str| {
        key.rsplit_once('/').is_some_and(|(domain, name)| {
            name.strip_suffix("-name").unwrap_or(name) == kind && is_within(&target.resource.group, domain)
        })
    };
    let has_label = |key: &String| {
        one.labels.get(key).is_some_and(|value| *value == meta.uid || (*value == target.name && is_called_so(key)))
    };
    !meta.uid.is_empty()
        && (one.owner_references.iter().any(|owner| owner.uid == meta.uid) || one.labels.keys().any(has_label))
}

pub fn scope_of(namespace: Option<&str>) -> Scope {
    namespace.map_or(Scope::All, within)
}

/// A Job or a pod that belongs to the object and does not end well: it is how the controller cleans up. What had failed
/// before the deletion is of another task, unless the object's words name it.
pub fn failing_clean_up(case: &mut Case, target: &ObjectRef, meta: &Meta) -> Option<Need> {
    let namespace = target.namespace.as_deref().filter(|_| !target.resource.is_built_in())?;
    let adds = "whether one of them cleans up and fails";
    let jobs = case.lister.list::<Job>(known::JOBS, within(namespace));
    let jobs = case.diagnosis.optional(format!("jobs of {namespace}"), adds, jobs)?;
    let pods = case.lister.list::<Pod>(known::PODS, within(namespace));
    let pods = case.diagnosis.optional(format!("pods of {namespace}"), adds, pods)?;
    let said = object_reports::read(case, target, meta);
    let asked = meta.deletion_requested_at();
    let is_of_deletion = |one: &Meta, failed: Option<jiff::Timestamp>| {
        belongs(one, target, meta)
            && (failed.zip(asked).is_none_or(|(failed, asked)| failed >= asked)
                || said.iter().any(|said| said.message.names(&one.name)))
    };
    let failed_at = |job: &Job| condition(&job.status.conditions, "Failed").and_then(|one| one.last_transition_time);
    let mut jobs = jobs.into_iter().filter(|job| is_of_deletion(&job.metadata, failed_at(job))).take(MAX_PARTS);
    let of_job = jobs.find_map(|job| not_ending(namespace, job, &pods));
    let found = of_job.or_else(|| {
        let own = pods.into_iter().filter(|pod| is_of_deletion(&pod.metadata, pod.ended_at()));
        own.take(MAX_PARTS).find_map(|pod| not_running(namespace, pod, ""))
    });
    found.map(|(object, lack)| Need { object, lack, is_for_cleanup: true })
}

/// What a field `…Ref` of an object that reports nothing names, and does not exist. In a namespace that is being deleted it
/// may be gone in the order of the deletion, after its controller had used it.
pub fn gone(case: &mut Case, target: &ObjectRef, meta: &Meta) -> Option<Need> {
    if object_reports::read(case, target, meta).iter().any(|said| said.weight != Weight::Restates) {
        return None;
    }
    let answer = case.lister.with_status(&target.resource, target.namespace.as_deref(), &target.name);
    let own = case.diagnosis.silently(answer)?;
    let discovery = case.diagnosis.silently(case.lister.discovery())?;
    own.spec.references.all(Field::Any).iter().find_map(|named| {
        let all = discovery.all_named(&named.kind);
        let [(resource, served)] = all.as_slice() else { return None };
        let place = Some(named.namespace.clone()).filter(|named| !named.is_empty()).or(target.namespace.clone());
        let namespace = place.filter(|_| served.namespaced);
        if namespace.as_deref().is_some_and(|place| case.lister.is_namespace_terminating(place)) {
            return None;
        }
        let answer = case.lister.object(resource, namespace.as_deref(), &named.name);
        let (kind, name, is_gone) = (served.kind.clone().into(), named.name.clone(), answer.is_missing());
        case.diagnosis.silently(answer);
        let object = ObjectRef { kind, resource: resource.clone(), namespace, name };
        let lack = Lack::Missing("does not exist, and the object names it");
        is_gone.then_some(Need { object, lack, is_for_cleanup: true })
    })
}

fn not_ending(namespace: &str, job: &Job, pods: &[&Pod]) -> Option<(ObjectRef, Lack)> {
    if is_true(&job.status.conditions, "Complete") {
        return None;
    }
    let Meta { name, uid, .. } = &job.metadata;
    let shown = ObjectRef::namespaced(known::JOBS, namespace, name);
    let source = format!("status of {shown}");
    let is_its = |pod: &&&Pod| {
        pod.metadata.labels.get("job-name") == Some(name)
            || pod.metadata.owner_references.iter().any(|owner| owner.kind == "Job" && owner.uid == *uid)
    };
    let mut own = pods.iter().filter(is_its).take(MAX_PARTS);
    let failed = condition(&job.status.conditions, "Failed").filter(|one| one.status == "True");
    if let Some(failed) = failed {
        let of_pod = own.find_map(|pod| Some(format!("; pod {}: {}", pod.metadata.name, trouble(pod)?)));
        let brief = format!("failed ({}){}", failed.reason, of_pod.unwrap_or_default());
        return Some((shown, Lack::Failing(brief, (source, quote(&failed.message, MAX_CHARS)))));
    }
    if job.spec.suspend {
        let says = "spec.suspend: true".to_owned();
        return Some((shown, Lack::Failing(format!("suspended ({says})"), (source, says))));
    }
    own.find_map(|pod| not_running(namespace, pod, &format!("of {shown}: ")))
}

fn not_running(namespace: &str, pod: &Pod, of: &str) -> Option<(ObjectRef, Lack)> {
    let shown = ObjectRef::pod(namespace, &pod.metadata.name);
    let words = trouble(pod)?;
    let says = format!("phase {}: {words}", pod.status.phase);
    Some((shown.clone(), Lack::Failing(format!("{of}{words}"), (format!("status of {shown}"), says))))
}

/// Why a pod does not do its work.
fn trouble(pod: &Pod) -> Option<String> {
    let is_failed = pod.status.phase == "Failed";
    if pod.status.phase == "Pending"
        && let Some(bound) = condition(&pod.status.conditions, "PodScheduled").filter(|bound| bound.status == "False")
    {
        return Some(with_message("not scheduled:", &bound.message));
    }
    let of_container = pod.containers().find_map(|container| {
        let name = &container.name;
        match (&container.state.waiting, &container.state.terminated) {
            (Some(waits), _) if !matches!(waits.reason.as_str(), "ContainerCreating" | "PodInitializing" | "") => {
                Some(with_message(&format!("container {name} waits: {}", waits.reason), &waits.message))
            }
            (_, Some(ended)) if is_failed && ended.exit_code != Some(0) => {
                let code = ended.exit_code.map_or(String::new(), |code| format!(" with exit code {code}"));
                Some(with_message(&format!("container {name} ended{code}: {}", ended.reason), &ended.message))
            }
            _ => None,
        }
    });
    of_container.or_else(|| is_failed.then(|| "failed".to_owned()))
}

fn with_message(words: &str, message: &Message) -> String {
    if message.is_empty() { words.to_owned() } else { format!("{words} {}", quote(message, MAX_CHARS)) }
}

#[cfg(test)]
mod tests {
    use super::domain;

    #[test]
    fn the_domain_of_a_group() {
        assert_eq!(["ceph.rook.io", "rook.io", "io"].map(domain), ["rook.io", "rook.io", "io"]);
    }
}
