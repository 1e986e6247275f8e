//! Finalizers: who must take one off, and whether that program lives.

pub(super) mod controller_reports;
pub(super) mod ineffective_removal;
pub(super) mod registry;
pub(super) mod third_party;
pub(super) mod users;

pub use controller_reports::*;
pub use ineffective_removal::*;
pub use registry::*;
pub use third_party::*;
pub use users::*;

use crate::cause::entry::{Cause, ClusterArea, Danger, Proven, check};

causes! {
    /// The garbage collector has not orphaned the dependents yet.
    ORPHAN_FINALIZER_PENDING = Cause::cluster(ClusterArea::Finalizer, "OrphanFinalizerPending")
        .title("The garbage collector has not orphaned the dependents yet")
        .meaning("The object was deleted with --cascade=orphan: the garbage collector first removes the owner \
            reference from every dependent, then the finalizer from the object. It has not come that far.")
        .proof("orphan is among its finalizers.")
        .safe(&[
            check("See whether the controller manager runs")
                .run("kubectl -n kube-system get lease kube-controller-manager -o yaml").typed(),
            check("Read its log; garbagecollector names the dependent it cannot change"),
        ])
        .danger(Danger::new(
            "Removing orphan",
            "Dependents that still name the object as their owner are deleted by the garbage collector.",
        ))
        .sources(&["reference: garbage collector"])
        .event_reason("OrphanFinalizerPending")
        .diagnosis(Proven::Cluster("idle-controllers"));
}
