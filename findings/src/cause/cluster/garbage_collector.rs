//! What keeps the garbage collector from its work.

use crate::cause::entry::{Cause, ClusterArea, Danger, Proven, step};

causes! {
    /// The garbage collector's rights were taken away.
    GARBAGE_COLLECTOR_FORBIDDEN = Cause::cluster(ClusterArea::ControlPlane, "GarbageCollectorForbidden")
        .title("The garbage collector lacks a right")
        .meaning("The garbage collector works as ServiceAccount kube-system/generic-garbage-collector. Its ClusterRole is \
            made by the API server at its start and must let it change and delete everything. No role that is bound to it \
            does so any more, so owners that wait for their dependents stay, in the whole cluster.")
        .proof("No ClusterRole or Role that a binding gives to the account grants update or patch of the kind, and the \
            neighbouring role system:controller:namespace-controller is there. Another authorizer may let it, so it is \
            probable.")
        .safe(&[
            step("Check its role and binding").run("kubectl get clusterrole,clusterrolebinding \
                system:controller:generic-garbage-collector --ignore-not-found -o yaml"),
            step("Restore them: restarting kube-apiserver writes the default roles and bindings again, unless they have the \
                annotation rbac.authorization.kubernetes.io/autoupdate: false"),
        ])
        .danger(Danger::new(
            "Removing foregroundDeletion",
            "The owner is deleted, and its dependents stay without one.",
        ))
        .sources(&["kubernetes: plugin/pkg/auth/authorizer/rbac/bootstrappolicy/controller_policy.go"])
        .event_reason("GarbageCollectorForbidden")
        .diagnosis(Proven::Observation);
}
