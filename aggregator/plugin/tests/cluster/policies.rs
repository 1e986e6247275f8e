//! Admission policies: without their parameters they refuse everything, and by their expressions they may.

use aggregator_core::judgement::judge;

use crate::support::*;

const VERSION: &str = "admissionregistration.k8s.io/v1";
const POLICIES: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
const BINDINGS: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";

/// A policy about updates of a resource, and its binding.
pub fn policy(group: &str, resource: &str) -> Value {
    json!([
        {"apiVersion": VERSION, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "limit"}, "spec": {
            "validations": [{"expression": "false"}], "matchConstraints": {"resourceRules": [{
                "apiGroups": [group], "apiVersions": ["*"], "operations": ["UPDATE"], "resources": [resource]
            }]}
        }},
        {"apiVersion": VERSION, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": "limit-all"}, "spec": {
            "policyName": "limit", "validationActions": ["Deny"]
        }}
    ])
}

fn claim() -> World {
    healthy().active("a").held("v1", "PersistentVolumeClaim", "a", "data", &["kubernetes.io/pvc-protection"])
}

/// The same with a policy that reads parameters of the claim's namespace.
fn with_parameters(action: &str) -> World {
    let reference = json!({"name": "max", "parameterNotFoundAction": action});
    claim()
        .with_custom("example.com", "storagelimits", "StorageLimit")
        .with(policy("", "persistentvolumeclaims"))
        .change(POLICIES, "limit", |one| {
            one["spec"]["paramKind"] = json!({"apiVersion": "example.com/v1", "kind": "StorageLimit"});
        })
        .change(BINDINGS, "limit-all", |one| one["spec"]["paramRef"] = reference)
}

fn asked(world: World) -> Looked {
    look(world, object("pvc", "a", "data"))
}

fn limit(namespace: &str) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "StorageLimit", "metadata": {"name": "max", "namespace": namespace}})
}

#[test]
fn a_policy_whose_parameters_are_gone_refuses_every_update() {
    let looked = asked(with_parameters("Deny"));
    assert_eq!(looked.causes(), ["PolicyParametersMissing"], "{:#?}", looked.report);
    assert_eq!(looked.report.roots[0].finding.confidence, Confidence::Proven);
    looked.assert_chain(
        0,
        &[
            "PersistentVolumeClaim a/data: Terminating",
            "ValidatingAdmissionPolicy limit: admission evaluates it",
            "ValidatingAdmissionPolicyBinding limit-all: its parameter StorageLimit max in a does not exist",
        ],
    );
    let commands = looked.commands();
    assert!(commands.iter().any(|it| it == "kubectl edit validatingadmissionpolicybinding/limit-all"), "{commands:?}");
    // Elsewhere they are of no use.
    assert_eq!(asked(with_parameters("Deny").with(limit("b"))).causes(), ["PolicyParametersMissing"]);
}

#[test]
fn a_policy_that_has_its_parameters_or_needs_none_refuses_nothing_by_that() {
    let ignores =
        with_parameters("Deny").change(POLICIES, "limit", |one| one["spec"]["failurePolicy"] = "Ignore".into());
    let elsewhere = with_parameters("Deny").change(POLICIES, "limit", |one| {
        one["spec"]["matchConstraints"]["namespaceSelector"] = json!({"matchLabels": {"tier": "test"}});
    });
    let excluded = with_parameters("Deny").change(BINDINGS, "limit-all", |one| {
        one["spec"]["matchResources"] = json!({"excludeResourceRules": [{
            "apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["persistentvolumeclaims"]
        }]});
    });
    let another = with_parameters("Deny").change(POLICIES, "limit", |one| {
        one["spec"]["matchConstraints"]["resourceRules"][0]["resourceNames"] = json!(["other"]);
    });
    for (world, cause) in [
        (another, "PvcProtectionNotReleased"),
        (with_parameters("Deny").with(limit("a")), "PolicyMayRefuse"),
        (with_parameters("Allow"), "PolicyMayRefuse"),
        (ignores, "PolicyMayRefuse"),
        (elsewhere, "PvcProtectionNotReleased"),
        (excluded, "PvcProtectionNotReleased"),
    ] {
        let looked = asked(world);
        assert!(looked.causes().contains(&cause), "{:#?}", looked.report);
        assert!(!looked.causes().contains(&"PolicyParametersMissing"), "{:#?}", looked.report);
    }
}

