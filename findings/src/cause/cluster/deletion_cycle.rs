//! Objects that wait for each other and for nothing else.

use crate::cause::circumstance::{Circle, Circumstance};
use crate::cause::cluster::shared::*;
use crate::cause::page::*;

const OF_OWNERS: Circumstance = Circumstance::Circle(Circle::OfOwners);
const OF_FINALIZERS: Circumstance = Circumstance::Circle(Circle::OfFinalizers);

causes! {
    DELETIONS_WAIT_FOR_EACH_OTHER = Cause::cluster(ClusterArea::Finalizer, "DeletionsWaitForEachOther")
        .title("Objects that are being deleted wait for each other")
        .meaning("Each of these objects waits until another of them is gone, in a circle, so none can be deleted \
            first.")
        .proof("Following what each object waits for leads back to the first, and no other cause was found on the way.")
        .safe(&[
            check("Read its owners and finalizers").run("kubectl get {type} {name} -n {namespace} -o yaml").typed(),
            step("Remove from its ownerReferences the owner that waits for it: both are being deleted already")
                .run("kubectl edit {type} {name} -n {namespace}").when(&[OF_OWNERS]),
            step("Find out which may be deleted first, and remove the finalizer whose work is done")
                .when(&[OF_FINALIZERS]),
        ])
        .danger(BY_HAND)
        .sources(&["reference: cycles of foreground deletion"])
        .diagnosis(Proven::Cluster("owners-circle"));
}
