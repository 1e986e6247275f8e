//! Whether the controllers act at all.

use crate::cause::cluster::shared::*;
use crate::cause::page::*;

causes! {
    CONTROLLER_MANAGER_SILENT = Cause::cluster(ClusterArea::ControlPlane, "ControllerManagerSilent")
        .holds_from_the_start()
        .title("The controller manager does not run")
        .meaning("kube-controller-manager holds the namespace, volume protection, garbage, pod clean-up and node \
            lifecycle controllers. It has not renewed its Lease, so nothing acts on deletions; nothing is wrong with \
            what is being deleted.")
        .proof("The Lease kube-system/kube-controller-manager is older than twice its duration, and \
            kube-controller-manager has written no status of a Namespace or Node since (managedFields). A Lease older \
            than a day may be left from a time with leader election, so it is probable.")
        .safe(&[
            check("See who held it and since when it is silent")
                .run("kubectl -n kube-system get lease kube-controller-manager -o yaml").typed(),
            step("Start kube-controller-manager on a control plane node; its log says why it ended"),
        ])
        .danger(CONTENT_BY_HAND)
        .sources(&["reference: a controller manager stopped with SIGTERM"])
        .diagnosis(Proven::Cluster("control-plane"));

    ALL_LEASES_EXPIRED = Cause::cluster(ClusterArea::ControlPlane, "AllLeasesExpired")
        .holds_from_the_start()
        .title("The Leases of all nodes have run out")
        .meaning("No node renews its Lease, mostly the controllers do not either, and the API server answers: that so \
            many hosts fail at once is unlikely. The kubelets cannot reach the API server (its address, its load \
            balancer, its certificate), the API server asks with a clock that is wrong, or its storage was set back to \
            an older state. Silent nodes and unfinished deletions all follow from that.")
        .proof("There are at least two Leases in kube-node-lease, and every one is older than twice its duration by the \
            clock of this program. The API does not show which of the reasons it is.")
        .safe(&[
            check("Compare the times: of the API server, of the nodes, and of the last renewals")
                .run("kubectl -n kube-node-lease get leases -o yaml").typed(),
            check("On any node, read why its kubelet does not reach the API server (refused, no route, certificate); that \
                of RKE2 writes /var/lib/rancher/rke2/agent/logs/kubelet.log")
                .run(KUBELET_JOURNAL),
            step("Repair that way; the kubelets and controllers then continue automatically"),
        ])
        .dont("Do not run kubectl delete pod --force, delete Nodes, or set the out-of-service taint",
            "The hosts most likely run on, and with them every container: each replacement is a second copy on the \
                same data.")
        .sources(&["reference: node lifecycle controller, full disruption"])
        .diagnosis(Proven::Cluster("leases-expired"));

    ETCD_NOT_WORKING = Cause::cluster(ClusterArea::ControlPlane, "EtcdNotWorking")
        .holds_from_the_start()
        .title("etcd does not answer, or takes no writes")
        .meaning("The API server cannot write to etcd: it does not answer, has no leader, or has used up its quota. \
            Lists from the API server's cache may still answer while no controller can remove a finalizer or renew its \
            Lease. With a used-up quota /readyz says ok, and a plain delete still works.")
        .proof("An answer or a condition has an error of etcd (etcdserver: …), the API server's own check fails \
            (/livez?verbose: [-]etcd failed), or no API server has renewed its own Lease (kube-system, label \
            apiserver.kubernetes.io/identity, every 10 s) for a minute, although one of them answers. Sooner it is probable, where the controller manager \
            stopped at the same time.")
        .safe(&[
            check("Of a member, see whether its quota is used up (alarm:NOSPACE): it then still answers").run("etcdctl alarm list"),
            check("See whether etcd answers: its leader, the latency of its disk, its members")
                .run("kubectl get --raw '/livez/etcd'"),
            step("Repair etcd. Without space: compact and defragment one member after the other, then disarm the alarm; \
                the deletions then continue automatically"),
        ])
        .danger(CONTENT_BY_HAND)
        .sources(&["reference: etcd with a small quota", "reference: etcd stopped with SIGSTOP"])
        .diagnosis(Proven::Cluster("etcd-full"));

    BUILT_IN_CONTROLLER_FORBIDDEN = Cause::cluster(ClusterArea::ControlPlane, "BuiltInControllerForbidden")
        .title("The namespace controller or the garbage collector lacks a right")
        .meaning("A controller of the controller manager is refused by RBAC: the namespace controller, so it cannot empty \
            namespaces, or the garbage collector, so owners wait for their dependents in the whole cluster. The ClusterRole of \
            each is made by the API server at its start and must allow everything to be listed and deleted.")
        .proof("NamespaceDeletionContentFailure holds: is forbidden: User \
            \"system:serviceaccount:kube-system:namespace-controller\" cannot …. Or there is no condition at all, and no \
            role that is bound to this account grants update on namespaces/status. Or discovery fails for it as a whole, \
            and no binding gives it system:discovery. Of the garbage collector: no role that a binding gives to \
            kube-system/generic-garbage-collector grants patch of the kind. Another authorizer may let it, so that is probable.")
        .safe(&[
            check("Read the roles and bindings: each controller's must grant delete, get, list and watch on everything; \
                system:discovery must be bound to the group system:authenticated")
                .run("kubectl get clusterrole,clusterrolebinding system:controller:namespace-controller \
                    system:controller:generic-garbage-collector system:discovery --ignore-not-found -o yaml").typed(),
            step("Restore them: restarting kube-apiserver writes the default roles and bindings again, unless they have the \
                annotation rbac.authorization.kubernetes.io/autoupdate: false"),
        ])
        .danger(CONTENT_BY_HAND)
        .sources(&["reference: namespace controller role",
            "kubernetes: plugin/pkg/auth/authorizer/rbac/bootstrappolicy/controller_policy.go"])
        .diagnosis(Proven::Cluster("control-plane"));

    API_REQUESTS_REJECTED = Cause::cluster(ClusterArea::ControlPlane, "ApiRequestsRejected")
        .title("The API server rejects the namespace controller's requests")
        .meaning("Priority and fairness rejects the namespace controller's requests, because its priority level is \
            full. Deletions continue when the level has room again.")
        .proof("NamespaceDeletionContentFailure holds: the server has received too many requests.")
        .safe(&[
            check("See which level is full and who fills it")
                .run("kubectl get --raw /debug/api_priority_and_fairness/dump_priority_levels"),
            step("Slow down the client that fills it"),
        ])
        .danger(CONTENT_BY_HAND)
        .sources(&["reference: 429 from priority and fairness"])
        .diagnosis(Proven::Observation);
}
