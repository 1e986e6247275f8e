//! Webhooks, policies, conversion and stored data.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use crate::support::*;

pub fn crd(conversion: Value, stored: &[&str]) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "names": {"kind": "Widget", "plural": "widgets"}, "scope": "Namespaced",
            "versions": [{"name": "v1", "served": true, "storage": true}, {"name": "v2", "served": true}],
            "conversion": conversion
        },
        "status": {"storedVersions": stored}
    })
}

fn by_webhook() -> Value {
    json!({"strategy": "Webhook", "webhook": {"clientConfig": {"service": {"namespace": "mon", "name": "conv"}}}})
}

fn causes_of(error: &str) -> Vec<&'static str> {
    let version = "admissionregistration.k8s.io/v1";
    let world = healthy().webhook("CREATE", "", "secrets").service("guard", "guard", Some("node-a")).with(json!([
        {"apiVersion": version, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "p"}, "spec": {}},
        {"apiVersion": version, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": "b"},
         "spec": {"policyName": "p", "validationActions": ["Deny"]}}
    ]));
    look(world.going("stuck", content_failure(error)), everything()).causes()
}

#[test]
fn refusals_and_unreadable_objects() {
    for (error, expected) in [
        ("admission webhook \"guard.example.com\" denied the request: not on Fridays", "WebhookRefusesDelete"),
        (
            "serviceaccounts \"Unknown\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: protected",
            "PolicyRefusesDelete",
        ),
        (
            "Internal error occurred: unable to transform key \"/registry/secrets/g1/bad\": no matching key",
            "ObjectNotDecodable",
        ),
        ("illegal base64 data at input byte 3", "ObjectNotDecodable"),
        ("request to convert CR from an invalid group/version: example.com/v0", "StoredVersionNotServed"),
    ] {
        assert_eq!(causes_of(error), [expected]);
    }
}

#[test]
fn a_conversion_webhook_without_a_service_is_found_through_its_crd() {
    let error = "conversion webhook for example.com/v2, Kind=Widget failed: Post \"https://conv.mon.svc:443/c?timeout=30s\": \
        service \"conv\" not found";
    let world = healthy().with(crd(by_webhook(), &["v1"])).going("d1", content_failure(error));
    let looked = look(world, everything());
    assert_eq!(looked.causes(), ["ConversionWebhookUnavailable"], "{:#?}", looked.report);
    looked.assert_chain(
        0,
        &[
            "Namespace d1: Terminating",
            "CustomResourceDefinition widgets.example.com: converts",
            "Service mon/conv: does not exist",
        ],
    );
}

/// The API server calls the converter for an object that it has in another version than it needs. What deletes the
/// objects of a CRD lists them in the version in which they are stored.
#[test]
fn a_converter_is_blamed_only_where_something_is_converted() {
    let converter = |versions: Value, stored: &[&str], is_going: bool| {
        let mut defined = crd(by_webhook(), stored);
        defined["spec"]["versions"] = versions;
        let world = healthy().with_custom("example.com", "widgets", "Widget");
        if is_going {
            defined["metadata"]["deletionTimestamp"] = world.ago(600).into();
            defined["metadata"]["finalizers"] = json!(["customresourcecleanup.apiextensions.k8s.io"]);
        }
        look(world.with(defined), object("crd", "default", "widgets.example.com")).causes()
    };
    let one = || json!([{"name": "v1", "served": true, "storage": true}]);
    let two = || json!([{"name": "v1", "served": true}, {"name": "v2", "served": true, "storage": true}]);
    let blamed = ["ConversionWebhookUnavailable"];
    assert!(converter(one(), &["v1"], false).is_empty());
    assert!(converter(one(), &["v1"], true).is_empty());
    assert_eq!(converter(two(), &["v2"], false), blamed);
    assert!(converter(two(), &["v2"], true).is_empty());
    assert_eq!(converter(two(), &["v1", "v2"], true), blamed);
}

