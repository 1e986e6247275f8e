//! Finalizers that are known by their names: of clouds, platforms and operators.

use crate::support::*;

#[test]
fn known_finalizers_have_a_cause_of_their_own() {
    for (kind, finalizer, expected) in [
        ("Service", "service.kubernetes.io/load-balancer-cleanup", "LoadBalancerCleanupPending"),
        ("Service", "service.k8s.aws/resources", "FinalizerControllerGone"),
        ("ConfigMap", "finalizer.acme.cert-manager.io", "ExternalResourceFinalizer"),
        ("ConfigMap", "istio-finalizer.install.istio.io", "ControllerCleanupPending"),
        ("ConfigMap", "resources-finalizer.argocd.argoproj.io", "FinalizerNotForThisKind"),
        ("ConfigMap", "ceph.rook.io/disaster-protection", "RookFinalizer"),
        ("ConfigMap", "finalizer.managedresource.crossplane.io", "ExternalResourceFinalizer"),
        ("PersistentVolumeClaim", "snapshot.storage.kubernetes.io/pvc-as-source-protection", "ProtectedWithoutUsers"),
        ("ConfigMap", "resource.kubernetes.io/delete-protection", "ProtectedWhileInUse"),
        ("ConfigMap", "networking.k8s.io/service-cidr-finalizer", "ProtectedWhileInUse"),
        ("ConfigMap", "orphan", "OrphanFinalizerPending"),
        ("ConfigMap", "example.com/hold", "FinalizerOwnerUnknown"),
    ] {
        let world = healthy().with(json!({"kind": "Namespace", "metadata": {"name": "a"}})).held(
            "v1",
            kind,
            "a",
            "x",
            &[finalizer],
        );
        let looked = look(world, object(kind, "a", "x"));
        assert_eq!(looked.causes(), [expected], "{:#?}", looked.report);
    }
}

/// The load balancer controller has the same domain and knows nothing of network policies.
#[test]
fn a_network_policy_of_eks_is_not_the_load_balancer_controllers() {
    let world = healthy().with(json!({"kind": "Namespace", "metadata": {"name": "shop"}})).held(
        "networking.k8s.io/v1",
        "NetworkPolicy",
        "shop",
        "deny",
        &["networking.k8s.aws/resources"],
    );
    let looked = look(world, object("networkpolicy", "shop", "deny"));
    assert_eq!(looked.causes(), ["ControllerCleanupPending"], "{:#?}", looked.report);
    let root = looked.chain(0).pop().unwrap();
    assert!(root.contains("the Amazon network policy controller removes it when"), "{root}");
    assert!(
        root.contains("enable-network-policy-controller is true in ConfigMap kube-system/amazon-vpc-cni"),
        "{root}"
    );
    let breaks = &looked.report.roots[0].finding.remedy.breaks;
    assert!(breaks.contains("the rules that the nodes enforce on pods"), "{breaks}");
}

/// EKS Auto Mode runs Karpenter and the load balancer controller where neither roles nor workloads show them.
#[test]
fn what_eks_auto_mode_runs_is_not_gone() {
    let auto = || healthy().with_cluster_wide("eks.amazonaws.com", "nodeclasses", "NodeClass").active("shop");
    let service = auto().held("v1", "Service", "shop", "web", &["service.eks.amazonaws.com/resources"]);
    let looked = look(service, object("service", "shop", "web"));
    assert_eq!(looked.causes(), ["ExternalResourceFinalizer"], "{:#?}", looked.report);
    assert!(looked.chain(0)[0].contains("it runs in the control plane of EKS Auto Mode"), "{:?}", looked.chain(0));
    let claim = |world: World| {
        let world = world.with_cluster_wide("karpenter.sh", "nodeclaims", "NodeClaim");
        let world = world.held_cluster_wide("karpenter.sh/v1", "NodeClaim", "pool-x", "karpenter.sh/termination");
        look(world, object("nodeclaim", "", "pool-x"))
    };
    let node = |world: World| {
        let world = world.with_cluster_wide("karpenter.sh", "nodeclaims", "NodeClaim");
        look(world.terminated_by_karpenter("node-a"), object("node", "", "node-a"))
    };
    for looked in [claim(auto()), node(auto())] {
        assert_eq!(looked.causes(), ["ExternalResourceFinalizer"], "{:#?}", looked.report);
        assert_eq!(looked.report.roots[0].finding.confidence, Confidence::Probable);
        assert!(looked.chain(0)[0].contains("eks.amazonaws.com"), "{:?}", looked.chain(0));
        assert!(!format!("{:?}", looked.report.roots).contains("install the same version"), "{:#?}", looked.report);
    }
    // Every EKS serves the metrics of its control plane.
    let metrics = healthy().with_cluster_wide("metrics.eks.amazonaws.com", "kcm", "Kcm");
    for looked in [claim(metrics), claim(healthy())] {
        assert_eq!(looked.causes(), ["FinalizerControllerGone"], "{:#?}", looked.report);
    }
}

