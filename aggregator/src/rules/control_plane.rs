//! Whether the controllers act at all.

use findings::{cause, duration};

use crate::graph::{Found, Standing, Step, View};
use crate::state::*;

/// The controller manager's Lease, if it has run out.
pub fn silent(view: &View, standing: &mut Standing, thing: &Thing) -> Option<Found> {
    let name = "kube-controller-manager";
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
