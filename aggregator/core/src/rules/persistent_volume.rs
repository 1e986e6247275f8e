//! Why a PersistentVolume does not go.

use findings::{Circumstance, Controller, Placeholder, cause};

use super::admission_policy::{self, Seen};
use super::csi_controller::{CsiController, Role};
use super::phrases::held_by;
use super::phrases::{overdue, within};
use super::webhook::Request;
use super::{control_plane, data_at_risk, finalizer, invalid_owner, volume_attachment};
use crate::diagnosis::{Diagnosis, RootCause, Step};
use crate::lister::Lister;
use crate::messages::quote;
use crate::state::*;

const PROTECTION: &str = "kubernetes.io/pv-protection";
/// Of those that delete the disk.
const DISK_DELETERS: [&str; 2] = ["external-provisioner.volume.kubernetes.io/finalizer", "kubernetes.io/pv-controller"];

/// Explains a volume.
pub fn explain(lister: &Lister, target: &ObjectRef) -> Diagnosis {
    let mut diagnosis = Diagnosis::default();
    let answer = lister.get::<PersistentVolume>(known::VOLUMES, None, &target.name);
    if answer.is_missing() {
        return Diagnosis::missing();
    }
    let Some(volume) = diagnosis.required(target.to_string(), "what holds it", answer) else {
        diagnosis.words = crate::report::NOT_KNOWN.to_owned();
        return diagnosis;
    };
    if volume.metadata.deletion_timestamp.is_none() {
        diagnosis.words = format!("is not being deleted ({})", volume.status.phase);
        if volume.status.phase == "Released" && policy(volume) == "Retain" {
            diagnosis.note(format!(
                "{target} is released and its reclaim policy is Retain: it stays until it is deleted by hand, and its disk \
                 stays even then. Nothing is stuck."
            ));
        }
        invalid_owner::explain_live(lister, target, &volume.metadata, &mut diagnosis);
        return diagnosis;
    }
    diagnosis.terminating = true;
    diagnosis.overdue = overdue(lister, &volume.metadata);
    diagnosis.words = format!("{}; phase {}", held_by(lister, &volume.metadata), volume.status.phase);
    super::finalizer::count_left_out(target, &volume.metadata, &mut diagnosis);
    let mut released_by = None;
    for finalizer in &volume.metadata.finalizers {
        match finalizer.as_str() {
            PROTECTION => released_by = protection(lister, target, volume, &mut diagnosis),
            // pv-protection explains it.
            "external-provisioner.volume.kubernetes.io/finalizer" | "kubernetes.io/pv-controller"
                if volume.status.phase == "Bound" => {}
            "external-provisioner.volume.kubernetes.io/finalizer"
                if volume.status.phase != "Released" || policy(volume) != "Delete" =>
            {
                not_its_turn(lister, target, volume, &mut diagnosis);
            }
            "external-provisioner.volume.kubernetes.io/finalizer" => {
                backend(lister, target, volume, &cause::PV_BACKEND_DELETE_FAILS, finalizer, &mut diagnosis);
            }
            "kubernetes.io/pv-controller" => {
                backend(lister, target, volume, &cause::PV_DELETION_PENDING, finalizer, &mut diagnosis)
            }
            // It stays attached while a pod uses it: pv-protection explains which.
            other if other.starts_with("external-attacher/") && is_in_use(volume) => {}
            other if other.starts_with("external-attacher/") => {
                attachments(lister, target, volume, other, &mut diagnosis)
            }
            other => finalizer::one(lister, target, &volume.metadata, other, &mut diagnosis),
        }
    }
    // The provisioner has deleted the disk of a volume that is being deleted before it removes its finalizer.
    if volume.metadata.finalizers.iter().any(|finalizer| DISK_DELETERS.contains(&finalizer.as_str())) {
        data_at_risk::note_volume_disk(target, volume, released_by, &mut diagnosis);
    }
    diagnosis
}

