//! What keeps the garbage collector from its work: a kind that it cannot list, an owner that it cannot look up, a right that
//! was taken from it.

use findings::cause;

use super::crd;
use super::finalizer::rights::{self, Permission};
use crate::diagnosis::{Diagnosis, RootCause, Step};
use crate::lister::Lister;
use crate::state::*;

const NAME: &str = "garbage collector";

/// As what it works, and its role.
const ACCOUNT: (&str, &str) = ("kube-system", "generic-garbage-collector");
const ROLE: &str = "system:controller:generic-garbage-collector";
/// A role that the API server makes at the same time: where it is not there either, roles decide nothing.
const NEIGHBOUR: &str = "system:controller:namespace-controller";

/// From this minor version on it starts although a kind cannot be listed (kubernetes#125796).
const STARTS_WITHOUT_ALL: u32 = 32;

/// Says in `diagnosis` what keeps it from an object that it should delete or update; whether there is something.
pub fn is_kept_from(lister: &Lister, diagnosis: &mut Diagnosis, target: &ObjectRef, meta: &Meta) -> bool {
    let before = (diagnosis.causes.len(), diagnosis.waits_for.len());
    owner_out_of_reach(lister, diagnosis, meta);
    let found = not_started(lister, diagnosis).or_else(|| forbidden(lister, diagnosis, target));
    diagnosis.causes.extend(found);
    (diagnosis.causes.len(), diagnosis.waits_for.len()) != before
}

/// It looks up every owner of an object before it touches the object (kubernetes:
/// pkg/controller/garbagecollector/garbagecollector.go, `classifyReferences`).
fn owner_out_of_reach(lister: &Lister, diagnosis: &mut Diagnosis, meta: &Meta) {
    let Some(discovery) = lister.discovery().seen() else { return };
    for owner in &meta.owner_references {
        let (group, version) = owner.group_version();
        if !group.is_empty() && discovery.is_stale(group) {
            diagnosis.wait_for(ObjectRef::api_service(group, version));
        }
    }
}

/// A kind whose objects cannot be converted cannot be listed, and it waits for the lists of all kinds.
fn not_started(lister: &Lister, diagnosis: &mut Diagnosis) -> Option<RootCause> {
    let minor = diagnosis.silently(lister.version()).and_then(Version::minor)?;
    if minor >= STARTS_WITHOUT_ALL {
        return None;
    }
    let answer = lister.list::<Crd>(known::CRDS, Scope::All);
    let all = diagnosis.optional(known::CRDS.plural, "whether a kind cannot be listed", answer)?;
    for one in all.into_iter().filter(|one| one.needs_converter()) {
        let target = ObjectRef::cluster_wide(known::CRDS, &one.metadata.name);
        let its = crd::explain(lister, &target);
        diagnosis.pending |= its.pending;
        let Some(root) = its.causes.iter().find(|root| crd::is_of_conversion(root)) else { continue };
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
fn forbidden(lister: &Lister, diagnosis: &mut Diagnosis, target: &ObjectRef) -> Option<RootCause> {
    let account = (ACCOUNT.0.to_owned(), ACCOUNT.1.to_owned());
    let Permission::Not(why) = rights::may_change(lister, diagnosis, &account, target) else { return None };
    let roles = diagnosis.silently(lister.list::<Role>(known::CLUSTER_ROLES, Scope::All))?;
    if !roles.iter().any(|role| role.metadata.name == NEIGHBOUR) {
        return None;
    }
    let words = format!("may not change {}: {why}", target.resource.for_kubectl());
    Some(
        RootCause::below(&cause::GARBAGE_COLLECTOR_FORBIDDEN, target)
            .same_as(ROLE)
            .step(Step::named(NAME, &words))
            .evidence(format!("ClusterRole {ROLE} and its binding"), words)
            .probable("whether another authorizer than RBAC lets it"),
    )
}
