//! What an object, or the Events about it, say of a controller that does not finish.

use crate::cause::circumstance::{Circumstance, Creation};
use crate::cause::cluster::shared::*;
use crate::cause::page::*;

const POSSIBLE: Circumstance = Circumstance::Creation(Creation::Possible);
const REFUSED: Circumstance = Circumstance::Creation(Creation::Refused);
const EXISTS: Circumstance = Circumstance::Creation(Creation::Exists);

causes! {
    UPDATE_FAILS_VALIDATION = Cause::cluster(ClusterArea::Admission, "UpdateFailsValidation")
        .title("The object cannot be updated any more, because it is not valid")
        .meaning("Removing a finalizer is an update, and an old object that a newer schema does not accept cannot be \
            updated. Its controller fails for ever.")
        .proof("A warning Event about the object, or a condition of it, quotes the API server: KIND.GROUP \"NAME\" is \
            invalid. That this is the update which removes the finalizer is inferred, so it is probable. A controller that says \
            so in its log only cannot be seen.")
        .safe(&[
            check("See what the schema rejects, without changing anything")
                .run("kubectl -n {namespace} annotate {type} {name} why-terminating=try --dry-run=server"),
            step("Repair the object's fields, or relax the CRD's schema until it is gone"),
        ])
        .dont("Do not remove the finalizer by hand", "It is an update too and fails the same way.")
        .sources(&["reference: updates rejected by validation"])
        .diagnosis(Proven::Cluster("update-invalid"));

    FINALIZER_CONTROLLER_BLOCKED = Cause::cluster(ClusterArea::Finalizer, "FinalizerControllerBlocked")
        .title("The controller must create something in the namespace that is being deleted")
        .meaning("The controller runs, and its clean-up needs a new object (a Job, a Secret) in a namespace where the \
            API server takes nothing new any more, or rights from a RoleBinding that was deleted first.")
        .proof("An Event about the object holds: because it is being terminated. Or its controller is known to clean up by a \
            Job in the object's namespace, which is being deleted, and there is none; then it is probable.")
        .safe(&[
            check("Read what it reports about the object").run("kubectl describe {type} {name} -n {namespace}").typed(),
            step("Do its clean-up by hand, as its documentation says"),
            LAST_RESORT_ANYWAY,
        ])
        .danger(BY_HAND)
        .sources(&["kubernetes#115070"])
        .diagnosis(Proven::Cluster("operator-refused"));

    FINALIZER_CONTROLLER_NEEDS_MISSING = Cause::cluster(ClusterArea::Finalizer, "FinalizerControllerNeedsMissing")
        .title("The controller behind a finalizer needs something that is missing or fails")
        .meaning("The controller runs and reports on the object what it cannot reach or find: a Service without a ready \
            endpoint, a kind whose CRD is gone, a namespace that does not exist, a right on another kind. That was looked up, and it is missing; or it exists, and reports a failure itself: so may a \
            Job or a pod that the controller made for the clean-up.")
        .proof("A condition of the object, or an Event about it, names a Service, a kind, a namespace or a right; the Service \
            does not exist or has no ready endpoint, the kind is not served, the namespace does not exist, or no role \
            grants the right. Or a Job or a pod is owned by the object, or has a label with its uid, and failed since the deletion, is \
            suspended, or cannot start. That this \
            alone keeps the controller from finishing is inferred, so it is probable.")
        .safe(&[
            check("Read what it reports about the object").run("kubectl describe {type} {name} -n {namespace}").typed()
                .if_known(),
            Advice { when: &[EXISTS], ..SEE_USER },
            step("Repair what that one reports; the controller then tries again").when(&[EXISTS]),
            step("Bring what is missing back; the controller tries again").when(&[POSSIBLE]),
            step("If it was removed for good: do the controller's clean-up by hand, as its documentation says, and then \
                remove this one finalizer").when(&[POSSIBLE]),
            step("What is missing cannot be created again: its namespace is being deleted. Do the controller's clean-up by \
                hand, as its documentation says").when(&[REFUSED]),
            Advice { when: &[REFUSED], ..LAST_RESORT_ANYWAY },
        ])
        .note(RESUMES)
        .danger(BY_HAND)
        .sources(&["reference: finalizer owners"])
        .diagnosis(Proven::Cluster("operator-needs"));
}
