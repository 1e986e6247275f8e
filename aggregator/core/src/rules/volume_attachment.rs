//! Why a volume is not detached.

use findings::Existence;

use super::csi_controller::{CsiController, Role, Sidecar};
use super::phrases::{lasting, overdue};
use super::{finalizer, webhook};
use crate::messages::errors;
use crate::messages::quote;
use crate::rules::prelude::*;

pub fn explain(case: &mut Case, target: &ObjectRef) {
    let answer = case.lister.get::<Attachment>(known::ATTACHMENTS, None, &target.name);
    let Some(attachment) = case.explained(target, "why it is not detached", answer) else { return };
    let place = &attachment.spec.node_name;
    if attachment.metadata.deletion_timestamp.is_none() {
        if attachment.status.attached {
            case.diagnosis.words = format!("attached to {place}, and not being detached");
            still_mounted(case, target, attachment);
        } else {
            never_attached(case, target, attachment);
        }
        return;
    }
    case.diagnosis.terminating = true;
    case.diagnosis.overdue = overdue(case.lister, &attachment.metadata);
    case.diagnosis.words =
        format!("being detached from {place}{}", lasting(case.lister, attachment.metadata.deletion_timestamp));
    match &attachment.status.detach_error {
        Some(error) => failing(case, target, attachment, error),
        None => idle(case, target, attachment),
    }
}

/// An attach failed, and its controller has forgotten it: a volume waits until each of its attachments is deleted, whatever
/// their state.
fn never_attached(case: &mut Case, target: &ObjectRef, attachment: &Attachment) {
    let place = &attachment.spec.node_name;
    let attach_error = attachment.status.attach_error.as_ref().map(|error| quote(&error.message, 200));
    let why = attach_error.as_ref().map_or(String::new(), |error| format!(", attachError {error}"));
    case.diagnosis.words = format!("not attached to {place} (attached: false{why}), and not being deleted");
    let name = &attachment.spec.source.persistent_volume_name;
    let answer = case.lister.get::<PersistentVolume>(known::VOLUMES, None, name);
    if answer.is_missing() {
        case.diagnosis.words.push_str(&format!("; PersistentVolume {name} does not exist"));
    }
    let volume = case.diagnosis.required(format!("PersistentVolume {name}"), "whether a pod may still use it", answer);
    if let Some(volume) = volume.filter(|volume| is_released(volume)) {
        let root = base(&cause::VOLUME_ATTACHMENT_NOT_DELETED, target, attachment)
            .evidence(target.to_string(), format!("no deletionTimestamp; status.attached: false{why}"))
            .evidence(format!("PersistentVolume {name}"), format!("being deleted, phase {}", volume.status.phase))
            .at_itself(target, &case.diagnosis.words);
        let root = webhook::name_refusal(case, root, target, &attachment.metadata);
        case.diagnosis.causes.push(root);
    }
}

/// Whether it waits for its attachments: while it is Bound a pod may still want it on that node.
fn is_released(volume: &PersistentVolume) -> bool {
    volume.metadata.deletion_timestamp.is_some() && volume.status.phase != "Bound"
}

fn base(cause: &'static findings::Cause, target: &ObjectRef, attachment: &Attachment) -> RootCause {
    let attacher = attachment.metadata.finalizers.iter().find(|name| name.starts_with("external-attacher/"));
    let root = RootCause::below(cause, target);
    let root = attacher.into_iter().fold(root, |root, one| finalizer::patched(root, &attachment.metadata, one));
    root.name(Placeholder::Attachment, &target.name)
        .name(Placeholder::Driver, &attachment.spec.attacher)
        .name(Placeholder::Node, &attachment.spec.node_name)
        .name(Placeholder::Pv, &attachment.spec.source.persistent_volume_name)
}

fn failing(case: &mut Case, target: &ObjectRef, attachment: &Attachment, error: &VolumeError) {
    let since = lasting(case.lister, error.time);
    let words = format!("detach fails{since}: {}", quote(&error.message, 250));
    if errors::is_secret_not_loaded(&error.message) {
        let root = lost_secret(case, target, attachment);
        if let Some(root) = root {
            case.diagnosis.causes.push(root.step(Step::about(target, words)).in_place_of_own());
            return;
        }
    }
    let root = base(&cause::VOLUME_DETACH_FAILS, target, attachment)
        .given(Circumstance::Stored(match errors::is_gone_in_storage(&error.message) {
            true => Existence::Gone,
            false => Existence::Present,
        }))
        .evidence(target.to_string(), format!("status.detachError: {}", quote(&error.message, 400)));
    let (root, words) = with_absent(case, attachment, root, words);
    case.diagnosis.causes.push(root.at_itself(target, words));
}

