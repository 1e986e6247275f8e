//! Dead APIs and a silent control plane: one root, many namespaces.

use aggregator_core::state::{Answer, Answered, Detail, Question, Scope, Select, known};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use findings::FaultKind;

use crate::support::*;

/// The causes found when `ns/stuck` waits for the dead group.
fn causes_of(world: World) -> Vec<&'static str> {
    let stale = "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: \
        gone.example.com/v1: stale GroupVersion discovery: gone.example.com/v1";
    let looked = look(world.going("stuck", failing("NamespaceDeletionDiscoveryFailure", stale)), everything());
    assert_eq!(looked.victims(0), ["Namespace stuck"], "{:#?}", looked.report);
    looked.causes()
}

#[test]
fn the_reason_and_the_message_tell_dead_apis_apart() {
    let served = || healthy().service("addon", "api", Some("node-a"));
    let dial = "failing or missing response from https://10.1.0.7:443/apis/gone.example.com/v1: Get \
        \"https://10.1.0.7:443/apis/gone.example.com/v1\": dial tcp 10.1.0.7:443:";
    for (world, expected) in [
        (healthy().dead_api("ServiceNotFound", "service/api in \"addon\" is not present"), "ApiServiceWithoutService"),
        (healthy().dead_api("MissingEndpoints", "").service("addon", "api", None), "ApiServiceWithoutEndpoints"),
        (
            served().dead_api("ServicePortError", "service/api in \"addon\" is not listening on port 443"),
            "ApiServiceUnavailable",
        ),
        (
            served().dead_api("FailedDiscoveryCheck", &format!("{dial} connect: connection refused")),
            "ApiServiceUnreachable",
        ),
        (served().dead_api("FailedDiscoveryCheck", &format!("{dial} i/o timeout")), "ApiServiceUnreachable"),
        (
            served().dead_api("FailedDiscoveryCheck", "bad status from https://10.1.0.7:443/apis: 403"),
            "ApiServiceRefusesAggregator",
        ),
        (served().dead_api("FailedDiscoveryCheck", "x509: certificate has expired"), "ApiServiceCertificateInvalid"),
        (served().dead_api("SomethingNew", "words of a later version"), "ApiServiceUnavailable"),
    ] {
        assert_eq!(causes_of(world), [expected]);
    }
}

/// The API server resolves the other name itself: what it says is all that is known here.
#[test]
fn an_api_behind_an_external_name_misses_no_endpoints() {
    let said = "failing or missing response from https://api.example.com:443/apis: context deadline exceeded";
    let world = healthy()
        .with(json!({
            "kind": "Service", "metadata": {"name": "api", "namespace": "addon"},
            "spec": {"type": "ExternalName", "externalName": "api.example.com"}
        }))
        .dead_api("FailedDiscoveryCheck", said);
    let looked = look(world.going("stuck", json!(null)), everything());
    assert_eq!(looked.causes(), ["ApiServiceUnavailable"], "{:#?}", looked.report);
    let root = looked.chain(0).pop().unwrap();
    assert!(root.contains("context deadline exceeded"), "{root}");
}

#[test]
fn a_missing_route_is_never_proven() {
    let message =
        "failing or missing response from https://10.1.0.7:443/apis: dial tcp 10.1.0.7:443: connect: no route to host";
    let world = healthy()
        .service("addon", "api", Some("node-a"))
        .dead_api("FailedDiscoveryCheck", message)
        .aggregated("other.example.com", "v1", "addon/other", no_answer("10.1.0.8:443", "other.example.com/v1"))
        .service("addon", "other", Some("node-a"))
        .change("/api/v1/nodes", "node-a", |node| node["spec"]["podCIDRs"] = json!(["10.1.0.0/24"]))
        .going("stuck", json!(null));
    let looked = look(world, everything());
    assert_eq!(looked.causes(), ["NodeRouteMissing"], "{:#?}", looked.report);
    assert_eq!(looked.report.roots[0].finding.confidence, Confidence::Probable);
    assert!(looked.chain(0).last().unwrap().contains("10.1.0.0/24"), "{:?}", looked.chain(0));
}

