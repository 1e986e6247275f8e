//! What should be gone: all of it, or what the user named.

use std::collections::{BTreeMap, BTreeSet};

use super::completed_pod;
use super::near_names;
use super::phrases::{some, within};
use super::scan::{self, Scan};
use crate::rules::prelude::*;

/// What the user asked about.
pub fn requested(case: &mut Case) -> Scan {
    match case.lister.subject() {
        Subject::Everything { namespace, all_kinds } => everything(case, namespace.as_deref(), *all_kinds),
        Subject::Kind { word, namespace, selector } => {
            let (mut all, mut kinds) = (Vec::new(), Vec::new());
            for word in word.split(',') {
                let before = case.diagnosis.unknown.len();
                all.extend(one_kind(case, word, namespace.as_deref()));
                if case.diagnosis.unknown.len() == before {
                    kinds.push(word.to_owned());
                }
            }
            let selected = match selector {
                Some(labels) => selected(case, all, labels, namespace.as_deref()),
                None => all,
            };
            Scan { kinds, ..Scan::of_objects(selected) }
        }
        Subject::Object { .. } | Subject::Objects { .. } => {
            let mut scan = Scan::default();
            for (word, namespace, name) in case.lister.subject().named() {
                scan.add(object(case, word, namespace, name));
            }
            scan
        }
        Subject::Before { word, namespace, name } => Scan::of_objects(before(case, word, namespace, name)),
    }
}

fn everything(case: &mut Case, only: Option<&str>, secrets: bool) -> Scan {
    let namespaces = match only {
        Some(name) if case.lister.namespace(name).is_missing() => {
            unknown_namespace(case, name);
            return Scan::default();
        }
        Some(name) => Some(vec![ObjectRef::cluster_wide(known::NAMESPACES, name)]),
        None => terminating_namespaces(case),
    };
    // One that could not be read is explained as far as its objects show it.
    let is_hidden = |name| matches!(case.lister.namespace(name), Answer::Failed(_));
    let mut scan = Scan::default();
    match only.is_some_and(is_hidden) {
        true => scan.objects.extend(namespaces.unwrap_or_default()),
        false => scan.add_known_kind(known::NAMESPACES, namespaces),
    }
    add_inside(case, &mut scan, only);
    if only.is_none() {
        for known in scan::CLUSTER_WIDE {
            scan.add_known_kind(*known, terminating(case, *known, Scope::All));
        }
    }
    scan.add_other_kinds(case, only, secrets);
    scan
}

/// `None` where they could not be listed.
fn terminating_namespaces(case: &mut Case) -> Option<Vec<ObjectRef>> {
    let terminating = Select::Fields("status.phase=Terminating".to_owned());
    let answer = case.lister.select::<Namespace>(known::NAMESPACES, Scope::All, terminating);
    let seen = case.diagnosis.required("namespaces", "which namespaces are being deleted", answer);
    let name = |namespace: &Namespace| ObjectRef::cluster_wide(known::NAMESPACES, &namespace.metadata.name);
    Some(seen?.into_iter().map(name).collect())
}

/// What is being deleted in namespaces, of the kinds that mostly are.
fn add_inside(case: &mut Case, scan: &mut Scan, only: Option<&str>) {
    let scope = only.map_or(Scope::All, within);
    for known in scan::NAMESPACED {
        scan.add_known_kind(*known, terminating(case, *known, scope.clone()));
    }
    let more = completed_pod::candidates(case, only, &scan.objects);
    scan.objects.extend(more);
}

/// Objects of any kind that are being deleted.
fn terminating_objects(case: &mut Case, resource: &Resource, kind: &str, scope: Scope) -> Vec<ObjectRef> {
    let answer = case.lister.terminating_metadata(resource, scope);
    let hides = format!("which {resource} are being deleted");
    let seen = case.diagnosis.required(resource.to_string(), &hides, answer).unwrap_or_default();
    seen.into_iter().map(|object| scan::reference(resource, kind, object)).collect()
}

