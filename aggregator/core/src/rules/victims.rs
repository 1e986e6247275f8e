//! What should be gone: all of it, or what the user named.

use findings::FaultKind;

use super::words::within;
use crate::diagnosis::Diagnosis;
use crate::lister::Lister;
use crate::state::*;

/// Kinds that are looked at when everything is asked for. Other kinds hold namespaces and are met on
/// the way, or are looked at when they are named.
const EVERYWHERE: &[Known] = &[known::PODS, known::CLAIMS];

const CLUSTER_WIDE: &[Known] = &[known::VOLUMES, known::ATTACHMENTS, known::CRDS, known::NODES];

/// What the user asked about.
pub fn victims(lister: &Lister, about: &mut Diagnosis) -> Vec<ObjectRef> {
    match &lister.state.subject {
        Subject::Everything { namespace } => everything(lister, namespace.as_deref(), about),
        Subject::Object { word, namespace, name } => object(lister, word, namespace, name, about),
    }
}

fn everything(lister: &Lister, only: Option<&str>, about: &mut Diagnosis) -> Vec<ObjectRef> {
    let mut found = Vec::new();
    match only {
        Some(name) => found.push(ObjectRef::cluster_wide(known::NAMESPACES, name)),
        None => {
            let terminating = Select::Fields("status.phase=Terminating".to_owned());
            let answer = lister.select::<Namespace>(known::NAMESPACES, Scope::All, terminating);
            for namespace in
                about.required("namespaces", "which namespaces are being deleted", answer).into_iter().flatten()
            {
                found.push(ObjectRef::cluster_wide(known::NAMESPACES, &namespace.metadata.name));
            }
        }
    }
    let scope = only.map_or(Scope::All, within);
    for known in EVERYWHERE {
        found.extend(terminating(lister, *known, scope.clone(), about));
    }
    if only.is_none() {
        for known in CLUSTER_WIDE {
            found.extend(terminating(lister, *known, Scope::All, about));
        }
    }
    found
}

fn terminating(lister: &Lister, known: Known, scope: Scope, about: &mut Diagnosis) -> Vec<ObjectRef> {
    let metas: Answer<Vec<&Meta>> = match known {
        known::PODS => metas(lister.select::<Pod>(known, scope, Select::Terminating)),
        known::CLAIMS => metas(lister.select::<Claim>(known, scope, Select::Terminating)),
        // Other rules need all of these.
        known::VOLUMES => metas(lister.list::<PersistentVolume>(known, scope)),
        known::ATTACHMENTS => metas(lister.list::<Attachment>(known, scope)),
        // Their schemas are large.
        known::CRDS => metas(lister.metadata(&known.into(), scope)),
        _ => metas(lister.select::<Node>(known, scope, Select::Terminating)),
    };
    let hides = format!("which {} are being deleted", known.plural);
    let seen = about.required(known.plural, &hides, metas).unwrap_or_default();
    let target = |meta: &Meta| ObjectRef {
        kind: known.kind.to_owned(),
        resource: known.into(),
        namespace: meta.namespace.clone(),
        name: meta.name.clone(),
    };
    seen.into_iter().filter(|meta| meta.deletion_timestamp.is_some()).map(target).collect()
}

fn metas<K: Kind>(answer: Answer<Vec<&K>>) -> Answer<Vec<&Meta>> {
    answer.map(|objects| objects.into_iter().map(Kind::meta).collect())
}

/// Words that need no discovery: it may be what is broken.
fn well_known(word: &str) -> Option<Known> {
    Some(match word.to_lowercase().as_str() {
        "ns" | "namespace" | "namespaces" => known::NAMESPACES,
        "po" | "pod" | "pods" => known::PODS,
        "pvc" | "persistentvolumeclaim" | "persistentvolumeclaims" => known::CLAIMS,
        "pv" | "persistentvolume" | "persistentvolumes" => known::VOLUMES,
        "no" | "node" | "nodes" => known::NODES,
        "crd" | "crds" | "customresourcedefinition" | "customresourcedefinitions" => known::CRDS,
        "apiservice" | "apiservices" => known::API_SERVICES,
        "volumeattachment" | "volumeattachments" => known::ATTACHMENTS,
        _ => return None,
    })
}

fn object(lister: &Lister, word: &str, namespace: &str, name: &str, about: &mut Diagnosis) -> Vec<ObjectRef> {
    match well_known(word) {
        Some(known::NODES) => return on_node(lister, name, about),
        Some(known) if known.namespaced => return vec![ObjectRef::namespaced(known, namespace, name)],
        Some(known) => return vec![ObjectRef::cluster_wide(known, name)],
        None => {}
    }
    let Some(discovery) = about.required("API discovery", "what this word means", lister.discovery()) else {
        return Vec::new();
    };
    match discovery.named(word) {
        Some((resource, served)) => vec![ObjectRef {
            kind: served.kind.clone(),
            resource,
            namespace: served.namespaced.then(|| namespace.to_owned()),
            name: name.to_owned(),
        }],
        None => {
            unknown_word(word, discovery, about);
            Vec::new()
        }
    }
}

/// Whether the user named this very object.
pub fn is_named(lister: &Lister, target: &ObjectRef) -> bool {
    let Subject::Object { word, namespace, name } = &lister.state.subject else { return false };
    let is_kind = match well_known(word) {
        Some(known) => target.is(known),
        None => lister.discovery().seen().and_then(|all| all.named(word)).is_some_and(|(it, _)| it == target.resource),
    };
    is_kind && *name == target.name && target.namespace.as_ref().is_none_or(|at| at == namespace)
}

/// The pods of a node.
pub fn pods_on<'a>(lister: &Lister<'a>, node: &str) -> Answer<Vec<&'a Pod>> {
    lister.select(known::PODS, Scope::All, Select::Fields(format!("spec.nodeName={node}")))
}

/// A resource of a dead API is unknown too, so only a server that knows all of its own can say no.
fn unknown_word(word: &str, discovery: &Discovery, about: &mut Diagnosis) {
    let stale: Vec<String> = discovery.stale().map(|served| format!("{}/{}", served.group, served.version)).collect();
    if stale.is_empty() {
        about.missing = true;
        about.words = format!("the server knows no resource {word:?}; `kubectl api-resources` lists them");
    } else {
        let why = format!("the server knows no resource of this name, and does not know those of {}", stale.join(", "));
        about.hidden(word, Fault::new(FaultKind::Stale, why), "everything about it");
    }
}

/// A node: what is being deleted on it.
fn on_node(lister: &Lister, name: &str, about: &mut Diagnosis) -> Vec<ObjectRef> {
    let pods = about.required("pods", "what this node holds", pods_on(lister, name));
    let is_terminating = |pod: &&&Pod| pod.metadata.deletion_timestamp.is_some();
    let terminating: Vec<&Pod> = pods.iter().flatten().filter(is_terminating).copied().collect();
    let mut found: Vec<ObjectRef> = terminating
        .iter()
        .map(|one| ObjectRef::pod(one.metadata.namespace.as_deref().unwrap_or_default(), &one.metadata.name))
        .collect();
    found.push(ObjectRef::node(name));
    found
}
