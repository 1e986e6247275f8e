//! What would hold the uninstallation of a Helm release. Its objects are known by what Helm writes on them; the release
//! itself is in a Secret, which is not read, so hooks and the chart's `crds/` are not known.

use std::collections::BTreeSet;

use super::{Going, MAX_NAMES, note_claim_disks, refused};
use crate::rules::phrases::{some, within};
use crate::rules::prelude::*;

/// From a Deployment to its pods there are two owners, from a CronJob three.
const MAX_OWNERS: usize = 3;

/// Waits for all that Helm would delete and that something may hold.
pub fn explain(case: &mut Case, target: &ObjectRef, release: &Release) {
    case.diagnosis.words = "once uninstalled".to_owned();
    let Some(discovery) = case.diagnosis.required("API discovery", "which kinds there are", case.lister.discovery())
    else {
        return;
    };
    let namespace = release.namespace;
    let mut its = Vec::new();
    let mut kept = Vec::new();
    let mut uids = BTreeSet::new();
    let mut others = Vec::new();
    for (resource, served) in discovery.deletable_kinds() {
        if super::is_left_out(&resource) {
            continue;
        }
        let all = match served.namespaced {
            true => {
                let answer = case.lister.metadata(&resource, within(namespace));
                case.diagnosis.required(
                    format!("{resource} of {namespace}"),
                    &format!("what would hold {resource}"),
                    answer,
                )
            }
            // Few of them are a release's, and they may be many.
            false => {
                let answer = case.lister.labelled(&resource, Scope::All, release::LABEL);
                case.diagnosis.optional(resource.to_string(), "what the release has outside of namespaces", answer)
            }
        };
        let (installed, other): (Vec<&Object>, Vec<&Object>) =
            all.unwrap_or_default().into_iter().partition(|object| release.installed(&object.metadata));
        others.extend(other);
        let (going, staying): (Vec<&Object>, Vec<&Object>) =
            installed.into_iter().partition(|object| release.takes(&object.metadata));
        let kind = Going { kind: &served.kind, resource: &resource };
        kept.extend(staying.iter().map(|object| kind.named(&object.metadata).to_string()));
        uids.extend(going.iter().map(|object| object.metadata.uid.as_str()));
        its.extend(going.iter().map(|object| kind.named(&object.metadata)));
        refused(case, &kind, &going);
        for object in going {
            // A CRD waits for its objects, wherever they are.
            if !object.metadata.finalizers.is_empty() || resource == known::CRDS.into() {
                case.diagnosis.wait_for(kind.named(&object.metadata));
            }
        }
    }
    if its.is_empty() && kept.is_empty() && !case.diagnosis.is_blind() {
        case.diagnosis.missing = true;
        case.diagnosis.words = format!(
            "installed nothing that can be seen: no object of namespace {namespace} has the annotation {}: {} with {}: \
             {namespace}; `helm list -n {namespace}` lists releases",
            release::NAME,
            release.name,
            release::NAMESPACE
        );
        return;
    }
    let uids = dependents(case, namespace, uids, &others);
    // Claims of a StatefulSet that name it as their owner among them
    // (kubernetes: pkg/controller/statefulset/stateful_set_utils.go, `updateClaimOwnerRefForSetAndPod`).
    let is_its = |claim: &Claim| release.takes(&claim.metadata) || goes_with(&claim.metadata, &uids);
    note_claim_disks(case, namespace, is_its);
    notes(target, release, &kept, &mut case.diagnosis);
}

/// Pods are made by what Helm installs and are no objects of the release; the garbage collector deletes them. What of
/// the namespace may be an owner and goes comes back.
fn dependents<'a>(
    case: &mut Case<'_, 'a>,
    namespace: &str,
    mut uids: BTreeSet<&'a str>,
    others: &[&'a Object],
) -> BTreeSet<&'a str> {
    for _ in 0..MAX_OWNERS {
        uids.extend(
            others
                .iter()
                .map(|object| &object.metadata)
                .filter(|meta| goes_with(meta, &uids))
                .map(uid)
                .collect::<Vec<_>>(),
        );
    }
    let answer = case.lister.list::<Pod>(known::PODS, within(namespace));
    for pod in
        case.diagnosis.required(format!("pods of {namespace}"), "what would hold them", answer).unwrap_or_default()
    {
        if goes_with(&pod.metadata, &uids) {
            case.diagnosis.wait_for(ObjectRef::pod(namespace, &pod.metadata.name));
        }
    }
    uids
}

fn uid(meta: &Meta) -> &str {
    meta.uid.as_str()
}

/// The garbage collector deletes what has owners when none of them is left.
fn goes_with(meta: &Meta, uids: &BTreeSet<&str>) -> bool {
    let owners = &meta.owner_references;
    !owners.is_empty() && owners.iter().all(|owner| uids.contains(owner.uid.as_str()))
}

fn notes(target: &ObjectRef, release: &Release, kept: &[String], diagnosis: &mut Diagnosis) {
    if !kept.is_empty() {
        diagnosis.note(format!("Stay ({}: keep): {}.", release::POLICY, some(kept, MAX_NAMES)));
    }
    let Release { namespace, name } = release;
    diagnosis.note(format!(
        "Not known about {target}: its hooks (`helm get hooks {name} -n {namespace}`): one that fails before the \
         deletion stops it; what hooks and the chart's crds/ directory made, which stays; and what it has in other \
         namespaces."
    ));
}
