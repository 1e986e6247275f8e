//! Objects of any other kind: only finalizers hold them.

use crate::cause::page::*;

causes! {
    CONTENT_WITHOUT_NAMESPACE = Cause::cluster(ClusterArea::Admission, "ContentWithoutNamespace")
        .title("Objects are left whose namespace does not exist")
        .meaning("A namespace was removed by force (PUT /finalize) while it had objects. They are still stored, and \
            every change of them is refused because their namespace does not exist.")
        .proof("The object is listed, and its namespace is not found (404).")
        .safe(&[
            check("See what is left of it").run("kubectl -n {namespace} get {type}").typed(),
            step("Make the namespace again").run("kubectl create namespace {namespace}"),
            step("Then delete it in the normal way; what holds its objects shows then"),
        ])
        .dont("Do not delete the objects in etcd",
            "Their finalizers are skipped: cloud disks, load balancers and records stay and cost money.")
        .sources(&["reference: PUT /finalize with an empty list"])
        .diagnosis(Proven::Cluster("no-namespace"));
}