/// Those that the server selects by labels.
fn selected(case: &mut Case, mut all: Vec<ObjectRef>, labels: &str, only: Option<&str>) -> Vec<ObjectRef> {
    let mut names: BTreeMap<Resource, BTreeSet<(Option<&str>, &str)>> = BTreeMap::new();
    let kinds: BTreeMap<Resource, bool> =
        all.iter().map(|one| (one.resource.clone(), one.namespace.is_some())).collect();
    for (resource, is_namespaced) in kinds {
        let hides = format!("which {resource} have these labels");
        let scope = only.filter(|_| is_namespaced).map_or(Scope::All, within);
        let answer = case.lister.labelled(&resource, scope, labels);
        let seen =
            case.diagnosis.required(format!("{resource} with labels {labels}"), &hides, answer).unwrap_or_default();
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
fn one_kind(case: &mut Case, word: &str, only: Option<&str>) -> Vec<ObjectRef> {
    if let Some(name) = only.filter(|name| case.lister.namespace(name).is_missing()) {
        unknown_namespace(case, name);
        return Vec::new();
    }
    let scope = only.map_or(Scope::All, within);
    let known = match known::named(word) {
        Some(known::NAMESPACES) => Some(terminating_namespaces(case)),
        Some(known) if scan::NAMESPACED.contains(&known) => Some(terminating(case, known, scope.clone())),
        Some(known) if scan::CLUSTER_WIDE.contains(&known) => Some(terminating(case, known, Scope::All)),
        Some(_) | None => None,
    };
    if let Some(terminating) = known {
        return terminating.unwrap_or_default();
    }
    let Some(discovery) = case.diagnosis.required("API discovery", "what this word means", case.lister.discovery())
    else {
        return Vec::new();
    };
    let meant = discovery.all_named(word);
    if meant.is_empty() {
        unknown_word(word, discovery, &mut case.diagnosis);
    }
    let scope_of = |served: &ServedResource| if served.namespaced { scope.clone() } else { Scope::All };
    meant
        .into_iter()
        .flat_map(|(resource, served)| terminating_objects(case, &resource, &served.kind, scope_of(served)))
        .collect()
}

/// Those of a kind that are being deleted; `None` where they could not be listed.
fn terminating(case: &mut Case, known: ApiResource, scope: Scope) -> Option<Vec<ObjectRef>> {
    let metas: Answer<Vec<&Meta>> = match known {
        known::PODS => metas(case.lister.select::<Pod>(known, scope, Select::Terminating)),
        known::CLAIMS => metas(case.lister.select::<Claim>(known, scope, Select::Terminating)),
        known if let Some(watched) = case.lister.watched(known).filter(|_| scope == Scope::All) => metas(watched),
        // Other rules need all of these.
        known::VOLUMES => metas(case.lister.list::<PersistentVolume>(known, scope)),
        known::ATTACHMENTS => metas(case.lister.list::<Attachment>(known, scope)),
        // Their schemas are large.
        known::CRDS => metas(case.lister.metadata(&known.into(), scope)),
        _ => metas(case.lister.select::<Node>(known, scope, Select::Terminating)),
    };
    let hides = format!("which {} are being deleted", known.plural);
    let seen = case.diagnosis.required(known.plural, &hides, metas)?;
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
fn before(case: &mut Case, word: &str, namespace: &str, name: &str) -> Vec<ObjectRef> {
    if let Some(release) = Release::new(case.lister.subject()) {
        return vec![release.target()];
    }
    match known::named(word) {
        Some(known) if !known.namespaced => vec![ObjectRef::cluster_wide(known, name)],
        _ => named(case, word, namespace, name),
    }
}

fn object(case: &mut Case, word: &str, namespace: &str, name: &str) -> Scan {
    match known::named(word) {
        Some(known::NODES) => Scan::of_objects(on_node(case, name)),
        Some(known::NAMESPACES) => in_namespace(case, name),
        _ => Scan::of_objects(named(case, word, namespace, name)),
    }
}

/// What a word and a name mean.
fn named(case: &mut Case, word: &str, namespace: &str, name: &str) -> Vec<ObjectRef> {
    match known::named(word) {
        Some(known) if known.namespaced => return vec![ObjectRef::namespaced(known, namespace, name)],
        Some(known) => return vec![ObjectRef::cluster_wide(known, name)],
        None => {}
    }
    let Some(discovery) = case.diagnosis.required("API discovery", "what this word means", case.lister.discovery())
    else {
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
        0 => unknown_word(word, discovery, &mut case.diagnosis),
        1 => {}
        _ => meant = that_exist(case, word, meant),
    }
    meant
}

/// Several groups have a kind of this name: those that have an object of this name.
fn that_exist(case: &mut Case, word: &str, meant: Vec<ObjectRef>) -> Vec<ObjectRef> {
    let kinds: Vec<String> = meant.iter().map(|one| one.resource.for_kubectl()).collect();
    let first = meant.first().cloned();
    let mut uids = BTreeSet::new();
    let mut found = Vec::new();
    for one in meant {
        match case.lister.object(&one.resource, one.namespace.as_deref(), &one.name) {
            Answer::Missing => {}
            // The same object under two groups, as Ingresses once were.
            Answer::Seen(object) if !object.metadata.uid.is_empty() && !uids.insert(&object.metadata.uid) => {}
            Answer::Seen(_) | Answer::Failed(_) | Answer::Unasked => found.push(one),
        }
    }
    let all = some(&kinds, 5);
    match (found.len(), first) {
        (0, Some(first)) => {
            case.diagnosis.missing = true;
            case.diagnosis.words = format!("{first} does not exist; {word} means {all}, and none of these has it");
        }
        (0 | 1, _) => {}
        _ => case.diagnosis.note(format!("Several kinds are called {word}: {all}. To ask about one: TYPE.GROUP/NAME.")),
    }
    found
}

/// A namespace; of one that is not being deleted, what is being deleted in it.
fn in_namespace(case: &mut Case, name: &str) -> Scan {
    let mut scan = Scan::default();
    if case.lister.namespace(name).seen().is_some_and(|it| it.metadata.deletion_timestamp.is_none()) {
        add_inside(case, &mut scan, Some(name));
        scan.add_other_kinds(case, Some(name), case.lister.scans_all_kinds());
    }
    scan.objects.push(ObjectRef::cluster_wide(known::NAMESPACES, name));
    scan
}

fn unknown_namespace(case: &mut Case, name: &str) {
    let near = near_names::near(case, &ObjectRef::cluster_wide(known::NAMESPACES, name));
    case.diagnosis.missing = true;
    case.diagnosis.words = format!("namespace {name:?} not found{near}; `kubectl get namespaces` lists them");
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
fn on_node(case: &mut Case, name: &str) -> Vec<ObjectRef> {
    let pods = case.diagnosis.required("pods", "what this node holds", case.lister.pods_on(name));
    let is_terminating = |pod: &&&Pod| pod.metadata.deletion_timestamp.is_some();
    let terminating: Vec<&Pod> = pods.iter().flatten().filter(is_terminating).copied().collect();
    let mut found: Vec<ObjectRef> = terminating
        .iter()
        .map(|one| ObjectRef::pod(one.metadata.namespace.as_deref().unwrap_or_default(), &one.metadata.name))
        .collect();
    found.push(ObjectRef::node(name));
    found
}
