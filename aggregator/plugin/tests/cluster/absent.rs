//! What an object names and does not exist: its namespace, its class, a node that its own words name.

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

/// cert-manager reads it before it cleans up (cert-manager: pkg/controller/acmechallenges/sync.go).
#[test]
fn a_challenge_whose_issuer_does_not_exist_waits_for_it() {
    let challenge = |kind: &str, name: &str, event: bool| {
        let world = healthy().active("shop").with_custom("acme.cert-manager.io", "challenges", "Challenge");
        let world = world.with_custom("cert-manager.io", "issuers", "Issuer");
        let world = world.with_cluster_wide("cert-manager.io", "clusterissuers", "ClusterIssuer");
        let finalizer = "acme.cert-manager.io/finalizer";
        let world = world.held("acme.cert-manager.io/v1", "Challenge", "shop", "one", &[finalizer]);
        let named = json!({"issuerRef": {"kind": kind, "name": name}});
        let world = world.change("/apis/acme.cert-manager.io/v1/challenges", "one", |one| one["spec"] = named);
        let world = world.deployment("cert-manager", "cert-manager", 1, 1);
        let world = world.may_change("cert-manager", "cert-manager", "acme.cert-manager.io", "challenges");
        let about = ("Challenge", "shop", "one");
        let world = if event { world.event(about, "Warning", "CleanUpError", "the zone was not found") } else { world };
        look(
            world.with(json!([
                {"apiVersion": "cert-manager.io/v1", "kind": "Issuer", "metadata": {"name": "own", "namespace": "shop", "uid": "i"}},
                {"apiVersion": "cert-manager.io/v1", "kind": "ClusterIssuer", "metadata": {"name": "all", "uid": "c"}}
            ])),
            object("challenge", "shop", "one"),
        )
    };
    for (kind, name, shown) in [
        ("", "gone", "Issuer shop/gone"),
        ("Issuer", "all", "Issuer shop/all"),
        ("ClusterIssuer", "own", "ClusterIssuer own"),
    ] {
        let looked = challenge(kind, name, false);
        assert_eq!(looked.causes(), ["FinalizerControllerNeedsMissing"], "{:#?}", looked.report);
        assert!(
            looked.chain(0).last().unwrap().starts_with(&format!("{shown}: does not exist")),
            "{:?}",
            looked.chain(0)
        );
        assert!(looked.chain(0)[1].starts_with("Deployment cert-manager/cert-manager: runs"), "{:?}", looked.chain(0));
    }
    assert!(challenge("ClusterIssuer", "gone", true).chain(0).concat().contains("the zone was not found"));
    for (kind, name) in [("Issuer", "own"), ("", "own"), ("ClusterIssuer", "all")] {
        assert_eq!(challenge(kind, name, false).causes(), ["ExternalResourceFinalizer"], "{kind} {name}");
    }
}

fn pushed(namespace: fn(World) -> World, stores: Value) -> Looked {
    let group = "external-secrets.io";
    let world = namespace(healthy())
        .with_custom(group, "pushsecrets", "PushSecret")
        .with_custom(group, "secretstores", "SecretStore")
        .held("external-secrets.io/v1", "PushSecret", "shop", "p", &["pushsecret.externalsecrets.io/finalizer"])
        .change("/apis/external-secrets.io/v1/pushsecrets", "p", |one| {
            one["spec"] =
                json!({"deletionPolicy": "Delete", "secretStoreRefs": [{"kind": "SecretStore", "name": "vault"}]});
        })
        .with(stores)
        .deployment("eso", "external-secrets", 1, 1)
        .may_change("eso", "external-secrets", group, "pushsecrets");
    look(world, object("pushsecret", "shop", "p"))
}

#[test]
fn a_store_that_fails_or_is_gone_ends_the_chain_of_what_was_pushed_to_it() {
    let store = |conditions: Value| {
        json!({
            "apiVersion": "external-secrets.io/v1", "kind": "SecretStore", "metadata": {"name": "vault", "namespace": "shop"},
            "status": {"conditions": conditions}
        })
    };
    let active = |world: World| world.active("shop");
    let failing = json!([{"type": "Ready", "status": "False", "reason": "InvalidProviderConfig", "message": "permission denied"}]);
    let looked = pushed(active, store(failing));
    assert_eq!(looked.causes(), ["FinalizerControllerNeedsMissing"], "{:#?}", looked.report);
    let last = looked.chain(0).pop().unwrap();
    assert!(last.starts_with("SecretStore shop/vault: ") && last.contains("permission denied"), "{last}");
    let looked = pushed(active, store(json!([{"type": "Ready", "status": "True"}])));
    assert_eq!(looked.causes(), ["ExternalResourceFinalizer"], "{:#?}", looked.report);
    let has = |looked: &Looked, text: &str| {
        looked.report.roots[0].finding.remedy.steps.iter().any(|step| step.text.contains(text))
    };
    let looked = pushed(active, json!([]));
    assert!(has(&looked, "Bring what is missing back"), "{:#?}", looked.report.roots);
    // A namespace that is being deleted takes nothing new.
    let looked = pushed(|world| world.going("shop", all_false()), json!([]));
    assert_eq!(looked.causes(), ["FinalizerControllerNeedsMissing"], "{:#?}", looked.report);
    assert!(!has(&looked, "Bring what is missing back"), "{:#?}", looked.report.roots);
    assert!(looked.commands().iter().any(|one| one.starts_with("kubectl patch ")), "{:?}", looked.commands());
}
