//! What should be gone: all of it, or what the user named.

use std::collections::{BTreeMap, BTreeSet};

use super::completed_pod;
use super::near_names;
use super::phrases::{some, within};
use super::scan::{self, Scan};
use crate::diagnosis::Diagnosis;
use crate::lister::Lister;
use crate::state::*;

/// What the user asked about.
pub fn requested(lister: &Lister, about: &mut Diagnosis) -> Scan {
    match lister.subject() {
        Subject::Everything { namespace, all_kinds } => everything(lister, namespace.as_deref(), *all_kinds, about),
        Subject::Kind { word, namespace, selector } => {
            let (mut all, mut kinds) = (Vec::new(), Vec::new());
            for word in word.split(',') {
                let before = about.unknown.len();
                all.extend(one_kind(lister, word, namespace.as_deref(), about));
                if about.unknown.len() == before {
                    kinds.push(word.to_owned());
                }
            }
            let selected = match selector {
                Some(labels) => selected(lister, all, labels, namespace.as_deref(), about),
                None => all,
            };
            Scan { kinds, ..Scan::of_objects(selected) }
        }
        Subject::Object { .. } | Subject::Objects { .. } => {
            let mut scan = Scan::default();
            for (word, namespace, name) in lister.subject().named() {
                scan.add(object(lister, word, namespace, name, about));
            }
            scan
        }
        Subject::Before { word, namespace, name } => Scan::of_objects(before(lister, word, namespace, name, about)),
    }
}

fn everything(lister: &Lister, only: Option<&str>, secrets: bool, about: &mut Diagnosis) -> Scan {
    let namespaces = match only {
        Some(name) if lister.namespace(name).is_missing() => {
            unknown_namespace(lister, name, about);
            return Scan::default();
        }
        Some(name) => Some(vec![ObjectRef::cluster_wide(known::NAMESPACES, name)]),
        None => terminating_namespaces(lister, about),
    };
    // One that could not be read is explained as far as its objects show it.
    let is_hidden = |name| matches!(lister.namespace(name), Answer::Failed(_));
    let mut scan = Scan::default();
    match only.is_some_and(is_hidden) {
        true => scan.objects.extend(namespaces.unwrap_or_default()),
        false => scan.add_known_kind(known::NAMESPACES, namespaces),
    }
    add_inside(&mut scan, lister, only, about);
    if only.is_none() {
        for known in scan::CLUSTER_WIDE {
            scan.add_known_kind(*known, terminating(lister, *known, Scope::All, about));
        }
    }
    scan.add_other_kinds(lister, only, secrets, about);
    scan
}

/// `None` where they could not be listed.
fn terminating_namespaces(lister: &Lister, about: &mut Diagnosis) -> Option<Vec<ObjectRef>> {
    let terminating = Select::Fields("status.phase=Terminating".to_owned());
    let answer = lister.select::<Namespace>(known::NAMESPACES, Scope::All, terminating);
    let seen = about.required("namespaces", "which namespaces are being deleted", answer);
    let name = |namespace: &Namespace| ObjectRef::cluster_wide(known::NAMESPACES, &namespace.metadata.name);
    Some(seen?.into_iter().map(name).collect())
}

/// What is being deleted in namespaces, of the kinds that mostly are.
fn add_inside(scan: &mut Scan, lister: &Lister, only: Option<&str>, about: &mut Diagnosis) {
    let scope = only.map_or(Scope::All, within);
    for known in scan::NAMESPACED {
        scan.add_known_kind(*known, terminating(lister, *known, scope.clone(), about));
    }
    let more = completed_pod::candidates(lister, only, &scan.objects, about);
    scan.objects.extend(more);
}

/// Objects of any kind that are being deleted.
fn terminating_objects(
    lister: &Lister,
    resource: &Resource,
    kind: &str,
    scope: Scope,
    about: &mut Diagnosis,
) -> Vec<ObjectRef> {
    let answer = lister.terminating_metadata(resource, scope);
    let hides = format!("which {resource} are being deleted");
    let seen = about.required(resource.to_string(), &hides, answer).unwrap_or_default();
    seen.into_iter().map(|object| scan::reference(resource, kind, object)).collect()
}