/// Where no endpoint is ready, the network takes one that ends and still serves (kubernetes: pkg/proxy/topology.go,
/// `CategorizeEndpoints`).
#[test]
fn a_webhook_whose_pod_ends_and_still_serves_is_called() {
    let causes = |serving: bool| {
        let conditions = json!({"ready": false, "serving": serving, "terminating": true});
        let ending = |world: World, namespace: &str, name: &str| {
            let slices = "/apis/discovery.k8s.io/v1/endpointslices";
            world.service(namespace, name, Some("node-a")).change(slices, &format!("{name}-1"), |one| {
                one["endpoints"][0]["conditions"] = conditions.clone();
            })
        };
        let webhook =
            ending(healthy().webhook("DELETE", "", "configmaps").going("guard", all_false()), "guard", "guard");
        let converter = ending(healthy().with(crd(by_webhook(), &["v1", "v2"])), "mon", "conv");
        let mut found = look(webhook, object("validatingwebhookconfiguration", "default", "guard")).causes();
        found.extend(look(converter, object("crd", "default", "widgets.example.com")).causes());
        found
    };
    assert!(causes(true).is_empty(), "{:?}", causes(true));
    assert_eq!(causes(false), ["WebhookGoneWithNamespace", "ConversionWebhookUnavailable"]);
}

#[test]
fn a_conversion_that_fails_although_its_webhook_has_an_endpoint_is_told_as_it_failed() {
    let error = "conversion webhook for example.com/v2, Kind=Widget failed: Post \"https://conv.mon.svc:443/c?timeout=30s\": \
        x509: certificate signed by unknown authority";
    let world = healthy()
        .with(crd(by_webhook(), &["v1"]))
        .service("mon", "conv", Some("node-a"))
        .going("d1", content_failure(error));
    let looked = look(world, everything());
    assert_eq!(looked.causes(), ["ConversionWebhookUnavailable"], "{:#?}", looked.report);
    let last = looked.chain(0).pop().unwrap();
    let words = "CustomResourceDefinition widgets.example.com: the conversion of its objects fails: ";
    assert!(last.starts_with(words), "{last}");
}

#[test]
fn a_webhook_that_is_there_and_out_of_reach() {
    let error = "Internal error occurred: failed calling webhook \"guard.example.com\": failed to call webhook: Post \
        \"https://guard.guard.svc:443/v?timeout=5s\": context deadline exceeded";
    let world = healthy()
        .webhook("DELETE", "", "configmaps")
        .service("guard", "guard", Some("node-a"))
        .going("stuck", content_failure(error));
    let looked = look(world, everything());
    assert_eq!(looked.causes(), ["WebhookUnavailable"], "{:#?}", looked.report);
    assert!(looked.chain(0).last().unwrap().contains("context deadline exceeded"), "{:?}", looked.chain(0));
}

#[test]
fn a_crd_waits_for_its_instances() {
    let world = || {
        let world = healthy().with_custom("example.com", "widgets", "Widget").with(crd(json!(null), &["v1"]));
        let asked = world.ago(600);
        world.change("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "widgets.example.com", |one| {
            one["metadata"]["deletionTimestamp"] = asked.into();
            one["metadata"]["finalizers"] = json!(["customresourcecleanup.apiextensions.k8s.io"]);
        })
    };
    let held = world().going("a", all_false()).held("example.com/v1", "Widget", "a", "w", &["x.example.com/y"]);
    let looked = look(held, object("crd", "default", "widgets.example.com"));
    assert_eq!(looked.causes(), ["FinalizerControllerGone"], "{:#?}", looked.report);
    let hidden = world().refuse("/apis/example.com/v1/widgets", 403, "no");
    let looked = look(hidden, object("crd", "default", "widgets.example.com"));
    assert_eq!(looked.causes(), ["CrdInstancesRemain"], "{:#?}", looked.report);
    assert!(looked.report.unknown[0].why.contains("not visible to us"), "{:#?}", looked.report.unknown);
    // Where none is left, instances are not what it waits for.
    let empty = look(world(), object("crd", "default", "widgets.example.com"));
    assert_eq!((empty.causes(), empty.report.verdict), (vec![], Verdict::CannotTell), "{:#?}", empty.report);
}

#[test]
fn a_stored_version_that_is_gone() {
    let looked = look(healthy().with(crd(json!(null), &["v0", "v1"])), object("crd", "default", "widgets.example.com"));
    assert_eq!(looked.causes(), ["StoredVersionNotServed"]);
}

