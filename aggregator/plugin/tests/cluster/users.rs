//! Objects that use one whose finalizer waits for the last of them: with such an object, and without.

use findings::Confidence;
use serde_json::{Value, json};

use crate::support::*;

const CLASS_VERSION: &str = "storage.k8s.io/v1";
const SNAPSHOTS: &str = "snapshot.storage.k8s.io/v1";
const GATEWAYS: &str = "gateway.networking.k8s.io/v1";
const SECRETS: &str = "external-secrets.io/v1";

fn world() -> World {
    let world = healthy().active("shop").active("other");
    world
        .with_custom("snapshot.storage.k8s.io", "volumesnapshots", "VolumeSnapshot")
        .with_cluster_wide("snapshot.storage.k8s.io", "volumesnapshotcontents", "VolumeSnapshotContent")
        .with_custom("gateway.networking.k8s.io", "gateways", "Gateway")
        .with_cluster_wide("gateway.networking.k8s.io", "gatewayclasses", "GatewayClass")
        .with_custom("external-secrets.io", "secretstores", "SecretStore")
        .with_custom("external-secrets.io", "pushsecrets", "PushSecret")
        .with_custom("scheduling.k8s.io", "podgroups", "PodGroup")
}

/// An object of namespace `shop`, or of none.
fn one(version: &str, kind: &str, namespace: &str, name: &str, spec: Value, phase: &str) -> Value {
    let mut one = json!({
        "apiVersion": version, "kind": kind, "metadata": {"name": name, "uid": name}, "spec": spec,
        "status": {"phase": phase}
    });
    if !namespace.is_empty() {
        one["metadata"]["namespace"] = namespace.into();
    }
    one
}

