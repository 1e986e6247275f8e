//! What is left in a namespace: pods and claims always, then what the conditions name, then
//! everything, if nothing else explains why it stays.

use std::collections::BTreeSet;

use findings::FaultKind;

use super::terminating_namespace::TerminatingNamespace;
use crate::messages::leads::Lead;
use crate::messages::namespace::{content_failure, finalizers_remaining, remaining};
use crate::rules::phrases::{count, some, within};
use crate::rules::prelude::*;

/// The two times of an object and of its namespace may be of two API servers, and a request that was let in before the
/// deletion may be stored after it: seconds that prove nothing.
const MAX_SKEW_SECONDS: i64 = 60;
/// More names are counted.
const MAX_NAMES: usize = 5;

/// What was found in a namespace.
#[derive(Default)]
pub struct Left<'a> {
    /// Pods, whether they are being deleted or not.
    pub pods: usize,
    /// Objects that are being deleted.
    pub terminating: usize,
    /// Objects that were not asked to go yet, pods first.
    pub not_asked: Vec<(ObjectRef, &'a Meta)>,
    /// Objects that were made after the namespace's deletion, by more than clocks may differ.
    pub recreated: Vec<ObjectRef>,
    /// Finalizers of what was seen.
    pub finalizers: BTreeSet<&'a str>,
    /// Kinds that the conditions name and that could not be listed.
    pub unseen: Vec<Resource>,
    /// Lists that failed, and how.
    pub failed: Vec<(Resource, Fault)>,
    /// Whether every kind was queried that a namespace can hold, Secrets and Events left out.
    pub is_complete: bool,
}

impl Left<'_> {
    fn note_failure<T>(&mut self, resource: &Resource, answer: &Answer<T>) {
        if let Answer::Failed(fault) = answer {
            self.failed.push((resource.clone(), fault.clone()));
        }
    }
}

/// Looks at what is always looked at, and at what the conditions name.
pub fn read<'a>(case: &mut Case<'_, 'a>, terminating: &TerminatingNamespace) -> Left<'a> {
    let mut left = Left::default();
    let pods = pods(case, terminating, &mut left);
    claims(case, terminating, &mut left, pods);
    for resource in named(case, terminating, &mut left) {
        objects(case, terminating, &resource, &mut left);
    }
    left.pods = pods;
    left
}

fn pods<'a>(case: &mut Case<'_, 'a>, terminating: &TerminatingNamespace, left: &mut Left<'a>) -> usize {
    let answer = case.lister.list::<Pod>(known::PODS, within(terminating.name));
    left.note_failure(&known::PODS.into(), &answer);
    let hides = format!("whether pods remain in {}; its conditions do not say", terminating.name);
    let pods = case.diagnosis.required(format!("pods of {}", terminating.name), &hides, answer).unwrap_or_default();
    for one in &pods {
        sort(
            terminating,
            &mut case.diagnosis,
            left,
            ObjectRef::pod(terminating.name, &one.metadata.name),
            &one.metadata,
        );
    }
    pods.len()
}

/// While pods remain, the claims of an ordered deletion have not been asked to go: they wait.
fn claims<'a>(case: &mut Case<'_, 'a>, terminating: &TerminatingNamespace, left: &mut Left<'a>, pods: usize) {
    let answer = case.lister.list::<Claim>(known::CLAIMS, within(terminating.name));
    left.note_failure(&known::CLAIMS.into(), &answer);
    let hides = format!("whether claims remain in {}", terminating.name);
    let claims = case
        .diagnosis
        .required(format!("persistentvolumeclaims of {}", terminating.name), &hides, answer)
        .unwrap_or_default();
    for one in claims {
        let target = ObjectRef::claim(terminating.name, &one.metadata.name);
        if pods > 0 && one.metadata.deletion_timestamp.is_none() {
            case.diagnosis.also_waits(format!("{target} (not deleted until its pods are gone)"));
            if !one.spec.volume_name.is_empty() {
                case.diagnosis.also_waits(format!("PersistentVolume {} (bound to it)", one.spec.volume_name));
            }
        } else {
            sort(terminating, &mut case.diagnosis, left, target, &one.metadata);
        }
    }
}