/// Whether its claim holds it, so that what else holds it comes after the claim.
fn is_in_use(volume: &PersistentVolume) -> bool {
    let is_protected = volume.metadata.finalizers.iter().any(|finalizer| finalizer == PROTECTION);
    is_protected && volume.status.phase == "Bound" && volume.spec.claim_ref.is_some()
}

/// Held while it is Bound: its claim must go first. Returns that, where it is not being deleted.
fn protection(
    lister: &Lister,
    target: &ObjectRef,
    volume: &PersistentVolume,
    diagnosis: &mut Diagnosis,
) -> Option<ObjectRef> {
    let reference = volume.spec.claim_ref.as_ref().filter(|_| volume.status.phase == "Bound");
    let Some(ClaimRef { namespace, name, uid }) = reference else {
        let words = format!("{}; kube-controller-manager should have removed pv-protection", diagnosis.words);
        not_released(lister, target, volume, words, diagnosis);
        return None;
    };
    let answer = lister.get::<Claim>(known::CLAIMS, Some(namespace), name);
    let is_gone = answer.is_missing();
    let bound = diagnosis.required(
        format!("PersistentVolumeClaim {namespace}/{name}"),
        "whether this claim is being deleted",
        answer,
    );
    let who = ObjectRef::claim(namespace, name);
    match bound {
        Some(bound) if bound.metadata.uid != *uid => {
            let words = format!("{}; its claim {namespace}/{name} is gone, another has its name", diagnosis.words);
            not_released(lister, target, volume, words, diagnosis);
        }
        Some(bound) if bound.metadata.deletion_timestamp.is_some() => diagnosis.wait_for(who),
        // Its turn comes when the pods are gone (kubernetes:
        // pkg/controller/namespace/deletion/namespaced_resources_deleter.go, `deleteAllContent`).
        Some(_) if lister.is_namespace_terminating(namespace) => {
            diagnosis.wait_for(ObjectRef::cluster_wide(known::NAMESPACES, namespace));
        }
        Some(_) => {
            diagnosis.causes.push(
                RootCause::below(&cause::PV_BOUND_TO_CLAIM, target)
                    .name(Placeholder::Namespace, namespace)
                    .name(Placeholder::Name, name)
                    .name(Placeholder::Pv, &target.name)
                    .step(Step::about(&who, "is bound to it and is not being deleted")),
            );
            return Some(who);
        }
        None if is_gone => {
            let words = format!("{}; its claim is gone", diagnosis.words);
            not_released(lister, target, volume, words, diagnosis);
        }
        None => {}
    }
    None
}

/// No claim holds it, so that it is kube-controller-manager's turn.
fn not_released(
    lister: &Lister,
    target: &ObjectRef,
    volume: &PersistentVolume,
    words: String,
    diagnosis: &mut Diagnosis,
) {
    let root = match control_plane::silent(lister, diagnosis, target) {
        Some(root) => root,
        None if finalizer::refused(lister, target, &volume.metadata, diagnosis) => return,
        None => {
            let update = Request::about(target, &volume.metadata, "UPDATE");
            let policy = admission_policy::suspect(lister, diagnosis, target, update);
            let root = RootCause::here(&cause::PV_DELETION_PENDING, target, words).name(Placeholder::Pv, &target.name);
            admission_policy::beside(diagnosis, policy, root, Seen::NotActed)
        }
    };
    diagnosis.causes.push(root);
}

