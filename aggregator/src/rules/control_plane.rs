//! Whether the controllers act at all.

use findings::{Unknown, cause, duration};

use crate::graph::{Found, Standing, Step, View};
use crate::state::*;

const MANAGER: &str = "kube-controller-manager";

/// Whether nobody judges nodes, so that what a Node says of itself may be old.
pub fn is_silent(view: &View, standing: &mut Standing) -> bool {
    let answer = view.get::<Lease>(known::LEASES, Some("kube-system"), MANAGER);
    standing.open |= matches!(answer, Answer::Unasked);
    answer.seen().is_some_and(|lease| lease.expired_for(view.state.at).is_some())
}

/// etcd, if our own questions failed there. While it takes no writes, no controller can write down
/// what it ran into.
pub fn storage_fails(standing: &Standing, thing: &Thing) -> Option<Found> {
    let Unknown { source, why, .. } = standing.unknown.iter().find(|unknown| unknown.why.contains("etcdserver: "))?;
    let is_full = why.contains("space exceeded");
    let cause = if is_full { &cause::ETCD_SPACE_EXCEEDED } else { &cause::ETCD_NOT_RESPONDING };
    let words = if is_full { "takes no more writes" } else { "does not answer" };
    Some(
        Found::below(cause, thing)
            .same_as("etcd")
            .step(Step::named("etcd", format!("{words}: {why}")))
            .evidence(format!("our own question for {source}"), why),
    )
}

/// The controller manager's Lease, if it has run out.
pub fn silent(view: &View, standing: &mut Standing, thing: &Thing) -> Option<Found> {
    let name = MANAGER;
    let answer = view.get::<Lease>(known::LEASES, Some("kube-system"), name);
    let lease = standing.see(format!("Lease kube-system/{name}"), "whether the controllers run", answer)?;
    let age = lease.expired_for(view.state.at)?;
    let words = format!("has not renewed its Lease for {} (held by {})", duration(age), lease.spec.holder_identity);
    Some(
        Found::below(&cause::CONTROLLER_MANAGER_SILENT, thing)
            .same_as(name)
            .step(Step::named("kube-controller-manager", &words))
            .evidence(format!("Lease kube-system/{name}"), words),
    )
}
