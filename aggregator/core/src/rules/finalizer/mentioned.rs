//! Other objects that an object's metadata names: the one whose name is a part of its finalizer's, and the owner.

use super::blocking_finalizer::{BlockingFinalizer, is_within};
use super::controller::is_object_name;
use crate::rules::object_reports;
use crate::rules::phrases::Quote;
use crate::rules::prelude::*;

/// More owners are not looked up.
const MAX_OWNERS: usize = 4;
/// Nor longer names of kinds.
const MAX_SPLITS: usize = 3;
/// Of an object with more, no query is made for each: tenants choose their names.
const MAX_FINALIZERS: usize = 8;

/// What was seen of them, and whether it explains that a controller does nothing. One that is being deleted is waited for.
pub fn read(case: &mut Case, blocking: &BlockingFinalizer) -> Vec<(Quote, bool)> {
    let mut found = Vec::from_iter(in_finalizer(case, blocking).map(|quote| (quote, true)));
    let namespace = blocking.target.namespace.as_deref();
    // Where all is deleted in any order, that says little.
    let is_emptied = namespace.is_some_and(|name| case.lister.is_namespace_terminating(name));
    found.extend(owners_gone(case, blocking).into_iter().map(|quote| (quote, !is_emptied)));
    found
}

/// The object that the end of the finalizer's name is called as: `KIND-NAME` of a kind of the same domain, or the name of
/// another object of the same kind.
fn in_finalizer(case: &mut Case, blocking: &BlockingFinalizer) -> Option<Quote> {
    let BlockingFinalizer { target, finalizer, .. } = blocking;
    let (domain, end) = finalizer.rsplit_once('/').or_else(|| finalizer.rsplit_once('.'))?;
    if !is_object_name(end) || end == target.name || blocking.meta.finalizers.len() > MAX_FINALIZERS {
        return None;
    }
    let discovery = case.diagnosis.silently(case.lister.discovery())?;
    let itself = target.is(known::NAMESPACES).then_some(&target.name);
    let own = target.namespace.as_ref().or(itself);
    // A tenant may have thousands of finalizers: what is served is searched for those of a served domain only.
    let is_of_domain = |group: &str| group.contains('.') && is_within(domain, group);
    let is_served = discovery.versions.iter().any(|served| is_of_domain(&served.group));
    if !is_served && !blocking.is_custom() {
        return None;
    }
    let splits = end.match_indices('-').filter(|_| is_served).take(MAX_SPLITS);
    let of_kind = splits.into_iter().find_map(|(at, _)| {
        let (kind, name) = (&end[..at], &end[at + 1..]);
        let mut all = discovery.all_named(kind).into_iter();
        let (resource, served) = all.find(|(resource, _)| !resource.is_built_in() && is_of_domain(&resource.group))?;
        let namespace = own.filter(|_| served.namespaced).cloned();
        Some(ObjectRef { kind: served.kind.clone().into(), resource, namespace, name: name.to_owned() })
    });
    let same = || ObjectRef { name: end.to_owned(), ..(*target).clone() };
    let other = of_kind.or_else(|| blocking.is_custom().then(same))?;
    let is_telling = other.name.contains(|c: char| c == '-' || c.is_ascii_digit());
    let words_name_it = |case: &mut Case| {
        let said = object_reports::read(case, target, blocking.meta);
        said.iter().any(|said| said.message.names(&other.name))
    };
    // `cleanup` is mostly no object.
    if other.kind == target.kind && !is_telling && !words_name_it(case) {
        return None;
    }
    let answer = case.lister.object(&other.resource, other.namespace.as_deref(), &other.name);
    let is_missing = answer.is_missing();
    let state = match case.diagnosis.silently(answer) {
        Some(one) if one.metadata.deletion_timestamp.is_some() => {
            case.diagnosis.wait_for(other.clone());
            "is being deleted"
        }
        Some(_) => "exists",
        None if is_missing && (words_name_it(case) || (is_telling && other.kind != target.kind)) => "does not exist",
        None => return None,
    };
    Some((target.to_string(), format!("the name of finalizer {finalizer} has that of {other}, which {state}")))
}

/// Owners of custom kinds that do not exist: a controller that works by owner passes the object over.
fn owners_gone(case: &mut Case, blocking: &BlockingFinalizer) -> Vec<Quote> {
    let Some(discovery) = case.diagnosis.silently(case.lister.discovery()) else { return Vec::new() };
    let mut gone = Vec::new();
    for owner in blocking.meta.owner_references.iter().take(MAX_OWNERS) {
        let (group, version) = owner.group_version();
        let Some((resource, served)) = discovery.resource_of_kind(group, version, &owner.kind) else { continue };
        if resource.is_built_in() {
            continue;
        }
        let namespace = blocking.target.namespace.as_deref().filter(|_| served.namespaced);
        let answer = case.lister.object(&resource, namespace, &owner.name);
        let is_missing = answer.is_missing();
        let is_another = case.diagnosis.silently(answer).is_some_and(|one| one.metadata.uid != owner.uid);
        let says = match () {
            () if is_missing => format!("its owner {} {} does not exist", owner.kind, owner.name),
            () if is_another => {
                format!("its owner {} {} is another object by now: its uid differs", owner.kind, owner.name)
            }
            () => continue,
        };
        gone.push((blocking.target.to_string(), says));
    }
    gone
}
