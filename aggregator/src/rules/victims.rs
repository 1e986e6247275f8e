//! What should be gone: all of it, or what the user named.

use super::words::{node, pod, within};
use crate::graph::{Standing, View};
use crate::state::*;

/// Kinds that are looked at when everything is asked for. Other kinds hold namespaces and are met on
/// the way, or are looked at when they are named.
const EVERYWHERE: &[(&str, Known)] = &[("Pod", known::PODS), ("PersistentVolumeClaim", known::CLAIMS)];

const CLUSTER_WIDE: &[(&str, Known)] = &[
    ("PersistentVolume", known::VOLUMES),
    ("VolumeAttachment", known::ATTACHMENTS),
    ("CustomResourceDefinition", known::CRDS),
    ("Node", known::NODES),
];

/// What the user asked about.
pub fn victims(view: &View, about: &mut Standing) -> Vec<Thing> {
    match &view.state.subject {
        Subject::Everything { namespace } => everything(view, namespace.as_deref(), about),
        Subject::Object { word, namespace, name } => object(view, word, namespace, name, about),
    }
}

fn everything(view: &View, only: Option<&str>, about: &mut Standing) -> Vec<Thing> {
    let mut found = Vec::new();
    match only {
        Some(name) => found.push(Thing::cluster_wide("Namespace", known::NAMESPACES, name)),
        None => {
            let terminating = Select::Fields("status.phase=Terminating".to_owned());
            let answer = view.select::<Namespace>(known::NAMESPACES, Scope::All, terminating);
            for namespace in about.see("namespaces", "which namespaces are being deleted", answer).into_iter().flatten()
            {
                found.push(Thing::cluster_wide("Namespace", known::NAMESPACES, &namespace.metadata.name));
            }
        }
    }
    let scope = only.map_or(Scope::All, within);
    for (kind, known) in EVERYWHERE {
        found.extend(terminating(view, kind, *known, scope.clone(), about));
    }
    if only.is_none() {
        for (kind, known) in CLUSTER_WIDE {
            found.extend(terminating(view, kind, *known, Scope::All, about));
        }
    }
    found
}

fn terminating(view: &View, kind: &str, known: Known, scope: Scope, about: &mut Standing) -> Vec<Thing> {
    let metas: Answer<Vec<&Meta>> = match known {
        known::PODS => metas(view.select::<Pod>(known, scope, Select::Terminating)),
        known::CLAIMS => metas(view.select::<Claim>(known, scope, Select::Terminating)),
        // Other rules need all of these.
        known::VOLUMES => metas(view.list::<PersistentVolume>(known, scope)),
        known::ATTACHMENTS => metas(view.list::<Attachment>(known, scope)),
        // Their schemas are large.
        known::CRDS => metas(view.metadata(&known.into(), scope)),
        _ => metas(view.select::<Node>(known, scope, Select::Terminating)),
    };
    let hides = format!("which {} are being deleted", known.plural);
    let seen = about.see(known.plural, &hides, metas).unwrap_or_default();
    let thing = |meta: &Meta| Thing {
        kind: kind.to_owned(),
        resource: known.into(),
        namespace: meta.namespace.clone(),
        name: meta.name.clone(),
    };
    seen.into_iter().filter(|meta| meta.deletion_timestamp.is_some()).map(thing).collect()
}

fn metas<K: Kind>(answer: Answer<Vec<&K>>) -> Answer<Vec<&Meta>> {
    answer.map(|objects| objects.into_iter().map(Kind::meta).collect())
}

/// Words that need no discovery: it may be what is broken.
fn well_known(word: &str) -> Option<(&'static str, Known, bool)> {
    Some(match word.to_lowercase().as_str() {
        "ns" | "namespace" | "namespaces" => ("Namespace", known::NAMESPACES, false),
        "po" | "pod" | "pods" => ("Pod", known::PODS, true),
        "pvc" | "persistentvolumeclaim" | "persistentvolumeclaims" => ("PersistentVolumeClaim", known::CLAIMS, true),
        "pv" | "persistentvolume" | "persistentvolumes" => ("PersistentVolume", known::VOLUMES, false),
        "no" | "node" | "nodes" => ("Node", known::NODES, false),
        "crd" | "crds" | "customresourcedefinition" | "customresourcedefinitions" => {
            ("CustomResourceDefinition", known::CRDS, false)
        }
        "apiservice" | "apiservices" => ("APIService", known::API_SERVICES, false),
        "volumeattachment" | "volumeattachments" => ("VolumeAttachment", known::ATTACHMENTS, false),
        _ => return None,
    })
}

fn object(view: &View, word: &str, namespace: &str, name: &str, about: &mut Standing) -> Vec<Thing> {
    let namespace = |namespaced: bool| namespaced.then(|| namespace.to_owned());
    if let Some((kind, known, namespaced)) = well_known(word) {
        let (kind, name) = (kind.to_owned(), name.to_owned());
        let thing = Thing { kind, resource: known.into(), namespace: namespace(namespaced), name };
        if known == known::NODES {
            return on_node(view, thing, about);
        }
        return vec![thing];
    }
    let Some(discovery) = about.see("API discovery", "what this word means", view.discovery()) else {
        return Vec::new();
    };
    match discovery.named(word) {
        Some((resource, served)) => {
            let (kind, name) = (served.kind.clone(), name.to_owned());
            vec![Thing { kind, resource, namespace: namespace(served.namespaced), name }]
        }
        None => {
            unknown_word(word, discovery, about);
            Vec::new()
        }
    }
}

/// Whether the user named this very object.
pub fn is_named(view: &View, thing: &Thing) -> bool {
    let Subject::Object { word, namespace, name } = &view.state.subject else { return false };
    let is_kind = match well_known(word) {
        Some((_, known, _)) => thing.is(known),
        None => view.discovery().seen().and_then(|all| all.named(word)).is_some_and(|(it, _)| it == thing.resource),
    };
    is_kind && *name == thing.name && thing.namespace.as_ref().is_none_or(|at| at == namespace)
}

/// The pods of a node.
pub fn pods_on<'a>(view: &View<'a>, node: &str) -> Answer<Vec<&'a Pod>> {
    view.select(known::PODS, Scope::All, Select::Fields(format!("spec.nodeName={node}")))
}

/// A resource of a dead API is unknown too, so only a server that knows all of its own can say no.
fn unknown_word(word: &str, discovery: &Discovery, about: &mut Standing) {
    let stale: Vec<String> = discovery.stale().map(|served| format!("{}/{}", served.group, served.version)).collect();
    if stale.is_empty() {
        about.missing = true;
        about.words = format!("the server knows no resource {word:?}; `kubectl api-resources` lists them");
    } else {
        let why = format!("the server knows no resource of this name, and does not know those of {}", stale.join(", "));
        about.hidden(word, why, "everything about it");
    }
}

/// A node: what is being deleted on it.
fn on_node(view: &View, thing: Thing, about: &mut Standing) -> Vec<Thing> {
    let pods = about.see("pods", "what this node holds", pods_on(view, &thing.name));
    let is_going = |pod: &&&Pod| pod.metadata.deletion_timestamp.is_some();
    let going: Vec<&Pod> = pods.iter().flatten().filter(is_going).copied().collect();
    let mut found: Vec<Thing> = going
        .iter()
        .map(|one| pod(one.metadata.namespace.as_deref().unwrap_or_default(), &one.metadata.name))
        .collect();
    found.push(node(&thing.name));
    found
}