#[test]
fn a_webhook_that_refuses_updates_keeps_finalizers_on() {
    let world = healthy()
        .webhook("UPDATE", "example.com", "widgets")
        .with_custom("example.com", "widgets", "Widget")
        .with(json!({"kind": "Namespace", "metadata": {"name": "a"}}))
        .held("example.com/v1", "Widget", "a", "w", &["x.example.com/y"])
        .deployment("op", "op", 1, 1)
        .may_change("op", "op", "example.com", "widgets");
    let looked = look(world, object("widget", "a", "w"));
    assert_eq!(looked.causes(), ["WebhookBlocksUpdate"], "{:#?}", looked.report);
}

#[test]
fn a_webhook_that_refuses_the_kubelets_last_words() {
    let world = healthy().webhook("UPDATE", "", "pods/*").going_pod("a", "p", "node-a", "Running");
    let looked = look(world, everything());
    assert_eq!(looked.causes(), ["WebhookBlocksUpdate"], "{:#?}", looked.report);
    looked.assert_chain(
        0,
        &["Pod a/p: Running", "ValidatingWebhookConfiguration guard", "Service guard/guard: does not exist"],
    );
}

#[test]
fn a_webhook_that_refuses_the_namespaces_own_update() {
    let causes = |resource: &str| {
        let world = healthy().webhook("UPDATE", "", resource).going("stuck", all_false());
        look(world, everything()).causes()
    };
    for resource in ["namespaces/finalize", "namespaces/*", "*/*"] {
        assert_eq!(causes(resource), ["WebhookBlocksUpdate"], "{resource}");
    }
    // The namespace controller never updates the Namespace itself, and goes on when its status is not written
    // (kubernetes: pkg/controller/namespace/deletion/namespaced_resources_deleter.go, `Delete`, `deleteAllContent`).
    for resource in ["namespaces", "namespaces/status", "*"] {
        assert!(causes(resource).is_empty(), "{resource}: {:?}", causes(resource));
    }
}

#[test]
fn a_webhook_that_is_not_asked_is_not_blamed() {
    let world = healthy().webhook("UPDATE", "", "pods/*").going_pod("a", "p", "node-a", "Running");
    let path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    let ignored = world.change(path, "guard", |one| one["webhooks"][0]["failurePolicy"] = "Ignore".into());
    assert_eq!(look(ignored, everything()).causes(), ["PodContainersNotStopped"]);
    let world = healthy().webhook("UPDATE", "", "pods/*").going_pod("a", "p", "node-a", "Running");
    let elsewhere = world
        .with(json!({"kind": "Namespace", "metadata": {"name": "a", "labels": {"team": "x"}}}))
        .change(path, "guard", |one| one["webhooks"][0]["namespaceSelector"] = json!({"matchLabels": {"team": "y"}}));
    assert_eq!(look(elsewhere, everything()).causes(), ["PodContainersNotStopped"]);
}

pub const VALIDATING: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

/// A pod with a label, and a webhook about its kubelet's last words that was changed.
fn guarded(change: impl FnOnce(&mut Value)) -> World {
    healthy()
        .webhook("UPDATE", "", "pods/*")
        .change(VALIDATING, "guard", |one| change(&mut one["webhooks"][0]))
        .with(json!({"kind": "Namespace", "metadata": {"name": "a"}}))
        .going_pod("a", "p", "node-a", "Running")
        .change("/api/v1/pods", "p", |pod| pod["metadata"]["labels"] = json!({"app": "shop"}))
}

#[test]
fn an_object_selector_is_compared_with_the_objects_labels() {
    let by = |app: &str| look(guarded(|it| it["objectSelector"] = json!({"matchLabels": {"app": app}})), everything());
    assert_eq!(by("shop").causes(), ["WebhookBlocksUpdate"]);
    assert_eq!(by("other").causes(), ["PodContainersNotStopped"]);
    // Of an object that was not asked to go: its own labels count as well.
    let config = |app: &str| {
        let world = healthy().webhook("DELETE", "", "configmaps").going("stuck", all_false());
        let world = world.change(VALIDATING, "guard", |one| {
            one["webhooks"][0]["objectSelector"] = json!({"matchLabels": {"app": app}});
        });
        let world = world.with(json!({
            "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "stuck", "labels": {"app": "shop"}}
        }));
        look(world, everything()).causes()
    };
    assert_eq!(config("shop"), ["WebhookUnavailable"]);
    assert_eq!(config("other"), ["NamespaceStillEmptying"]);
}