/// Those that the server selects by labels.
fn selected(
    lister: &Lister,
    mut all: Vec<ObjectRef>,
    labels: &str,
    only: Option<&str>,
    about: &mut Diagnosis,
) -> Vec<ObjectRef> {
    let mut names: BTreeMap<Resource, BTreeSet<(Option<&str>, &str)>> = BTreeMap::new();
    let kinds: BTreeMap<Resource, bool> =
        all.iter().map(|one| (one.resource.clone(), one.namespace.is_some())).collect();
    for (resource, is_namespaced) in kinds {
        let hides = format!("which {resource} have these labels");
        let scope = only.filter(|_| is_namespaced).map_or(Scope::All, within);
        let answer = lister.labelled(&resource, scope, labels);
        let seen = about.required(format!("{resource} with labels {labels}"), &hides, answer).unwrap_or_default();
        let seen = seen.into_iter().map(|one| (one.metadata.namespace.as_deref(), one.metadata.name.as_str()));
        names.insert(resource, seen.collect());
    }
    all.retain(|one| {
        let name = (one.namespace.as_deref(), one.name.as_str());
        names.get(&one.resource).is_some_and(|names| names.contains(&name))
    });
    all
}

/// `kubectl why-terminating pods`.
fn one_kind(lister: &Lister, word: &str, only: Option<&str>, about: &mut Diagnosis) -> Vec<ObjectRef> {
    if let Some(name) = only.filter(|name| lister.namespace(name).is_missing()) {
        unknown_namespace(lister, name, about);
        return Vec::new();
    }
    let scope = only.map_or(Scope::All, within);
    let known = match known::named(word) {
        Some(known::NAMESPACES) => Some(terminating_namespaces(lister, about)),
        Some(known) if scan::NAMESPACED.contains(&known) => Some(terminating(lister, known, scope.clone(), about)),
        Some(known) if scan::CLUSTER_WIDE.contains(&known) => Some(terminating(lister, known, Scope::All, about)),
        Some(_) | None => None,
    };
    if let Some(terminating) = known {
        return terminating.unwrap_or_default();
    }
    let Some(discovery) = about.required("API discovery", "what this word means", lister.discovery()) else {
        return Vec::new();
    };
    let meant = discovery.all_named(word);
    if meant.is_empty() {
        unknown_word(word, discovery, about);
    }
    let scope_of = |served: &ServedResource| if served.namespaced { scope.clone() } else { Scope::All };
    meant
        .into_iter()
        .flat_map(|(resource, served)| terminating_objects(lister, &resource, &served.kind, scope_of(served), about))
        .collect()
}

/// Those of a kind that are being deleted; `None` where they could not be listed.
fn terminating(lister: &Lister, known: ApiResource, scope: Scope, about: &mut Diagnosis) -> Option<Vec<ObjectRef>> {
    let metas: Answer<Vec<&Meta>> = match known {
        known::PODS => metas(lister.select::<Pod>(known, scope, Select::Terminating)),
        known::CLAIMS => metas(lister.select::<Claim>(known, scope, Select::Terminating)),
        known if let Some(watched) = lister.watched(known).filter(|_| scope == Scope::All) => metas(watched),
        // Other rules need all of these.
        known::VOLUMES => metas(lister.list::<PersistentVolume>(known, scope)),
        known::ATTACHMENTS => metas(lister.list::<Attachment>(known, scope)),
        // Their schemas are large.
        known::CRDS => metas(lister.metadata(&known.into(), scope)),
        _ => metas(lister.select::<Node>(known, scope, Select::Terminating)),
    };
    let hides = format!("which {} are being deleted", known.plural);
    let seen = about.required(known.plural, &hides, metas)?;
    let target = |meta: &Meta| ObjectRef {
        kind: known.kind.into(),
        resource: known.into(),
        namespace: meta.namespace.clone(),
        name: meta.name.clone(),
    };
    Some(seen.into_iter().filter(|meta| meta.deletion_timestamp.is_some()).map(target).collect())
}

fn metas<K: Kind>(answer: Answer<Vec<&K>>) -> Answer<Vec<&Meta>> {
    answer.map(|objects| objects.into_iter().map(Kind::meta).collect())
}

/// The object itself: what it holds and what is on it is met on the way.
fn before(lister: &Lister, word: &str, namespace: &str, name: &str, about: &mut Diagnosis) -> Vec<ObjectRef> {
    if let Some(release) = Release::new(lister.subject()) {
        return vec![release.target()];
    }
    match known::named(word) {
        Some(known) if !known.namespaced => vec![ObjectRef::cluster_wide(known, name)],
        _ => named(lister, word, namespace, name, about),
    }
}

fn object(lister: &Lister, word: &str, namespace: &str, name: &str, about: &mut Diagnosis) -> Scan {
    match known::named(word) {
        Some(known::NODES) => Scan::of_objects(on_node(lister, name, about)),
        Some(known::NAMESPACES) => in_namespace(lister, name, about),
        _ => Scan::of_objects(named(lister, word, namespace, name, about)),
    }
}

