//! Why a volume is not detached.

use findings::{Placeholder, cause};

use super::sidecar::{self, Sidecar};
use super::words::{lasting, node, overdue};
use super::{finalizer, namespace, object};
use crate::graph::{Found, Standing, Step, View};
use crate::state::*;

/// Explains a VolumeAttachment.
pub fn explain(view: &View, thing: &Thing) -> Standing {
    let mut standing = Standing::default();
    let answer = view.get::<Attachment>(known::ATTACHMENTS, None, &thing.name);
    if answer.is_missing() {
        return Standing::missing();
    }
    let Some(attachment) = standing.see(thing.to_string(), "why it is not detached", answer) else {
        standing.words = "not known".to_owned();
        return standing;
    };
    let place = &attachment.spec.node_name;
    if attachment.metadata.deletion_timestamp.is_none() {
        standing.words = format!("attached to {place}, and not being detached");
        still_mounted(view, thing, attachment, &mut standing);
        return standing;
    }
    standing.terminating = true;
    standing.overdue = overdue(view, &attachment.metadata);
    standing.words = format!("being detached from {place}{}", lasting(view, attachment.metadata.deletion_timestamp));
    match &attachment.status.detach_error {
        Some(error) => failing(view, thing, attachment, error, &mut standing),
        None => idle(view, thing, attachment, &mut standing),
    }
    standing
}

fn base(cause: &'static findings::Cause, thing: &Thing, attachment: &Attachment) -> Found {
    Found::below(cause, thing)
        .name(Placeholder::Attachment, &thing.name)
        .name(Placeholder::Driver, &attachment.spec.attacher)
        .name(Placeholder::Node, &attachment.spec.node_name)
        .name(Placeholder::Pv, &attachment.spec.source.persistent_volume_name)
}

fn failing(view: &View, thing: &Thing, attachment: &Attachment, error: &VolumeError, standing: &mut Standing) {
    let since = lasting(view, error.time);
    let words = format!("detach fails{since}: {}", error.message);
    if error.message.contains("failed to load secret") {
        let found = lost_secret(view, thing, attachment, standing);
        if let Some(found) = found {
            standing.found.push(found.step(Step::about(thing, words)).in_place_of_own());
            return;
        }
    }
    let found = base(&cause::VOLUME_DETACH_FAILS, thing, attachment)
        .evidence(thing.to_string(), format!("status.detachError: {}", error.message))
        .at_itself(thing, words);
    standing.found.push(found);
}

/// The Secret a detach needs went with its namespace.
fn lost_secret(view: &View, thing: &Thing, attachment: &Attachment, standing: &mut Standing) -> Option<Found> {
    let name = &attachment.spec.source.persistent_volume_name;
    let answer = view.get::<PersistentVolume>(known::VOLUMES, None, name);
    let volume = standing.see(format!("PersistentVolume {name}"), "which Secret a detach needs", answer)?;
    let secret = volume.spec.csi.as_ref()?.controller_publish_secret_ref.as_ref()?;
    let found = namespace::find(view, &secret.namespace);
    let is_lost = found.is_missing() || namespace::is_going(view, &secret.namespace);
    is_lost.then(|| {
        base(&cause::DETACH_SECRET_GONE, thing, attachment)
            .name(Placeholder::Namespace, &secret.namespace)
            .name(Placeholder::Secret, &secret.name)
            .evidence(
                format!("PersistentVolume {name}"),
                format!("controllerPublishSecretRef {}/{}", secret.namespace, secret.name),
            )
    })
}

fn idle(view: &View, thing: &Thing, attachment: &Attachment, standing: &mut Standing) {
    if finalizer::refused(view, thing, &attachment.metadata, standing) {
        return;
    }
    let words = object::words(view, &attachment.metadata);
    let driver = &attachment.spec.attacher;
    let base = base(&cause::VOLUME_ATTACHER_GONE, thing, attachment)
        .evidence(thing.to_string(), "no detachError, and the finalizer is left");
    let (words, lease) = match sidecar::attacher(view, standing, driver) {
        Sidecar::Silent(lease) => {
            (format!("{words}; the attacher of {driver} is silent: {} is {}", lease.0, lease.1), Some(lease))
        }
        Sidecar::Alive(lease) => {
            (format!("{words}; the attacher of {driver} runs, and has not said anything"), Some(lease))
        }
        Sidecar::NotTold => (format!("{words}; {driver} has not said anything"), None),
    };
    let found = base.at_itself(thing, words).probable();
    let found = lease.into_iter().fold(found, |found, (source, says)| found.evidence(source, says));
    let is_young = standing.overdue.is_some_and(|seconds| seconds < 60);
    standing.found.push(if is_young { found.progressing() } else { found });
}

/// Nobody asked for the detach, because the node still reports the volume as mounted.
fn still_mounted(view: &View, thing: &Thing, attachment: &Attachment, standing: &mut Standing) {
    let name = &attachment.spec.node_name;
    let answer = view.get::<Node>(known::NODES, None, name);
    if answer.is_missing() {
        standing.words.push_str("; the node does not exist");
        return;
    }
    let Some(on) = standing.see(format!("Node {name}"), "whether it still uses the volume", answer) else { return };
    if !is_true(&on.status.conditions, "Ready") {
        standing.wait_for(node(name));
        return;
    }
    let volume = &attachment.spec.source.persistent_volume_name;
    let answer = view.get::<PersistentVolume>(known::VOLUMES, None, volume);
    let handle = standing
        .see(format!("PersistentVolume {volume}"), "what its driver calls it", answer)
        .and_then(|volume| Some(volume.spec.csi.as_ref()?.volume_handle.clone()));
    let in_use = |listed: &&String| handle.as_ref().is_some_and(|handle| listed.ends_with(handle.as_str()));
    if let Some(listed) = on.status.volumes_in_use.iter().find(in_use) {
        let found = base(&cause::VOLUME_STILL_MOUNTED, thing, attachment)
            .evidence(format!("Node {name}"), format!("status.volumesInUse: {listed}"))
            .step(Step::about(&node(name), format!("still lists it in volumesInUse ({listed})")));
        standing.found.push(found);
    }
}
