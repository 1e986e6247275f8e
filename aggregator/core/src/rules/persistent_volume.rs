//! Why a PersistentVolume does not go.

use findings::{Cleanup, Controller, Existence};

use super::admission_policy::{self, Seen};
use super::csi_controller::{CsiController, Role};
use super::phrases::held_by;
use super::phrases::{overdue, within};
use super::webhook::{self, Request};
use super::{control_plane, data_at_risk, finalizer, invalid_owner, volume_attachment};
use crate::messages::{errors, quote};
use crate::rules::prelude::*;

const PROTECTION: &str = "kubernetes.io/pv-protection";
/// Of those that delete the disk.
const DISK_DELETERS: [&str; 2] = ["external-provisioner.volume.kubernetes.io/finalizer", "kubernetes.io/pv-controller"];

pub fn explain(case: &mut Case, target: &ObjectRef) {
    let answer = case.lister.get::<PersistentVolume>(known::VOLUMES, None, &target.name);
    let Some(volume) = case.explained(target, "what holds it", answer) else { return };
    if volume.metadata.deletion_timestamp.is_none() {
        case.diagnosis.words = format!("is not being deleted ({})", volume.status.phase);
        if volume.status.phase == "Released" && policy(volume) == "Retain" {
            case.diagnosis.note(format!(
                "{target} is released and its reclaim policy is Retain: it stays until it is deleted by hand, and its disk \
                 stays even then. Nothing is stuck."
            ));
        }
        invalid_owner::explain_live(case, target, &volume.metadata);
        return;
    }
    case.diagnosis.terminating = true;
    case.diagnosis.overdue = overdue(case.lister, &volume.metadata);
    case.diagnosis.words = format!("{}; phase {}", held_by(case.lister, &volume.metadata), volume.status.phase);
    super::finalizer::count_left_out(target, &volume.metadata, &mut case.diagnosis);
    let (mut released_by, mut is_gone) = (None, false);
    for finalizer in &volume.metadata.finalizers {
        match finalizer.as_str() {
            PROTECTION => released_by = protection(case, target, volume),
            // pv-protection explains it.
            "external-provisioner.volume.kubernetes.io/finalizer" | "kubernetes.io/pv-controller"
                if volume.status.phase == "Bound" => {}
            "external-provisioner.volume.kubernetes.io/finalizer"
                if volume.status.phase != "Released" || policy(volume) != "Delete" =>
            {
                not_its_turn(case, target, volume, finalizer);
            }
            "external-provisioner.volume.kubernetes.io/finalizer" => {
                is_gone |= backend(case, target, volume, &cause::PV_BACKEND_DELETE_FAILS, finalizer);
            }
            "kubernetes.io/pv-controller" => {
                is_gone |= backend(case, target, volume, &cause::PV_DELETION_PENDING, finalizer);
            }
            // It stays attached while a pod uses it: pv-protection explains which.
            other if other.starts_with("external-attacher/") && is_in_use(volume) => {}
            other if other.starts_with("external-attacher/") => attachments(case, target, volume, other),
            other => finalizer::one(case, target, &volume.metadata, other),
        }
    }
    // The provisioner has deleted the disk of a volume that is being deleted before it removes its finalizer.
    if !is_gone && volume.metadata.finalizers.iter().any(|finalizer| DISK_DELETERS.contains(&finalizer.as_str())) {
        data_at_risk::note_volume_disk(target, volume, released_by, &mut case.diagnosis);
    }
}

/// Whether its claim holds it, so that what else holds it comes after the claim.
fn is_in_use(volume: &PersistentVolume) -> bool {
    let is_protected = volume.metadata.finalizers.iter().any(|finalizer| finalizer == PROTECTION);
    is_protected && volume.status.phase == "Bound" && volume.spec.claim_ref.is_some()
}

