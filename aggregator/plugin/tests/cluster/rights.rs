//! What of the chart's rights no other test needs: whatever kind remains or is named may be read.

use std::process::Stdio;
use std::time::Duration;

use aggregator_core::state::Subject;

use crate::served::{Running, Server};
use crate::support::*;

/// Of each group that a rule names, and of each kind of the core group.
const IN_A_NAMESPACE: [(&str, &str); 19] = [
    ("v1", "ConfigMap"),
    ("v1", "Endpoints"),
    ("v1", "LimitRange"),
    ("v1", "PersistentVolumeClaim"),
    ("v1", "PodTemplate"),
    ("v1", "ReplicationController"),
    ("v1", "ResourceQuota"),
    ("v1", "Service"),
    ("v1", "ServiceAccount"),
    ("apps/v1", "Deployment"),
    ("autoscaling/v2", "HorizontalPodAutoscaler"),
    ("batch/v1", "Job"),
    ("coordination.k8s.io/v1", "Lease"),
    ("discovery.k8s.io/v1", "EndpointSlice"),
    ("networking.k8s.io/v1", "Ingress"),
    ("policy/v1", "PodDisruptionBudget"),
    ("rbac.authorization.k8s.io/v1", "Role"),
    ("resource.k8s.io/v1", "ResourceClaim"),
    ("storage.k8s.io/v1", "CSIStorageCapacity"),
];

#[test]
fn each_kind_that_remains_in_a_namespace_is_read() {
    for (version, kind) in IN_A_NAMESPACE {
        let world = || healthy().going("gone", all_false()).held(version, kind, "gone", "left", &["example.com/hold"]);
        let looked = look(world(), everything());
        assert_eq!(looked.causes(), ["FinalizerOwnerUnknown"], "{kind}: {:#?}", looked.report);
        assert_eq!(looked.victims(0), ["Namespace gone"], "{kind}");
        assert!(looked.chain(0).iter().any(|link| link.starts_with(&format!("{kind} gone/left"))), "{kind}");
        // Named on the command line.
        let named = look(world(), object(kind, "gone", "left"));
        assert_eq!(named.victims(0), [format!("{kind} gone/left")], "{:#?}", named.report);
    }
}

/// Its class says whether its controller's own webhook lets it be changed.
#[test]
fn an_ingress_of_the_aws_controller_is_read_with_its_class() {
    let mut world = healthy().going("gone", all_false());
    world = world.held("networking.k8s.io/v1", "Ingress", "gone", "left", &["ingress.k8s.aws/resources"]);
    let path = "/apis/networking.k8s.io/v1/ingresses";
    world = world.change(path, "left", |ingress| ingress["spec"] = json!({"ingressClassName": "alb"}));
    let looked = look(world, everything());
    let asked = |path: &str| looked.requests.iter().any(|request| request == path);
    assert!(asked("/apis/networking.k8s.io/v1/namespaces/gone/ingresses/left"), "{:#?}", looked.requests);
    assert!(asked("/apis/networking.k8s.io/v1/ingressclasses/alb"), "{:#?}", looked.requests);
}

#[test]
fn each_kind_that_is_named_is_read() {
    for (version, kind) in [
        ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
        ("apiregistration.k8s.io/v1", "APIService"),
        ("certificates.k8s.io/v1", "CertificateSigningRequest"),
        ("flowcontrol.apiserver.k8s.io/v1", "FlowSchema"),
        ("node.k8s.io/v1", "RuntimeClass"),
        ("scheduling.k8s.io/v1", "PriorityClass"),
        ("storage.k8s.io/v1", "StorageClass"),
    ] {
        let world = healthy().held(version, kind, "", "left", &["example.com/hold"]);
        let looked = look(world, object(kind, "", "left"));
        assert!(looked.report.refused.is_none() && looked.report.unknown.is_empty(), "{kind}: {:#?}", looked.report);
    }
    let event = look(
        healthy(),
        Subject::Object {
            word: "events.events.k8s.io".to_owned(),
            namespace: "default".to_owned(),
            name: "none".to_owned(),
        },
    );
    assert!(event.report.unknown.is_empty(), "{:#?}", event.report);
}

#[test]
fn everything_that_is_looked_at_is_followed() {
    let server = Server::start("baseline");
    let mut command = server.plugin(&["--watch"]);
    let child = Running(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    let kinds = ["namespaces", "nodes", "persistentvolumeclaims", "persistentvolumes", "pods"];
    let kinds = kinds.into_iter().chain(["customresourcedefinitions", "volumeattachments"]);
    let begin = std::time::Instant::now();
    for kind in kinds {
        let is_watch = |one: &apiserver::Request| one.verb == "watch" && one.path.ends_with(&format!("/{kind}"));
        while !server.store().requests().unwrap().iter().any(is_watch) {
            assert!(begin.elapsed() < Duration::from_secs(20), "no watch of {kind}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
    drop(child);
}