/// A group of `k8s.io` is not built in for that: without its controller nothing takes the finalizer off.
#[test]
fn a_volume_snapshot_without_its_controller() {
    let snapshot = || {
        healthy()
            .with_custom("snapshot.storage.k8s.io", "volumesnapshots", "VolumeSnapshot")
            .with(json!({"kind": "Namespace", "metadata": {"name": "shop"}}))
            .held(
                "snapshot.storage.k8s.io/v1",
                "VolumeSnapshot",
                "shop",
                "s1",
                &["snapshot.storage.kubernetes.io/volumesnapshot-bound-protection"],
            )
    };
    let looked = look(snapshot(), object("volumesnapshot", "shop", "s1"));
    assert_eq!(looked.causes(), ["FinalizerControllerGone"], "{:#?}", looked.report);
    let root = looked.chain(0).pop().unwrap();
    assert!(root.contains("the snapshot controller removes it when"), "{root}");
    let breaks = &looked.report.roots[0].finding.remedy.breaks;
    assert!(breaks.contains("stays in the storage"), "{breaks}");
    let down = snapshot()
        .deployment("storage", "snapshot-controller", 1, 0)
        .may_change("storage", "snapshot-controller", "snapshot.storage.k8s.io", "volumesnapshots");
    assert_eq!(look(down, object("volumesnapshot", "shop", "s1")).causes(), ["FinalizerControllerNotReady"]);
}

/// Its controller works: it waits for the last user of the object.
#[test]
fn a_provider_config_that_is_still_used() {
    let config = |ready| {
        healthy()
            .with_custom("aws.upbound.io", "providerconfigs", "ProviderConfig")
            .with_custom("aws.upbound.io", "providerconfigusages", "ProviderConfigUsage")
            .refuse("/apis/aws.upbound.io/v1/providerconfigusages", 403, "no")
            .with(json!({"kind": "Namespace", "metadata": {"name": "shop"}}))
            .held("aws.upbound.io/v1", "ProviderConfig", "shop", "default", &["in-use.crossplane.io"])
            .deployment("crossplane-system", "provider-aws", 1, ready)
            .may_change("crossplane-system", "provider-aws", "aws.upbound.io", "providerconfigs")
    };
    let looked = look(config(1), object("providerconfig", "shop", "default"));
    assert_eq!(looked.causes(), ["ProtectedWhileInUse"], "{:#?}", looked.report);
    assert!(looked.chain(0)[0].contains("no ProviderConfigUsage of it is left"), "{:?}", looked.chain(0));
    let looked = look(config(0), object("providerconfig", "shop", "default"));
    assert_eq!(looked.causes(), ["FinalizerControllerNotReady"], "{:#?}", looked.report);
    let breaks = &looked.report.roots[0].finding.remedy.breaks;
    assert!(breaks.contains("lose their credentials"), "{breaks}");
}

#[test]
fn a_platforms_finalizer_of_a_namespace_names_the_platform() {
    let world = healthy().going("stuck", all_false()).change("/api/v1/namespaces", "stuck", |one| {
        one["spec"]["finalizers"] = json!(null);
        one["metadata"]["finalizers"] = json!(["controller.cattle.io/namespace-auth"]);
    });
    let looked = look(world, everything());
    assert_eq!(looked.causes(), ["ControllerCleanupPending"]);
    assert!(looked.chain(0)[0].contains("(Rancher removes it when "), "{:?}", looked.chain(0));
}

/// Its controller looks at Services only.
#[test]
fn a_finalizer_of_the_wrong_kind() {
    let held = |kind: &str| {
        let finalizers = ["service.kubernetes.io/load-balancer-cleanup"];
        look(healthy().held("v1", kind, "default", "it", &finalizers), object(&kind.to_lowercase(), "default", "it"))
    };
    assert_eq!(held("ConfigMap").causes(), ["FinalizerNotForThisKind"]);
    assert_eq!(held("Service").causes(), ["LoadBalancerCleanupPending"]);
}

/// Each kind of Rook has one, and most have nothing to do with the end of the Ceph cluster.
#[test]
fn a_pool_of_rook_waits_for_its_operator_to_be_started_again() {
    let pool = |replicas, ready| {
        healthy()
            .with_custom("ceph.rook.io", "cephblockpools", "CephBlockPool")
            .with(json!({"kind": "Namespace", "metadata": {"name": "rook-ceph"}}))
            .held("ceph.rook.io/v1", "CephBlockPool", "rook-ceph", "replicapool", &["cephblockpool.ceph.rook.io"])
            .deployment("rook-ceph", "rook-ceph-operator", replicas, ready)
            .may_change("rook-ceph", "rook-ceph-operator", "ceph.rook.io", "cephblockpools")
    };
    for (replicas, ready, expected) in
        [(0, 0, "FinalizerControllerGone"), (1, 0, "FinalizerControllerNotReady"), (1, 1, "ControllerCleanupPending")]
    {
        let looked = look(pool(replicas, ready), object("cephblockpool", "rook-ceph", "replicapool"));
        assert_eq!(looked.causes(), [expected], "{:#?}", looked.report);
        let finding = &looked.report.roots[0].finding;
        assert!(looked.chain(0)[0].contains("DeletionIsBlocked names what does"), "{:?}", looked.chain(0));
        assert!(!format!("{:?}", finding.remedy).contains("cleanupPolicy"), "{:#?}", finding.remedy);
        let starts = |command: &String| command.contains("scale deployment/rook-ceph-operator --replicas=1");
        assert_eq!(looked.commands().iter().any(starts), replicas == 0, "{:?}", looked.commands());
    }
}
