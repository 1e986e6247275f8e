//! Objects that wait for each other and for nothing else.

use crate::cause::cluster::shared::*;
use crate::cause::page::*;

causes! {
    DELETIONS_WAIT_FOR_EACH_OTHER = Cause::cluster(ClusterArea::Finalizer, "DeletionsWaitForEachOther")
        .title("Objects that are being deleted wait for each other")
        .meaning("Each of these objects waits until another of them is gone, in a circle, so none can be deleted \
            first.")
        .proof("Following what each object waits for leads back to the first, and no other cause was found on the way.")
        .safe(&[
            check("Read the owners and finalizers of the first one").run("kubectl get {type} {name} -n {namespace} -o yaml").typed(),
            step("Where they own each other (blockOwnerDeletion), remove ownerReferences from the first: all of them are \
                being deleted already")
                .run("kubectl edit {type} {name} -n {namespace}"),
            step("Else find out which may be deleted first, and remove the finalizer whose work is done"),
        ])
        .danger(BY_HAND)
        .sources(&["reference: cycles of foreground deletion"])
        .diagnosis(Proven::Cluster("owners-circle"));
}