/// A time-out does not show whether the way is cut or the pod is too slow; a refused connection does.
#[test]
fn a_time_out_never_proves_that_the_way_is_cut() {
    let get = "failing or missing response from https://10.1.0.7:443/apis/gone.example.com/v1: Get \
        \"https://10.1.0.7:443/apis/gone.example.com/v1\":";
    let world = |error: &str| {
        healthy()
            .dead_api("FailedDiscoveryCheck", &format!("{get} {error}"))
            .service("addon", "api", Some("node-a"))
            .going("stuck", json!(null))
    };
    let not_ready = |world: World| world.node_ready("node-a", "False", "KubeletNotReady", "PLEG is not healthy");
    let nameless = |world: World| {
        world.change("/apis/discovery.k8s.io/v1/endpointslices", "api-1", |one| {
            one["endpoints"][0]["nodeName"] = json!(null);
        })
    };
    for (error, confidence) in [
        ("dial tcp 10.1.0.7:443: i/o timeout", Confidence::Probable),
        ("context deadline exceeded (Client.Timeout exceeded while awaiting headers)", Confidence::Probable),
        ("dial tcp 10.1.0.7:443: connect: connection refused", Confidence::Proven),
    ] {
        for world in [world(error), not_ready(world(error)), nameless(world(error))] {
            let looked = look(world, everything());
            assert_eq!(looked.causes(), ["ApiServiceUnreachable"], "{:#?}", looked.report);
            assert_eq!(looked.report.roots[0].finding.confidence, confidence, "{error}: {:?}", looked.chain(0));
        }
    }
    // A pod that answers too late is no firewall, even where another of its node answers in time.
    let slow = world("context deadline exceeded (Client.Timeout exceeded while awaiting headers)")
        .aggregated("other.example.com", "v1", "addon/other", json!({"status": "True", "reason": "Passed"}))
        .service("addon", "other", Some("node-a"));
    let looked = look(slow, everything());
    let root = looked.chain(0).pop().unwrap();
    assert!(root.contains("slow") && !root.contains("firewall"), "{root}");
}

#[test]
fn a_dead_api_on_a_dead_node_is_the_node() {
    let world = healthy()
        .dead_api("MissingEndpoints", "no addresses")
        .service("addon", "api", None)
        .with(json!({
            "kind": "Pod", "metadata": {"name": "api-1", "namespace": "addon", "labels": {"app": "api"}},
            "spec": {"nodeName": "node-a"}, "status": {"phase": "Running"}
        }))
        .node_ready("node-a", "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.");
    assert_eq!(causes_of(world), ["NodeUnreachable"]);
}

#[test]
fn a_scaled_down_backend_is_named_with_its_workload() {
    let world = healthy()
        .dead_api("MissingEndpoints", "no addresses")
        .service("addon", "api", None)
        .deployment("addon", "api", 0, 0)
        .going("stuck", json!(null));
    let looked = look(world, everything());
    assert!(looked.commands().contains(&"kubectl -n addon scale deployment/api --replicas=1".to_owned()));
    assert!(looked.chain(0).last().unwrap().contains("scaled to 0"), "{:?}", looked.chain(0));
}

/// Which pods there are is not known when they may not be listed: that there are none is not said.
#[test]
fn pods_that_may_not_be_listed_are_not_said_to_be_missing() {
    let root = |world: World| {
        let world = world.dead_api("MissingEndpoints", "no addresses").service("addon", "api", None);
        let looked = look(world.going("stuck", json!(null)), everything());
        assert_eq!(looked.causes(), ["ApiServiceWithoutEndpoints"], "{:#?}", looked.report);
        (looked.chain(0).pop().unwrap(), looked)
    };
    let (none, _) = root(healthy());
    assert!(none.ends_with("has no endpoint: no pod has its labels app=api"), "{none}");
    let refused = healthy().refuse("/api/v1/namespaces/addon/pods", 403, "pods is forbidden");
    let (hidden, looked) = root(refused);
    assert!(hidden.ends_with("Service addon/api: has no ready endpoint"), "{hidden}");
    assert!(looked.report.unknown.iter().any(|one| one.source == "pods of Service addon/api"), "{:#?}", looked.report);
}

#[test]
fn discovery_may_fail_while_the_api_is_said_to_be_available() {
    assert_eq!(causes_of(stale_and_available()), ["ApiDiscoveryStale"]);
}

fn stale_and_available() -> World {
    healthy()
        .with(json!({
            "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": "v1.gone.example.com"},
            "spec": {"group": "gone.example.com", "version": "v1", "service": {"namespace": "addon", "name": "api"}},
            "status": {"conditions": [{"type": "Available", "status": "True", "reason": "Passed"}]}
        }))
        .change_groups(|groups| {
            groups.push(json!({"metadata": {"name": "gone.example.com"}, "versions": [{"version": "v1", "freshness": "Stale"}]}));
        })
}

