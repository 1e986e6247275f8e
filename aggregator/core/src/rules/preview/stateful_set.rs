//! What goes with a StatefulSet: its pods, and of its claims those that name it as their owner. The policy says which
//! the controller makes so; the garbage collector asks the claims
//! (kubernetes: pkg/controller/statefulset/stateful_set_utils.go).

use super::MAX_NAMES;
use crate::rules::phrases::{some, within};
use crate::rules::prelude::*;

const DELETE: &str = "Delete";

/// Waits for what goes with it, and says which of its claims stay.
pub fn explain(case: &mut Case, target: &ObjectRef) {
    let namespace = target.namespace.as_deref().unwrap_or_default();
    let answer = case.lister.get::<Workload>(known::STATEFUL_SETS, Some(namespace), &target.name);
    let Some(set) = case.diagnosis.required(target.to_string(), "what is deleted with it", answer) else { return };
    let answer = case.lister.list::<Pod>(known::PODS, within(namespace));
    for pod in
        case.diagnosis.required(format!("pods of {namespace}"), "what would hold them", answer).unwrap_or_default()
    {
        if is_owned(&pod.metadata, set) {
            case.diagnosis.wait_for(ObjectRef::pod(namespace, &pod.metadata.name));
        }
    }
    let answer = case.lister.list::<Claim>(known::CLAIMS, within(namespace));
    let hides = "which of its claims are deleted with it";
    let all =
        case.diagnosis.required(format!("persistentvolumeclaims of {namespace}"), hides, answer).unwrap_or_default();
    let its =
        all.iter().map(|claim| &claim.metadata).filter(|meta| is_owned(meta, set) || is_claim_of(&meta.name, set));
    let (going, staying): (Vec<&Meta>, Vec<&Meta>) = its.partition(|meta| is_owned(meta, set));
    for claim in &going {
        case.diagnosis.wait_for(ObjectRef::claim(namespace, &claim.name));
    }
    note_pods(set, &names(&going), &names(&staying), &mut case.diagnosis);
}

fn note_pods(set: &Workload, going: &[String], staying: &[String], diagnosis: &mut Diagnosis) {
    let Retention { when_deleted, when_scaled } = &set.spec.persistent_volume_claim_retention_policy;
    let policy = format!("persistentVolumeClaimRetentionPolicy.whenDeleted: {}", or_retain(when_deleted));
    if !going.is_empty() {
        diagnosis.note(format!(
            "Deleted with it, because they name it as their owner ({policy}): PersistentVolumeClaims {}.",
            some(going, MAX_NAMES)
        ));
    }
    if staying.is_empty() {
        return;
    }
    let stay = some(staying, MAX_NAMES);
    if when_deleted == DELETE {
        diagnosis.note(format!(
            "Not deleted with it, although {policy}: PersistentVolumeClaims {stay} do not name it as their owner. The \
             StatefulSet controller adds that when it next syncs the set, unless something else controls them."
        ));
    } else {
        diagnosis.note(format!(
            "Not deleted with it ({policy}): PersistentVolumeClaims {stay}. A StatefulSet of the same name takes them \
             again."
        ));
        if when_scaled == DELETE {
            diagnosis.note(
                "Do not scale it to 0 before: persistentVolumeClaimRetentionPolicy.whenScaled is Delete, so that each \
                 pod that is scaled away takes its PersistentVolumeClaims with it.",
            );
        }
    }
}

fn or_retain(policy: &str) -> &str {
    if policy == DELETE { DELETE } else { "Retain" }
}

fn names(metas: &[&Meta]) -> Vec<String> {
    metas.iter().map(|meta| meta.name.clone()).collect()
}

fn is_owned(meta: &Meta, set: &Workload) -> bool {
    meta.owner_references.iter().any(|owner| owner.uid == set.metadata.uid)
}

/// Claims are named `<template>-<set>-<ordinal>`.
fn is_claim_of(claim: &str, set: &Workload) -> bool {
    set.spec.volume_claim_templates.iter().any(|template| {
        let rest = claim.strip_prefix(&format!("{}-{}-", template.metadata.name, set.metadata.name));
        rest.is_some_and(|ordinal| !ordinal.is_empty() && ordinal.bytes().all(|byte| byte.is_ascii_digit()))
    })
}
