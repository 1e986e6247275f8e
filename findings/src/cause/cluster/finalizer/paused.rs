//! An object that is paused: its controller runs, and does nothing with it.

use crate::cause::cluster::shared::*;
use crate::cause::page::*;

causes! {
    RECONCILIATION_PAUSED = Cause::cluster(ClusterArea::Finalizer, "ReconciliationPaused")
        .holds_from_the_start()
        .title("The object is paused: its controller leaves it alone")
        .meaning("By an annotation or a label the object's controller does nothing with it. Most controllers then do \
            not clean up either, although they run and report nothing.")
        .proof("The object is being deleted and has a finalizer, nothing that is broken explains that, and an annotation \
            or a label of it is called paused, skip-reconcile or alike and switched on (or reconcile, managed, and \
            switched off). That its controller reads this one is inferred, so it is probable.")
        .safe(&[
            READ_REPORTS,
            step("End the pause; the controller then cleans up").run("kubectl annotate {type} {name} -n {namespace} {pause_annotation}-")
                .if_known(),
            step("End the pause; the controller then cleans up").run("kubectl label {type} {name} -n {namespace} {pause_label}-")
                .if_known(),
            step("Where Git or a chart sets the pause, end it there too: it is set again otherwise"),
        ])
        .note(RESUMES)
        .danger(BY_HAND)
        .sources(&["crossplane/crossplane-runtime: pkg/meta/meta.go, AnnotationKeyReconciliationPaused",
            "kubernetes-sigs/cluster-api: util/annotations/helpers.go, IsPaused"])
        .diagnosis(Proven::Observation);
}
