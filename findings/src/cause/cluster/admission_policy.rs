//! Admission policies: those that refuse whatever their expressions say, and those that may refuse.

use crate::cause::page::*;

const READ_BINDING: Advice =
    check("Read the binding, and the policy that it names").run("kubectl get {configuration} -o yaml").typed();

const WITHOUT_POLICY: Danger =
    Danger::new("Do not delete the policy or its binding", "It no longer protects anything in the cluster.");

causes! {
    POLICY_PARAMETERS_MISSING = Cause::cluster(ClusterArea::Admission, "PolicyParametersMissing")
        .holds_from_the_start()
        .title("An admission policy refuses every request, because its parameters are gone")
        .meaning("An admission policy reads parameters from an object that does not exist, or from a kind that is not \
            served. With parameterNotFoundAction Deny and failurePolicy Fail every request that it matches is refused, \
            also those of the controller manager. Often the parameters lived in the namespace that is being deleted, and \
            were deleted first.")
        .proof("The policy's rules and selectors, and those of its binding, match the request. The object of its \
            paramRef does not exist (404) and parameterNotFoundAction is Deny, or the kind of its paramKind is not \
            served. failurePolicy is not Ignore.")
        .safe(&[
            READ_BINDING,
            step("Set parameterNotFoundAction to Allow in the binding, or exclude the namespace in its matchResources, \
                until the deletion is done; the request is then tried again within minutes")
                .run("kubectl edit {configuration}"),
            step("Where the namespace stays: create the parameters again, and leave the binding as it is"),
        ])
        .danger(WITHOUT_POLICY)
        .sources(&[
            "kubernetes#129883",
            "kubernetes: apiserver/pkg/admission/plugin/policy/generic/policy_dispatcher.go, CollectParams",
        ])
        .diagnosis(Proven::Cluster("policy-parameter"));

    POLICY_MAY_REFUSE = Cause::cluster(ClusterArea::Admission, "PolicyMayRefuse")
        .title("An admission policy is evaluated for the request that would end the deletion")
        .meaning("The object waits for one more request of a controller that runs. An admission policy with the action \
            Deny is evaluated for that request. Its expressions may refuse it: then the controller tries again and again, \
            and only its log and the audit log show it.")
        .proof("The policy's rules and selectors, and those of its binding, match the request; the binding denies; and \
            whether it refuses is not known: its expressions are not evaluated here, so it is probable.")
        .safe(&[
            check("Try an update without changing anything: a policy that refuses it is named")
                .run("kubectl annotate {type} {name} -n {namespace} why-terminating=try --dry-run=server").if_known(),
            READ_BINDING,
            step("If it refuses: add a matchCondition that lets objects with a deletion timestamp pass, or exclude the \
                namespace in the binding's matchResources"),
            step("If your own try passes, the policy may still refuse the controller's account, or a deletion: the \
                controller manager's log and the audit log show that"),
        ])
        .danger(WITHOUT_POLICY)
        .sources(&["kubernetes: apiserver/pkg/admission/plugin/policy/validating/dispatcher.go"])
        .diagnosis(Proven::Cluster("policy-claim"));

    POLICY_REFUSES_DELETE = Cause::cluster(ClusterArea::Admission, "PolicyRefusesDelete")
        .title("A ValidatingAdmissionPolicy refuses the deletion")
        .meaning("A policy bound to this kind of object refuses its deletion. Its message says why.")
        .proof("The namespace's NamespaceDeletionContentFailure holds: ValidatingAdmissionPolicy … denied request.")
        .safe(&[
            check("Read the policy and its binding")
                .run("kubectl get validatingadmissionpolicy/{policy} validatingadmissionpolicybinding/{policy_binding} -o yaml")
                .typed(),
            step("Do what the policy's message asks for, or exclude this namespace in the binding's matchResources"),
        ])
        .dont("Do not delete the policy", "It no longer protects anything in the cluster.")
        .sources(&["reference: a policy on service accounts"])
        .diagnosis(Proven::Cluster("policy-delete"));
}