/// The resources that the conditions name, pods and claims left out.
fn named(case: &mut Case, terminating: &TerminatingNamespace, left: &mut Left) -> Vec<Resource> {
    let mut names: Vec<(String, String)> = Vec::new();
    if let Some(condition) = terminating.failing("NamespaceContentRemaining") {
        names.extend(remaining(&condition.message).into_iter().map(|(plural, group, _)| (group, plural)));
    }
    if let Some(condition) = terminating.failing("NamespaceDeletionContentFailure") {
        names.extend(content_failure(&condition.message).into_iter().filter_map(|lead| match lead {
            Lead::Unexpected { group, resource } => Some((group, resource)),
            _ => None,
        }));
    }
    names.retain(|(group, plural)| !group.is_empty() || (plural != "pods" && plural != "persistentvolumeclaims"));
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        return Vec::new();
    }
    let Some(discovery) =
        case.diagnosis.required("API discovery", "where to list what remains", case.lister.discovery())
    else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (group, plural) in names {
        match discovery.find(&group, &plural) {
            Some((resource, _)) => found.push(resource),
            None => {
                let gone = Resource::new(group.clone(), "", plural.clone());
                let fault = Fault::new(FaultKind::Gone, "only the conditions name it");
                case.diagnosis.hidden(gone.for_kubectl(), fault, "what remains of it");
                left.unseen.push(gone);
            }
        }
    }
    found
}

fn objects<'a>(case: &mut Case<'_, 'a>, terminating: &TerminatingNamespace, resource: &Resource, left: &mut Left<'a>) {
    if resource.group.is_empty() && resource.plural == "secrets" {
        secrets(terminating, &mut case.diagnosis);
        left.unseen.push(resource.clone());
        return;
    }
    let answer = case.lister.metadata(resource, within(terminating.name));
    if matches!(answer, Answer::Failed(_)) {
        left.unseen.push(resource.clone());
    }
    left.note_failure(resource, &answer);
    let hides = format!("which {resource} remain in {}", terminating.name);
    let objects =
        case.diagnosis.required(format!("{resource} of {}", terminating.name), &hides, answer).unwrap_or_default();
    let kind = case.lister.discovery().seen().and_then(|discovery| discovery.find(&resource.group, &resource.plural));
    let kind = kind.map_or(resource.plural.to_string(), |(_, served)| served.kind.clone());
    for object in objects {
        let Meta { name, .. } = &object.metadata;
        let target = ObjectRef {
            kind: kind.clone().into(),
            resource: resource.clone(),
            namespace: Some(terminating.name.to_owned()),
            name: name.clone(),
        };
        sort(terminating, &mut case.diagnosis, left, target, &object.metadata);
    }
}

/// Secrets are counted, by what the controller says, and never read.
fn secrets(terminating: &TerminatingNamespace, diagnosis: &mut Diagnosis) {
    let said = terminating.failing("NamespaceContentRemaining").map(|condition| remaining(&condition.message));
    let of_secrets =
        |(plural, group, many): (String, String, usize)| (plural == "secrets" && group.is_empty()).then_some(many);
    let many = said.into_iter().flatten().find_map(of_secrets).map_or("Secrets remain".to_owned(), |many| match many {
        1 => "1 Secret remains".to_owned(),
        many => format!("{many} Secrets remain"),
    });
    let finalizers =
        terminating.failing("NamespaceFinalizersRemaining").map(|condition| finalizers_remaining(&condition.message));
    let held = match finalizers.unwrap_or_default().as_slice() {
        [] => String::new(),
        some => format!("; of what remains there, something has finalizer {}", some.join(", ")),
    };
    diagnosis.note(format!(
        "{many} in {name}, as its conditions say{held}. Secrets are not read here, because their annotations may hold \
         their content. To see which have a finalizer, and nothing of their content: kubectl -n {name} get secrets \
         -o custom-columns=NAME:.metadata.name,FINALIZERS:.metadata.finalizers",
        name = terminating.name
    ));
}