#[test]
fn a_kind_of_parameters_that_is_not_served_is_as_bad() {
    let world = with_parameters("Deny").change(POLICIES, "limit", |one| {
        one["spec"]["paramKind"]["apiVersion"] = "gone.example.com/v1".into();
    });
    let looked = asked(world);
    assert_eq!(looked.causes(), ["PolicyParametersMissing"], "{:#?}", looked.report);
    assert!(
        looked.chain(0)[2].contains("gone.example.com/v1 StorageLimit, which is not served"),
        "{:?}",
        looked.chain(0)
    );
}

/// Expressions are not evaluated, so it is probable, and a try without changes shows it. A refusal explains that the
/// controller has not acted, which is no second cause then.
#[test]
fn a_policy_that_is_evaluated_for_the_last_update_explains_a_controller_that_has_not_acted() {
    let looked = asked(claim().with(policy("", "persistentvolumeclaims")));
    assert_eq!(looked.causes(), ["PolicyMayRefuse"], "{:#?}", looked.report);
    let finding = &looked.report.roots[0].finding;
    assert_eq!(finding.confidence, Confidence::Probable);
    let missing = finding.missing.as_deref().unwrap_or_default();
    assert!(missing.contains("if they let it pass, the controller has not acted"), "{missing}");
    let commands = looked.commands();
    let try_it = "kubectl annotate persistentvolumeclaim data -n a why-terminating=try --dry-run=server";
    assert!(commands.iter().any(|it| it == try_it), "{commands:?}");
    // One that was removed leaves no trace, and the controller tries again later.
    let other = asked(claim().with(policy("", "pods")));
    assert_eq!(other.causes(), ["PvcProtectionNotReleased"]);
    let finding = &other.report.roots[0].finding;
    assert_eq!(finding.confidence, Confidence::Probable);
    assert!(finding.missing.as_deref().unwrap_or_default().contains("gone or repaired by now"), "{finding:?}");
    let warns = claim()
        .with(policy("", "persistentvolumeclaims"))
        .change(BINDINGS, "limit-all", |one| one["spec"]["validationActions"] = json!(["Warn"]));
    assert_eq!(asked(warns).causes(), ["PvcProtectionNotReleased"]);
}

#[test]
fn the_garbage_collectors_update_of_an_owner_is_looked_at_too() {
    let job = || healthy().active("a").held("batch/v1", "Job", "a", "report", &["foregroundDeletion"]);
    let looked = look(job().with(policy("batch", "jobs")), object("job", "a", "report"));
    assert_eq!(looked.causes(), ["PolicyMayRefuse"], "{:#?}", looked.report);
    // A policy for everything does not hide what is seen.
    let looked = look(job().with(policy("*", "*")), object("job", "a", "report"));
    let mut causes = looked.causes();
    causes.sort_unstable();
    assert_eq!(causes, ["GarbageCollectorNotWorking", "PolicyMayRefuse"], "{:#?}", looked.report);
    let other = looked.report.roots.iter().find(|root| root.finding.cause.id == "GarbageCollectorNotWorking").unwrap();
    let missing = other.finding.missing.as_deref().unwrap_or_default();
    assert!(missing.contains("that ValidatingAdmissionPolicy limit does not refuse the request"), "{missing}");
    assert_eq!(look(job(), object("job", "a", "report")).causes(), ["GarbageCollectorNotWorking"]);
}

