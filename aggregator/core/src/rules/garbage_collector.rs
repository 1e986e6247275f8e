//! What keeps the garbage collector from its work: a kind that it cannot list, an owner that it cannot look up, a right that
//! was taken from it.

use super::api_service;
use super::crd::conversion;
use super::rights::{self, Permission};
use crate::rules::prelude::*;

const NAME: &str = "garbage collector";

/// As what it works, and its role.
const ACCOUNT: (&str, &str) = ("kube-system", "generic-garbage-collector");
/// It patches owners and dependents and never updates them (kubernetes: pkg/controller/garbagecollector/operations.go).
const CHANGE: &[&str] = &["patch"];
const ROLE: &str = "system:controller:generic-garbage-collector";

/// From this minor version on it starts although a kind cannot be listed (kubernetes#125796).
const STARTS_WITHOUT_ALL: u32 = 32;

/// Says in `diagnosis` what keeps it from patching an object; whether there is something.
pub fn is_kept_from(case: &mut Case, target: &ObjectRef) -> bool {
    let found = not_started(case).or_else(|| forbidden(case, target));
    let is_kept = found.is_some();
    case.diagnosis.causes.extend(found);
    is_kept
}

/// The same of a dependent that it should delete: it looks up every owner of that first (kubernetes:
/// pkg/controller/garbagecollector/garbagecollector.go, `classifyReferences`).
pub fn is_kept_from_dependent(case: &mut Case, target: &ObjectRef, meta: &Meta) -> bool {
    let found = owner_out_of_reach(case, target, meta);
    let is_out_of_reach = found.is_some();
    case.diagnosis.causes.extend(found);
    is_kept_from(case, target) || is_out_of_reach
}

/// An owner whose API does not answer. Without its APIService the kind is not served, and the owner is not found either.
fn owner_out_of_reach(case: &mut Case, target: &ObjectRef, meta: &Meta) -> Option<RootCause> {
    let discovery = case.lister.discovery().seen()?;
    let is_dead = |owner: &&Owner| {
        let (group, _) = owner.group_version();
        !group.is_empty() && discovery.is_stale(group)
    };
    let owner = meta.owner_references.iter().find(is_dead)?;
    let (group, version) = owner.group_version();
    let api = ObjectRef::api_service(group, version);
    let its = case.apart(api_service::explain, &api);
    case.diagnosis.pending |= its.pending;
    let Owner { api_version, kind, name, .. } = owner;
    let words = format!("the {NAME} cannot look up its owner {kind} {name} of {api_version}, and keeps it");
    let found = RootCause::below(&cause::OWNER_API_NOT_ANSWERING, target)
        .same_as(&api)
        .name(Placeholder::ApiService, &api.name)
        .step(Step::about(target, &words))
        .evidence(format!("ownerReferences of {target}"), format!("{api_version} {kind} {name}"));
    let Some(root) = its.causes.first() else { return Some(found.step(Step::about(&api, &its.words))) };
    let found = if root.here { found } else { found.step(Step::about(&api, &its.words)) };
    let evidence = root.draft.evidence.iter().map(|one| (&one.source, &one.says));
    Some(root.steps.iter().cloned().fold(found.with_evidence(evidence), RootCause::step))
}

/// A kind whose objects cannot be converted cannot be listed, and it waits for the lists of all kinds.
fn not_started(case: &mut Case) -> Option<RootCause> {
    let minor = case.diagnosis.silently(case.lister.version()).and_then(Version::minor)?;
    if minor >= STARTS_WITHOUT_ALL {
        return None;
    }
    let answer = case.lister.list::<Crd>(known::CRDS, Scope::All);
    let all = case.diagnosis.optional(known::CRDS.plural, "whether a kind cannot be listed", answer)?;
    for one in all.into_iter().filter(|one| one.needs_converter()) {
        let target = ObjectRef::cluster_wide(known::CRDS, &one.metadata.name);
        let its = case.apart(conversion::explain, &target);
        case.diagnosis.pending |= its.pending;
        let Some(root) = its.causes.iter().find(|root| conversion::is_of_conversion(root)) else { continue };
        let words = format!(
            "does not start, for the whole cluster: before Kubernetes 1.{STARTS_WITHOUT_ALL} it must list every kind \
             first, and this server is 1.{minor}"
        );
        let root = root.clone().under(Step::about(&target, &its.words)).under(Step::named(NAME, &words));
        return Some(root.evidence("version of the server", format!("1.{minor}")).probable(
            "whether the controller manager started, or another of its replicas took over, since the conversion broke: its \
             log has \"timed out waiting for dependency graph builder sync\"",
        ));
    }
    None
}

/// Its role grants it to change everything; that may have been taken away.
fn forbidden(case: &mut Case, target: &ObjectRef) -> Option<RootCause> {
    let account = (ACCOUNT.0.to_owned(), ACCOUNT.1.to_owned());
    let Permission::Not(why) = rights::may(case, &account, CHANGE, target) else { return None };
    let words = format!("may not patch {}: {why}", target.resource.for_kubectl());
    Some(
        RootCause::below(&cause::BUILT_IN_CONTROLLER_FORBIDDEN, target)
            .same_as(ROLE)
            .step(Step::named(NAME, &words))
            .evidence(format!("ClusterRole {ROLE} and its binding"), words)
            .probable("whether another authorizer than RBAC lets it"),
    )
}
