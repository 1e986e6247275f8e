//! Finalizers that stay although their controller works.

use crate::cause::cluster::shared::*;
use crate::cause::page::*;

causes! {
    FINALIZER_NOT_FOR_THIS_KIND = Cause::cluster(ClusterArea::Finalizer, "FinalizerNotForThisKind")
        .holds_from_the_start()
        .title("No controller removes this finalizer from objects of this kind")
        .meaning("The finalizer is known, and its controller removes it from other kinds only. On this \
            object it was set by hand, or by a template, and nothing removes it there.")
        .proof("docs/finalizers.md names the kinds that the finalizer is removed from, and the object's is not among \
            them. A later version of its controller may look at more kinds, so it is probable.")
        .safe(&[
            check("See who set the finalizer")
                .run("kubectl get {type} {name} -n {namespace} -o yaml --show-managed-fields").typed().if_known(),
            step("Read in the documentation of its controller, of the version you run, whether it looks at this kind; if \
                it does not, remove this one entry with kubectl edit: nothing cleans up after this object"),
            step("Take the finalizer out of the manifest, chart or template that sets it"),
        ])
        .danger(ALL_OF_THEM)
        .sources(&["argo-cd#7330"])
        .diagnosis(Proven::Cluster("finalizer-of-other-kind"));

    FINALIZER_LISTED_TWICE = Cause::cluster(ClusterArea::Finalizer, "FinalizerListedTwice")
        .title("A finalizer is listed twice")
        .meaning("The API server takes a list with the same finalizer twice. A controller that looks for its finalizer \
            and removes one entry has done its work and does not come back; the other entry stays.")
        .proof("metadata.finalizers holds the same name more than once, and nothing shows that its controller is down. \
            Whether the controller removes one entry or all is not visible, so it is probable.")
        .safe(&[
            check("See the list, and who wrote it")
                .run("kubectl get {type} {name} -n {namespace} -o yaml --show-managed-fields").typed().if_known(),
            check("Make sure that the controller has cleaned up: its log, and what the object stands for"),
            step("Then remove the second entry, and only that: kubectl edit"),
            step("Take the finalizer out of the manifest, chart or template that sets it: its controller sets it \
                itself"),
        ])
        .danger(ALL_OF_THEM)
        .sources(&["topolvm#310"])
        .diagnosis(Proven::Cluster("finalizer-of-other-kind"));

    FINALIZER_ADDED_AGAIN = Cause::cluster(ClusterArea::Finalizer, "FinalizerAddedAgain")
        .title("A mutating webhook seems to put a finalizer back")
        .meaning("The controller removes its finalizer, and a mutating webhook (a policy of Kyverno or Gatekeeper that \
            sets finalizers) puts it back into the same update. For the API server nothing has changed, so it refuses \
            nothing, and the controller tries for ever.")
        .proof("The finalizer's entry in managedFields holds nothing but finalizers and was written after the deletion was \
            requested, when the API server takes no new finalizers, and a mutating webhook is called for updates of \
            the object. Or no entry has it, since the server does not record what webhooks write, and mutating webhooks \
            are called for updates of the object, not for its creation. That it is this webhook, and this finalizer, is inferred, so it is probable.")
        .safe(&[
            check("See who wrote the finalizer, and when")
                .run("kubectl get {type} {name} -n {namespace} -o yaml --show-managed-fields").typed().if_known(),
            check("Find the policy that sets the finalizer")
                .run("kubectl get mutatingwebhookconfigurations").typed(),
            step("Let that policy act on CREATE only, or leave out objects with a deletion timestamp; the object is then \
                deleted automatically"),
        ])
        .danger(BY_HAND)
        .sources(&["argo-cd#20296", "kyverno#11360"])
        .diagnosis(Proven::Cluster("finalizer-returns"));
}
