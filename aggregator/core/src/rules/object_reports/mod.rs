//! An object's own words: its conditions, its status, and the Events about it. One reader for every kind.
//!
//! Every writer of the object's status or Events can say anything: the words are bounded, quoted and escaped, and nothing
//! but a known sentence of Kubernetes is looked for in them.

mod condition;

use findings::clean;

use super::phrases::within;
use crate::messages::reports::is_about_deletion;
use crate::messages::{Message, quote};
use crate::rules::prelude::*;
use condition::weigh;

/// How near words are to why the object stays, the nearest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// A condition about the deletion says what it waits for, or that it fails.
    Blocks,
    /// A Warning Event.
    Warns,
    /// A condition shows that the deletion makes progress, and how far it is.
    Goes,
    /// A condition says that something is wrong.
    Fails,
    /// The status has a sentence outside of its conditions.
    Tells,
    /// A condition has not changed since before the deletion, and does not speak of it.
    Before,
    /// A Normal Event.
    Notes,
    /// A condition is `Unknown`.
    Doubts,
    /// A condition says how the object was made.
    Made,
    /// A condition only says that the deletion was asked for.
    Restates,
}

/// What a condition, the status or an Event reports of an object.
pub struct ObjectReport<'a> {
    /// How near it is to why the object stays.
    pub weight: Weight,
    pub source: String,
    /// One word, or a condition: `FailedDraining`, `Drained=Unknown Draining`.
    head: String,
    pub message: &'a Message,
    /// The same, for a list of evidence.
    pub says: String,
    /// Whether it is as it was before the deletion.
    pub is_of_before: bool,
    /// Whether its words too were written before.
    pub is_outdated: bool,
}

/// More of a sentence is not shown in a chain.
const MAX_BRIEF_CHARS: usize = 200;
/// More of a sentence is not shown as evidence.
const MAX_EVIDENCE_CHARS: usize = 400;

impl<'a> ObjectReport<'a> {
    fn new(weight: Weight, source: String, head: &str, message: &'a Message) -> Self {
        let head = clean(&head.replace('"', "'"), 120);
        let says = phrase(&head, message, MAX_EVIDENCE_CHARS);
        ObjectReport { weight, source, head, message, says, is_of_before: false, is_outdated: false }
    }

    pub fn brief(&self) -> String {
        phrase(&self.head, self.message, MAX_BRIEF_CHARS)
    }
}

fn phrase(head: &str, message: &Message, limit: usize) -> String {
    match (head.is_empty(), message.is_empty()) {
        (_, true) => head.to_owned(),
        (true, false) => quote(message, limit),
        (false, false) => format!("{head}: {}", quote(message, limit)),
    }
}

/// All that is said of an object, the nearest to why it stays first.
pub fn read<'a>(case: &mut Case<'_, 'a>, target: &ObjectRef, meta: &Meta) -> Vec<ObjectReport<'a>> {
    let mut said = status(case, target, meta);
    said.extend(events(case, target, meta).into_iter().map(|event| event_report(target, event)));
    // Of two that weigh the same the one that speaks of the deletion, then the one that says more.
    let strays = |one: &ObjectReport| one.weight == Weight::Fails && !is_about_deletion(&one.head, one.message);
    said.sort_by_key(|one| (one.weight, strays(one), one.message.is_empty()));
    // An Event may be the beginning of what the status says.
    if let Some(at) =
        said.first().and_then(|first| said.iter().position(|one| one.message.says_more_than(first.message)))
    {
        let whole = said.remove(at);
        said.insert(0, whole);
    }
    said
}

fn event_report<'a>(target: &ObjectRef, event: &'a Event) -> ObjectReport<'a> {
    let weight = if event.kind == "Warning" { Weight::Warns } else { Weight::Notes };
    ObjectReport::new(weight, format!("Event {} about {target}", event.reason), &event.reason, &event.message)
}

/// Built-in kinds whose status has conditions, beside those that are read in another form. Of the others nothing is
/// asked for: they have no status, or one that is about something else.
const WITH_CONDITIONS: &[(&str, &str)] = &[
    ("", "replicationcontrollers"),
    ("apps", "replicasets"),
    ("autoscaling", "horizontalpodautoscalers"),
    ("certificates.k8s.io", "certificatesigningrequests"),
    ("networking.k8s.io", "servicecidrs"),
];

fn has_conditions(resource: &Resource) -> bool {
    let is_it = |(group, plural): &(&str, &str)| resource.group == *group && resource.plural == *plural;
    !resource.is_built_in() || WITH_CONDITIONS.iter().any(is_it)
}