#[test]
fn a_namespace_selector_is_compared_with_the_namespaces_labels() {
    let of = |team: &str| {
        let world = guarded(|it| it["namespaceSelector"] = json!({"matchLabels": {"team": "x"}}));
        let world = world.change("/api/v1/namespaces", "a", |one| one["metadata"]["labels"] = json!({"team": team}));
        look(world, everything())
    };
    let covered = of("x");
    assert_eq!(covered.causes(), ["WebhookBlocksUpdate"], "{:#?}", covered.report);
    assert_eq!(covered.report.roots[0].finding.confidence, Confidence::Proven);
    assert_eq!(of("y").causes(), ["PodContainersNotStopped"]);
}

#[test]
fn match_conditions_leave_it_probable() {
    let conditions = json!([{"name": "not-kubelets", "expression": "!('system:nodes' in request.userInfo.groups)"}]);
    let looked = look(guarded(|it| it["matchConditions"] = conditions.clone()), everything());
    assert_eq!(looked.causes(), ["WebhookBlocksUpdate"], "{:#?}", looked.report);
    let finding = &looked.report.roots[0].finding;
    assert_eq!(finding.confidence, Confidence::Probable);
    assert!(finding.evidence.iter().any(|one| one.says == "has matchConditions, which may exclude it"), "{finding:#?}");
    assert_eq!(look(guarded(|_| {}), everything()).report.roots[0].finding.confidence, Confidence::Proven);
    // An error that names the webhook shows that it was asked.
    let error = "Internal error occurred: failed calling webhook \"guard.example.com\": failed to call webhook: Post \
        \"https://guard.guard.svc:443/v?timeout=5s\": service \"guard\" not found";
    let world = healthy().webhook("DELETE", "", "configmaps").going("stuck", content_failure(error));
    let world = world.change(VALIDATING, "guard", |one| one["webhooks"][0]["matchConditions"] = conditions);
    let looked = look(world, everything());
    assert_eq!(looked.causes(), ["WebhookUnavailable"], "{:#?}", looked.report);
    assert_eq!(looked.report.roots[0].finding.confidence, Confidence::Proven);
}

#[test]
fn scope_and_match_policy_exclude() {
    let causes = |change: fn(&mut Value)| look(guarded(change), everything()).causes();
    assert_eq!(causes(|it| it["rules"][0]["scope"] = "Cluster".into()), ["PodContainersNotStopped"]);
    assert_eq!(causes(|it| it["rules"][0]["scope"] = "Namespaced".into()), ["WebhookBlocksUpdate"]);
    let other = |it: &mut Value, policy: &str| {
        it["matchPolicy"] = policy.into();
        it["rules"][0]["apiVersions"] = json!(["v2"]);
    };
    assert_eq!(look(guarded(|it| other(it, "Exact")), everything()).causes(), ["PodContainersNotStopped"]);
    // A version that the server does not know is equal to none.
    assert_eq!(look(guarded(|it| other(it, "Equivalent")), everything()).causes(), ["PodContainersNotStopped"]);
    // A namespace lives in no namespace.
    let finalize = |scope: &str| {
        let world = healthy().webhook("UPDATE", "", "namespaces/finalize").going("stuck", all_false());
        let world = world.change(VALIDATING, "guard", |one| one["webhooks"][0]["rules"][0]["scope"] = scope.into());
        look(world, everything()).causes()
    };
    assert_eq!(finalize("Cluster"), ["WebhookBlocksUpdate"]);
    assert!(finalize("Namespaced").is_empty());
}