/// Says which of its Node and its volume do not exist.
fn with_absent(
    case: &mut Case,
    attachment: &Attachment,
    mut root: RootCause,
    mut words: String,
) -> (RootCause, String) {
    for gone in [
        ObjectRef::node(&attachment.spec.node_name),
        ObjectRef::cluster_wide(known::VOLUMES, &attachment.spec.source.persistent_volume_name),
    ] {
        let is_gone = match &gone {
            node if node.is(known::NODES) => case.lister.get::<Node>(known::NODES, None, &node.name).map(|_| ()),
            volume => case.lister.get::<PersistentVolume>(known::VOLUMES, None, &volume.name).map(|_| ()),
        };
        let existence = if is_gone.is_missing() { Existence::Gone } else { Existence::Present };
        if gone.is(known::NODES) {
            root = root.given(Circumstance::Node(existence));
        }
        if is_gone.is_missing() {
            words.push_str(&format!("; {gone} does not exist"));
            root = root.evidence(gone.to_string(), "not found");
        }
        case.diagnosis.silently(is_gone);
    }
    (root, words)
}

/// The Secret a detach needs went with its namespace.
fn lost_secret(case: &mut Case, target: &ObjectRef, attachment: &Attachment) -> Option<RootCause> {
    let name = &attachment.spec.source.persistent_volume_name;
    let answer = case.lister.get::<PersistentVolume>(known::VOLUMES, None, name);
    let volume = case.diagnosis.required(format!("PersistentVolume {name}"), "which Secret a detach needs", answer)?;
    let secret = volume.spec.csi.as_ref()?.controller_publish_secret_ref.as_ref()?;
    let namespace = case.lister.namespace(&secret.namespace);
    let is_lost = namespace.is_missing() || case.lister.is_namespace_terminating(&secret.namespace);
    is_lost.then(|| {
        base(&cause::DETACH_SECRET_GONE, target, attachment)
            .name(Placeholder::Namespace, &secret.namespace)
            .name(Placeholder::Secret, &secret.name)
            .evidence(
                format!("PersistentVolume {name}"),
                format!("controllerPublishSecretRef {}/{}", secret.namespace, secret.name),
            )
    })
}

fn idle(case: &mut Case, target: &ObjectRef, attachment: &Attachment) {
    if finalizer::refused(case, target, &attachment.metadata) {
        return;
    }
    let state = if attachment.status.attached { "" } else { "; attached: false" };
    let words = format!("{}{state}", super::phrases::held_by(case.lister, &attachment.metadata));
    let driver = &attachment.spec.attacher;
    let root = base(&cause::VOLUME_ATTACHER_GONE, target, attachment)
        .given(Circumstance::Attachment(Existence::Present))
        .evidence(target.to_string(), "no detachError, and the finalizer is left");
    let (root, words) = with_absent(case, attachment, root, words);
    let words = match held_too(case, attachment) {
        Some(volume) => format!("{words}; {volume} has the same finalizer"),
        None => words,
    };
    let finalizer = attachment.metadata.finalizers.first().map_or("", |finalizer| finalizer);
    let controller = match driver.as_str() {
        "" => CsiController::of_finalizer(case, finalizer),
        driver => CsiController::find(case, driver, Role::Attacher),
    };
    let root = silent_attacher(target, controller, root, words);
    case.diagnosis.causes.push(root);
}

/// The volume, where the attacher's finalizer is on it as well.
fn held_too(case: &mut Case, attachment: &Attachment) -> Option<ObjectRef> {
    let name = &attachment.spec.source.persistent_volume_name;
    let volume = case.diagnosis.silently(case.lister.get::<PersistentVolume>(known::VOLUMES, None, name))?;
    let is_held = volume.metadata.finalizers.iter().any(|one| attachment.metadata.finalizers.contains(one));
    is_held.then(|| ObjectRef::cluster_wide(known::VOLUMES, name))
}