/// Held while it is Bound: its claim must go first. Returns that, where it is not being deleted.
fn protection(case: &mut Case, target: &ObjectRef, volume: &PersistentVolume) -> Option<ObjectRef> {
    let reference = volume.spec.claim_ref.as_ref().filter(|_| volume.status.phase == "Bound");
    let Some(ClaimRef { namespace, name, uid }) = reference else {
        let words = format!("{}; kube-controller-manager should have removed pv-protection", case.diagnosis.words);
        not_released(case, target, volume, words);
        return None;
    };
    let answer = case.lister.get::<Claim>(known::CLAIMS, Some(namespace), name);
    let is_gone = answer.is_missing();
    let bound = case.diagnosis.required(
        format!("PersistentVolumeClaim {namespace}/{name}"),
        "whether this claim is being deleted",
        answer,
    );
    let who = ObjectRef::claim(namespace, name);
    match bound {
        Some(bound) if bound.metadata.uid != *uid => {
            let words = format!("{}; its claim {namespace}/{name} is gone, another has its name", case.diagnosis.words);
            not_released(case, target, volume, words);
        }
        Some(bound) if bound.metadata.deletion_timestamp.is_some() => case.diagnosis.wait_for(who),
        // Its turn comes when the pods are gone (kubernetes:
        // pkg/controller/namespace/deletion/namespaced_resources_deleter.go, `deleteAllContent`).
        Some(_) if case.lister.is_namespace_terminating(namespace) => {
            case.diagnosis.wait_for(ObjectRef::cluster_wide(known::NAMESPACES, namespace));
        }
        Some(bound) => {
            let root = RootCause::below(&cause::PV_BOUND_TO_CLAIM, target)
                .name(Placeholder::Namespace, namespace)
                .name(Placeholder::Name, name)
                .name(Placeholder::Pv, &target.name)
                .step(Step::about(&who, "is bound to it and is not being deleted"));
            let root = webhook::name_refusal(case, root, &who, &bound.metadata);
            case.diagnosis.causes.push(root);
            return Some(who);
        }
        None if is_gone => {
            let words = format!("{}; its claim is gone", case.diagnosis.words);
            not_released(case, target, volume, words);
        }
        None => {}
    }
    None
}

/// No claim holds it, so that it is kube-controller-manager's turn.
fn not_released(case: &mut Case, target: &ObjectRef, volume: &PersistentVolume, words: String) {
    let root = match control_plane::silent(case, target) {
        Some(root) => root,
        None if finalizer::refused(case, target, &volume.metadata) => return,
        None => {
            let update = Request::about(target, &volume.metadata, "UPDATE");
            let policy = admission_policy::suspect(case, target, update);
            let root = RootCause::here(&cause::PV_DELETION_PENDING, target, words).name(Placeholder::Pv, &target.name);
            admission_policy::beside(&mut case.diagnosis, policy, root, Seen::NotActed)
        }
    };
    case.diagnosis.causes.push(root);
}

/// The provisioner is to delete no disk: it keeps that of a volume whose policy is not Delete, and looks at none that is
/// not Released (sig-storage-lib-external-provisioner: controller/controller.go, `shouldDelete`).
fn not_its_turn(case: &mut Case, target: &ObjectRef, volume: &PersistentVolume, finalizer: &str) {
    let (phase, policy) = (volume.status.phase.as_str(), policy(volume));
    let is_kept = policy != "Delete";
    let words = match is_kept {
        true => {
            format!("its disk is kept (reclaim policy {policy}): the provisioner has only to take its finalizer off")
        }
        false => "the provisioner deletes its disk only when the volume is Released".to_owned(),
    };
    let driver = volume.spec.csi.as_ref().map(|csi| csi.driver.as_str()).filter(|driver| !driver.is_empty());
    let root =
        finalizer::patched(RootCause::below(&cause::PV_PROVISIONER_NOT_DUE, target), &volume.metadata, finalizer)
            .at_itself(target, format!("{}; {words}", case.diagnosis.words))
            .given(Circumstance::Cleanup(if is_kept { Cleanup::Nothing } else { Cleanup::Pending }))
            .name(Placeholder::Pv, &target.name)
            .name_if(Placeholder::Driver, driver)
            .evidence(target.to_string(), format!("phase {phase}, reclaim policy {policy}"));
    let root = match driver.filter(|_| is_kept) {
        Some(driver) => CsiController::find(case, driver, Role::Provisioner).add_to(root),
        None => root,
    };
    case.diagnosis.causes.push(match is_kept {
        true => root.probable("whether the provisioner of this volume runs"),
        false => root,
    });
}