#[test]
fn a_stale_api_holds_every_namespace_whether_its_conditions_say_so_or_not() {
    let silent =
        stale_and_available().change("/apis/apiregistration.k8s.io/v1/apiservices", "v1.gone.example.com", |one| {
            one["status"] = json!({})
        });
    for (world, says) in [(stale_and_available(), "Available=True"), (silent, "no condition Available")] {
        let looked = look(world.going("stuck", all_false()), object("ns", "default", "stuck"));
        assert_eq!(looked.causes(), ["ApiDiscoveryStale"], "{:#?}", looked.report);
        let root = looked.chain(0).pop().unwrap();
        assert!(root.contains(&format!("{says}, and discovery cannot list")), "{root}");
    }
}

#[test]
fn discovery_may_fail_as_a_whole_or_by_a_name() {
    let whole = "Get \"https://10.0.0.1:443/api\": dial tcp 10.0.0.1:443: connect: connection refused";
    let looked = look(healthy().going("stuck", failing("NamespaceDeletionDiscoveryFailure", whole)), everything());
    assert_eq!(looked.causes(), ["ApiDiscoveryFailed"]);
    // As on a real cluster without the binding.
    let bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    let refused = healthy().going("stuck", failing("NamespaceDeletionDiscoveryFailure", "unknown"));
    let looked = look(refused.without(bindings, "system:discovery"), everything());
    assert_eq!(looked.causes(), ["BuiltInControllerForbidden"], "{:#?}", looked.report);
    let chain = looked.chain(0);
    let says = "may not read API discovery: no binding gives it ClusterRole system:discovery";
    assert!(chain.last().is_some_and(|link| link.contains(says)), "{chain:?}");
    let parsing = failing("NamespaceDeletionGroupVersionParsingFailure", "unexpected GroupVersion string: a/b/c");
    assert_eq!(look(healthy().going("stuck", parsing), everything()).causes(), ["ApiDiscoveryFailed"]);
}

#[test]
fn a_silent_controller_manager_is_the_cause_and_not_the_namespace() {
    let world = healthy().going("stuck", json!(null)).without_controller_manager();
    let looked = look(world, everything());
    assert_eq!(looked.causes(), ["ControllerManagerSilent"], "{:#?}", looked.report);
    assert!(looked.chain(0).last().unwrap().contains("10m"), "{:?}", looked.chain(0));
    // No sweep is needed for that; two lists show whether the nodes and the API servers are silent as well.
    assert!(looked.requests.len() < 18, "{:#?}", looked.requests);
}

#[test]
fn the_controllers_own_errors() {
    let forbidden = "pods is forbidden: User \"system:serviceaccount:kube-system:namespace-controller\" cannot list \
        resource \"pods\" in API group \"\" in the namespace \"stuck\"";
    for (error, expected) in [
        (forbidden, "BuiltInControllerForbidden"),
        ("etcdserver: request timed out", "EtcdNotWorking"),
        ("the server has received too many requests and has asked us to try again later", "ApiRequestsRejected"),
        ("words of a later version", "NamespaceContentFailure"),
    ] {
        let looked = look(healthy().going("stuck", content_failure(error)), everything());
        assert_eq!(looked.causes(), [expected], "{:#?}", looked.report);
    }
}

#[test]
fn a_young_namespace_is_progressing() {
    let mut world = healthy().going("young", json!(null));
    let now = world.ago(5);
    world = world.change("/api/v1/namespaces", "young", |one| one["metadata"]["deletionTimestamp"] = now.into());
    let looked = look(world, everything());
    assert_eq!(looked.causes(), ["NamespaceStillEmptying"], "{:#?}", looked.report);
    assert_eq!(looked.report.verdict, Verdict::Progressing);
}

#[test]
fn finalizers_of_the_namespace_itself() {
    // The controller has finished, so it does not matter that it is silent now.
    let spec = healthy().without_controller_manager().going("stuck", all_false()).change(
        "/api/v1/namespaces",
        "stuck",
        |one| {
            one["spec"]["finalizers"] = json!(["openshift.io/origin"]);
        },
    );
    assert_eq!(look(spec, everything()).causes(), ["NamespaceSpecFinalizer"]);
    let metadata = healthy().going("stuck", all_false()).change("/api/v1/namespaces", "stuck", |one| {
        one["spec"]["finalizers"] = json!(null);
        one["metadata"]["finalizers"] = json!(["controller.cattle.io/namespace-auth"]);
    });
    assert_eq!(look(metadata, everything()).causes(), ["ControllerCleanupPending"]);
}

