//! What is being deleted, of every kind that the server serves: by metadata, and with what was not scanned.

use std::collections::BTreeSet;

use findings::FaultKind;

use super::phrases::within;
use crate::report::NotScanned;
use crate::rules::prelude::*;

/// Kinds that are always scanned, and of which rules know more than their finalizers.
pub(super) const NAMESPACED: &[ApiResource] = &[known::PODS, known::CLAIMS];
pub(super) const CLUSTER_WIDE: &[ApiResource] = &[known::VOLUMES, known::ATTACHMENTS, known::CRDS, known::NODES];

/// What was asked about, and where it was looked for.
#[derive(Default)]
pub struct Scan {
    pub objects: Vec<ObjectRef>,
    /// The kinds that were scanned, as kubectl calls them.
    pub kinds: Vec<String>,
    /// What was not, or not to its end.
    pub not_scanned: Vec<NotScanned>,
}

impl Scan {
    /// Objects that were named: nothing is scanned.
    pub(super) fn of_objects(objects: Vec<ObjectRef>) -> Self {
        Scan { objects, ..Scan::default() }
    }

    /// Takes in another one; an object that both have counts once.
    pub(super) fn add(&mut self, other: Scan) {
        let new = other.objects.into_iter().filter(|object| !self.objects.contains(object)).collect::<Vec<_>>();
        self.objects.extend(new);
        self.kinds.extend(other.kinds);
        self.not_scanned.extend(other.not_scanned);
    }

    /// Adds what is being deleted of a kind, if that could be listed.
    pub(super) fn add_known_kind(&mut self, kind: ApiResource, terminating: Option<Vec<ObjectRef>>) {
        if let Some(objects) = terminating {
            self.kinds.push(kind.plural.to_owned());
            self.objects.extend(objects);
        }
    }

    /// Scans what the server serves beside the kinds that are always scanned; Secrets only on request. Events are deleted
    /// without a trace all the time.
    pub(super) fn add_other_kinds(&mut self, case: &mut Case, only: Option<&str>, secrets: bool) {
        let discovery = match case.lister.discovery() {
            Answer::Seen(discovery) => discovery,
            Answer::Missing => return,
            Answer::Unasked => {
                case.diagnosis.pending = true;
                return;
            }
            Answer::Failed(fault) => {
                return self.not_scanned.push(NotScanned::kind("every other kind", fault.kind));
            }
        };
        let mut uids = BTreeSet::new();
        for (resource, served) in discovery.deletable_kinds() {
            let is_inside = only.is_none() || served.namespaced;
            if is_known(&resource) || resource.plural == "events" || !is_inside {
                continue;
            }
            if resource.group.is_empty() && resource.plural == "secrets" && !secrets {
                self.not_scanned.push(NotScanned::kind("secrets", FaultKind::NotAsked));
                continue;
            }
            self.add_kind(case, &resource, &served.kind, only, &mut uids);
        }
        let stale = discovery.stale().map(|served| format!("{}/{}", served.group, served.version));
        self.not_scanned.extend(stale.map(|group| NotScanned::kind(&group, FaultKind::Stale)));
    }

    fn add_kind<'a>(
        &mut self,
        case: &mut Case<'_, 'a>,
        resource: &Resource,
        kind: &str,
        only: Option<&str>,
        uids: &mut BTreeSet<&'a str>,
    ) {
        let Some(scanned) = case.lister.scan(resource, only.map_or(Scope::All, within)) else {
            case.diagnosis.pending = true;
            return;
        };
        let name = resource.for_kubectl();
        if let Answer::Failed(fault) = &scanned.answer {
            return self.not_scanned.push(NotScanned::kind(&name, fault.kind));
        }
        if scanned.cut {
            let not_scanned = NotScanned::kind(&name, FaultKind::TooLarge);
            self.not_scanned.push(NotScanned { objects: scanned.not_read, ..not_scanned });
        }
        self.kinds.push(name);
        let objects = scanned.answer.as_ref().seen().and_then(Object::among).unwrap_or_default();
        // Two groups may serve the same objects.
        let is_new = |object: &&'a Object| object.metadata.uid.is_empty() || uids.insert(&object.metadata.uid);
        self.objects.extend(objects.iter().filter(is_new).map(|object| reference(resource, kind, object)));
    }
}

/// What is called so.
pub(super) fn reference(resource: &Resource, kind: &str, object: &Object) -> ObjectRef {
    let Meta { namespace, name, .. } = &object.metadata;
    let (kind, resource) = (kind.to_owned().into(), resource.clone());
    ObjectRef { kind, resource, namespace: namespace.clone(), name: name.clone() }
}

fn is_known(resource: &Resource) -> bool {
    let mut always = NAMESPACED.iter().chain(CLUSTER_WIDE).chain([&known::NAMESPACES]);
    always.any(|known| known.group == resource.group && known.plural == resource.plural)
}