/// Names of webhooks are unique within one configuration only: those of kubebuilder (`vpod.kb.io`) and of Istio's revisions
/// repeat from one to the other. The address in an error shows which was called.
#[test]
fn of_two_webhooks_of_one_name_the_one_that_was_called_is_told() {
    let second = |world: World, service: &str| {
        world.with(json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "second"},
            "webhooks": [{
                "name": "guard.example.com", "failurePolicy": "Fail",
                "clientConfig": {"service": {"namespace": "guard", "name": service}},
                "rules": [{"operations": ["DELETE"], "apiGroups": [""], "apiVersions": ["*"], "resources": ["secrets"]}]
            }]
        }))
    };
    let called = |service: &str, error: &str| {
        content_failure(&format!(
            "Internal error occurred: failed calling webhook \"guard.example.com\": failed to call webhook: Post \
                \"https://{service}.guard.svc:443/v?timeout=5s\": {error}"
        ))
    };
    let both = || second(healthy().webhook("DELETE", "", "configmaps"), "second");
    // Neither Service exists; the report names that of the called one.
    let looked = look(both().going("stuck", called("second", "service \"second\" not found")), everything());
    assert_eq!(looked.causes(), ["WebhookUnavailable"], "{:#?}", looked.report);
    looked.assert_chain(
        0,
        &["Namespace stuck", "ValidatingWebhookConfiguration second", "Service guard/second: does not exist"],
    );
    // Both are called at the same address: which of them it was is not known, and neither is named for removal.
    let alike = second(healthy().webhook("DELETE", "", "configmaps"), "guard");
    let looked = look(alike.going("stuck", called("guard", "service \"guard\" not found")), everything());
    assert_eq!(looked.causes(), ["WebhookUnavailable"], "{:#?}", looked.report);
    assert!(!looked.commands().iter().any(|one| one.starts_with("kubectl delete ")), "{:?}", looked.commands());
    // Of one that refused, an error has the name alone.
    let denied = content_failure("admission webhook \"guard.example.com\" denied the request: protected");
    let looked = look(both().going("stuck", denied.clone()), everything());
    assert_eq!(looked.causes(), ["WebhookRefusesDelete"], "{:#?}", looked.report);
    let reads = |looked: &Looked| looked.commands().iter().any(|one| one.contains("webhookconfiguration"));
    assert!(!reads(&looked), "{:?}", looked.commands());
    assert!(reads(&look(healthy().webhook("DELETE", "", "configmaps").going("stuck", denied), everything())));
}

#[test]
fn only_the_webhook_that_is_asked_is_blamed() {
    let looked = look(
        guarded(|it| it["name"] = "pods.example.com".into()).change(VALIDATING, "guard", |one| {
            let mut other = one["webhooks"][0].clone();
            other["name"] = "other.example.com".into();
            other["clientConfig"]["service"]["name"] = "other".into();
            other["rules"][0]["resources"] = json!(["secrets"]);
            one["webhooks"].as_array_mut().unwrap().push(other);
        }),
        everything(),
    );
    assert_eq!(looked.causes(), ["WebhookBlocksUpdate"], "{:#?}", looked.report);
    looked.assert_chain(
        0,
        &[
            "Pod a/p: Running",
            "ValidatingWebhookConfiguration guard: admission calls webhook pods.example.com (failurePolicy: Fail)",
            "Service guard/guard: does not exist",
        ],
    );
}

#[test]
fn two_webhooks_that_are_asked_are_two_roots() {
    let looked = look(
        guarded(|_| {}).change(VALIDATING, "guard", |one| {
            let mut other = one["webhooks"][0].clone();
            other["name"] = "other.example.com".into();
            other["clientConfig"]["service"]["name"] = "other".into();
            one["webhooks"].as_array_mut().unwrap().push(other);
        }),
        everything(),
    );
    assert_eq!(looked.causes(), ["WebhookBlocksUpdate"; 2], "{:#?}", looked.report);
}

#[test]
fn a_webhook_whose_backend_is_on_a_silent_node_is_the_node() {
    let world = healthy()
        .webhook("DELETE", "", "configmaps")
        .service("guard", "guard", None)
        .with(json!([
            {
                "kind": "Pod", "metadata": {"name": "guard-1", "namespace": "guard", "labels": {"app": "guard"}},
                "spec": {"nodeName": "node-a"}, "status": {"phase": "Running"}
            },
            {"kind": "ConfigMap", "metadata": {"name": "c", "namespace": "stuck"}}
        ]))
        .node_ready("node-a", "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.")
        .going("stuck", all_false());
    let looked = look(world, everything());
    assert_eq!(looked.causes(), ["NodeUnreachable"], "{:#?}", looked.report);
    let webhook = "ValidatingWebhookConfiguration guard: admission calls webhook guard.example.com";
    looked.assert_chain(0, &["Namespace stuck: Terminating", webhook, "Node node-a"]);
}

