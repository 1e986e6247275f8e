//! Objects that use one whose finalizer waits for the last of them: with such an object, and without.

use aggregator_core::known_finalizers;

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
        .with_cluster_wide("karpenter.sh", "nodeclaims", "NodeClaim")
        .with_cluster_wide("karpenter.k8s.aws", "ec2nodeclasses", "EC2NodeClass")
        .with_cluster_wide("eks.amazonaws.com", "nodeclasses", "NodeClass")
        .with_cluster_wide("aws.upbound.io", "providerconfigs", "ProviderConfig")
        .with_cluster_wide("aws.upbound.io", "providerconfigusages", "ProviderConfigUsage")
        .with_custom("argoproj.io", "appprojects", "AppProject")
        .with_custom("argoproj.io", "applications", "Application")
        .with_custom("helm.cattle.io", "helmcharts", "HelmChart")
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
    let snapshot = |source: &str| {
        one(
            SNAPSHOTS,
            "VolumeSnapshot",
            "shop",
            "nightly",
            json!({"source": {"persistentVolumeClaimName": source}}),
            "",
        )
    };
    let node_claim = |kind: &str| {
        one("karpenter.sh/v1", "NodeClaim", "", "n-1", json!({"nodeClassRef": {"kind": kind, "name": "main"}}), "")
    };
    let usage = |config: &str| {
        let mut usage = one("aws.upbound.io/v1", "ProviderConfigUsage", "", "u-1", json!({}), "");
        usage["providerConfigRef"] = json!({"name": config});
        usage
    };
    let application =
        |project: &str| one("argoproj.io/v1", "Application", "other", "web", json!({"project": project}), "");
    let job = |owner: &str| {
        let mut job = one("batch/v1", "Job", "shop", "helm-delete-s3", json!({}), "");
        job["metadata"]["ownerReferences"] =
            json!([{"apiVersion": "helm.cattle.io/v1", "kind": "HelmChart", "name": "s3", "uid": owner}]);
        job
    };
    let device: Held =
        ("resource.k8s.io/v1", "ResourceClaim", "shop", "gpu", "resource.kubernetes.io/delete-protection");
    let worker = |claim: Value| {
        one("v1", "Pod", "shop", "worker", json!({"resourceClaims": [claim], "nodeName": "node-a"}), "Running")
    };
    let cases: &[(Held, Value, &str, Value)] = &[
        (
            device,
            worker(json!({"name": "a", "resourceClaimName": "gpu"})),
            "Pod shop/worker: uses it",
            worker(json!({"name": "a", "resourceClaimTemplateName": "gpu"})),
        ),
        (
            ("v1", "PersistentVolumeClaim", "shop", "data", "snapshot.storage.kubernetes.io/pvc-as-source-protection"),
            snapshot("data"),
            "VolumeSnapshot shop/nightly: uses it",
            snapshot("logs"),
        ),
        (
            (GATEWAYS, "GatewayClass", "", "alb", "gateway-exists-finalizer.gateway.networking.k8s.io"),
            gateway("alb"),
            "Gateway other/web: uses it",
            gateway("nginx"),
        ),
        (
            ("karpenter.k8s.aws/v1", "EC2NodeClass", "", "main", "karpenter.k8s.aws/termination"),
            node_claim("EC2NodeClass"),
            "NodeClaim n-1: uses it",
            node_claim("NodeClass"),
        ),
        (
            ("eks.amazonaws.com/v1", "NodeClass", "", "main", "eks.amazonaws.com/termination"),
            node_claim("NodeClass"),
            "NodeClaim n-1: uses it",
            node_claim("EC2NodeClass"),
        ),
        (
            ("aws.upbound.io/v1", "ProviderConfig", "", "default", "in-use.crossplane.io"),
            usage("default"),
            "ProviderConfigUsage u-1: uses it",
            usage("other"),
        ),
        (
            ("argoproj.io/v1", "AppProject", "shop", "web", "resources-finalizer.argocd.argoproj.io"),
            application("web"),
            "Application other/web: uses it",
            application("other"),
        ),
        (
            ("helm.cattle.io/v1", "HelmChart", "shop", "s3", "wrangler.cattle.io/on-helm-chart-remove"),
            job("HelmChart-s3"),
            "Job shop/helm-delete-s3: belongs to it",
            job("other"),
        ),
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
        let in_use = looked.causes();
        let looked = asked(*held, other.clone());
        let last = looked.chain(0).pop().unwrap();
        if expected.ends_with("belongs to it") {
            assert!(last.contains("it has no jobs"), "{held:?}: {:#?}", looked.report);
            continue;
        }
        // A claim that was made for a pod is not named in its spec.
        if held.1 == "ResourceClaim" {
            assert_eq!(looked.causes(), in_use);
            assert!(!last.contains("nothing uses it"), "{last}");
            continue;
        }
        assert_ne!(looked.causes(), in_use, "{held:?}: nothing uses it");
        assert!(last.contains("nothing uses it any more"), "{held:?}: {:#?}", looked.report);
        assert!(last.contains("should have removed the finalizer"), "{held:?}: {last}");
    }
    for known in known_finalizers() {
        let is_of_it = |held: &Held| known.is_for(held.1) && known.names.iter().any(|name| name.matches(held.4));
        for used_by in known.used_by {
            let is_used =
                |user: &Value| format!("{}s", user["kind"].as_str().unwrap().to_lowercase()) == used_by.plural;
            let is_staged = cases.iter().any(|(held, user, ..)| is_of_it(held) && is_used(user));
            assert!(is_staged, "{:?}: no case with {}, and without", known.names, used_by.plural);
        }
    }
}

/// What may refuse the removal of a finalizer is no reason as long as none is due.
#[test]
fn one_that_is_not_seen_is_not_said_to_be_gone() {
    let held =
        world().held_cluster_wide(CLASS_VERSION, "VolumeAttributesClass", "gold", "kubernetes.io/vac-protection");
    let looked =
        look(held.refuse("/api/v1/persistentvolumeclaims", 403, "no"), object("volumeattributesclass", "", "gold"));
    assert_eq!(looked.causes(), ["ProtectedWhileInUse"], "{:#?}", looked.report);
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
    assert_eq!(looked.causes(), ["ProtectedWithoutUsers"], "{:#?}", looked.report);
    let [only] = looked.chain(0).try_into().unwrap_or_else(|all| panic!("{all:?}"));
    assert!(only.contains("the snapshot controller should have removed the finalizer"), "{only}");
    assert!(!only.contains("none"), "{only}");
}