/// Held until the storage has deleted the disk. Returns whether the storage says that it has none.
fn backend(
    case: &mut Case,
    target: &ObjectRef,
    volume: &PersistentVolume,
    cause: &'static findings::Cause,
    finalizer: &str,
) -> bool {
    // Events about what lives in no namespace stand in this one.
    let about =
        format!("involvedObject.kind=PersistentVolume,involvedObject.name={},reason=VolumeFailedDelete", target.name);
    let answer = case.lister.select::<Event>(known::EVENTS, within("default"), Select::Fields(about));
    let events = case.diagnosis.optional(format!("events of {target}"), "why its disk is not deleted", answer);
    let last = events.into_iter().flatten().max_by_key(|event| event.seen());
    let said = match last {
        Some(event) => &event.message,
        None => &volume.status.message,
    };
    let is_gone = errors::is_gone_in_storage(said);
    let words = if said.is_empty() {
        case.diagnosis.words.clone()
    } else {
        format!("{}: {}", case.diagnosis.words, quote(said, 250))
    };
    let driver = volume.spec.csi.as_ref().map(|csi| csi.driver.as_str()).filter(|driver| !driver.is_empty());
    let controller = driver.map(|driver| CsiController::find(case, driver, Role::Provisioner));
    let words = format!("{words}{}", controller.as_ref().map_or(String::new(), CsiController::words));
    let root = finalizer::patched(RootCause::below(cause, target), &volume.metadata, finalizer)
        .at_itself(target, words)
        .name(Placeholder::Pv, &target.name)
        .given(Circumstance::Stored(if is_gone { Existence::Gone } else { Existence::Present }))
        .evidence(target.to_string(), format!("phase {}, reclaim policy {}", volume.status.phase, policy(volume)));
    let root = match said.is_empty() {
        false => {
            let source = last.map_or("status".to_owned(), |event| format!("Event {}", event.reason));
            root.evidence(source, quote(said, 400))
        }
        // Without its words it may as well not run.
        true => root.probable(UNSAID),
    };
    case.diagnosis.causes.push(match controller {
        Some(controller) => controller.add_to(root),
        None => root.given(Circumstance::Controller(Controller::Unknown)),
    });
    is_gone
}

fn policy(volume: &PersistentVolume) -> &str {
    match volume.spec.persistent_volume_reclaim_policy.as_str() {
        "" => "Retain",
        policy => policy,
    }
}

/// What of the proof is missing without any report.
const UNSAID: &str = "what the driver answers: no status and no Event has its words";

/// Held while an attachment of it exists, whatever its state.
fn attachments(case: &mut Case, target: &ObjectRef, volume: &PersistentVolume, finalizer: &str) {
    let answer = case.lister.list::<Attachment>(known::ATTACHMENTS, Scope::All);
    let Some(all) = case.diagnosis.required("volumeattachments", "where it is attached", answer) else { return };
    let own: Vec<&Attachment> =
        all.into_iter().filter(|one| one.spec.source.persistent_volume_name == target.name).collect();
    for one in &own {
        case.diagnosis.wait_for(ObjectRef::cluster_wide(known::ATTACHMENTS, &one.metadata.name));
    }
    if own.is_empty() && !case.diagnosis.pending {
        volume_attachment::left_on_volume(case, target, volume, finalizer);
    }
}