#[test]
fn etcd_that_fails_for_us_fails_for_the_controllers() {
    // While it takes no writes, no condition can say so.
    for error in ["etcdserver: request timed out", "etcdserver: mvcc: database space exceeded"] {
        let path = "/api/v1/namespaces/stuck/persistentvolumeclaims";
        let looked = look(healthy().going("stuck", json!(null)).refuse(path, 500, error), everything());
        assert_eq!(looked.causes(), ["EtcdNotWorking"], "{:#?}", looked.report);
        assert!(looked.chain(0).last().unwrap().contains(error), "{:?}", looked.chain(0));
        assert_eq!(
            looked.report.roots[0].finding.confidence,
            Confidence::Probable,
            "an aggregated API may have another"
        );
    }
}

/// A stopped etcd answers nothing at all: only the API server's own check shows it.
#[test]
fn a_list_that_does_not_end_asks_the_api_server_for_its_own_checks() {
    let failed = "[+]ping ok\n[+]log ok\n[-]etcd failed: reason withheld\n[+]poststarthook/x ok\nlivez check failed";
    let terminating = Select::Fields("status.phase=Terminating".to_owned());
    let list = Question::objects(known::NAMESPACES, Scope::All, terminating, Detail::Full);
    let named = Scope::Named(None, "stuck".to_owned());
    let named = Question::objects(known::NAMESPACES, named, Select::Every, Detail::Full);
    for (subject, question) in [(everything(), list), (object("ns", "default", "stuck"), named)] {
        let silent = |world: World| {
            let looked = look_with(world, subject.clone(), |state| {
                let answer = Answer::failed(FaultKind::TimedOut, "did not answer within 10s");
                state.add(Answered::whole(question.clone(), answer));
            });
            assert!(looked.causes().is_empty(), "whether it is being deleted is not known: {:#?}", looked.report);
            looked.report.notes.iter().any(|note| note.contains("etcd does not answer: the API server's own check"))
        };
        assert!(silent(healthy().refuse("/livez", 500, failed)), "{subject:?}");
        assert!(!silent(healthy()), "{subject:?}");
    }
}

/// etcd without space answers every read. Its API server renews its own Lease every ten seconds, as everything else does.
#[test]
fn an_api_server_that_cannot_renew_its_own_lease_cannot_write() {
    let world = |seconds| {
        let world = healthy().going("stuck", json!(null)).without_controller_manager();
        let renewed = world.ago(seconds);
        world.change("/apis/coordination.k8s.io/v1/leases", "apiserver-wlv32tlttr4jl3gtroqexyxapa", |lease| {
            lease["spec"]["renewTime"] = renewed.into();
        })
    };
    assert_eq!(look(world(5), everything()).causes(), ["ControllerManagerSilent"]);
    let looked = look(world(600), everything());
    assert_eq!(looked.causes(), ["EtcdNotWorking"], "{:#?}", looked.report);
    assert!(looked.chain(0).last().unwrap().contains("no API server has renewed its own Lease for 10m"));
    assert_eq!(looked.report.roots[0].finding.confidence, Confidence::Proven);
    // In the first minute: the controller manager is only one of two that stopped at the same time.
    let both = world(32).change("/apis/coordination.k8s.io/v1/leases", "kube-controller-manager", |lease| {
        lease["spec"]["renewTime"] = healthy().ago(39).into();
    });
    let looked = look(both, everything());
    assert_eq!(looked.causes(), ["EtcdNotWorking"], "{:#?}", looked.report);
    assert_eq!(looked.report.roots[0].finding.confidence, Confidence::Probable);
}

/// The condition passes on what any API server said, and an aggregated one may have an etcd of its own.
#[test]
fn which_etcd_refuses_is_not_known_where_an_aggregated_api_is_emptied_too() {
    let world = || {
        let refused = content_failure("etcdserver: mvcc: database space exceeded");
        healthy().with_custom("example.com", "widgets", "Widget").going("stuck", refused)
    };
    let passed = json!({"status": "True", "reason": "Passed"});
    let sure = look(world(), everything());
    // It serves nothing that lives in a namespace and can be deleted.
    let metrics = look(world().aggregated("metrics.k8s.io", "v1beta1", "addon/metrics", passed.clone()), everything());
    let unsure = look(world().aggregated("example.com", "v1", "addon/widgets", passed), everything());
    for (looked, confidence) in
        [(&sure, Confidence::Proven), (&metrics, Confidence::Proven), (&unsure, Confidence::Probable)]
    {
        assert_eq!(looked.causes(), ["EtcdNotWorking"], "{:#?}", looked.report);
        assert_eq!(looked.report.roots[0].finding.confidence, confidence, "{:#?}", looked.report);
    }
    let hidden = look(world().refuse("/apis/apiregistration.k8s.io/v1/apiservices", 403, "no"), everything());
    for (looked, behind) in [(unsure, "APIService v1.example.com"), (hidden, "an APIService that cannot be seen")] {
        let missing = looked.report.roots[0].finding.missing.clone().unwrap_or_default();
        assert!(missing.contains(behind), "{missing}");
    }
}