#[test]
fn a_namespace_whose_labels_are_not_visible_leaves_it_probable() {
    let selector = json!({"matchLabels": {"team": "x"}});
    let world = guarded(|it| it["namespaceSelector"] = selector).refuse("/api/v1/namespaces/a", 403, "forbidden");
    let looked = look(world, everything());
    let finding = &looked.report.roots[0].finding;
    assert_eq!((finding.cause.id, finding.confidence), ("WebhookBlocksUpdate", Confidence::Probable), "{looked:#?}");
}

#[test]
fn a_webhook_refuses_the_collector_and_the_protection_of_claims() {
    let world = healthy().webhook("DELETE", "", "pods").going_pod("a", "p", "node-x", "Running");
    let marked = world.ago(400);
    let world = world.change("/api/v1/pods", "p", |pod| {
        pod["status"]["conditions"] = json!([{
            "type": "DisruptionTarget", "status": "True", "reason": "DeletionByPodGC", "lastTransitionTime": marked
        }]);
    });
    assert_eq!(look(world, everything()).causes(), ["WebhookUnavailable"]);
    let claim = healthy()
        .webhook("UPDATE", "", "persistentvolumeclaims")
        .with(json!({"kind": "Namespace", "metadata": {"name": "a"}}))
        .held("v1", "PersistentVolumeClaim", "a", "data", &["kubernetes.io/pvc-protection"]);
    assert_eq!(look(claim, everything()).causes(), ["WebhookBlocksUpdate"]);
}

#[test]
fn a_webhook_refuses_the_protection_of_volumes() {
    let volume = || {
        healthy().held_cluster_wide("v1", "PersistentVolume", "pv-1", "kubernetes.io/pv-protection").reports(
            "/api/v1/persistentvolumes",
            "pv-1",
            json!({"phase": "Released"}),
        )
    };
    assert_eq!(look(volume(), everything()).causes(), ["PvDeletionPending"]);
    let refused = volume().webhook("UPDATE", "", "persistentvolumes");
    assert_eq!(look(refused, everything()).causes(), ["WebhookBlocksUpdate"]);
}

#[test]
fn a_mutating_webhook_that_changes_a_jobs_pod_is_named() {
    let world = healthy().going_pod("a", "p", "node-a", "Succeeded").change("/api/v1/pods", "p", |pod| {
        pod["metadata"]["finalizers"] = json!(["batch.kubernetes.io/job-tracking"]);
        pod["metadata"]["deletionGracePeriodSeconds"] = json!(0);
    });
    let world = world.service("mesh", "inject", Some("node-a")).with(json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "sidecars"},
        "webhooks": [{
            "name": "s.example.com", "failurePolicy": "Ignore",
            "clientConfig": {"service": {"namespace": "mesh", "name": "inject"}},
            "rules": [{"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}]
        }]
    }));
    let looked = look(world, everything());
    assert_eq!(looked.causes(), ["JobTrackingFinalizer"], "{:#?}", looked.report);
    let evidence = &looked.report.roots[0].finding.evidence;
    assert!(evidence.iter().any(|one| one.source == "MutatingWebhookConfiguration sidecars"), "{evidence:#?}");
}

#[test]
fn objects_of_a_namespace_that_does_not_exist() {
    let looked = look(healthy().held("v1", "ConfigMap", "b", "c", &["example.com/hold"]), object("cm", "b", "c"));
    assert_eq!(looked.causes(), ["ContentWithoutNamespace"], "{:#?}", looked.report);
    assert!(looked.commands().contains(&"kubectl create namespace b".to_owned()));
}

#[test]
fn objects_made_after_the_deletion() {
    let remaining =
        failing("NamespaceContentRemaining", "Some resources are remaining: configmaps. has 1 resource instances");
    let made = |seconds_ago: i64| {
        let world = healthy().going("stuck", remaining.clone());
        let then = world.ago(seconds_ago);
        let world = world.with(json!({
            "kind": "ConfigMap", "metadata": {"name": "again", "namespace": "stuck", "creationTimestamp": then}
        }));
        look(world, everything())
    };
    let looked = made(3);
    assert_eq!(looked.causes(), ["ObjectsRecreated"], "{:#?}", looked.report);
    // The clocks of two API servers may differ by this.
    assert!(!made(597).causes().contains(&"ObjectsRecreated"));
}

