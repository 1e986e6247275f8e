//! The control plane itself: nobody acts on the deletion, or nothing can be written.

use crate::cause::entry::{Cause, ClusterArea, Danger, Proven, step};

const BY_HAND: Danger = Danger::new(
    "Deleting the objects by hand, or emptying spec.finalizers (PUT /finalize)",
    "Nothing is wrong with the objects. What is removed by hand is not cleaned up, and an emptied namespace leaves its \
        objects in etcd.",
);

causes! {
    /// The controller manager does not renew its Lease.
    CONTROLLER_MANAGER_SILENT = Cause::in_cluster(ClusterArea::ControlPlane, "ControllerManagerSilent")
        .title("The controller manager does not run")
        .meaning("kube-controller-manager holds the namespace, volume protection, garbage, pod clean-up and node \
            lifecycle controllers. It has not renewed its Lease, so nobody acts on deletions; nothing is wrong with \
            what is being deleted.")
        .proof("The Lease kube-system/kube-controller-manager is older than twice its duration.")
        .safe(&[
            step("See who held it and since when it is silent")
                .run("kubectl -n kube-system get lease kube-controller-manager -o yaml").typed(),
            step("Start kube-controller-manager on a control plane machine; its log says why it ended"),
        ])
        .danger(BY_HAND)
        .sources(&["reference: a controller manager stopped with SIGTERM"])
        .event_reason("ControllerManagerSilent")
        .diagnosis(Proven::Observation);

    /// The namespace controller may not list or delete something.
    NAMESPACE_CONTROLLER_FORBIDDEN = Cause::in_cluster(ClusterArea::ControlPlane, "NamespaceControllerForbidden")
        .title("The namespace controller lacks a right")
        .meaning("The namespace controller is refused by RBAC, so it cannot empty namespaces. Its ClusterRole is made \
            by the API server at its start and must allow everything to be listed and deleted.")
        .proof("NamespaceDeletionContentFailure holds: is forbidden: User \
            \"system:serviceaccount:kube-system:namespace-controller\" cannot ….")
        .safe(&[
            step("Look at the role; it must grant delete, deletecollection, get, list and watch on everything")
                .run("kubectl get clusterrole system:controller:namespace-controller -o yaml").typed(),
            step("Restore it: restarting kube-apiserver writes the default roles again"),
        ])
        .danger(BY_HAND)
        .sources(&["reference: namespace controller role"])
        .event_reason("NamespaceControllerForbidden")
        .diagnosis(Proven::Observation);

    /// etcd is out of space.
    ETCD_SPACE_EXCEEDED = Cause::in_cluster(ClusterArea::ControlPlane, "EtcdSpaceExceeded")
        .title("etcd is out of space")
        .meaning("etcd takes no more writes. Plain deletes still work, but whatever must be updated first fails: \
            graceful deletion, taking off a finalizer, a status. /readyz goes on saying ok.")
        .proof("A write is answered: etcdserver: mvcc: database space exceeded.")
        .safe(&[
            step("Compact and defragment etcd, then disarm the alarm; do one member after the other")
                .run("etcdctl alarm list"),
            step("Find what filled it (events, a controller that writes without end)"),
        ])
        .danger(BY_HAND)
        .sources(&["reference: etcd with a small quota"])
        .event_reason("EtcdSpaceExceeded")
        .diagnosis(Proven::Observation);

    /// etcd does not answer in time.
    ETCD_NOT_RESPONDING = Cause::in_cluster(ClusterArea::ControlPlane, "EtcdNotResponding")
        .title("etcd does not answer in time")
        .meaning("Requests to etcd time out. Lists from the API server's cache may still answer while every write \
            fails, and controllers lose their Leases.")
        .proof("An answer or a condition holds etcdserver: request timed out, or context deadline exceeded from etcd.")
        .safe(&[
            step("Look at etcd: its leader, the latency of its disk, its members")
                .run("kubectl get --raw '/readyz/etcd'"),
            step("Repair etcd; deletions then go on by themselves"),
        ])
        .danger(BY_HAND)
        .sources(&["reference: etcd stopped with SIGSTOP"])
        .event_reason("EtcdNotResponding")
        .diagnosis(Proven::Observation);

    /// The API server rejects the controllers' requests (429).
    API_REQUESTS_REJECTED = Cause::in_cluster(ClusterArea::ControlPlane, "ApiRequestsRejected")
        .title("The API server turns the namespace controller away")
        .meaning("Priority and fairness rejects the namespace controller's requests, because its priority level is \
            full. Deletions go on when the level has room again.")
        .proof("NamespaceDeletionContentFailure holds: the server has received too many requests.")
        .safe(&[
            step("See which level is full and who fills it")
                .run("kubectl get --raw /debug/api_priority_and_fairness/dump_priority_levels"),
            step("Slow down the client that fills it"),
        ])
        .danger(BY_HAND)
        .sources(&["reference: 429 from priority and fairness"])
        .event_reason("ApiRequestsRejected")
        .diagnosis(Proven::Observation);
}
