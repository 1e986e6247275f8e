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

    GARBAGE_COLLECTOR_FORBIDDEN = Cause::cluster(ClusterArea::ControlPlane, "GarbageCollectorForbidden")
        .title("The garbage collector lacks a right")
        .meaning("The garbage collector works as ServiceAccount kube-system/generic-garbage-collector. Its ClusterRole is \
            made by the API server at its start and must let it change and delete everything. No role that is bound to it \
            does so any more, so owners that wait for their dependents stay, in the whole cluster.")
        .proof("No ClusterRole or Role that a binding gives to the account grants patch of the kind, and the \
            neighbouring role system:controller:namespace-controller is there. Another authorizer may let it, so it is \
            probable.")
        .safe(&[
            check("Check its role and binding").run("kubectl get clusterrole,clusterrolebinding \
                system:controller:generic-garbage-collector --ignore-not-found -o yaml"),
            step("Restore them: restarting kube-apiserver writes the default roles and bindings again, unless they have the \
                annotation rbac.authorization.kubernetes.io/autoupdate: false"),
        ])
        .danger(WITHOUT_FOREGROUND)
        .sources(&["kubernetes: plugin/pkg/auth/authorizer/rbac/bootstrappolicy/controller_policy.go"])
        .diagnosis(Proven::Cluster("collector-rights"));
}