/// The object that is held: version, kind, namespace, name, finalizer.
type Held = (&'static str, &'static str, &'static str, &'static str, &'static str);

fn asked((version, kind, namespace, name, finalizer): Held, users: Value) -> Looked {
    let world = match namespace {
        "" => world().held_cluster_wide(version, kind, name, finalizer),
        namespace => world().held(version, kind, namespace, name, &[finalizer]),
    };
    look(world.with(users), object(&kind.to_lowercase(), "shop", name))
}

#[test]
fn each_kind_that_uses_an_object_is_the_end_of_the_chain_and_none_left_is_said() {
    let class: Held = (CLASS_VERSION, "VolumeAttributesClass", "", "gold", "kubernetes.io/vac-protection");
    let claim_of = |kind: &str| json!({"dataSource": {"kind": kind, "name": "data"}});
    let source: Held =
        ("v1", "PersistentVolumeClaim", "shop", "data", "provisioner.storage.kubernetes.io/cloning-protection");
    let as_source = "snapshot.storage.kubernetes.io/volumesnapshot-as-source-protection";
    let bound = "snapshot.storage.kubernetes.io/volumesnapshot-bound-protection";
    let snapshot_ref = |namespace: &str, policy: &str| json!({"volumeSnapshotRef": {"kind": "VolumeSnapshot", "namespace": namespace, "name": "data"}, "deletionPolicy": policy});
    let content = |namespace: &str, policy: &str| {
        one(SNAPSHOTS, "VolumeSnapshotContent", "", "content", snapshot_ref(namespace, policy), "")
    };
    let store: Held = (SECRETS, "SecretStore", "shop", "vault", "secretstore.externalsecrets.io/finalizer");
    let push = |policy: &str, kind: &str| {
        let refs = json!({"deletionPolicy": policy, "secretStoreRefs": [{"kind": "SecretStore", "name": "else"}, {"kind": kind, "name": "vault"}]});
        one(SECRETS, "PushSecret", "shop", "push", refs, "")
    };
    let group: Held = ("scheduling.k8s.io/v1", "PodGroup", "shop", "gang", "scheduling.k8s.io/podgroup-protection");
    let member = |name: &str, phase: &str| {
        one(
            "v1",
            "Pod",
            "shop",
            "member",
            json!({"schedulingGroup": {"podGroupName": name}, "nodeName": "node-a"}),
            phase,
        )
    };
    let claim = |spec: Value, phase: &str| one("v1", "PersistentVolumeClaim", "shop", "copy", spec, phase);
    let gateway = |class: &str| one(GATEWAYS, "Gateway", "other", "web", json!({"gatewayClassName": class}), "");
    let volume =
        |class: &str| one("v1", "PersistentVolume", "", "pv-9", json!({"volumeAttributesClassName": class}), "Bound");
    let cases: &[(Held, Value, &str, Value)] = &[
        (
            class,
            claim(json!({"volumeAttributesClassName": "gold"}), "Bound"),
            "PersistentVolumeClaim shop/copy: uses it",
            claim(json!({"volumeAttributesClassName": "silver"}), "Bound"),
        ),
        (class, volume("gold"), "PersistentVolume pv-9: uses it", volume("silver")),
        (
            source,
            claim(claim_of("PersistentVolumeClaim"), "Pending"),
            "PersistentVolumeClaim shop/copy: is made of it, and is not bound",
            claim(claim_of("PersistentVolumeClaim"), "Bound"),
        ),
        (
            (SNAPSHOTS, "VolumeSnapshot", "shop", "data", as_source),
            claim(claim_of("VolumeSnapshot"), "Pending"),
            "PersistentVolumeClaim shop/copy: is made of it, and is not bound",
            claim(claim_of("PersistentVolumeClaim"), "Pending"),
        ),
        (
            (SNAPSHOTS, "VolumeSnapshot", "shop", "data", bound),
            content("shop", "Delete"),
            "VolumeSnapshotContent content: is its content",
            content("shop", "Retain"),
        ),
        (
            (SNAPSHOTS, "VolumeSnapshot", "shop", "data", bound),
            content("shop", "Delete"),
            "VolumeSnapshotContent content: is its content",
            content("other", "Delete"),
        ),
        (store, push("Delete", "SecretStore"), "PushSecret shop/push: uses it", push("None", "SecretStore")),
        (store, push("Delete", "SecretStore"), "PushSecret shop/push: uses it", push("Delete", "ClusterSecretStore")),
        (group, member("gang", "Running"), "Pod shop/member: uses it", member("gang", "Succeeded")),
        (group, member("gang", "Running"), "Pod shop/member: uses it", member("other", "Running")),
        (
            (GATEWAYS, "GatewayClass", "", "alb", "gateway.k8s.aws/class"),
            gateway("alb"),
            "Gateway other/web: uses it",
            gateway("nginx"),
        ),
    ];
    for (held, user, expected, other) in cases {
        let looked = asked(*held, user.clone());
        let last = looked.chain(0).pop().unwrap();
        assert!(last.starts_with(expected), "{held:?}: {:#?}", looked.report);
        assert_eq!(looked.report.roots[0].finding.confidence, Confidence::Proven, "{held:?}");
        let command = format!("kubectl describe {}", expected.split_whitespace().next().unwrap().to_lowercase());
        assert!(looked.commands().iter().any(|one| one.starts_with(&command)), "{held:?}: {:?}", looked.commands());
        let looked = asked(*held, other.clone());
        let last = looked.chain(0).pop().unwrap();
        assert!(last.contains("nothing uses it any more"), "{held:?}: {:#?}", looked.report);
        assert!(last.contains("should have removed the finalizer"), "{held:?}: {last}");
    }
}

/// What may refuse the removal of a finalizer is no reason as long as none is due.
#[test]
fn one_that_is_not_seen_is_not_said_to_be_gone() {
    let held =
        world().held_cluster_wide(CLASS_VERSION, "VolumeAttributesClass", "gold", "kubernetes.io/vac-protection");
    let looked =
        look(held.refuse("/api/v1/persistentvolumeclaims", 403, "no"), object("volumeattributesclass", "", "gold"));
    assert_eq!(looked.causes(), ["InTreeProtectionFinalizer"], "{:#?}", looked.report);
    let last = looked.chain(0).pop().unwrap();
    assert!(!last.contains("nothing uses it"), "{last}");
}

/// Claims report how they get a volume, also while they are being deleted.
#[test]
fn what_a_claim_reports_of_its_volume_is_no_reason_to_stay() {
    let finalizer = "snapshot.storage.kubernetes.io/pvc-as-source-protection";
    let world = world().held("v1", "PersistentVolumeClaim", "shop", "data", &[finalizer]).event(
        ("PersistentVolumeClaim", "shop", "data"),
        "Warning",
        "ProvisioningFailed",
        "storageclass.storage.k8s.io \"none\" not found",
    );
    let looked = look(world, object("pvc", "shop", "data"));
    assert_eq!(looked.causes(), ["SnapshotFinalizer"], "{:#?}", looked.report);
    let [only] = looked.chain(0).try_into().unwrap_or_else(|all| panic!("{all:?}"));
    assert!(only.contains("the snapshot controller should have removed the finalizer"), "{only}");
    assert!(!only.contains("none"), "{only}");
}
