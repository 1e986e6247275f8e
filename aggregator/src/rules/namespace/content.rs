//! What is left in a namespace: pods and claims always, then what the conditions name, then
//! everything, if nothing else explains why it stays.

use super::{Case, is_explained};
use crate::graph::{Standing, View};
use crate::rules::conditions::{Obstacle, content_failure, finalizers_remaining, remaining};
use crate::rules::words::{claim, count, pod, within};
use crate::state::*;

/// What was found in a namespace.
#[derive(Default)]
pub struct Left<'a> {
    /// Pods, whether they are being deleted or not.
    pub pods: usize,
    /// Objects that are being deleted.
    pub terminating: usize,
    /// Objects that were not asked to go yet, pods first.
    pub not_asked: Vec<(Thing, &'a Meta)>,
    /// Objects that were made after the namespace's deletion.
    pub recreated: Vec<Thing>,
}

/// Looks at what is always looked at, and at what the conditions name.
pub fn look<'a>(view: &View<'a>, case: &Case, standing: &mut Standing) -> Left<'a> {
    let mut left = Left::default();
    let pods = pods(view, case, standing, &mut left);
    claims(view, case, standing, &mut left, pods);
    for resource in named(view, case, standing) {
        objects(view, case, standing, &resource, &mut left);
    }
    left.pods = pods;
    left
}

fn pods<'a>(view: &View<'a>, case: &Case, standing: &mut Standing, left: &mut Left<'a>) -> usize {
    let answer = view.list::<Pod>(known::PODS, within(case.name));
    let hides = format!("whether pods remain in {}; its conditions do not tell", case.name);
    let pods = standing.see(format!("pods of {}", case.name), &hides, answer).unwrap_or_default();
    for one in &pods {
        sort(case, standing, left, pod(case.name, &one.metadata.name), &one.metadata);
    }
    pods.len()
}

/// While pods remain, the claims of an ordered deletion have not been asked to go: they wait.
fn claims<'a>(view: &View<'a>, case: &Case, standing: &mut Standing, left: &mut Left<'a>, pods: usize) {
    let answer = view.list::<Claim>(known::CLAIMS, within(case.name));
    let hides = format!("whether claims remain in {}", case.name);
    let claims = standing.see(format!("persistentvolumeclaims of {}", case.name), &hides, answer).unwrap_or_default();
    for one in claims {
        let thing = claim(case.name, &one.metadata.name);
        if pods > 0 && one.metadata.deletion_timestamp.is_none() {
            standing.behind(format!("{thing} (not asked to go while pods remain)"));
            if !one.spec.volume_name.is_empty() {
                standing.behind(format!("PersistentVolume {} (bound to it)", one.spec.volume_name));
            }
        } else {
            sort(case, standing, left, thing, &one.metadata);
        }
    }
}

/// The resources that the conditions name, pods and claims left out.
fn named(view: &View, case: &Case, standing: &mut Standing) -> Vec<Resource> {
    let mut names: Vec<(String, String)> = Vec::new();
    if let Some(condition) = case.failing("NamespaceContentRemaining") {
        names.extend(remaining(&condition.message).into_iter().map(|(plural, group, _)| (group, plural)));
    }
    if let Some(condition) = case.failing("NamespaceDeletionContentFailure") {
        names.extend(content_failure(&condition.message).into_iter().filter_map(|obstacle| match obstacle {
            Obstacle::Unexpected { group, resource } => Some((group, resource)),
            _ => None,
        }));
    }
    names.retain(|(group, plural)| !group.is_empty() || (plural != "pods" && plural != "persistentvolumeclaims"));
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        return Vec::new();
    }
    let Some(discovery) = standing.see("API discovery", "where to list what remains", view.discovery()) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (group, plural) in names {
        match discovery.find(&group, &plural) {
            Some((resource, _)) => found.push(resource),
            None => standing.hidden(
                Resource::new(&group, "", &plural).for_kubectl(),
                "the conditions name it, and the server does not serve it",
                "what remains of it",
            ),
        }
    }
    found
}

