//! What keeps the garbage collector from its work.

use crate::cause::cluster::shared::*;
use crate::cause::page::*;

causes! {
    OWNER_API_NOT_ANSWERING = Cause::cluster(ClusterArea::Finalizer, "OwnerApiNotAnswering")
        .title("The garbage collector cannot look up another owner of a dependent")
        .meaning("Before the garbage collector deletes a dependent it looks up every owner of it. One of them is of an API \
            that does not answer, so the dependent is kept, and the owner that was deleted with --cascade=foreground waits \
            for it.")
        .proof("An owner reference of the dependent names a group that discovery has no answer for, and the dependent is \
            not being deleted.")
        .safe(&[
            check("See why the API does not answer").run("kubectl get apiservice {apiservice} -o yaml").typed(),
            step("If its add-on should be there, bring it back: the garbage collector then goes on"),
            step("If it was removed for good: remove that one entry from the dependent's ownerReferences. To delete the \
                APIService is not enough, because the kind of every owner must be served")
                .run("kubectl edit {type} {name} -n {namespace}").if_known(),
        ])
        .danger(WITHOUT_FOREGROUND)
        .sources(&["kubernetes: pkg/controller/garbagecollector/garbagecollector.go, classifyReferences"])
        .diagnosis(Proven::Cluster("dead-api-of-owner"));
}