/// What its status says.
fn status<'a>(case: &mut Case<'_, 'a>, target: &ObjectRef, meta: &Meta) -> Vec<ObjectReport<'a>> {
    let source = format!("status of {target}");
    let conditions = |all: &'a [Condition]| {
        let each = all.iter().filter_map(|one| {
            let is_of_before = one.is_of_before(meta) || one.is_unchanged(meta);
            Some((weigh(&target.resource.group, one, is_of_before)?, is_of_before, one))
        });
        each.map(|(weight, is_of_before, one)| ObjectReport {
            is_of_before,
            is_outdated: one.is_of_before(meta),
            ..ObjectReport::new(weight, source.clone(), &head(one, meta), &one.message)
        })
        .collect::<Vec<_>>()
    };
    if target.is(known::NODES) {
        let answer = case.lister.get::<Node>(known::NODES, None, &target.name);
        return case.diagnosis.silently(answer).map(|node| conditions(&node.status.conditions)).unwrap_or_default();
    }
    let (namespace, name) = (target.namespace.as_deref(), target.name.as_str());
    if let Some(known) = WORKLOADS.into_iter().find(|known| target.is(*known)) {
        let answer = case.lister.get::<Workload>(known, namespace, name);
        return case.diagnosis.silently(answer).map(|one| conditions(&one.status.conditions)).unwrap_or_default();
    }
    if target.is(known::CRDS) {
        let answer = case.lister.get::<Crd>(known::CRDS, None, name);
        return case.diagnosis.silently(answer).map(|one| conditions(&one.status.conditions)).unwrap_or_default();
    }
    if target.is(known::SERVICES) {
        let answer = case.lister.get::<Service>(known::SERVICES, namespace, name);
        return case.diagnosis.silently(answer).map(|one| conditions(&one.status.conditions)).unwrap_or_default();
    }
    if target.is(known::JOBS) {
        let answer = case.lister.get::<Job>(known::JOBS, namespace, name);
        return case.diagnosis.silently(answer).map(|one| conditions(&one.status.conditions)).unwrap_or_default();
    }
    if !has_conditions(&target.resource) {
        return Vec::new();
    }
    let answer = case.lister.with_status(&target.resource, namespace, name);
    let Some(object) = case.diagnosis.optional(target.to_string(), "what its controller reports", answer) else {
        return Vec::new();
    };
    let ObjectStatus { conditions: all, reason, message, error_message, .. } = &object.status;
    let mut said = conditions(all);
    let fields = [(Weight::Tells, message), (Weight::Fails, error_message)];
    let fields = fields.into_iter().filter(|(_, message)| !message.is_empty());
    said.extend(fields.map(|(weight, message)| ObjectReport::new(weight, source.clone(), reason, message)));
    said
}

/// `Drained=Unknown Draining`; some kinds have conditions without a status.
fn head(condition: &Condition, meta: &Meta) -> String {
    let Condition { kind, status, reason, .. } = condition;
    let state = if status.is_empty() { kind.clone() } else { format!("{kind}={status}") };
    let before = match condition.is_of_before(meta) {
        true => " (from before the deletion)",
        false if condition.is_unchanged(meta) => " (unchanged since before the deletion)",
        false => "",
    };
    if reason.is_empty() { format!("{state}{before}") } else { format!("{state} {reason}{before}") }
}

/// The Events about an object since its deletion was asked for, the latest first.
pub fn events<'a>(case: &mut Case<'_, 'a>, target: &ObjectRef, meta: &Meta) -> Vec<&'a Event> {
    let ObjectRef { kind, name, .. } = target;
    // One list shows all objects of the kind that wait here. Those of pods and nodes are too many for that.
    let about = match () {
        () if target.is(known::PODS) => format!("involvedObject.kind={kind},type=Warning"),
        () if target.is(known::NODES) => format!("involvedObject.kind={kind},involvedObject.name={name}"),
        () => format!("involvedObject.kind={kind}"),
    };
    selected(case, target, meta, about)
}

/// The Events about an object that have this reason.
pub fn events_of<'a>(case: &mut Case<'_, 'a>, target: &ObjectRef, meta: &Meta, reason: &str) -> Vec<&'a Event> {
    selected(case, target, meta, format!("involvedObject.kind={},reason={reason}", target.kind))
}

fn selected<'a>(case: &mut Case<'_, 'a>, target: &ObjectRef, meta: &Meta, about: String) -> Vec<&'a Event> {
    // Events about what lives in no namespace stand in this one.
    let namespace = target.namespace.as_deref().unwrap_or("default");
    let answer = case.lister.select::<Event>(known::EVENTS, within(namespace), Select::Fields(about));
    let source = format!("events about {} in {namespace}", target.kind);
    let all = case.diagnosis.optional(source, "what is reported about it", answer).unwrap_or_default();
    let asked = meta.deletion_requested_at();
    let mut own: Vec<&Event> = all
        .into_iter()
        .filter(|event| event.involved_object.name == target.name && is_of(event, meta))
        .filter(|event| !is_of_its_start(target, event))
        .filter(|event| event.seen().zip(asked).is_none_or(|(seen, asked)| seen >= asked))
        .collect();
    own.sort_by_key(|event| std::cmp::Reverse(event.seen()));
    own
}

/// Reasons of Events about how a claim gets its volume, which is tried during its deletion too
/// (kubernetes: pkg/controller/volume/events/event.go; kubernetes-csi/external-provisioner: controller/controller.go of its
/// library).
const OF_CLAIMS_START: &[&str] = &[
    "FailedBinding", "WaitForFirstConsumer", "WaitForPodScheduled", "ExternalProvisioning", "Provisioning",
    "ProvisioningFailed", "ProvisioningSucceeded",
];

fn is_of_its_start(target: &ObjectRef, event: &Event) -> bool {
    target.is(known::CLAIMS) && OF_CLAIMS_START.contains(&event.reason.as_str())
}

/// Whether an Event is about this object and not about one that had its name before. Some controllers write the name
/// in place of the uid.
fn is_of(event: &Event, meta: &Meta) -> bool {
    let uid = &event.involved_object.uid;
    uid.is_empty() || meta.uid.is_empty() || *uid == meta.uid || *uid == meta.name
}