/// The certificates that the API server would believe have expired, so it believes none.
#[test]
fn an_api_whose_ca_bundle_has_expired() {
    let served = |pem: &[u8], message: &str| {
        let world = healthy().dead_api("FailedDiscoveryCheck", message).service("addon", "api", Some("node-a"));
        world.change("/apis/apiregistration.k8s.io/v1/apiservices", "v1.gone.example.com", |one| {
            one["spec"]["caBundle"] = BASE64_STANDARD.encode(pem).into();
        })
    };
    let (expired, valid) = (include_bytes!("certificates/expired.pem"), include_bytes!("certificates/valid.pem"));
    let x509 = "failing or missing response from https://10.1.0.7:443/apis: Get \"https://10.1.0.7:443/apis\": tls: \
        failed to verify certificate: x509: certificate signed by unknown authority";
    for (pem, message, cause, is_told) in [
        (expired.as_slice(), x509, "ApiServiceCertificateInvalid", true),
        (valid.as_slice(), x509, "ApiServiceCertificateInvalid", false),
        (expired.as_slice(), "bad status from https://10.1.0.7:443/apis: 403", "ApiServiceRefusesAggregator", false),
    ] {
        let looked = look(served(pem, message).going("stuck", json!(null)), everything());
        assert_eq!(looked.causes(), [cause], "{:#?}", looked.report);
        let root = looked.chain(0).pop().unwrap();
        let words = "caBundle of APIService v1.gone.example.com: its last certificate expired at 2026-01-01T00:00:00Z";
        assert_eq!(root.starts_with(words), is_told, "{root}");
    }
}

/// What stands behind a dead API, the further down it is known: the id stays, and each step is true.
#[test]
fn an_api_without_endpoints_is_named_by_its_pod_and_keeps_its_id() {
    let dead = || healthy().dead_api("MissingEndpoints", "no addresses").service("addon", "api", None);
    let pod = |world: World, name: &str, waits: &str| {
        world.with(json!({
            "kind": "Pod", "metadata": {"name": name, "namespace": "addon", "labels": {"app": "api"}},
            "spec": {"nodeName": "node-a"},
            "status": {"phase": "Running", "containerStatuses": [{"name": "c", "state": {"waiting": {"reason": waits}}}]}
        }))
    };
    let scale = "kubectl -n addon scale deployment/api --replicas=1";
    let log = "kubectl -n addon logs deployment/api --previous";
    let worlds = [
        (dead(), "Service addon/api: has no endpoint", [false, false]),
        (dead().deployment("addon", "api", 0, 0), "Deployment addon/api: scaled to 0", [true, false]),
        (dead().deployment("addon", "api", 1, 0), "Deployment addon/api: 0 of 1 pods ready", [false, false]),
        (
            pod(dead().deployment("addon", "api", 1, 0), "api-x", "ImagePullBackOff"),
            "Pod addon/api-x: ImagePullBackOff",
            [false, false],
        ),
        (
            pod(dead().deployment("addon", "api", 1, 0), "api-x", "CrashLoopBackOff"),
            "Pod addon/api-x: CrashLoopBackOff",
            [false, true],
        ),
        (
            pod(pod(dead().deployment("addon", "api", 2, 0), "api-x", "CrashLoopBackOff"), "api-y", ""),
            "2 pods of Service addon/api: api-x, api-y: CrashLoopBackOff",
            [false, true],
        ),
    ];
    let mut ids = Vec::new();
    for (world, root, steps) in worlds {
        let looked = look(world.going("stuck", json!(null)), everything());
        assert_eq!(looked.causes(), ["ApiServiceWithoutEndpoints"], "{:#?}", looked.report);
        let shown = looked.chain(0).pop().unwrap();
        assert!(shown.starts_with(root), "{shown}");
        let commands = looked.commands();
        assert_eq!([scale, log].map(|one| commands.iter().any(|command| command == one)), steps, "{commands:#?}");
        assert_eq!(commands.last().unwrap(), "kubectl delete apiservice v1.gone.example.com");
        ids.push(looked.report.roots[0].id.to_string());
    }
    ids.dedup();
    assert_eq!(ids.len(), 1, "{ids:?}");
}
