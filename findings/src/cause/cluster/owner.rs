//! Owners: a foreground deletion waits for what the object owns.

use crate::cause::cluster::shared::*;
use crate::cause::page::*;

const RESTART: Advice = step(
    "If it runs, restart it: the garbage collector then lists everything again. Of a managed control plane ask its support",
);

causes! {
    FOREGROUND_DEPENDENTS_REMAIN = Cause::cluster(ClusterArea::Finalizer, "ForegroundDependentsRemain")
        .title("A foreground deletion waits for dependents that are not being deleted")
        .meaning("The object was deleted with --cascade=foreground and waits for everything it owns. The garbage \
            collector should have deleted its dependents and has not.")
        .proof("foregroundDeletion is among its finalizers, an object with its uid as a blocking owner is not being \
            deleted, the controller manager's Lease has not run out, and no webhook that cannot be called is asked about \
            that deletion, or, of one that has another owner, about its update.")
        .safe(&[
            check("See whether the controller manager, which holds the garbage collector, runs")
                .run("kubectl -n kube-system get lease kube-controller-manager -o yaml").typed(),
            RESTART,
            check("See who else owns each dependent (metadata.ownerReferences)"),
            step("If another owner is there: remove this one from its ownerReferences, and leave the object"),
            step("If nothing else owns it or needs it: delete it"),
        ])
        .danger(WITHOUT_FOREGROUND)
        .sources(&["reference: garbage collector, blockingDependents"])
        .diagnosis(Proven::Cluster("idle-controllers"));

    GARBAGE_COLLECTOR_NOT_WORKING = Cause::cluster(ClusterArea::Finalizer, "GarbageCollectorNotWorking")
        .title("The garbage collector does not finish a foreground deletion")
        .meaning("No dependent blocks any more, and foregroundDeletion is still there. The garbage collector does not \
            work: before Kubernetes 1.32 one CRD with a broken conversion webhook stops it for the whole cluster.")
        .proof("foregroundDeletion is left, every kind that the caller may list was looked through, of the owner's \
            namespace and what lives in none or, for an owner without one, of the whole cluster, nothing of it blocks, \
            and the controller manager's Lease is fresh. Secrets and other namespaces are not looked at, so it is \
            probable; where a kind of the owner's namespace may not be listed, it is not said.")
        .safe(&[
            check("See which CRDs convert by a webhook, and whether its Service is there")
                .run("kubectl get crd -o custom-columns=NAME:.metadata.name,CONVERSION:.spec.conversion.strategy,\
                    NAMESPACE:.spec.conversion.webhook.clientConfig.service.namespace,\
                    SERVICE:.spec.conversion.webhook.clientConfig.service.name").typed(),
            check("Read the controller manager's log; garbagecollector names what it cannot list"),
            RESTART,
        ])
        .dont("Do not remove foregroundDeletion", "What could not be listed stays behind without an owner.")
        .sources(&["kubernetes#101078", "kubernetes#125796"])
        .diagnosis(Proven::Cluster("idle-controllers"));
}