/// The provisioner is to delete no disk: it keeps that of a volume whose policy is not Delete, and looks at none that is
/// not Released (sig-storage-lib-external-provisioner: controller/controller.go, `shouldDelete`).
fn not_its_turn(lister: &Lister, target: &ObjectRef, volume: &PersistentVolume, diagnosis: &mut Diagnosis) {
    let (phase, policy) = (volume.status.phase.as_str(), policy(volume));
    let is_kept = policy != "Delete";
    let words = match is_kept {
        true => {
            format!("its disk is kept (reclaim policy {policy}): the provisioner has only to take its finalizer off")
        }
        false => "the provisioner deletes its disk only when the volume is Released".to_owned(),
    };
    let driver = volume.spec.csi.as_ref().map(|csi| csi.driver.as_str()).filter(|driver| !driver.is_empty());
    let root = RootCause::here(&cause::PV_PROVISIONER_NOT_DUE, target, format!("{}; {words}", diagnosis.words))
        .name(Placeholder::Pv, &target.name)
        .name_if(Placeholder::Driver, driver)
        .evidence(target.to_string(), format!("phase {phase}, reclaim policy {policy}"));
    let root = match driver.filter(|_| is_kept) {
        Some(driver) => CsiController::find(lister, diagnosis, driver, Role::Provisioner).add_to(root),
        None => root,
    };
    diagnosis.causes.push(match is_kept {
        true => root.probable("whether the provisioner of this volume runs"),
        false => root,
    });
}

/// Held until the storage has deleted the disk.
fn backend(
    lister: &Lister,
    target: &ObjectRef,
    volume: &PersistentVolume,
    cause: &'static findings::Cause,
    finalizer: &str,
    diagnosis: &mut Diagnosis,
) {
    // Events about what lives in no namespace stand in this one.
    let about =
        format!("involvedObject.kind=PersistentVolume,involvedObject.name={},reason=VolumeFailedDelete", target.name);
    let answer = lister.select::<Event>(known::EVENTS, within("default"), Select::Fields(about));
    let events = diagnosis.optional(format!("events of {target}"), "why its disk is not deleted", answer);
    let last = events.into_iter().flatten().max_by_key(|event| event.seen());
    let said = match last {
        Some(event) => &event.message,
        None => &volume.status.message,
    };
    let words =
        if said.is_empty() { diagnosis.words.clone() } else { format!("{}: {}", diagnosis.words, quote(said, 250)) };
    let driver = volume.spec.csi.as_ref().map(|csi| csi.driver.as_str()).filter(|driver| !driver.is_empty());
    let controller = driver.map(|driver| CsiController::find(lister, diagnosis, driver, Role::Provisioner));
    let words = format!("{words}{}", controller.as_ref().map_or(String::new(), CsiController::words));
    let root = finalizer::patched(RootCause::below(cause, target), &volume.metadata, finalizer)
        .at_itself(target, words)
        .name(Placeholder::Pv, &target.name)
        .evidence(target.to_string(), format!("phase {}, reclaim policy {}", volume.status.phase, policy(volume)));
    let root = match said.is_empty() {
        false => {
            let source = last.map_or("status".to_owned(), |event| format!("Event {}", event.reason));
            root.evidence(source, quote(said, 400))
        }
        // Without its words it may as well not run.
        true => root.probable(UNSAID),
    };
    diagnosis.causes.push(match controller {
        Some(controller) => controller.add_to(root),
        None => root.given(Circumstance::Controller(Controller::Unknown)),
    });
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
fn attachments(
    lister: &Lister,
    target: &ObjectRef,
    volume: &PersistentVolume,
    finalizer: &str,
    diagnosis: &mut Diagnosis,
) {
    let answer = lister.list::<Attachment>(known::ATTACHMENTS, Scope::All);
    let Some(all) = diagnosis.required("volumeattachments", "where it is attached", answer) else { return };
    let own: Vec<&Attachment> =
        all.into_iter().filter(|one| one.spec.source.persistent_volume_name == target.name).collect();
    for one in &own {
        diagnosis.wait_for(ObjectRef::cluster_wide(known::ATTACHMENTS, &one.metadata.name));
    }
    if own.is_empty() && !diagnosis.pending {
        volume_attachment::left_on_volume(lister, target, volume, finalizer, diagnosis);
    }
}