/// Its address is another name, which the API server resolves by itself: there are no endpoints to miss.
#[test]
fn a_service_that_is_an_external_name_has_no_endpoints() {
    let world = healthy()
        .with(json!([
            {"kind": "Namespace", "metadata": {"name": "shop"}},
            {
                "kind": "Service", "metadata": {"name": "guard", "namespace": "guard"},
                "spec": {"type": "ExternalName", "externalName": "guard.example.com"}
            }
        ]))
        .webhook("UPDATE", "", "configmaps")
        .held("v1", "ConfigMap", "shop", "c", &["example.com/hold"]);
    let looked = look(world, object("cm", "shop", "c"));
    assert_eq!(looked.causes(), ["FinalizerOwnerUnknown"], "{:#?}", looked.report);
    let note = "Service guard/guard is another name for guard.example.com";
    assert!(looked.report.notes.iter().any(|one| one.contains(note)), "{:#?}", looked.report.notes);
}

/// Its Service and its pods are well, and the API server believes no certificate that they show.
#[test]
fn a_webhook_whose_ca_bundle_has_expired() {
    let world = |pem: &[u8], policy: &str| {
        let world = healthy()
            .webhook("UPDATE", "", "configmaps")
            .service("guard", "guard", Some("node-a"))
            .with(json!({"kind": "Namespace", "metadata": {"name": "a"}}))
            .held("v1", "ConfigMap", "a", "c", &["example.com/hold"]);
        let path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
        world.change(path, "guard", |one| {
            one["webhooks"][0]["clientConfig"]["caBundle"] = BASE64_STANDARD.encode(pem).into();
            one["webhooks"][0]["failurePolicy"] = policy.into();
        })
    };
    let (expired, valid) = (include_bytes!("certificates/expired.pem"), include_bytes!("certificates/valid.pem"));
    let looked = look(world(expired, "Fail"), object("cm", "a", "c"));
    assert_eq!(looked.causes(), ["WebhookCertificateInvalid"], "{:#?}", looked.report);
    let root = looked.chain(0).pop().unwrap();
    assert!(
        root.contains("caBundle of webhook guard.example.com: its last certificate expired at 2026-01-01T00:00:00Z"),
        "{root}"
    );
    let both = [expired.as_slice(), valid].concat();
    let odd = b"-----BEGIN CERTIFICATE-----\nbm90IG9uZQ==\n-----END CERTIFICATE-----\n";
    for pem in [both.as_slice(), valid, odd, b""] {
        assert_eq!(look(world(pem, "Fail"), object("cm", "a", "c")).causes(), ["FinalizerOwnerUnknown"]);
    }
    assert_eq!(look(world(expired, "Ignore"), object("cm", "a", "c")).causes(), ["FinalizerOwnerUnknown"]);
}

/// Who converts is there and ready, and the API server believes no certificate that it shows.
#[test]
fn a_conversion_webhook_whose_ca_bundle_has_expired() {
    let world = |pem: &[u8], strategy: &str| {
        let conversion = json!({"strategy": strategy, "webhook": {"clientConfig": {
            "service": {"namespace": "mon", "name": "conv"}, "caBundle": BASE64_STANDARD.encode(pem)
        }}});
        healthy().with(crd(conversion, &["v1"])).service("mon", "conv", Some("node-a"))
    };
    let (expired, valid) = (include_bytes!("certificates/expired.pem"), include_bytes!("certificates/valid.pem"));
    let error = "conversion webhook for example.com/v2, Kind=Widget failed: Post \"https://conv.mon.svc:443/c?timeout=30s\": \
        tls: failed to verify certificate: x509: certificate has expired or is not yet valid";
    let looked = look(world(expired, "Webhook").going("stuck", content_failure(error)), everything());
    assert_eq!(looked.causes(), ["ConversionWebhookUnavailable"], "{:#?}", looked.report);
    let root = looked.chain(0).pop().unwrap();
    assert!(root.contains("its last certificate expired at 2026-01-01T00:00:00Z"), "{root}");
    for (pem, strategy) in [(valid.as_slice(), "Webhook"), (expired.as_slice(), "None")] {
        let looked = look(world(pem, strategy).going("stuck", content_failure(error)), everything());
        assert!(!looked.chain(0).iter().any(|step| step.contains("caBundle")), "{:#?}", looked.report);
    }
}
