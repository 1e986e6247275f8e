//! Who removes a finalizer: which installed program, and whether it lives.

use crate::cause::circumstance::{Circumstance, Existence};
use crate::cause::cluster::shared::*;
use crate::cause::page::*;

const IN_TEMPLATE: Circumstance = Circumstance::Template(Existence::Present);
const NOT_IN_TEMPLATE: Circumstance = Circumstance::Template(Existence::Gone);

const SET_BY: Advice = check("See who set the finalizer {finalizer} (managedFields)")
    .run("kubectl get {type} {name} -n {namespace} -o yaml --show-managed-fields")
    .typed()
    .if_known();

causes! {
    FINALIZER_OWNER_IN_SAME_NAMESPACE = Cause::cluster(ClusterArea::Finalizer, "FinalizerOwnerInSameNamespace")
        .holds_from_the_start()
        .title("The controller that must clean up is deleted with the namespace that it cleans")
        .meaning("A deadlock: the namespace waits for objects, the objects wait for their controller, and the \
            controller's pods were deleted with the namespace, where nothing new can start. Since Kubernetes 1.33 pods \
            are always deleted first, so this happens every time.")
        .proof("The namespace is being deleted, an object in it has a finalizer, and the account that may change that \
            kind belongs to the same namespace, where no pod of it is ready. Where others may change the kind as \
            well, its role is not cut as that of a controller, or the finalizer has not the kind's domain or was set by \
            another program, it is probable.")
        .safe(&[
            READ_REPORTS,
            TAKE_OFF_FOR_NOTHING,
            step("Run the controller from another namespace, with an account and the rights of its own, until its \
                objects are gone").when(&[PENDING]),
            step("Or find out what it would clean up, and clean that up by hand").when(&[PENDING]),
            LAST_RESORT_ANYWAY,
        ])
        .note(RESUMES)
        .danger(BY_HAND)
        .sources(&["reference: ordered namespace deletion", "kubernetes#115070"])
        .diagnosis(Proven::Cluster("operator-namespace"));

    FINALIZER_OWNER_IN_SAME_RELEASE = Cause::cluster(ClusterArea::Finalizer, "FinalizerOwnerInSameRelease")
        .holds_from_the_start()
        .title("The controller that must clean up belongs to the Helm release that would be uninstalled")
        .meaning("Helm deletes the kinds that it knows in a fixed order, Deployments among them, and custom resources \
            last; it does not wait between them. The controller is deleted before the objects that it must clean up \
            are deleted, and their finalizers stay, unless it is quicker than its own end.")
        .proof("With `--before`: an object of the release (annotation meta.helm.sh/release-name), or of a CRD of the \
            release, has a finalizer, and the workload that removes it belongs to the release as well and has a ready \
            pod. Where others may change the kind as well, it is probable.")
        .safe(&[
            READ_REPORTS,
            step("Delete these objects first, while their controller runs, and wait until they are gone"),
            step("Then uninstall the release"),
        ])
        .danger(BY_HAND)
        .sources(&[
            "helm: pkg/release/v1/util/kind_sorter.go (Helm 3: pkg/releaseutil/kind_sorter.go), UninstallOrder",
            "helm: pkg/action/uninstall.go, deleteRelease",
        ])
        .diagnosis(Proven::Cluster("release"));

    FINALIZER_CONTROLLER_GONE = Cause::cluster(ClusterArea::Finalizer, "FinalizerControllerGone")
        .holds_from_the_start()
        .title("The controller behind a finalizer is gone")
        .meaning("A finalizer asks a controller to clean up first, and no workload runs that could: it was \
            uninstalled, or scaled to zero, before its objects were deleted.")
        .proof("The object is being deleted and has the finalizer; no role names its kind and no account outside of \
            kube-system may change everything, or no workload and no pod runs as the account that has such a role, or \
            its workload is scaled to 0. Roles never prove that no account can change an object (system:masters, a managed control \
            plane), so it is probable, but for a workload scaled to 0 that set the finalizer \
            (managedFields) and may change the object.")
        .safe(&[
            SET_BY,
            step("Start {workload} again")
                .run("kubectl -n {workload_namespace} scale {workload} --replicas=1").e2e("operator-scaled").if_known()
                .when(&[SCALED_DOWN]),
            step("Install the same version of the controller again and let it finish. To uninstall it, delete its objects first").when(&[ABSENT]),
            step("If it cannot come back: find out what it would have cleaned up and do that by hand, before anything \
                else").when(&[ABSENT]),
            TAKE_OFF_FOR_NOTHING,
            LAST_RESORT,
        ])
        .note(RESUMES)
        .danger(BY_HAND)
        .sources(&["kubernetes#60538", "kubernetes#119881"])
        .diagnosis(Proven::Recording("finalizer-and-webhook"));

    FINALIZER_CONTROLLER_NOT_READY = Cause::cluster(ClusterArea::Finalizer, "FinalizerControllerNotReady")
        .holds_from_the_start()
        .title("No pod of the controller behind a finalizer is ready")
        .meaning("The controller that must remove the finalizer is installed, and none of its pods is ready.")
        .proof("The workload that set the finalizer (managedFields), or that runs as the account whose role is cut the \
            closest to this kind (its finalizers or status before the kind, the kind before its whole group), has no \
            ready pod. Where others are as likely or may change everything, its role is not cut as that of a \
            controller, the finalizer has not the kind's domain or was set by another program, or it was found by its \
            name or through the kind's neighbours only, it is probable.")
        .safe(&[
            check("See why its pods are not ready").run("kubectl -n {workload_namespace} describe {workload}").typed()
                .if_known(),
            step("Repair that; the objects are then deleted automatically"),
        ])
        .note(RESUMES)
        .danger(BY_HAND)
        .sources(&["reference: finalizer owners"])
        .diagnosis(Proven::Cluster("operator-image"));

    FINALIZER_CONTROLLER_FORBIDDEN = Cause::cluster(ClusterArea::Finalizer, "FinalizerControllerForbidden")
        .holds_from_the_start()
        .title("The controller behind a finalizer may not change the object any more, or its ServiceAccount is gone")
        .meaning("The controller runs, and no role of its service account lets it update or patch the object: a role \
            or a binding was deleted, often with the very namespace it cleans. Or that account, or the one that it acts as \
            for this object, was deleted. The API server refuses it with Forbidden or Unauthorized, the finalizer stays, and \
            the pods look healthy.")
        .proof("The workload has ready pods, and of all ClusterRoles, the Roles of the object's namespace and their \
            bindings none grants its service account update or patch of the object; or its spec, or the object's own words, name \
            a ServiceAccount that does not exist or is being deleted. Proven where the server recorded \
            that this program set the finalizer (managedFields) and a role for the kind is left to its account; where \
            the workload was inferred, or only its name is that of the program, it is probable.")
        .safe(&[
            check("See which account the controller runs as").run("kubectl -n {workload_namespace} describe {workload}")
                .typed().if_known().when(&[ACCOUNT_GONE]),
            step("Create the ServiceAccount again, from where it came (Helm chart, manifests), with its bindings. In a \
                namespace that is being deleted nothing can be created: have the object name another account")
                .when(&[ACCOUNT_GONE]),
            step("Restart the controller: its pods then have tokens of the new account")
                .run("kubectl -n {workload_namespace} rollout restart {workload}").if_known().when(&[ACCOUNT_GONE]),
            check("See who has which role").run("kubectl get clusterrolebindings,rolebindings -A -o wide")
                .when(&[ACCOUNT_EXISTS]),
            step("Before it gets any right, make sure by its source or its log that it is the program that set the \
                finalizer: others may be called so").when(&[ACCOUNT_EXISTS]),
            step("Give the service account of {workload} the right again. In a namespace that is being deleted nothing \
                new can be created: bind a ClusterRole by a ClusterRoleBinding there, until its objects are gone")
                .if_known().when(&[ACCOUNT_EXISTS]),
        ])
        .note(RESUMES)
        .danger(BY_HAND)
        .sources(&["flux2#2595", "fluxcd/helm-controller#554", "kubernetes: pkg/serviceaccount/claims.go",
            "reference: adversary, a RoleBinding that was deleted first"])
        .diagnosis(Proven::Cluster("operator-rights"));

    FINALIZER_CONTROLLER_NOT_LEADING = Cause::cluster(ClusterArea::Finalizer, "FinalizerControllerNotLeading")
        .title("The pods of the controller behind a finalizer run, and none of them leads")
        .meaning("Of several copies of a controller only the one that holds a Lease works. Its pods are ready, and the \
            Lease is held by a pod that is gone or has not renewed it: no pod works, although all look healthy.")
        .proof("The Lease in the controller's namespace whose holder is named after one of its pods has not been \
            renewed for twice its duration. That this Lease is the one of this work is inferred from the name, so it \
            is probable; a controller that no longer elects a leader leaves such a Lease behind.")
        .safe(&[
            check("See who holds the Leases there, and since when")
                .run("kubectl -n {workload_namespace} get leases -o wide").typed().if_known(),
            check("Read in its log why no pod becomes the leader (the API server does not answer, rights on leases)"),
            step("If it hangs, restart it; the new pods elect a leader")
                .run("kubectl -n {workload_namespace} rollout restart {workload}").if_known(),
        ])
        .note(RESUMES)
        .danger(BY_HAND)
        .sources(&["reference: finalizer owners, leader Leases"])
        .diagnosis(Proven::Cluster("operator-not-leading"));

    FINALIZER_CONTROLLER_FAILING = Cause::cluster(ClusterArea::Finalizer, "FinalizerControllerFailing")
        .title("The controller behind a finalizer runs and does not finish")
        .meaning("The controller is there and ready, and has not removed its finalizer for minutes. Mostly what it \
            must clean up outside of the cluster fails: credentials, quota, an API that does not answer.")
        .proof("The workload that runs as the account with rights on this kind has ready pods, and the finalizer is \
            left. That it is this workload's finalizer is inferred from its rights, so this is probable.")
        .safe(&[
            READ_REPORTS,
            READ_LOG,
            TRY_A_CHANGE,
            Advice { when: &[CURRENT_WORDS], ..REPAIR },
            REPAIR_SILENT,
            RESTART,
        ])
        .note(RESUMES)
        .danger(BY_HAND)
        .sources(&["reference: finalizer owners"])
        .diagnosis(Proven::Cluster("operator-fails"));

    NAMESPACE_NOT_WATCHED = Cause::cluster(ClusterArea::Finalizer, "NamespaceNotWatched")
        .holds_from_the_start()
        .title("The controller behind a finalizer watches other namespaces")
        .meaning("The controller runs and is set to look at some namespaces only; that of the object is not among them. \
            It does not see the object, or its deletion.")
        .proof("The workload that may remove the finalizer has ready pods, and its WATCH_NAMESPACE, or its argument \
            --watch-namespace, --watch-namespaces or --namespace, names namespaces, and not that of the object. That it \
            reads this setting so is inferred, so it is probable.")
        .safe(&[
            check("See which namespaces it is set to watch")
                .run("kubectl -n {workload_namespace} get {workload} -o yaml | grep -i -A1 -e watch -e -namespace").if_known(),
            step("Add the object's namespace there, with rights in it, or run the controller for it until its objects are gone"),
        ])
        .note(RESUMES)
        .danger(BY_HAND)
        .sources(&["operator-framework/operator-sdk: docs, operator scope, WATCH_NAMESPACE",
            "kubernetes-sigs/cluster-api: main.go, --namespace"])
        .diagnosis(Proven::Observation);

    FINALIZER_OWNER_UNKNOWN = Cause::cluster(ClusterArea::Finalizer, "FinalizerOwnerUnknown")
        .holds_from_the_start()
        .title("No known controller removes this finalizer")
        .meaning("The finalizer is not among the known ones, and the cluster does not show which program removes it. \
            Who set it is recorded in managedFields.")
        .proof("The object is being deleted, has the finalizer, and nothing else holds it. Where rights or neighbours \
            of the kind could not be seen, or an account may change everything and may be the one, it is probable.")
        .safe(&[
            SET_BY,
            check("Ask who set it what it waits for; the audit log names the user").when(&[NOT_IN_TEMPLATE]),
            TRY_A_GUARDED_CHANGE,
            check("The pod template of {workload} sets it on each pod: see there which program needs it")
                .run("kubectl -n {workload_namespace} get {workload} -o yaml").typed().if_known().when(&[IN_TEMPLATE]),
            LAST_RESORT,
        ])
        .danger(BY_HAND)
        .sources(&["a user's report: a ConfigMap with a private finalizer"])
        .diagnosis(Proven::Recording("runtime-and-freezer"));
}
