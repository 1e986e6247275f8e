//! Why an aggregated API is not served.

use crate::cause::circumstance::{Circumstance, Creation, Reach};
use crate::cause::cluster::shared::*;
use crate::cause::page::*;

const READ_APISERVICE: Advice =
    check("Read what the API server says about it").run("kubectl get apiservice {apiservice} -o yaml").typed();

const GOES_BY_ITSELF: Advice = check(
    "Then wait: the namespace controller tries again within a minute, and the namespaces are deleted automatically",
);

const POSSIBLE: Circumstance = Circumstance::Creation(Creation::Possible);
const CONNECTION_REFUSED: Circumstance = Circumstance::Reach(Reach::Refused);
const CUT: Circumstance = Circumstance::Reach(Reach::Cut);
const LATE: Circumstance = Circumstance::Reach(Reach::Late);

causes! {
    API_SERVICE_WITHOUT_SERVICE = Cause::cluster(ClusterArea::Api, "ApiServiceWithoutService")
        .holds_from_the_start()
        .title("An aggregated API has lost its Service")
        .meaning("An APIService sends a group and version to a Service that does not exist. The namespace controller \
            must list every group before it finishes a namespace, so this one API holds every namespace deletion in \
            the cluster, whether or not a namespace has objects of it.")
        .proof("The APIService has Available=False with reason ServiceNotFound, and the Service it names is not there \
            (404).")
        .safe(&[
            READ_APISERVICE,
            step("If the add-on should be there, install it again: its Service {service} comes back with it")
                .when(&[POSSIBLE]),
            step("If the add-on was removed for good, remove what it left behind; nothing is behind this API any more")
                .run("kubectl delete apiservice {apiservice}")
                .e2e("dead-api"),
            GOES_BY_ITSELF,
        ])
        .danger(EMPTY_THE_NAMESPACE)
        .sources(&["kubernetes#60807", "kubernetes#70916"])
        .diagnosis(Proven::Cluster("dead-api"));

    API_SERVICE_WITHOUT_ENDPOINTS = Cause::cluster(ClusterArea::Api, "ApiServiceWithoutEndpoints")
        .holds_from_the_start()
        .title("An aggregated API has no ready endpoint")
        .meaning("The Service behind an APIService has no ready endpoint. The namespace controller must list every \
            group before it finishes a namespace, so this one API holds every namespace deletion in the cluster, even \
            of empty namespaces and even if the API has nothing that could be deleted (metrics.k8s.io).")
        .proof("The APIService has Available=False with reason MissingEndpoints or EndpointsNotFound, and no \
            EndpointSlice of its Service has a ready address.")
        .safe(&[
            check("Read why the last container exited")
                .run("kubectl -n {namespace} logs {workload} --previous").if_known().when(&[CRASHING]),
            check("See which pods should serve it and why none is ready")
                .run("kubectl -n {namespace} get endpointslices,deployments,pods -o wide").typed(),
            step("Start {workload} again")
                .run("kubectl -n {namespace} scale {workload} --replicas=1").if_known().when(&[SCALED_DOWN]),
            step("Repair what keeps its pods from being ready: image, scheduling, probe, node")
                .when(&[NOT_READY, CRASHING, UNSEEN]),
            step("If the add-on should be there, install it again").when(&[ABSENT, UNSEEN, UNKNOWN]),
            GOES_BY_ITSELF,
            step("Only if the add-on was removed for good: remove its APIService")
                .run("kubectl delete apiservice {apiservice}"),
        ])
        .dont("Do not run kubectl delete apiservice before the add-on is removed for good, or empty spec.finalizers of the namespaces",
            "Without the APIService whatever uses that API fails (for metrics.k8s.io: autoscaling and kubectl top). \
                Emptied finalizers leave the namespaces' objects in etcd, where no client can remove them.")
        .sources(&["kubernetes#60807", "kubernetes#77086"])
        .diagnosis(Proven::Recording("discovery-failure"));

    API_SERVICE_UNREACHABLE = Cause::cluster(ClusterArea::Api, "ApiServiceUnreachable")
        .holds_from_the_start()
        .title("The API server cannot reach the pod behind an aggregated API")
        .meaning("The pod behind an APIService is Ready, and the API server cannot reach it: the path between control \
            plane and pod is cut, not the pod; only where no answer came in time may the pod be too slow instead. Every \
            namespace deletion of the cluster waits for that group.")
        .proof("The APIService has Available=False with reason FailedDiscoveryCheck and a dial error or time-out in \
            its message, while its Service has a ready endpoint. Where on the way it is cut is inferred from other APIs \
            on the same node, so a time-out is probable; a refused connection is proven. A time-out without \"dial\" \
            (context deadline exceeded) does not show whether the pod was reached.")
        .safe(&[
            READ_APISERVICE,
            step("See first whether the pod is too slow: its processor limit, its restarts, its log").when(&[LATE]),
            step("A refused connection is an answer: nothing listens at that port. Compare the Service's targetPort with the \
                port that the pod listens on, and read the pod's log").when(&[CONNECTION_REFUSED]),
            check("See whether other pods of node {node} are out of reach too: only this port means a firewall or \
                security group between control plane and nodes, all of the node means its route or tunnel, pods of \
                every node means the way out of the control plane")
                .run("kubectl get apiservices,endpointslices -A -o wide").typed().if_known().when(&[CUT, LATE]),
            step("Repair the path: open the port from the control plane to the nodes (in private clusters only 443 and \
                10250 are open), or mend route, CNI or tunnel (konnectivity)").when(&[CUT, LATE]),
            GOES_BY_ITSELF,
        ])
        .dont("Do not run kubectl delete apiservice",
            "The path stays cut: webhooks and other APIs behind it fail the same way, and whatever uses this API fails \
                now too.")
        .sources(&["keda#1231", "a user's report: a missing route to a node's pods"])
        .diagnosis(Proven::Cluster("extension-repaired"));

    NODE_ROUTE_MISSING = Cause::cluster(ClusterArea::Api, "NodeRouteMissing")
        .holds_from_the_start()
        .title("The route to a node's pods is probably missing")
        .meaning("Several ready pods on a node cannot be reached from the control plane, and the node itself talks to \
            the API server. The route to the node's pod addresses is what lies between; in clouds the route controller keeps \
            it. Whether it may do so is decided by cloud permissions, which the Kubernetes API does not show.")
        .proof("Dial errors to ready endpoints of at least two APIs on one node, which is Ready, and none that is \
            reached there; or one, and the node's condition NetworkUnavailable with the reason NoRouteCreated or an Event \
            FailedToCreateRoute of the route controller, which has the cloud's words. Without the condition the route is \
            an inference, so it is probable.")
        .safe(&[
            check("Read the cloud controller manager's log: the route controller cannot repair what its cloud \
                permissions do not let it read or write")
                .run("kubectl -n kube-system logs -l k8s-app=cloud-controller-manager --tail=200"),
            check("Look for the route of {pod_cidr} to node {node} in the cloud's route table").if_known(),
            step("Restore the permissions or the route; the namespaces are then deleted automatically"),
        ])
        .dont("Do not run kubectl delete apiservice",
            "It hides the cut path; the next webhook or API served from that node fails again.")
        .sources(&["a user's report: the cloud role could not read the VPC"])
        .diagnosis(Proven::Cluster("extension-repaired"));

    API_SERVICE_REFUSES_AGGREGATOR = Cause::cluster(ClusterArea::Api, "ApiServiceRefusesAggregator")
        .holds_from_the_start()
        .title("An extension API server does not trust the API server")
        .meaning("The server behind an APIService answers 401 or 403 to the API server itself: it does not know the \
            certificate by which requests are passed on, or may not read it. Every namespace deletion waits for its \
            group.")
        .proof("The APIService has Available=False and its message holds: bad status from … 401 or 403.")
        .safe(&[
            READ_APISERVICE,
            check("See whether the trust is published: requestheader-client-ca-file must be among the keys")
                .run("kubectl -n kube-system get configmap extension-apiserver-authentication -o yaml").typed(),
            check("See whether its ServiceAccount may read that: a RoleBinding to \
                extension-apiserver-authentication-reader in kube-system")
                .run("kubectl -n kube-system get rolebindings -o wide").typed(),
            GOES_BY_ITSELF,
        ])
        .dont("Do not bind cluster-admin to the extension server",
            "It hides the missing trust and hands the whole cluster to one add-on.")
        .sources(&["metrics-server#531", "kube-prometheus#1026"])
        .diagnosis(Proven::Cluster("extension-repaired"));

    API_SERVICE_CERTIFICATE_INVALID = Cause::cluster(ClusterArea::Api, "ApiServiceCertificateInvalid")
        .holds_from_the_start()
        .title("An extension API server's certificate is not accepted")
        .meaning("The API server does not accept the certificate of the server behind an APIService: it has expired, \
            or spec.caBundle belongs to another one. Every namespace deletion waits for its group.")
        .proof("The APIService has Available=False and its message holds x509.")
        .safe(&[
            READ_APISERVICE,
            step("Renew the serving certificate, or have spec.caBundle filled in again (cert-manager's CA injector)"),
            GOES_BY_ITSELF,
        ])
        .dont("Do not set insecureSkipTLSVerify: true", "Anybody on the path can answer in the place of that API.")
        .sources(&["reference: APIService x509"])
        .diagnosis(Proven::Cluster("extension-repaired"));

    API_SERVICE_UNAVAILABLE = Cause::cluster(ClusterArea::Api, "ApiServiceUnavailable")
        .holds_from_the_start()
        .title("An aggregated API is not available")
        .meaning("The API server says that an APIService is not available: it names a port that its Service does not have \
            (ServicePortError), or the words are such as this version does not know. Every namespace deletion of the cluster waits for its group.")
        .proof("The APIService has Available=False or Unknown.")
        .safe(&[
            READ_APISERVICE,
            check("Compare its port with those of the Service, and correct whichever is wrong")
                .run("kubectl -n {namespace} get service {service_name} -o yaml").typed().if_known(),
            GOES_BY_ITSELF,
        ])
        .danger(EMPTY_THE_NAMESPACE)
        .sources(&["kubernetes#60807", "reference: APIService ServicePortError"])
        .diagnosis(Proven::Cluster("extension-repaired"));

    API_DISCOVERY_STALE = Cause::cluster(ClusterArea::Api, "ApiDiscoveryStale")
        .holds_from_the_start()
        .title("An API is said to be available, and its resources cannot be listed")
        .meaning("The check behind Available asks one path and discovery asks another: the server of this group \
            answers the first and fails the second. The namespace controller needs the second, so every namespace \
            deletion waits.")
        .proof("Discovery gives the version as stale, or the namespace's NamespaceDeletionDiscoveryFailure names it, \
            and no APIService of it is unavailable.")
        .safe(&[
            check("Ask for the group yourself and read the answer")
                .run("kubectl get --raw /apis/{group_version}").typed(),
            step("Repair the discovery of the extension server behind it (it must answer /apis as well)"),
            GOES_BY_ITSELF,
        ])
        .danger(EMPTY_THE_NAMESPACE)
        .sources(&["kubernetes#119662"])
        .diagnosis(Proven::Cluster("extension-stale"));

    API_SERVICE_FORBIDS = Cause::cluster(ClusterArea::Api, "ApiServiceForbids")
        .title("The server of an aggregated API refuses the request")
        .meaning("The group in the message is served by an extension API server, which decides for itself what each \
            user may do. It answers 403. The roles of the cluster may be whole: an extension server that cannot ask \
            kube-apiserver (SubjectAccessReview), or has an authorization of its own, refuses all the same.")
        .proof("NamespaceDeletionContentFailure holds \"is forbidden\" for a resource of a group whose APIService names a \
            Service. Which of the two servers wrote the message is inferred, so where only the object itself says it, it is \
            probable.")
        .safe(&[
            check("Read which Service answers for the group").run("kubectl get apiservice {apiservice} -o yaml").typed(),
            check("See whether its account may ask kube-apiserver: a ClusterRoleBinding to system:auth-delegator")
                .run("kubectl get clusterrolebindings -o wide").typed(),
            check("Compare with the role, which must grant delete, deletecollection, get, list and watch on everything")
                .run("kubectl get clusterrole system:controller:namespace-controller -o yaml").typed(),
            step("Repair the extension server's authorization; the namespace controller tries again within a minute"),
        ])
        .danger(CONTENT_BY_HAND)
        .sources(&["kubernetes: apiserver/pkg/authentication/request/headerrequest", "reference: namespace controller role"])
        .diagnosis(Proven::Cluster("extension-403"));
}