/// What a word and a name mean.
fn named(lister: &Lister, word: &str, namespace: &str, name: &str, about: &mut Diagnosis) -> Vec<ObjectRef> {
    match known::named(word) {
        Some(known) if known.namespaced => return vec![ObjectRef::namespaced(known, namespace, name)],
        Some(known) => return vec![ObjectRef::cluster_wide(known, name)],
        None => {}
    }
    let Some(discovery) = about.required("API discovery", "what this word means", lister.discovery()) else {
        return Vec::new();
    };
    let target = |(resource, served): (Resource, &ServedResource)| ObjectRef {
        kind: served.kind.clone().into(),
        resource,
        namespace: served.namespaced.then(|| namespace.to_owned()),
        name: name.to_owned(),
    };
    let mut meant: Vec<ObjectRef> = discovery.all_named(word).into_iter().map(target).collect();
    match meant.len() {
        0 => unknown_word(word, discovery, about),
        1 => {}
        _ => meant = that_exist(lister, word, meant, about),
    }
    meant
}

/// Several groups have a kind of this name: those that have an object of this name.
fn that_exist(lister: &Lister, word: &str, meant: Vec<ObjectRef>, about: &mut Diagnosis) -> Vec<ObjectRef> {
    let kinds: Vec<String> = meant.iter().map(|one| one.resource.for_kubectl()).collect();
    let first = meant.first().cloned();
    let mut uids = BTreeSet::new();
    let mut found = Vec::new();
    for one in meant {
        match lister.object(&one.resource, one.namespace.as_deref(), &one.name) {
            Answer::Missing => {}
            // The same object under two groups, as Ingresses once were.
            Answer::Seen(object) if !object.metadata.uid.is_empty() && !uids.insert(&object.metadata.uid) => {}
            Answer::Seen(_) | Answer::Failed(_) | Answer::Unasked => found.push(one),
        }
    }
    let all = some(&kinds, 5);
    match (found.len(), first) {
        (0, Some(first)) => {
            about.missing = true;
            about.words = format!("{first} does not exist; {word} means {all}, and none of these has it");
        }
        (0 | 1, _) => {}
        _ => about.note(format!("Several kinds are called {word}: {all}. To ask about one: TYPE.GROUP/NAME.")),
    }
    found
}

/// A namespace; of one that is not being deleted, what is being deleted in it.
fn in_namespace(lister: &Lister, name: &str, about: &mut Diagnosis) -> Scan {
    let mut scan = Scan::default();
    if lister.namespace(name).seen().is_some_and(|it| it.metadata.deletion_timestamp.is_none()) {
        add_inside(&mut scan, lister, Some(name), about);
        scan.add_other_kinds(lister, Some(name), lister.scans_all_kinds(), about);
    }
    scan.objects.push(ObjectRef::cluster_wide(known::NAMESPACES, name));
    scan
}

/// Whether the user named this very object.
pub fn is_named(lister: &Lister, target: &ObjectRef) -> bool {
    let is_kind = |word: &str| match known::named(word) {
        Some(known) => target.is(known),
        None => lister
            .discovery()
            .seen()
            .is_some_and(|all| all.all_named(word).iter().any(|(it, _)| *it == target.resource)),
    };
    lister.subject().named().into_iter().any(|(word, namespace, name)| {
        *name == target.name && target.namespace.as_ref().is_none_or(|at| at == namespace) && is_kind(word)
    })
}

/// The pods of a node.
pub fn pods_on<'a>(lister: &Lister<'a>, node: &str) -> Answer<Vec<&'a Pod>> {
    lister.select(known::PODS, Scope::All, Select::Fields(format!("spec.nodeName={node}")))
}

fn unknown_namespace(lister: &Lister, name: &str, about: &mut Diagnosis) {
    let near = near_names::near(lister, &ObjectRef::cluster_wide(known::NAMESPACES, name), about);
    about.missing = true;
    about.words = format!("namespace {name:?} not found{near}; `kubectl get namespaces` lists them");
}

/// A mistyped word, or a resource of an API that does not answer: neither can be looked up.
fn unknown_word(word: &str, discovery: &Discovery, about: &mut Diagnosis) {
    let stale: Vec<String> = discovery.stale().map(|served| format!("{}/{}", served.group, served.version)).collect();
    let unlisted = match stale.as_slice() {
        [] => String::new(),
        some => format!(" (it does not list those of {}, whose API does not answer)", some.join(", ")),
    };
    let near = discovery.near(word).map_or(String::new(), |near| format!(" (did you mean {near}?)"));
    about.missing = true;
    about.words = format!(
        "the server doesn't have a resource type {word:?}{near}{unlisted}; `kubectl api-resources` lists them. Give TYPE, \
         TYPE/NAME or nothing, for example: kubectl why-terminating pod/db-0 -n shop"
    );
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
