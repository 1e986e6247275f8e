//! What is left to say when objects and conditions have been looked at.

use crate::cause::cluster::shared::*;
use crate::cause::page::*;

causes! {
    NAMESPACE_CONDITION_OUTDATED = Cause::cluster(ClusterArea::Namespace, "NamespaceConditionOutdated")
        .title("The namespace's condition names what works again")
        .meaning("The namespace controller could not list an API, or a webhook or a conversion failed, and a condition \
            says so. It has been repaired or removed since, and nothing else was found to hold the namespace. The \
            controller tries again within a minute and removes the namespace then. Where it has not, it does not work on \
            the namespace.")
        .proof("A condition names an API whose APIService is Available or gone, and discovery lists it or does not have \
            it; or a webhook, a policy or a conversion that is configured no more, or whose Service was not found and \
            has a ready endpoint now. That the controller does not work on the namespace is inferred after five \
            minutes, so it is probable then.")
        .safe(&[
            check("Wait for its next attempt, which comes within a minute")
                .run("kubectl why-terminating wait ns/{namespace} --timeout 90s"),
            check("See what the condition says now, and when it was written")
                .run("kubectl get namespace {namespace} -o yaml").typed(),
            check("If it has not changed for minutes, see whether the controller manager runs and what it logs about the \
                namespace")
                .run("kubectl -n kube-system get lease kube-controller-manager -o yaml").typed(),
        ])
        .danger(FINALIZE)
        .sources(&["reference: namespace controller, nsControllerRateLimiter"])
        .diagnosis(Proven::Cluster("repaired-webhook"));

    OBJECTS_RECREATED = Cause::cluster(ClusterArea::Admission, "ObjectsRecreated")
        .title("Objects are created while the namespace is being deleted")
        .meaning("The API server refuses new objects in a namespace that is being deleted; an aggregated API that \
            skips this check does not. So the namespace fills as fast as it is emptied.")
        .proof("An object in it was created more than a minute after the namespace's deletion. A shorter time may be the \
            difference of two clocks.")
        .safe(&[
            check("See who creates it (managedFields.manager), and stop that program")
                .run("kubectl -n {namespace} get {type} {name} -o yaml --show-managed-fields").typed(),
            step("Have the extension API server check the namespace's phase on create"),
        ])
        .danger(FINALIZE)
        .sources(&["reference: NamespaceLifecycle"])
        .diagnosis(Proven::Cluster("extension-403"));

    NAMESPACE_SPEC_FINALIZER = Cause::cluster(ClusterArea::Namespace, "NamespaceSpecFinalizer")
        .title("A finalizer in the namespace's spec is left")
        .meaning("The namespace controller has emptied the namespace and removed its own entry. Another \
            entry is left in spec.finalizers; only its owner should remove it, through /finalize. The conditions then all \
            say that nothing is wrong.")
        .proof("spec.finalizers holds an entry other than kubernetes, and no longer kubernetes itself.")
        .safe(&[
            check("Find the program that sets {finalizer}, and let it finish")
                .run("kubectl get namespace {namespace} -o yaml --show-managed-fields").typed().when(&[PENDING]),
            step("If it is not installed any more, install it again until the namespace is gone").when(&[PENDING]),
            step("Remove this one entry of spec.finalizers: nothing is left to clean up. Refused if the namespace has \
                changed").run(FINALIZE_WITHOUT).if_known().when(&[NOTHING]),
            step("Last resort. Lost, if it was not cleaned up by hand before: what that program keeps outside of the \
                namespace. Remove this one entry of spec.finalizers; refused if the namespace has changed")
                .run(FINALIZE_WITHOUT).e2e("namespace-spec").if_known().when(&[PENDING]),
        ])
        .dont("Do not remove another entry of spec.finalizers (PUT /finalize) before its program is done",
            "Whatever that program cleans up outside of this namespace stays behind, unknown to every controller.")
        .sources(&["reference: openshift.io/origin and the like"])
        .diagnosis(Proven::Cluster("namespace-spec"));

    NAMESPACE_CONTROLLER_NOT_RUNNING = Cause::cluster(ClusterArea::ControlPlane, "NamespaceControllerNotRunning")
        .title("The namespace controller does not act on deleted namespaces")
        .meaning("The namespace controller writes its conditions a few seconds after a deletion was requested, and \
            deletes everything inside. Neither has happened: kube-controller-manager does not run, hangs, runs without \
            this controller, or cannot write. Where leader election is off no Lease shows it. An attempt that waits for the list of a kind that is \
            not available (a broken conversion) writes none either, until it ends.")
        .proof("The server is 1.16 or newer, the namespace has no condition five minutes after its deletion, its own entry \
            in spec.finalizers is left, and nothing in it was deleted since. That it is not the write of the \
            conditions which fails is inferred, so it is probable.")
        .safe(&[
            check("Wait for its next attempt: after a webhook or an API was repaired it comes within a minute")
                .run("kubectl why-terminating wait ns/{namespace} --timeout 90s"),
            check("Check whether the controller manager runs, and since when")
                .run("kubectl -n kube-system get pods,leases -o wide").typed(),
            check("Read its log on a control plane node. Restart it only if the log shows that the namespace controller \
                does not run (--controllers)"),
        ])
        .danger(FINALIZE)
        .sources(&["reference: a controller manager without leader election that was stopped"])
        .diagnosis(Proven::Cluster("idle-controllers"));

    NAMESPACE_STILL_EMPTYING = Cause::cluster(ClusterArea::Namespace, "NamespaceStillEmptying")
        .title("The namespace is still being emptied")
        .meaning("The deletion was requested moments ago, or many objects remain and become fewer. The namespace \
            controller looks again after five seconds to a minute; where pods had to end first, after half of their \
            longest grace period.")
        .proof("The deletion is younger than a minute, or younger than 15 minutes with objects that were not deleted yet and \
            no pod left; no condition names a failure. Or two counts of the kinds with 50 objects and more, some seconds apart, \
            are not the same: then the answer says how many are left, how many go in a second, and how long that takes.")
        .safe(&[
            check("Wait for the namespace controller, which is still deleting its objects")
                .run("kubectl wait --for=delete {type} {name} -n {namespace} --timeout=2m").if_known(),
            check("If it stays, run this again: the answer then names what holds it"),
        ])
        .dont("Do not empty spec.finalizers (PUT /finalize)",
            "Objects that would have been removed a moment later stay in etcd for ever.")
        .sources(&["reference: requeue timings of the namespace controller"])
        .diagnosis(Proven::Observation);
}