fn sort<'a>(
    terminating: &TerminatingNamespace,
    diagnosis: &mut Diagnosis,
    left: &mut Left<'a>,
    target: ObjectRef,
    meta: &'a Meta,
) {
    left.finalizers.extend(meta.finalizers.iter().map(String::as_str));
    let times = meta.creation_timestamp.zip(terminating.namespace.metadata.deletion_timestamp);
    if times.is_some_and(|(born, deleted)| born.as_second() - deleted.as_second() > MAX_SKEW_SECONDS) {
        left.recreated.push(target.clone());
    }
    if meta.deletion_timestamp.is_some() {
        left.terminating += 1;
        diagnosis.wait_for(target);
    } else {
        left.not_asked.push((target, meta));
    }
}

/// Nothing points anywhere: no condition fails, no object was met, and the controller's own entry is
/// still there. Of a namespace that was named, what is left is also counted while it slowly becomes less.
pub fn needs_sweep(lister: &Lister, terminating: &TerminatingNamespace, diagnosis: &Diagnosis, left: &Left) -> bool {
    let nothing = left.terminating == 0 && left.not_asked.is_empty();
    let is_slow = !diagnosis.causes.is_empty()
        && diagnosis.causes.iter().all(|root| root.draft.cause.id == cause::WEBHOOK_SLOW.id)
        && lister.is_named(terminating.target);
    let is_open = is_slow || !diagnosis.is_explained();
    terminating.has_own_finalizer() && nothing && is_open && !diagnosis.pending
}

/// Lists every kind that a namespace can hold.
pub fn sweep<'a>(case: &mut Case<'_, 'a>, terminating: &TerminatingNamespace, left: &mut Left<'a>) {
    let Some(discovery) =
        case.diagnosis.required("API discovery", "what could remain in a namespace", case.lister.discovery())
    else {
        return;
    };
    for resource in discovery.deletable_namespaced() {
        let is_looked_at = resource.group.is_empty()
            && matches!(resource.plural.as_ref(), "pods" | "persistentvolumeclaims" | "secrets" | "events");
        if !is_looked_at && resource.group != "events.k8s.io" {
            objects(case, terminating, &resource, left);
        }
    }
    // Of a group whose server does not answer the kinds are not known.
    left.is_complete = discovery.stale().next().is_none();
}

/// What is left, where a condition denies that. It is quoted where no other one leads to the cause.
pub fn contradict(terminating: &TerminatingNamespace, diagnosis: &mut Diagnosis, left: &Left, another_leads: bool) {
    let pods = left.pods;
    let more = left.terminating + left.not_asked.len() - pods.min(left.terminating + left.not_asked.len());
    if !terminating.says_all_removed() || (pods == 0 && more == 0) {
        return;
    }
    let mut parts = Vec::new();
    if pods > 0 {
        parts.push(count(pods, "pod"));
    }
    if more > 0 {
        parts.push(count(more, "other object"));
    }
    // Those that are being deleted are links of the chain.
    let staying: Vec<String> = left.not_asked.iter().map(|(target, _)| target.to_string()).collect();
    let names =
        if staying.is_empty() { String::new() } else { format!("; not deleted yet: {}", some(&staying, MAX_NAMES)) };
    let verb = if pods + more == 1 { "remains" } else { "remain" };
    let wrong = "its conditions say \"All content successfully removed\", which is wrong: ";
    let wrong = if another_leads { "" } else { wrong };
    diagnosis.words.push_str(&format!("; {wrong}{} {verb}{names}", parts.join(" and ")));
}
