//! Finalizers, owners, and the controllers that must take them off.

use crate::cause::entry::{Advice, Cause, ClusterArea, Danger, Proven, step};

const SET_BY: Advice = step("See who set the finalizer {finalizer} (managedFields)")
    .run("kubectl get {type} {name} -n {namespace} -o yaml --show-managed-fields")
    .typed()
    .if_known();

/// For every finalizer whose clean-up matters.
pub(super) const BY_HAND: Danger = Danger::new(
    "Taking the finalizer off by hand (kubectl patch … finalizers: null)",
    "The clean-up it stands for is skipped for good: cloud disks, load balancers, DNS records, accounts stay and cost \
        money, and nobody knows of them any more.",
);

causes! {
    /// The controller lived in the namespace it must clean.
    FINALIZER_OWNER_IN_SAME_NAMESPACE = Cause::in_cluster(ClusterArea::Finalizer, "FinalizerOwnerInSameNamespace")
        .title("The controller that must clean up lives in the namespace that is being deleted")
        .meaning("A deadlock: the namespace waits for objects, the objects wait for their controller, and the \
            controller's pods were deleted with the namespace, where nothing new can start. Since Kubernetes 1.33 pods \
            always go first, so this happens every time.")
        .proof("The namespace is being deleted, an object in it has a finalizer, and the account that may change that \
            kind belongs to the same namespace.")
        .safe(&[
            step("Run the controller from another namespace, with an account and the rights of its own, until its \
                objects are gone"),
            step("Or find out what it would clean up, clean that up by hand, and only then take this one finalizer off \
                these objects"),
        ])
        .danger(BY_HAND)
        .sources(&["reference: ordered namespace deletion", "kubernetes#115070"])
        .event_reason("FinalizerOwnerInSameNamespace")
        .diagnosis(Proven::Observation);

    /// Nothing runs that would take the finalizer off.
    FINALIZER_CONTROLLER_GONE = Cause::in_cluster(ClusterArea::Finalizer, "FinalizerControllerGone")
        .title("The controller behind a finalizer is gone")
        .meaning("A finalizer asks a controller to clean up first, and no workload runs that could: it was \
            uninstalled, or scaled to zero, before its objects were deleted.")
        .proof("The object is being deleted and has the finalizer; no role names its kind and no account outside of \
            kube-system may change everything, or nothing runs as the account that has such a role, or its workload is \
            scaled to 0. A workload that is found through the kind's neighbours only (whoever converts it, answers its \
            webhooks, or came with its CRD) makes it probable.")
        .safe(&[
            SET_BY,
            step("Start the controller again, if it was scaled down")
                .run("kubectl -n {workload_namespace} scale {workload} --replicas=1").if_known(),
            step("If it was uninstalled, install the same version again and let it finish; then uninstall it in the \
                right order: objects first"),
            step("If it cannot come back: find out what it would have cleaned up and do that by hand, before anything \
                else"),
        ])
        .danger(BY_HAND)
        .sources(&["kubernetes#60538", "kubernetes#119881"])
        .event_reason("FinalizerControllerGone")
        .diagnosis(Proven::Recording("finalizer-and-webhook"));

    /// The controller is there, and no pod of it is ready.
    FINALIZER_CONTROLLER_NOT_READY = Cause::in_cluster(ClusterArea::Finalizer, "FinalizerControllerNotReady")
        .title("No pod of the controller behind a finalizer is ready")
        .meaning("The controller that must take the finalizer off is installed, and none of its pods is ready.")
        .proof("The workload that runs as the account with rights on this kind has no ready pod. Found through the \
            kind's neighbours only, it is probable.")
        .safe(&[
            step("See why its pods are not ready").run("kubectl -n {workload_namespace} describe {workload}").typed(),
            step("Repair that; the objects then go by themselves"),
        ])
        .danger(BY_HAND)
        .sources(&["reference: finalizer owners"])
        .event_reason("FinalizerControllerNotReady")
        .diagnosis(Proven::Observation);

    /// The controller's pods run, and none of them leads.
    FINALIZER_CONTROLLER_NOT_LEADING = Cause::in_cluster(ClusterArea::Finalizer, "FinalizerControllerNotLeading")
        .title("The pods of the controller behind a finalizer run, and none of them leads")
        .meaning("Of several copies of a controller only the one that holds a Lease works. Its pods are ready, and the \
            Lease is held by a pod that is gone or has not renewed it: nobody works, although everything looks well.")
        .proof("The Lease in the controller's namespace whose holder is named after one of its pods has not been \
            renewed for twice its duration. That this Lease is the one of this work is inferred from the name, so it \
            is probable; a controller that no longer elects a leader leaves such a Lease behind.")
        .safe(&[
            step("See who holds the Leases there, and since when")
                .run("kubectl -n {workload_namespace} get leases -o wide").typed(),
            step("Read in its log why no pod becomes the leader (the API server does not answer, rights on leases)"),
            step("If it hangs, restart it; the new pods elect a leader")
                .run("kubectl -n {workload_namespace} rollout restart {workload}"),
        ])
        .danger(BY_HAND)
        .sources(&["reference: finalizer owners, leader Leases"])
        .event_reason("FinalizerControllerNotLeading")
        .diagnosis(Proven::Observation);

    /// The controller runs and does not finish.
    FINALIZER_CONTROLLER_FAILING = Cause::in_cluster(ClusterArea::Finalizer, "FinalizerControllerFailing")
        .title("The controller behind a finalizer runs and does not finish")
        .meaning("The controller is there and ready, and has not taken its finalizer off for minutes. Mostly what it \
            must clean up outside of the cluster fails: credentials, quota, an API that does not answer.")
        .proof("The workload that runs as the account with rights on this kind has ready pods, and the finalizer is \
            left. That it is this workload's finalizer is inferred from its rights, so this is probable.")
        .safe(&[
            step("Read what it reports about the object").run("kubectl describe {type} {name} -n {namespace}").typed(),
            step("Read the log of {workload}"),
            step("Repair what it reports; it tries again"),
        ])
        .danger(BY_HAND)
        .sources(&["reference: finalizer owners"])
        .event_reason("FinalizerControllerFailing")
        .diagnosis(Proven::Observation);

    /// The controller needs to create something in the namespace.
    FINALIZER_CONTROLLER_BLOCKED = Cause::in_cluster(ClusterArea::Finalizer, "FinalizerControllerBlocked")
        .title("The controller must create something in the namespace that is being deleted")
        .meaning("The controller runs, and its clean-up needs a new object (a Job, a Secret) in a namespace where the \
            API server takes nothing new any more, or rights from a RoleBinding that was deleted first.")
        .proof("An Event about the object holds: because it is being terminated.")
        .safe(&[
            step("Read what it reports about the object").run("kubectl describe {type} {name} -n {namespace}").typed(),
            step("Do its clean-up by hand, as its documentation says, then take this one finalizer off"),
        ])
        .danger(BY_HAND)
        .sources(&["kubernetes#115070"])
        .event_reason("FinalizerControllerBlocked")
        .diagnosis(Proven::Observation);

    /// Nobody knows whose finalizer it is.
    FINALIZER_OWNER_UNKNOWN = Cause::in_cluster(ClusterArea::Finalizer, "FinalizerOwnerUnknown")
        .title("Nobody known takes this finalizer off")
        .meaning("The finalizer is not among the known ones, and the cluster does not show which program takes it off. \
            Who set it is recorded in managedFields.")
        .proof("The object is being deleted, has the finalizer, and nothing else holds it. Where rights or neighbours \
            of the kind could not be seen, or an account may change everything and may be the one, it is probable.")
        .safe(&[
            SET_BY,
            step("Ask whoever set it; the audit log names the user"),
            step("Only when somebody vouches that nothing depends on it, take this one finalizer off with kubectl \
                edit"),
        ])
        .danger(BY_HAND)
        .sources(&["reference: seed 001, a ConfigMap with a private finalizer"])
        .event_reason("FinalizerOwnerUnknown")
        .diagnosis(Proven::Recording("runtime-and-freezer"));

    /// A finalizer of somebody else in the namespace's metadata.
    NAMESPACE_METADATA_FINALIZER = Cause::in_cluster(ClusterArea::Finalizer, "NamespaceMetadataFinalizer")
        .title("A finalizer in the namespace's metadata is left")
        .meaning("The namespace is empty and the namespace controller has finished. A platform (Rancher, an operator \
            framework) put a finalizer of its own on it, and has not taken it off.")
        .proof("spec.finalizers is empty, metadata.finalizers is not.")
        .safe(&[
            step("See who set it").run("kubectl get namespace {name} -o yaml --show-managed-fields").typed(),
            step("Repair or install that platform again, and let it finish"),
        ])
        .danger(BY_HAND)
        .sources(&["reference: controller.cattle.io/namespace-auth"])
        .event_reason("NamespaceMetadataFinalizer")
        .diagnosis(Proven::Observation);

    /// Dependents of a foreground deletion were not asked to go.
    FOREGROUND_DEPENDENTS_REMAIN = Cause::in_cluster(ClusterArea::Finalizer, "ForegroundDependentsRemain")
        .title("A foreground deletion waits for dependents that nobody asked to go")
        .meaning("The object was deleted with --cascade=foreground and waits for everything it owns. The garbage \
            collector should have asked its dependents to go and has not.")
        .proof("foregroundDeletion is among its finalizers, and an object with its uid as a blocking owner is not \
            being deleted.")
        .safe(&[
            step("See whether the controller manager, which holds the garbage collector, runs")
                .run("kubectl -n kube-system get lease kube-controller-manager -o yaml").typed(),
            step("Delete the dependents themselves, if they should go"),
        ])
        .danger(Danger::new(
            "Taking foregroundDeletion off",
            "The owner goes and its dependents stay behind without one.",
        ))
        .sources(&["reference: garbage collector, blockingDependents"])
        .event_reason("ForegroundDependentsRemain")
        .diagnosis(Proven::Observation);

    /// Nothing blocks, and the garbage collector does not act.
    GARBAGE_COLLECTOR_NOT_WORKING = Cause::in_cluster(ClusterArea::Finalizer, "GarbageCollectorNotWorking")
        .title("The garbage collector does not finish a foreground deletion")
        .meaning("No dependent blocks any more, and foregroundDeletion is still there. The garbage collector does not \
            work: before Kubernetes 1.32 one CRD with a broken conversion webhook stops it for the whole cluster.")
        .proof("foregroundDeletion is left, no visible object blocks it, and the controller manager's Lease is fresh.")
        .safe(&[
            step("See whether a CRD converts by a webhook that is gone").run("kubectl get crd -o wide").typed(),
            step("Read the controller manager's log; garbagecollector names what it cannot list"),
        ])
        .danger(Danger::new("Taking foregroundDeletion off", "What could not be listed stays behind without an owner."))
        .sources(&["kubernetes#101078", "kubernetes#125796"])
        .event_reason("GarbageCollectorNotWorking")
        .diagnosis(Proven::Observation);

    /// The garbage collector has not orphaned the dependents yet.
    ORPHAN_FINALIZER_PENDING = Cause::in_cluster(ClusterArea::Finalizer, "OrphanFinalizerPending")
        .title("The garbage collector has not let go of the dependents yet")
        .meaning("The object was deleted with --cascade=orphan: the garbage collector first takes the owner off every \
            dependent, then the finalizer off the object. It has not come that far.")
        .proof("orphan is among its finalizers.")
        .safe(&[
            step("See whether the controller manager runs")
                .run("kubectl -n kube-system get lease kube-controller-manager -o yaml").typed(),
            step("Read its log; garbagecollector names the dependent it cannot change"),
        ])
        .danger(Danger::new(
            "Taking orphan off",
            "Dependents that still name the object as their owner are deleted by the garbage collector.",
        ))
        .sources(&["reference: garbage collector"])
        .event_reason("OrphanFinalizerPending")
        .diagnosis(Proven::Observation);

    /// Objects that wait for each other.
    DELETIONS_WAIT_FOR_EACH_OTHER = Cause::in_cluster(ClusterArea::Finalizer, "DeletionsWaitForEachOther")
        .title("Objects that are being deleted wait for each other")
        .meaning("Each of these objects waits until another of them is gone, in a circle, so none can go first.")
        .proof("Following what each object waits for leads back to the first, and no other cause was found on the way.")
        .safe(&[
            step("Find out which of them may go first, and take away what makes it wait: an owner reference, or a \
                finalizer whose work is done"),
            step("Look at the owners of the first one").run("kubectl get {type} {name} -n {namespace} -o yaml").typed(),
        ])
        .danger(BY_HAND)
        .sources(&["reference: cycles of foreground deletion"])
        .event_reason("DeletionsWaitForEachOther")
        .diagnosis(Proven::Observation);
}