fn objects<'a>(view: &View<'a>, case: &Case, standing: &mut Standing, resource: &Resource, left: &mut Left<'a>) {
    if resource.group.is_empty() && resource.plural == "secrets" {
        secrets(case, standing);
        return;
    }
    let answer = view.metadata(resource, within(case.name));
    let hides = format!("which {resource} remain in {}", case.name);
    let objects = standing.see(format!("{resource} of {}", case.name), &hides, answer).unwrap_or_default();
    let kind = view.discovery().seen().and_then(|discovery| discovery.find(&resource.group, &resource.plural));
    let kind = kind.map_or(resource.plural.clone(), |(_, served)| served.kind.clone());
    for object in objects {
        let Meta { name, .. } = &object.metadata;
        let thing = Thing {
            kind: kind.clone(),
            resource: resource.clone(),
            namespace: Some(case.name.to_owned()),
            name: name.clone(),
        };
        sort(case, standing, left, thing, &object.metadata);
    }
}

/// Secrets are counted, by what the controller says, and never read.
fn secrets(case: &Case, standing: &mut Standing) {
    let said = case.failing("NamespaceContentRemaining").map(|condition| remaining(&condition.message));
    let of_secrets =
        |(plural, group, many): (String, String, usize)| (plural == "secrets" && group.is_empty()).then_some(many);
    let many = said.into_iter().flatten().find_map(of_secrets).map_or("Secrets remain".to_owned(), |many| match many {
        1 => "1 Secret remains".to_owned(),
        many => format!("{many} Secrets remain"),
    });
    let finalizers =
        case.failing("NamespaceFinalizersRemaining").map(|condition| finalizers_remaining(&condition.message));
    let held = match finalizers.unwrap_or_default().as_slice() {
        [] => String::new(),
        some => format!("; of what remains there, something has finalizer {}", some.join(", ")),
    };
    standing.note(format!(
        "{many} in {name}, as its conditions say{held}. Secrets are not read here, because their annotations may hold \
         their content. To see which have a finalizer, and nothing of their content: kubectl -n {name} get secrets \
         -o custom-columns=NAME:.metadata.name,FINALIZERS:.metadata.finalizers",
        name = case.name
    ));
}

fn sort<'a>(case: &Case, standing: &mut Standing, left: &mut Left<'a>, thing: Thing, meta: &'a Meta) {
    let born_after = meta.creation_timestamp.zip(case.namespace.metadata.deletion_timestamp);
    if born_after.is_some_and(|(born, deleted)| born > deleted) {
        left.recreated.push(thing.clone());
    }
    if meta.deletion_timestamp.is_some() {
        left.terminating += 1;
        standing.wait_for(thing);
    } else {
        left.not_asked.push((thing, meta));
    }
}

/// Nothing points anywhere: no condition fails, no object was met, and the controller's own entry is
/// still there.
pub fn needs_sweep(case: &Case, standing: &Standing, left: &Left) -> bool {
    let nothing = left.terminating == 0 && left.not_asked.is_empty();
    case.has_own_finalizer() && nothing && !is_explained(standing) && !standing.open
}

/// Lists every kind that a namespace can hold.
pub fn sweep<'a>(view: &View<'a>, case: &Case, standing: &mut Standing, left: &mut Left<'a>) {
    let Some(discovery) = standing.see("API discovery", "what could remain in a namespace", view.discovery()) else {
        return;
    };
    for resource in discovery.deletable_namespaced() {
        let is_looked_at = resource.group.is_empty()
            && matches!(resource.plural.as_str(), "pods" | "persistentvolumeclaims" | "secrets" | "events");
        if !is_looked_at && resource.group != "events.k8s.io" {
            objects(view, case, standing, &resource, left);
        }
    }
}

/// The conditions, where they are wrong.
pub fn contradict(case: &Case, standing: &mut Standing, left: &Left) {
    let pods = left.pods;
    let more = left.terminating + left.not_asked.len() - pods.min(left.terminating + left.not_asked.len());
    if !case.says_all_removed() || (pods == 0 && more == 0) {
        return;
    }
    let mut parts = Vec::new();
    if pods > 0 {
        parts.push(count(pods, "pod"));
    }
    if more > 0 {
        parts.push(count(more, "other object"));
    }
    let verb = if pods + more == 1 { "remains" } else { "remain" };
    standing.words.push_str(&format!(
        "; its conditions say \"All content successfully removed\", which is wrong: {} {verb}",
        parts.join(" and ")
    ));
}
