//! Products that set a finalizer with one program and remove it with another.

use crate::support::*;

/// A workload of this account in a namespace, so many of whose one pod are ready, with a role that names the kind.
fn serves(world: World, kind: &str, (namespace, name): (&str, &str), on: (&str, &str), ready: i64) -> World {
    let (group, plural) = on;
    let subjects = json!([{"kind": "ServiceAccount", "namespace": namespace, "name": name}]);
    let named = [plural.to_owned(), format!("{plural}/status")];
    let named: Vec<&str> = named.iter().map(String::as_str).collect();
    world.grants(name, &[group], &named, &["get", "list", "watch", "update", "patch"], subjects).with(json!({
        "apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "replicas": 1, "selector": {"matchLabels": {"app": name}},
            "template": {"spec": {"serviceAccountName": name, "containers": [{"name": name, "image": "x"}]}}
        },
        "status": {"replicas": 1, "readyReplicas": ready}
    }))
}

/// An object that is being deleted, whose finalizer this manager has set.
fn held(group: &str, plural: &str, kind: &str, finalizer: &str, manager: &str) -> World {
    healthy()
        .with_custom(group, plural, kind)
        .with(json!({"kind": "Namespace", "metadata": {"name": "shop"}}))
        .held(&format!("{group}/v1"), kind, "shop", "one", &[finalizer])
        .set_by(&format!("/apis/{group}/v1/{plural}"), "one", manager)
}

fn told(looked: &Looked) -> String {
    format!("{:?} {:?}", looked.report.roots, looked.commands())
}

/// `argocd app delete` has the server put the finalizer on, and an ApplicationSet its Applications from the start.
#[test]
fn an_application_waits_for_the_application_controller() {
    let (group, finalizer) = ("argoproj.io", "resources-finalizer.argocd.argoproj.io");
    let on = (group, "applications");
    let argo = |manager: &str, of_sets: i64, of_applications: i64, status: Value| {
        let world = held(group, "applications", "Application", finalizer, manager);
        let world = serves(world, "Deployment", ("argocd", "argocd-server"), on, 1);
        let world = serves(world, "Deployment", ("argocd", "argocd-applicationset-controller"), on, of_sets);
        let world = serves(world, "StatefulSet", ("argocd", "argocd-application-controller"), on, of_applications);
        let world = world.change("/apis/argoproj.io/v1/applications", "one", |one| one["status"] = status);
        look(world, object("application", "shop", "one"))
    };
    let looked = argo("argocd-server", 0, 0, json!({}));
    let root = looked.chain(0).last().unwrap().clone();
    assert!(root.starts_with("StatefulSet argocd/argocd-application-controller: 0 of 1"), "{:?}", looked.chain(0));
    let failed = json!({"conditions": [{"type": "DeletionError", "message": "the cluster is unreachable"}]});
    let looked = argo("argocd-applicationset-controller", 0, 1, failed);
    let root = looked.chain(0).last().unwrap().clone();
    assert!(root.contains("the cluster is unreachable"), "{:?}", looked.chain(0));
    assert_ne!(looked.report.roots[0].finding.confidence, Confidence::Proven, "{:#?}", looked.report);
}

/// Its role is for all there is, and says nothing of the kind; that of the ApplicationSets' controller names it.
#[test]
fn an_application_elsewhere_waits_for_the_application_controller_as_well() {
    let (on, finalizer) = (("argoproj.io", "applications"), "resources-finalizer.argocd.argoproj.io");
    let world = |name: &str| {
        let world = held(on.0, on.1, "Application", finalizer, "argocd-server");
        let world = serves(world, "Deployment", ("argocd", "argocd-applicationset-controller"), on, 0);
        let subjects = json!([{"kind": "ServiceAccount", "namespace": "argocd", "name": name}]);
        world.grants(name, &["*"], &["*"], &["*"], subjects).with(json!({
            "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": name, "namespace": "argocd"},
            "spec": {"replicas": 1, "template": {"spec": {"serviceAccountName": name}}}, "status": {"readyReplicas": 0}
        }))
    };
    let looked = look(world("argocd-application-controller"), object("application", "shop", "one"));
    let root = looked.chain(0).last().unwrap().clone();
    assert!(root.starts_with("StatefulSet argocd/argocd-application-controller: 0 of 1"), "{:?}", looked.chain(0));
    // Under another name it is not known, and no other program is it.
    let looked = look(world("gitops"), object("application", "shop", "one"));
    assert_eq!(looked.chain(0).len(), 1, "{:?}", looked.chain(0));
}

