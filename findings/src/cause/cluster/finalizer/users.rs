//! An object whose finalizer waits for the last that uses it.

use crate::cause::cluster::shared::*;
use crate::cause::page::*;

causes! {
    PROTECTED_WITHOUT_USERS = Cause::cluster(ClusterArea::Finalizer, "ProtectedWithoutUsers")
        .title("Nothing uses the object any more, and its finalizer stays")
        .meaning("The finalizer waits for the last object that uses this one. All that could use it were listed, and none \
            does. Its controller does not run, is refused, fails, or missed the end of the last one.")
        .proof("A finalizer is left that docs/finalizers.md knows to wait for the last user of the object. The lists of \
            the kinds that it names are complete, and no object there needs this one.")
        .safe(&[
            READ_REPORTS,
            READ_LOG,
            step("Restart it if its log names no reason: it then checks again").when(&[READY]),
            HIDDEN_ONE,
            FIND_IT,
            UNUSED_LAST_RESORT,
        ])
        .note(RESUMES)
        .danger(BY_HAND)
        .sources(&["crossplane#5849", "argo-cd: AppProject", "external-snapshotter: pvc-as-source-protection"])
        .diagnosis(Proven::Cluster("claim-in-use"));
}