/// No VolumeAttachment of the volume is left, and the attacher's finalizer is.
pub fn left_on_volume(case: &mut Case, target: &ObjectRef, volume: &PersistentVolume, finalizer: &str) {
    let words = format!("{}; nothing is attached, and {finalizer} is left", case.diagnosis.words);
    let driver = volume.spec.csi.as_ref().map(|csi| csi.driver.as_str()).filter(|driver| !driver.is_empty());
    let root = finalizer::patched(RootCause::below(&cause::VOLUME_ATTACHER_GONE, target), &volume.metadata, finalizer)
        .name(Placeholder::Finalizer, finalizer)
        .given(Circumstance::Attachment(Existence::Gone))
        .evidence(target.to_string(), format!("finalizer {finalizer}"))
        .evidence("volumeattachments", format!("none names {}", target.name));
    let (controller, words) = match driver {
        Some(driver) => (CsiController::find(case, driver, Role::Attacher), words),
        None => {
            let words = format!("{words}; it has no spec.csi, and an old csi-attacher passes over such a volume");
            (CsiController::of_finalizer(case, finalizer), words)
        }
    };
    let root = silent_attacher(target, controller, root, words);
    case.diagnosis.causes.push(root);
}

/// Neither an error nor an Event says why the attacher does nothing: its Lease and its CSIDriver may.
fn silent_attacher(target: &ObjectRef, controller: CsiController, root: RootCause, words: String) -> RootCause {
    let why = "why the finalizer stays: neither a detachError nor an Event names the reason";
    let driver = controller.driver;
    let attacher = match &controller.sidecar {
        Sidecar::Silent(lease) => format!("; csi-attacher of {driver} is silent: {} is {}", lease.0, lease.1),
        Sidecar::Alive(_) => format!("; csi-attacher of {driver} runs, and reports nothing"),
        Sidecar::NotTold => format!("; {driver} reports nothing"),
    };
    let words = format!("{words}{attacher}{}", controller.words());
    controller.add_to(root).at_itself(target, words).probable(why)
}

/// The detach was not requested, because the node still reports the volume as mounted.
fn still_mounted(case: &mut Case, target: &ObjectRef, attachment: &Attachment) {
    let volume = &attachment.spec.source.persistent_volume_name;
    let answer = case.lister.get::<PersistentVolume>(known::VOLUMES, None, volume);
    let volume = case.diagnosis.required(format!("PersistentVolume {volume}"), "whether it is to be detached", answer);
    if volume.is_some_and(|volume| !is_released(volume)) {
        case.diagnosis.words.push_str("; its volume may be in use, and is not being deleted");
        return;
    }
    let name = &attachment.spec.node_name;
    let answer = case.lister.get::<Node>(known::NODES, None, name);
    if answer.is_missing() {
        case.diagnosis.words.push_str("; the node does not exist");
        return;
    }
    let Some(on) = case.diagnosis.required(format!("Node {name}"), "whether it still uses the volume", answer) else {
        return;
    };
    if !is_true(&on.status.conditions, "Ready") {
        case.diagnosis.wait_for(ObjectRef::node(name));
        return;
    }
    // As the kubelet lists it (kubernetes: pkg/volume/csi/csi_plugin.go, `GetVolumeName`).
    let own = volume
        .and_then(|volume| volume.spec.csi.as_ref())
        .map(|csi| format!("kubernetes.io/csi/{}^{}", csi.driver, csi.volume_handle));
    let in_use = |listed: &&String| own.as_ref() == Some(*listed);
    if let Some(listed) = on.status.volumes_in_use.iter().find(in_use) {
        let mut root = base(&cause::VOLUME_STILL_MOUNTED, target, attachment)
            .evidence(format!("Node {name}"), format!("status.volumesInUse: {listed}"))
            .step(Step::about(&ObjectRef::node(name), format!("still lists it in volumesInUse ({listed})")));
        if !on.is_no_linux_machine() {
            root = root.name(Placeholder::AgentlessNode, name).name(Placeholder::AgentImage, findings::agent_image());
        }
        case.diagnosis.causes.push(root);
    }
}
