//! What an object, or the Events about it, say of a controller that does not finish.

use crate::cause::cluster::shared::{BY_HAND, LAST_RESORT_ANYWAY};
use crate::cause::entry::{Cause, ClusterArea, Danger, Proven, step};

causes! {
    /// The finalizer's owner cannot update the object, because it fails validation.
    UPDATE_FAILS_VALIDATION = Cause::cluster(ClusterArea::Admission, "UpdateFailsValidation")
        .title("The object cannot be updated any more, because it is not valid")
        .meaning("Removing a finalizer is an update, and an old object that a newer schema does not accept cannot be \
            updated. Its controller fails for ever.")
        .proof("A warning Event about the object, or a condition of it, quotes the API server: KIND.GROUP \"NAME\" is \
            invalid. That this is the update which removes the finalizer is inferred, so it is probable. A controller that says \
            so in its log only cannot be seen.")
        .safe(&[
            step("See what the schema rejects, without changing anything")
                .run("kubectl -n {namespace} annotate {type} {name} why-terminating=try --dry-run=server"),
            step("Repair the object's fields, or relax the CRD's schema until it is gone"),
        ])
        .danger(Danger::new("Removing the finalizer by hand", "It is an update too and fails the same way."))
        .sources(&["reference: updates rejected by validation"])
        .event_reason("UpdateFailsValidation")
        .diagnosis(Proven::Observation);

    /// The controller needs to create something in the namespace.
    FINALIZER_CONTROLLER_BLOCKED = Cause::cluster(ClusterArea::Finalizer, "FinalizerControllerBlocked")
        .title("The controller must create something in the namespace that is being deleted")
        .meaning("The controller runs, and its clean-up needs a new object (a Job, a Secret) in a namespace where the \
            API server takes nothing new any more, or rights from a RoleBinding that was deleted first.")
        .proof("An Event about the object holds: because it is being terminated.")
        .safe(&[
            step("Read what it reports about the object").run("kubectl describe {type} {name} -n {namespace}").typed(),
            step("Do its clean-up by hand, as its documentation says"),
            LAST_RESORT_ANYWAY,
        ])
        .danger(BY_HAND)
        .sources(&["kubernetes#115070"])
        .event_reason("FinalizerControllerBlocked")
        .diagnosis(Proven::Observation);
}