/// A refusal leaves no trace once it was repaired, and the controller tries again later: this doubt holds for every
/// controller that has not acted, and not where something else is seen.
#[test]
fn a_refusal_that_is_gone_is_a_doubt_of_every_controller() {
    let stuck = |finalizer: &'static str| healthy().active("a").held("batch/v1", "Job", "a", "report", &[finalizer]);
    for (world, name, cause) in [
        (stuck("foregroundDeletion"), "report", "GarbageCollectorNotWorking"),
        (stuck("orphan"), "report", "OrphanFinalizerPending"),
    ] {
        let looked = look(world, object("job", "a", name));
        assert_eq!(looked.causes(), [cause], "{:#?}", looked.report);
        let missing = looked.report.roots[0].finding.missing.as_deref().unwrap_or_default();
        assert!(missing.contains("gone or repaired by now"), "{cause}: {missing}");
    }
    let refused = stuck("foregroundDeletion").with(policy("batch", "jobs"));
    let looked = look(refused, object("job", "a", "report"));
    let missing = looked.report.roots[0].finding.missing.as_deref().unwrap_or_default();
    assert!(!missing.contains("gone or repaired by now"), "{missing}");
}

/// A denial that the namespace controller quotes: the policy is there, or it went since.
#[test]
fn a_denial_is_followed_to_its_policy() {
    let denied = content_failure(
        "serviceaccounts \"x\" is forbidden: ValidatingAdmissionPolicy 'limit' with binding 'limit-all' denied request: no",
    );
    let world = || healthy().going("stuck", denied.clone());
    let looked = look(world().with(policy("", "serviceaccounts")), everything());
    assert_eq!(looked.causes(), ["PolicyRefusesDelete"], "{:#?}", looked.report);
    assert!(
        looked.chain(0)[1].starts_with("ValidatingAdmissionPolicy limit: bound by limit-all"),
        "{:?}",
        looked.chain(0)
    );
    let both = "kubectl get validatingadmissionpolicy/limit validatingadmissionpolicybinding/limit-all -o yaml";
    assert_eq!(looked.commands().first().map(String::as_str), Some(both));
    assert_eq!(look(world(), everything()).causes(), ["NamespaceConditionOutdated"]);
}

/// Those that change an object refuse it in the same way.
#[test]
fn a_mutating_policy_without_its_parameters_refuses_too() {
    let world = claim().with_custom("example.com", "storagelimits", "StorageLimit").with(json!([
        {"apiVersion": VERSION, "kind": "MutatingAdmissionPolicy", "metadata": {"name": "add"}, "spec": {
            "paramKind": {"apiVersion": "example.com/v1", "kind": "StorageLimit"},
            "matchConstraints": {"resourceRules": [{
                "apiGroups": [""], "apiVersions": ["*"], "operations": ["UPDATE"], "resources": ["persistentvolumeclaims"]
            }]}
        }},
        {"apiVersion": VERSION, "kind": "MutatingAdmissionPolicyBinding", "metadata": {"name": "add-all"}, "spec": {
            "policyName": "add", "paramRef": {"name": "max", "parameterNotFoundAction": "Deny"}
        }}
    ]));
    let looked = asked(world);
    assert_eq!(looked.causes(), ["PolicyParametersMissing"], "{:#?}", looked.report);
    assert!(looked.chain(0)[1].starts_with("MutatingAdmissionPolicy add: "), "{:?}", looked.chain(0));
}

/// Of a list that was cut, the rest may hold the parameters.
#[test]
fn parameters_are_missing_only_from_a_whole_list() {
    let selects = json!({"selector": {"matchLabels": {"tier": "x"}}, "parameterNotFoundAction": "Deny"});
    let world = with_parameters("Deny").change(BINDINGS, "limit-all", |one| one["spec"]["paramRef"] = selects);
    let looked = asked(world);
    assert_eq!(looked.causes(), ["PolicyParametersMissing"], "{:#?}", looked.report);
    let mut state = looked.state;
    let is_it = |question: &str| question.contains("storagelimits");
    let list = state.answers.values_mut().find(|answered| is_it(&answered.question.to_string())).unwrap();
    list.cut = true;
    let report = judge(&state);
    assert!(report.roots.iter().all(|root| root.finding.cause.id != "PolicyParametersMissing"), "{report:#?}");
}