/// The Topic Operator goes with its Kafka, and the Cluster Operator has its rights only to hand them on.
#[test]
fn a_topic_is_not_released_by_the_cluster_operator() {
    let on = ("kafka.strimzi.io", "kafkatopics");
    for ready in [0, 1] {
        let world = held(on.0, on.1, "KafkaTopic", "strimzi.io/topic-operator", "strimzi-topic-operator");
        let world = serves(world, "Deployment", ("strimzi", "strimzi-cluster-operator"), on, ready);
        let looked = look(world, object("kafkatopic", "shop", "one"));
        assert_eq!(looked.causes(), ["ControllerCleanupPending"], "{:#?}", looked.report);
        assert!(told(&looked).contains("Topic Operator") && !told(&looked).contains("strimzi-cluster-operator"));
        assert_eq!(looked.report.roots[0].finding.confidence, Confidence::Probable);
        // It runs in a pod of this cluster, or it was deleted with its Kafka.
        assert!(!told(&looked).contains("no workload of this cluster"), "{}", told(&looked));
        let last = looked.commands().pop().unwrap();
        assert!(last.starts_with("kubectl patch kafkatopics.kafka.strimzi.io one -n shop --type=json"), "{last}");
    }
    let on = ("postgresql.cnpg.io", "databases");
    let world = held(on.0, on.1, "Database", "cnpg.io/deleteDatabase", "manager");
    let looked = look(
        serves(world, "Deployment", ("cnpg", "cnpg-controller-manager"), on, 1),
        object("database", "shop", "one"),
    );
    assert!(!told(&looked).contains("cnpg-controller-manager"), "{}", told(&looked));
}

/// All six share one role for all groups of Flux, and each patches by a name of its own.
#[test]
fn a_controller_of_flux_is_known_by_what_it_calls_itself() {
    let (group, plural) = ("kustomize.toolkit.fluxcd.io", "kustomizations");
    for of_images in [0, 1] {
        let mut world = held(group, plural, "Kustomization", "finalizers.fluxcd.io", "gotk-kustomize-controller");
        for (name, ready) in
            [("helm-controller", 1), ("image-automation-controller", of_images), ("kustomize-controller", 1)]
        {
            world = serves(world, "Deployment", ("flux-system", name), (group, plural), ready);
        }
        let looked = look(world, object("kustomization", "shop", "one"));
        let root = looked.chain(0).last().unwrap().clone();
        assert!(root.starts_with("Deployment flux-system/kustomize-controller"), "{:?}", looked.chain(0));
    }
}

/// The snapshot controller puts it on, and the driver's sidecar takes it off.
#[test]
fn the_content_of_a_snapshot_waits_for_its_driver() {
    let on = ("snapshot.storage.k8s.io", "volumesnapshotcontents");
    let finalizer = "snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection";
    let world = healthy()
        .with_cluster_wide(on.0, on.1, "VolumeSnapshotContent")
        .held_cluster_wide("snapshot.storage.k8s.io/v1", "VolumeSnapshotContent", "one", finalizer)
        .set_by("/apis/snapshot.storage.k8s.io/v1/volumesnapshotcontents", "one", "snapshot-controller");
    let world = serves(world, "Deployment", ("kube-system", "snapshot-controller"), on, 1);
    let world = serves(world, "Deployment", ("kube-system", "ebs-csi-controller"), on, 0);
    let looked = look(world, object("volumesnapshotcontent", "", "one"));
    let root = looked.chain(0).last().unwrap().clone();
    assert!(!root.contains("snapshot-controller:") && root.contains("csi-snapshotter"), "{:?}", looked.chain(0));
    let evidence = format!("{:?}", looked.report.roots[0].finding.evidence);
    assert!(evidence.contains("Deployment kube-system/ebs-csi-controller: 0 of 1"), "{evidence}");
}
