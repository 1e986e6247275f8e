//! What an object names and does not exist: its namespace, its class, a node that its own words name.

use findings::Confidence;
use serde_json::json;

use crate::support::*;

const GATEWAYS: &str = "gateway.networking.k8s.io/v1";

fn gateway(classes: &[&str]) -> Looked {
    let group = "gateway.networking.k8s.io";
    let world = healthy().active("shop").with_custom(group, "gateways", "Gateway");
    let world = world.with_cluster_wide(group, "gatewayclasses", "GatewayClass");
    let world = world.held(GATEWAYS, "Gateway", "shop", "web", &["example.com/gateway"]);
    let path = "/apis/gateway.networking.k8s.io/v1/gateways";
    let world = world.change(path, "web", |one| one["spec"] = json!({"gatewayClassName": "nginx"}));
    let class =
        |name: &&str| json!({"apiVersion": GATEWAYS, "kind": "GatewayClass", "metadata": {"name": name, "uid": name}});
    look(world.with(classes.iter().map(class).collect()), object("gateway", "shop", "web"))
}

#[test]
fn a_gateway_whose_class_does_not_exist_is_no_controllers() {
    let looked = gateway(&["istio"]);
    assert_eq!(looked.causes(), ["FinalizerControllerNeedsMissing"], "{:#?}", looked.report);
    looked.assert_chain(
        0,
        &["Gateway shop/web: ", "GatewayClass nginx: does not exist: no controller takes the object for its own"],
    );
    assert_eq!(looked.report.roots[0].finding.confidence, Confidence::Probable);
    let looked = gateway(&["nginx"]);
    assert!(!looked.causes().contains(&"FinalizerControllerNeedsMissing"), "{:#?}", looked.report);
}

#[test]
fn nothing_of_a_namespace_that_does_not_exist_can_be_changed() {
    let pod = |node: &str, finalizers: &[&str]| {
        let world = healthy().going_pod("lost", "p", node, "Running").without_namespace("lost");
        let world = world.change("/api/v1/pods", "p", |pod| {
            pod["metadata"]["finalizers"] = json!(finalizers);
            if !finalizers.is_empty() {
                pod["metadata"]["deletionGracePeriodSeconds"] = 0.into();
            }
        });
        look(world, everything()).causes()
    };
    let lost = "ContentWithoutNamespace";
    assert_eq!(pod("node-a", &[]), [lost]);
    assert!(pod("node-a", &["example.com/hold"]).contains(&lost));
    assert_eq!(pod("node-that-is-gone", &[]), [lost]);
    let claim = healthy().held("v1", "PersistentVolumeClaim", "lost", "data", &["kubernetes.io/pvc-protection"]);
    let looked = look(claim.without_namespace("lost"), everything());
    assert_eq!(looked.causes(), [lost], "{:#?}", looked.report);
}

fn volume(message: &str) -> World {
    healthy()
        .active("a")
        .with_custom("example.com", "volumes", "Volume")
        .held("example.com/v1", "Volume", "a", "v", &["example.com/cleanup"])
        .reports(
            "/apis/example.com/v1/volumes",
            "v",
            json!({"conditions": [
                {"type": "Detached", "status": "False", "reason": "Error", "message": message}
            ]}),
        )
        .deployment("ops", "op", 1, 1)
        .may_change("ops", "op", "example.com", "volumes")
}

#[test]
fn the_node_that_an_objects_own_words_name() {
    let asked = |world| look(world, object("volumes.example.com", "a", "v"));
    let gone = asked(volume("cannot detach the disk: nodes \"node-z\" not found"));
    assert_eq!(gone.causes(), ["FinalizerControllerNeedsMissing"], "{:#?}", gone.report);
    assert!(gone.chain(0).pop().unwrap().starts_with("Node node-z: does not exist"), "{:?}", gone.chain(0));
    let silent = || volume("cannot detach the disk: node 'node-a' is not ready");
    let looked = asked(silent().node_ready("node-a", "Unknown", "NodeStatusUnknown", ""));
    assert_eq!(looked.causes(), ["NodeUnreachable"], "{:#?}", looked.report);
    // It works again: the words are of before.
    let looked = asked(silent());
    assert_eq!(looked.causes(), ["FinalizerControllerFailing"], "{:#?}", looked.report);
    assert!(looked.chain(0).concat().contains("Node node-a is Ready"), "{:?}", looked.chain(0));
}
