//! Finalizers: who must take one off, and whether that program lives.

pub(super) mod controller_reports;
pub(super) mod ineffective_removal;
pub(super) mod paused;
pub(super) mod registry;
pub(super) mod remover;
pub(super) mod users;

use crate::cause::cluster::shared::*;
use crate::cause::page::*;

causes! {
    ORPHAN_FINALIZER_PENDING = Cause::cluster(ClusterArea::Finalizer, "OrphanFinalizerPending")
        .title("The garbage collector has not orphaned the dependents yet")
        .meaning("The object was deleted with --cascade=orphan: the garbage collector first removes the owner \
            reference from every dependent, then the finalizer from the object. It has not come that far.")
        .proof("orphan is among its finalizers.")
        .safe(&[
            READ_LEASE,
            check("Read its log; garbagecollector names the dependent it cannot change"),
        ])
        .dont("Do not remove orphan",
            "Dependents that still name the object as their owner are deleted by the garbage collector.")
        .sources(&["reference: garbage collector"])
        .diagnosis(Proven::Cluster("idle-controllers"));
}
