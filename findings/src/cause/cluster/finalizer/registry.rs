//! Finalizers that are known by name.

use crate::cause::circumstance::{Circumstance, Existence, JobManager};
use crate::cause::cluster::shared::*;
use crate::cause::page::*;

const COUNTED: Circumstance = Circumstance::JobManager(JobManager::ControllerManager);
const MANAGED: Circumstance = Circumstance::JobManager(JobManager::Other);

const REMOTE_BUDGET: Circumstance = Circumstance::RemoteBudget(Existence::Present);
const NO_REMOTE_BUDGET: Circumstance = Circumstance::RemoteBudget(Existence::Gone);

/// What does not run, or is not seen to run.
const NOT_RUNNING: &[Circumstance] = &[NOT_READY, SCALED_DOWN, ABSENT, HIDDEN, UNSEEN, UNKNOWN];

const RELEASE_USERS: Advice = step(
    "Let what uses it name another object, or, if that may go with all that it stands for, delete it first; the object is \
        then deleted automatically",
);

causes! {
    LOAD_BALANCER_CLEANUP_PENDING = Cause::cluster(ClusterArea::Finalizer, "LoadBalancerCleanupPending")
        .title("A Service waits for its load balancer to be removed")
        .meaning("The cloud controller manager removes the finalizer when the load balancer is gone, at once where there \
            never was one. It does not run, or the cloud refuses it. A chart that sets the finalizer itself needs it too, \
            even on a cluster without a cloud.")
        .proof("The Service has the finalizer service.kubernetes.io/load-balancer-cleanup. That there is no load \
            balancer: spec.type is another than LoadBalancer, status.loadBalancer is empty, and no controller set the \
            finalizer.")
        .safe(&[
            check("Read its Events").run("kubectl -n {namespace} describe service {name}").typed(),
            READ_LOG,
            TRY_A_GUARDED_CHANGE,
            check("Restore the cloud controller manager where its Lease has run out; where the Lease is renewed, repair its \
                cloud permissions; NotFound: none is installed")
                .run("kubectl -n kube-system get lease cloud-controller-manager -o yaml").typed()
                .when(&[PENDING, NOT_READY, SCALED_DOWN, ABSENT, HIDDEN, UNSEEN, UNKNOWN]),
            step("Repair what the Event names in the cloud or in the Service: a permission, a lock, an annotation. The \
                controller runs, and tries again").when(&[READY]),
            TAKE_OFF_FOR_NOTHING,
            step("Take the finalizer out of the chart or manifest that sets it").when(&[NOTHING]),
            step("Last resort, only where the cloud no longer has the load balancer: remove this one finalizer; refused if the \
                object or its list has changed").run(TAKE_OFF).if_known().when(&[READY]),
            LAST_RESORT,
        ])
        .note(RESUMES)
        .danger(BY_HAND)
        .sources(&["reference: service controller"])
        .diagnosis(Proven::Cluster("plain-service"));

    ARGO_CD_FINALIZER = Cause::cluster(ClusterArea::Finalizer, "ArgoCdFinalizer")
        .title("Argo CD has not deleted what an Application manages, or not run its hooks")
        .meaning("The Application was deleted in cascade: Argo CD deletes every object it manages first, and runs the \
            hooks that stand before and after that, often a backup. It does not run, a hook fails, or one of these \
            objects is not deleted. Starting Argo CD again continues that deletion, with the hooks.")
        .proof("resources-finalizer.argocd.argoproj.io is left, or its form with /foreground or /background; or \
            pre-delete-finalizer.argocd.argoproj.io or post-delete-finalizer.argocd.argoproj.io, or its form with /cleanup.")
        .safe(&[
            READ_REPORTS,
            READ_LOG,
            TRY_A_GUARDED_CHANGE,
            step("Repair what Argo CD's log names (of a hook its Job or pod says why it fails); it tries again").when(&[READY]),
            step("Restore Argo CD and let it finish").when(NOT_RUNNING),
            step("If what it manages should stay, see to resources-finalizer.argocd.argoproj.io before Argo CD runs again: \
                removing it makes this a non-cascading delete"),
        ])
        .note("When it continues, Argo CD runs the hooks and deletes all that the Application manages")
        .dont("Do not restart Argo CD without looking, or remove the finalizer of a hook by hand",
            "Argo CD deletes everything these Applications manage, and the hook that is skipped may be its backup.")
        .sources(&["argo-cd#6046", "argo-cd#7330", "argo-cd#19571"])
        .diagnosis(Proven::Cluster("known-finalizers"));

    ROOK_FINALIZER = Cause::cluster(ClusterArea::Finalizer, "RookFinalizer")
        .title("Rook protects a Ceph cluster's data")
        .meaning("Rook put this finalizer there to prevent exactly this deletion: without the object the Ceph \
            cluster's data cannot be read any more.")
        .proof("The finalizer ceph.rook.io/disaster-protection is left.")
        .safe(&[
            check("Find out whether the Ceph cluster is meant to be destroyed").run("kubectl get cephclusters -A"),
            step("If it is not, leave the finalizer: while it is there the object can be read. Save a copy of it"),
            step("If it is, delete the CephCluster: the operator removes this finalizer with it, when nothing depends on \
                the cluster any more"),
        ])
        .dont("Do not remove the finalizer by hand",
            "The keys and addresses of the Ceph cluster are lost, and with them all data in it.")
        .sources(&["rook: pkg/operator/ceph/cluster/controller.go, reconcileDelete"])
        .diagnosis(Proven::Cluster("known-finalizers"));

    EXTERNAL_RESOURCE_FINALIZER = Cause::cluster(ClusterArea::Finalizer, "ExternalResourceFinalizer")
        .title("Something outside of the cluster must be removed first")
        .meaning("The object stands for something outside of the cluster (a cloud resource, a machine, a set of \
            applied manifests, a load balancer). Its controller must remove that first, and has not. On AWS, an \
            IngressClass that was deleted together with its Ingress makes the load balancer controller's own webhook \
            refuse the update.")
        .proof("A finalizer is left that docs/finalizers.md knows to stand for something outside: of Crossplane, \
            Flux, Karpenter, Cluster API, the load balancer controllers of clouds and others.")
        .safe(&[
            READ_REPORTS,
            check("Create the IngressClass again until the Ingress is deleted").run("kubectl get ingressclasses").typed()
                .when(&[Circumstance::Class(Existence::Gone)]),
            READ_LOG,
            TRY_A_GUARDED_CHANGE,
            Advice { when: &[READY, CURRENT_WORDS, NO_REMOTE_BUDGET], ..REPAIR },
            REPAIR_SILENT,
            RESTART,
            KEEP_OUTSIDE,
            step("Repair the pods of that budget in the machine's own cluster: the eviction then succeeds")
                .when(&[REMOTE_BUDGET]),
            step("Or, where they may end without it, skip the drain")
                .run("kubectl annotate {type} {name} -n {namespace} machine.cluster.x-k8s.io/exclude-node-draining=")
                .when(&[REMOTE_BUDGET]),
            HIDDEN_ONE,
            FIND_IT,
            TAKE_OFF_FOR_NOTHING,
            HIDDEN_LAST_RESORT,
            LAST_RESORT,
        ])
        .note(RESUMES)
        .danger(BY_HAND)
        .sources(&["reference: Crossplane, Flux and Karpenter finalizers", "reference: aws-load-balancer-controller finalizers"])
        .diagnosis(Proven::Cluster("known-finalizers"));

    CONTROLLER_CLEANUP_PENDING = Cause::cluster(ClusterArea::Finalizer, "ControllerCleanupPending")
        .title("A known controller has not finished its clean-up")
        .meaning("The finalizer is known by its name: docs/finalizers.md says which controller removes it, when, and \
            what is lost otherwise. Either that controller does not run, or what it waits for has not happened.")
        .proof("A finalizer of docs/finalizers.md is left. Whether its controller runs is not visible, or it does.")
        .safe(&[
            SEE_USER,
            check("Read its log").run("kubectl -n {user_namespace} logs {user} --tail=100").if_known()
                .when(&[USED, IN_SERVER]),
            READ_REPORTS,
            READ_LOG,
            TRY_A_GUARDED_CHANGE,
            REPAIR,
            REPAIR_SILENT,
            RESTART,
            KEEP_OUTSIDE,
            READ_SERVER_LOG,
            REPAIR_SERVER,
            HIDDEN_ONE,
            FIND_IT,
            TAKE_OFF_FOR_NOTHING,
            HIDDEN_LAST_RESORT,
            LAST_RESORT,
        ])
        .note(RESUMES)
        .danger(BY_HAND)
        .sources(&["aws-network-policy-agent#568", "calico#6629", "tigera/operator#3413", "kubevirt#1491"])
        .diagnosis(Proven::Cluster("known-finalizers"));

    PROTECTED_WHILE_IN_USE = Cause::cluster(ClusterArea::Finalizer, "ProtectedWhileInUse")
        .in_use()
        .title("The object is protected as long as others use it")
        .meaning("A finalizer of this name is removed when the last object that refers to this one is gone: a \
            ProviderConfig while managed resources use it, a GatewayClass while it has Gateways, a ResourceClaim while a pod \
            has reserved it. Deleting it first is \
            the wrong order, and nothing is broken.")
        .proof("A finalizer is left that docs/finalizers.md knows to wait for the last user of the object. \
            Or the object's own words say that objects of a kind must be gone first, and one of that kind names it in its \
            spec or belongs to it: then it is probable.")
        .safe(&[
            SEE_USER,
            RELEASE_USERS.when(&[USED]),
            step("Leave that one: it names an object of its own namespace. The controller counts it by mistake: update the \
                controller").when(&[USED_ELSEWHERE]),
            check("Read what its controller reports: it may name who uses the object")
                .run("kubectl describe {type} {name} -n {namespace}").typed(),
            RELEASE_USERS.when(&[USERS_UNKNOWN]),
            READ_LOG,
            HIDDEN_ONE,
            Advice { when: &[USED_ELSEWHERE], ..UNUSED_LAST_RESORT },
        ])
        .danger(BY_HAND)
        .sources(&["crossplane#5849", "karpenter-provider-aws: EC2NodeClass", "gateway-api: GatewayClass",
            "reference: in-tree finalizers"])
        .diagnosis(Proven::Cluster("claim-in-use"));

    SNAPSHOT_FINALIZER = Cause::cluster(ClusterArea::Finalizer, "SnapshotFinalizer")
        .title("A snapshot or clone needs the object")
        .meaning("A snapshot of it, a restore from it or a clone of it is not finished, or the snapshot controller \
            does not run.")
        .proof("A finalizer of snapshot.storage.kubernetes.io or provisioner.storage.kubernetes.io is left.")
        .safe(&[
            SEE_USER,
            step("Repair what keeps that object from being ready (its class, its driver), or delete it if it never can be; \
                the finalizer is then removed").when(&[USED]),
            check("See which snapshots and restores are not ready")
                .run("kubectl get volumesnapshots,volumesnapshotcontents -A").when(&[USERS_UNKNOWN]),
            Advice { when: &[READY, USERS_UNKNOWN], ..READ_LOG },
            step("Restore the snapshot controller and the driver's sidecars, and let them finish")
                .when(&[UNKNOWN, UNSEEN]),
            Advice { when: &[ABSENT, UNKNOWN, USERS_UNKNOWN, PENDING], ..LAST_RESORT },
        ])
        .note(RESUMES)
        .dont("Do not remove the finalizer by hand",
            "The chain of snapshots breaks: a restore fails, or a snapshot stays in the storage for ever.")
        .sources(&["reference: external-snapshotter finalizers"])
        .diagnosis(Proven::Cluster("snapshot"));

    JOB_TRACKING_FINALIZER = Cause::cluster(ClusterArea::Finalizer, "JobTrackingFinalizer")
        .title("The Job controller has not counted the pod yet")
        .meaning("batch.kubernetes.io/job-tracking keeps a Job's pod until the Job controller has counted it, which \
            takes seconds. It stays when the controller manager is down, when a webhook refuses the change of the pod, \
            or when the Job is managed by another controller.")
        .proof("The pod has ended and only the finalizer batch.kubernetes.io/job-tracking is left.")
        .safe(&[
            check("See whether {released_by} runs, and read its log")
                .run("kubectl get deployments,statefulsets -A").typed().if_known().when(&[MANAGED]),
            TRY_A_CHANGE,
            READ_LEASE.when(&[COUNTED]),
            check("See whether a webhook changes or refuses pods (mutating ones that add containers do)")
                .run("kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations").typed(),
            step("Start {released_by} again, or repair what its log reports: it removes the finalizer").if_known()
                .when(&[MANAGED]),
        ])
        .dont("Do not remove the finalizer by hand",
            "The Job counts wrong: it may run the work again or never finish. A refusing webhook refuses this change \
                as well.")
        .sources(&["kubernetes#129473", "kubernetes#127917", "kubernetes#121828"])
        .diagnosis(Proven::Cluster("job-managed"));
}
