//! Why a PersistentVolume does not go.

use findings::{Placeholder, cause};

use super::object::words;
use super::sidecar::{self, Sidecar};
use super::words::{claim, overdue, within};
use super::{control_plane, finalizer, odd_owner};
use crate::graph::{Found, Standing, Step, View};
use crate::state::*;

/// Explains a volume.
pub fn explain(view: &View, thing: &Thing) -> Standing {
    let mut standing = Standing::default();
    let answer = view.get::<PersistentVolume>(known::VOLUMES, None, &thing.name);
    if answer.is_missing() {
        return Standing::missing();
    }
    let Some(volume) = standing.see(thing.to_string(), "what holds it", answer) else {
        standing.words = "not known".to_owned();
        return standing;
    };
    if volume.metadata.deletion_timestamp.is_none() {
        standing.words = format!("is not being deleted ({})", volume.status.phase);
        if volume.status.phase == "Released" && policy(volume) == "Retain" {
            standing.note(format!(
                "{thing} is released and its reclaim policy is Retain: it stays until somebody deletes it, and its disk \
                 stays even then. Nothing is stuck."
            ));
        }
        odd_owner::of_living(view, thing, &volume.metadata, &mut standing);
        return standing;
    }
    standing.terminating = true;
    standing.overdue = overdue(view, &volume.metadata);
    standing.words = format!("{}; phase {}", words(view, &volume.metadata), volume.status.phase);
    for finalizer in &volume.metadata.finalizers {
        match finalizer.as_str() {
            "kubernetes.io/pv-protection" => protection(view, thing, volume, &mut standing),
            "external-provisioner.volume.kubernetes.io/finalizer" => {
                backend(view, thing, volume, &cause::PV_BACKEND_DELETE_FAILS, &mut standing);
            }
            "kubernetes.io/pv-controller" => backend(view, thing, volume, &cause::PV_DELETION_PENDING, &mut standing),
            other if other.starts_with("external-attacher/") => attachments(view, thing, other, &mut standing),
            other => finalizer::one(view, thing, &volume.metadata, other, &mut standing),
        }
    }
    standing
}

/// Held while it is Bound: its claim must go first.
fn protection(view: &View, thing: &Thing, volume: &PersistentVolume, standing: &mut Standing) {
    let reference = volume.spec.claim_ref.as_ref().filter(|_| volume.status.phase == "Bound");
    let Some(ClaimRef { namespace, name, uid }) = reference else {
        let found = match control_plane::silent(view, standing, thing) {
            Some(found) => found,
            None if finalizer::refused(view, thing, &volume.metadata, standing) => return,
            None => {
                let words = format!("{}; pv-protection should have let it go", standing.words);
                Found::here(&cause::PV_DELETION_PENDING, thing, words).name(Placeholder::Pv, &thing.name)
            }
        };
        let is_young = standing.overdue.is_some_and(|seconds| seconds < 60);
        standing.found.push(if is_young { found.progressing() } else { found });
        return;
    };
    let answer = view.get::<Claim>(known::CLAIMS, Some(namespace), name);
    let is_gone = answer.is_missing();
    let bound =
        standing.see(format!("PersistentVolumeClaim {namespace}/{name}"), "whether it is being deleted", answer);
    let who = claim(namespace, name);
    match bound {
        // Another claim of that name is another claim.
        Some(bound) if bound.metadata.uid == *uid && bound.metadata.deletion_timestamp.is_some() => {
            standing.wait_for(who);
        }
        Some(_) => standing.found.push(
            Found::below(&cause::PV_BOUND_TO_CLAIM, thing)
                .name(Placeholder::Namespace, namespace)
                .name(Placeholder::Name, name)
                .name(Placeholder::Pv, &thing.name)
                .step(Step::about(&who, "is bound to it and is not being deleted")),
        ),
        None if is_gone => standing.found.push(
            Found::here(&cause::PV_DELETION_PENDING, thing, format!("{}; its claim is gone", standing.words))
                .name(Placeholder::Pv, &thing.name),
        ),
        None => {}
    }
}

/// Held until the storage has deleted the disk.
fn backend(
    view: &View,
    thing: &Thing,
    volume: &PersistentVolume,
    cause: &'static findings::Cause,
    standing: &mut Standing,
) {
    if volume.status.phase == "Bound" {
        // pv-protection tells.
        return;
    }
    // Events about what lives in no namespace stand in this one.
    let about =
        format!("involvedObject.kind=PersistentVolume,involvedObject.name={},reason=VolumeFailedDelete", thing.name);
    let answer = view.select::<Event>(known::EVENTS, within("default"), Select::Fields(about));
    let events = standing.glance(format!("events of {thing}"), "why its disk is not deleted", answer);
    let last = events.into_iter().flatten().max_by_key(|event| event.last_timestamp.max(event.event_time));
    let said = match (last, volume.status.message.as_str()) {
        (Some(event), _) => format!(": {}", event.message),
        (None, "") => String::new(),
        (None, message) => format!(": {message}"),
    };
    let found = Found::here(cause, thing, format!("{}{said}", standing.words))
        .name(Placeholder::Pv, &thing.name)
        .name_if(Placeholder::Driver, volume.spec.csi.as_ref().map(|csi| &csi.driver))
        .evidence(thing.to_string(), format!("phase {}, reclaim policy {}", volume.status.phase, policy(volume)));
    let driver = volume.spec.csi.as_ref().map(|csi| csi.driver.as_str()).filter(|driver| !driver.is_empty());
    let found = match (said.strip_prefix(": "), driver) {
        (Some(said), _) => {
            found.evidence(last.map_or("status".to_owned(), |event| format!("Event {}", event.reason)), said)
        }
        // Without its words it may as well not run.
        (None, Some(driver)) => match sidecar::provisioner(view, standing, driver) {
            Sidecar::Silent((source, says)) | Sidecar::Alive((source, says)) => found.evidence(source, says).probable(),
            Sidecar::NotTold => found.probable(),
        },
        (None, None) => found.probable(),
    };
    standing.found.push(found);
}

fn policy(volume: &PersistentVolume) -> &str {
    match volume.spec.persistent_volume_reclaim_policy.as_str() {
        "" => "Retain",
        policy => policy,
    }
}

/// Held while an attachment of it exists, whatever its state.
fn attachments(view: &View, thing: &Thing, finalizer: &str, standing: &mut Standing) {
    let answer = view.list::<Attachment>(known::ATTACHMENTS, Scope::All);
    let all = standing.see("volumeattachments", "where it is attached", answer).unwrap_or_default();
    let own: Vec<&Attachment> =
        all.into_iter().filter(|one| one.spec.source.persistent_volume_name == thing.name).collect();
    for one in &own {
        standing.wait_for(Thing::cluster_wide("VolumeAttachment", known::ATTACHMENTS, &one.metadata.name));
    }
    if own.is_empty() && !standing.open {
        let words = format!("{}; nothing is attached, and {finalizer} is left", standing.words);
        standing.found.push(
            Found::here(&cause::VOLUME_ATTACHER_GONE, thing, words).name(Placeholder::Finalizer, finalizer).probable(),
        );
    }
}
