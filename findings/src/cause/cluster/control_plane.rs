//! Whether the controllers act at all.

use crate::cause::cluster::shared::CONTENT_BY_HAND;
use crate::cause::entry::{Cause, ClusterArea, Proven, step};

causes! {
    /// The controller manager does not renew its Lease.
    CONTROLLER_MANAGER_SILENT = Cause::in_cluster(ClusterArea::ControlPlane, "ControllerManagerSilent")
        .title("The controller manager does not run")
        .meaning("kube-controller-manager holds the namespace, volume protection, garbage, pod clean-up and node \
            lifecycle controllers. It has not renewed its Lease, so nobody acts on deletions; nothing is wrong with \
            what is being deleted.")
        .proof("The Lease kube-system/kube-controller-manager is older than twice its duration, and \
            kube-controller-manager has written no status of a Namespace or Node since (managedFields). A Lease older \
            than a day may be left from a time with leader election, so it is probable.")
        .safe(&[
            step("See who held it and since when it is silent")
                .run("kubectl -n kube-system get lease kube-controller-manager -o yaml").typed(),
            step("Start kube-controller-manager on a control plane machine; its log says why it ended"),
        ])
        .danger(CONTENT_BY_HAND)
        .sources(&["reference: a controller manager stopped with SIGTERM"])
        .event_reason("ControllerManagerSilent")
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
        .danger(CONTENT_BY_HAND)
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
        .danger(CONTENT_BY_HAND)
        .sources(&["reference: etcd stopped with SIGSTOP"])
        .event_reason("EtcdNotResponding")
        .diagnosis(Proven::Observation);
}
