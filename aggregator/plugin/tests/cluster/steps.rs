//! Steps that depend on facts of the case: with the fact, and without.

use findings::render::Style;
use plugin::report::screen;

use crate::support::*;

fn widget() -> World {
    healthy().with_custom("example.com", "widgets", "Widget").active("team").held(
        "example.com/v1",
        "Widget",
        "team",
        "w",
        &["example.com/first", "widgets.example.com/cleanup"],
    )
}

fn service(kind: &str, set_by: Option<&str>) -> Looked {
    service_held_by("service.kubernetes.io/load-balancer-cleanup", kind, set_by)
}

fn service_held_by(finalizer: &str, kind: &str, set_by: Option<&str>) -> Looked {
    look(held_service(finalizer, kind, set_by), object("service", "team", "web"))
}

fn held_service(finalizer: &str, kind: &str, set_by: Option<&str>) -> World {
    let world = healthy().active("team").held("v1", "Service", "team", "web", &[finalizer]);
    let world = world.change("/api/v1/services", "web", |one| one["spec"] = json!({"type": kind}));
    match set_by {
        Some(manager) => world.set_by("/api/v1/services", "web", manager),
        None => world,
    }
}

fn texts(looked: &Looked) -> Vec<&str> {
    looked.report.roots[0].finding.remedy.steps.iter().map(|step| step.text.as_str()).collect()
}

fn has(looked: &Looked, text: &str) -> bool {
    texts(looked).iter().any(|one| one.contains(text))
}

#[test]
fn a_controller_that_runs_is_not_restored() {
    let world = widget().deployment("ops", "op", 1, 1).may_change("ops", "op", "example.com", "widgets");
    let looked = look(world, object("widget", "team", "w"));
    let log = "kubectl -n ops logs deployment/op --since=1h --tail=200";
    assert!(looked.commands().contains(&log.to_owned()), "{:?}", looked.commands());
    // The log may say it too: an update that the schema, a webhook or a policy refuses.
    let attempt = "kubectl annotate widgets.example.com w -n team why-terminating=try --dry-run=server";
    assert!(looked.commands().contains(&attempt.to_owned()), "{:?}", looked.commands());
    assert!(!has(&looked, "Last resort") && !has(&looked, "install the same version"), "{:#?}", texts(&looked));
    let looked = look(widget(), object("widget", "team", "w"));
    assert!(!looked.commands().iter().any(|one| one.contains(" logs ")), "{:?}", looked.commands());
}

/// The command takes off the finalizer that is meant, where it stands, and nothing else.
#[test]
fn a_finalizer_that_nothing_removes_is_taken_off_last_and_guarded() {
    let looked = look(widget(), object("widget", "team", "w"));
    assert_eq!(looked.causes(), ["FinalizerControllerGone"], "{:#?}", looked.report);
    // The last in the list first: the other one then still stands where its patch finds it.
    let [.., second, first] = looked.report.roots[0].finding.remedy.steps.as_slice() else {
        panic!("{:#?}", texts(&looked))
    };
    for (step, (index, finalizer)) in [(first, (0, "example.com/first")), (second, (1, "widgets.example.com/cleanup"))]
    {
        assert!(step.text.starts_with("Last resort. Lost,"), "{}", step.text);
        let expected = format!(
            "kubectl patch widgets.example.com w -n team --type=json -p '[{{\"op\":\"test\",\"path\":\"/metadata/uid\",\
             \"value\":\"Widget-w\"}},{{\"op\":\"test\",\"path\":\"/metadata/finalizers/{index}\",\"value\":\"{finalizer}\"}},\
             {{\"op\":\"remove\",\"path\":\"/metadata/finalizers/{index}\"}}]'"
        );
        assert_eq!(step.command.as_deref(), Some(expected.as_str()));
    }
}

#[test]
fn a_service_that_never_had_a_load_balancer() {
    let looked = service("ClusterIP", Some("helm"));
    assert_eq!(looked.causes(), ["LoadBalancerCleanupPending"]);
    assert!(looked.chain(0)[0].contains("spec.type ClusterIP, no load balancer"), "{:?}", looked.chain(0));
    assert!(has(&looked, "nothing is left to clean up") && !has(&looked, "Restore the cloud"), "{:#?}", texts(&looked));
    let remedy = &looked.report.roots[0].finding.remedy;
    assert!(!remedy.breaks.contains("costs money"), "{}", remedy.breaks);
    let looked = service_held_by("service.k8s.aws/resources", "ClusterIP", Some("helm"));
    assert_eq!(looked.causes(), ["FinalizerControllerGone"]);
    assert!(has(&looked, "nothing is left to clean up"), "{:#?}", texts(&looked));
    // Where workloads may not be listed nothing shows that its controller is gone.
    let unseen = held_service("service.k8s.aws/resources", "ClusterIP", Some("helm"));
    let unseen = unseen.refuse("/apis/apps/v1/deployments", 403, "forbidden");
    let looked = look(unseen, object("service", "team", "web"));
    assert_eq!(looked.causes(), ["ExternalResourceFinalizer"], "{:#?}", looked.report);
    assert!(has(&looked, "nothing is left to clean up"), "{:#?}", texts(&looked));
    // It may have had one: a name that many programs have is no applier's, and a Service without managedFields says nothing.
    for (kind, set_by) in [
        ("LoadBalancer", Some("helm")),
        ("ClusterIP", Some("cloud-controller-manager")),
        ("ClusterIP", Some("controller")),
        ("ClusterIP", Some("kube-controller-manager")),
        ("ClusterIP", None),
    ] {
        let looked = service(kind, set_by);
        assert!(has(&looked, "Restore the cloud"), "{kind} {set_by:?}: {:#?}", texts(&looked));
        assert!(!has(&looked, "nothing is left to clean up"), "{kind} {set_by:?}: {:#?}", texts(&looked));
        assert!(looked.report.roots[0].finding.remedy.breaks.contains("costs money"));
    }
}

/// It is in the tree, behind all that may help.
#[test]
fn the_screen_offers_no_last_resort_as_the_repair() {
    for looked in [service("LoadBalancer", None), look(widget(), object("widget", "team", "w"))] {
        let screen = screen(&looked.report, 120, Style::Plain);
        assert!(has(&looked, "Last resort") && !screen.contains("Last resort"), "{screen}");
        assert!(screen.contains("   Fix     ") || screen.contains("   Next    Bring"), "{screen}");
    }
    let screen = screen(&service("LoadBalancer", None).report, 120, Style::Plain);
    assert!(screen.contains("   Fix     Restore the cloud controller manager"), "{screen}");
}

#[test]
fn a_volume_whose_node_is_gone_is_not_detached_by_trying_again() {
    let attachment = |node: &str| {
        let world = healthy();
        let asked = world.ago(5000);
        let world = world.with(json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment",
            "metadata": {
                "name": "csi-1", "uid": "va-1", "deletionTimestamp": asked, "finalizers": ["external-attacher/csi-example-com"]
            },
            "spec": {"attacher": "csi.example.com", "nodeName": node, "source": {"persistentVolumeName": "pv-1"}},
            "status": {"attached": true, "detachError": {"message": "node wasn't found"}}
        }));
        look(world, object("volumeattachment", "", "csi-1"))
    };
    let looked = attachment("lost");
    let last = looked.report.roots[0].finding.remedy.steps.last().unwrap();
    assert!(
        last.text
            .starts_with("Last resort, only if the storage's own console shows the volume attached to no instance")
    );
    assert!(last.command.as_ref().unwrap().contains("external-attacher/csi-example-com"), "{last:?}");
    assert!(!has(&looked, "tries again") && has(&looked, "Node lost does not exist"), "{:#?}", texts(&looked));
    let looked = attachment("node-a");
    assert!(has(&looked, "tries again") && !has(&looked, "Last resort"), "{:#?}", texts(&looked));
}

/// The kubelet's reports are refused, whatever it has cleaned up.
#[test]
fn a_pod_whose_namespace_is_gone() {
    let world = || healthy().going_pod("dataplane", "p", "node-a", "Succeeded");
    let looked = look(world().without_namespace("dataplane"), object("pod", "dataplane", "p"));
    assert_eq!(looked.causes(), ["ContentWithoutNamespace"], "{:#?}", looked.report);
    assert!(looked.commands().iter().any(|one| one == "kubectl create namespace dataplane"), "{:?}", looked.commands());
    assert_eq!(look(world(), object("pod", "dataplane", "p")).causes(), ["PodCleanupNotFinished"]);
}

fn helm_chart(set_by: &str, finalizer: &str) -> World {
    let path = "/apis/helm.cattle.io/v1/helmcharts";
    let world = healthy().with_custom("helm.cattle.io", "helmcharts", "HelmChart").active("apps");
    world.held("helm.cattle.io/v1", "HelmChart", "apps", "s3", &[finalizer]).set_by(path, "s3", set_by)
}

/// No pod shows it, and it is not installed again.
#[test]
fn a_controller_within_the_server_of_k3s_is_not_gone() {
    for (set_by, finalizer) in
        [("helm-controller@srv1", "wrangler.cattle.io/on-helm-chart-remove"), ("k3s", "example.com/x")]
    {
        let looked = look(helm_chart(set_by, finalizer), object("helmchart", "apps", "s3"));
        assert_eq!(looked.causes(), ["ControllerCleanupPending"], "{:#?}", looked.report);
        let log = "journalctl -u k3s -u rke2-server --since -1h --no-pager --grep s3";
        assert!(looked.commands().iter().any(|one| one == log), "{:?}", looked.commands());
        assert!(!has(&looked, "Install the same version"), "{:#?}", texts(&looked));
    }
    let looked = look(helm_chart("kubectl", "example.com/x"), object("helmchart", "apps", "s3"));
    assert_eq!(looked.causes(), ["FinalizerControllerGone"]);
}

/// The Job that uninstalls a chart cannot be created any more.
#[test]
fn a_controller_that_cleans_up_by_a_job_is_blocked_in_a_namespace_that_is_deleted() {
    let chart = || {
        let world = helm_chart("helm-controller@srv1", "wrangler.cattle.io/on-helm-chart-remove");
        world.without("/api/v1/namespaces", "apps").going("apps", all_false())
    };
    let looked = look(chart(), object("helmchart", "apps", "s3"));
    assert_eq!(looked.causes(), ["FinalizerControllerBlocked"], "{:#?}", looked.report);
    assert!(looked.chain(0)[0].contains("its controller cleans up by a Job"), "{:?}", looked.chain(0));
    let job = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "helm-delete-s3", "namespace": "apps"}
    });
    assert_eq!(look(chart().with(job), object("helmchart", "apps", "s3")).causes(), ["ControllerCleanupPending"]);
}

/// Rancher's agent sets one on every Deployment, itself included.
#[test]
fn a_controller_that_waits_for_itself() {
    let finalizer = "wrangler.cattle.io/legacy-k3sBasedUpgrader-deprecation";
    let agent = |going: bool| {
        let world =
            if going { healthy().going("cattle-system", all_false()) } else { healthy().active("cattle-system") };
        let asked = world.ago(600);
        let world = world.deployment("cattle-system", "cattle-cluster-agent", 1, 0);
        let world = world.change("/apis/apps/v1/deployments", "cattle-cluster-agent", |one| {
            one["metadata"]["uid"] = "agent".into();
            one["metadata"]["deletionTimestamp"] = asked.into();
            one["metadata"]["finalizers"] = json!([finalizer]);
        });
        let account = json!([sa("cattle-system", "cattle-cluster-agent")]);
        let world = world.grants("cattle", &["*"], &["*"], &["*"], account);
        look(world, object("deployment", "cattle-system", "cattle-cluster-agent"))
    };
    let looked = agent(true);
    assert_eq!(looked.causes(), ["FinalizerOwnerInSameNamespace"], "{:#?}", looked.report);
    assert!(looked.chain(0).pop().unwrap().contains("is itself being deleted"), "{:?}", looked.chain(0));
    assert!(
        has(&looked, "nothing is left to clean up") && !has(&looked, "from another namespace"),
        "{:#?}",
        texts(&looked)
    );
    let looked = agent(false);
    assert!(looked.chain(0).pop().unwrap().contains("is itself being deleted"), "{:?}", looked.chain(0));
}

const SOURCE_PROTECTION: &str = "snapshot.storage.kubernetes.io/pvc-as-source-protection";

fn claim(snapshots: serde_json::Value) -> Looked {
    let world = healthy().with_custom("snapshot.storage.k8s.io", "volumesnapshots", "VolumeSnapshot").active("shop");
    let world = world.held("v1", "PersistentVolumeClaim", "shop", "data", &[SOURCE_PROTECTION]).with(snapshots);
    look(world, object("pvc", "shop", "data"))
}

fn snapshot(name: &str, source: &str, status: serde_json::Value) -> serde_json::Value {
    json!({
        "apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot",
        "metadata": {"name": name, "namespace": "shop", "uid": name},
        "spec": {"source": {"persistentVolumeClaimName": source}}, "status": status
    })
}

/// The snapshots that are not finished hold it, with what they report.
#[test]
fn a_claim_waits_for_its_snapshots() {
    let failed = json!({"readyToUse": false, "error": {"message": "class \"fast\" not found"}});
    let looked = claim(json!([
        snapshot("nightly-1", "data", failed),
        snapshot("nightly-2", "data", json!({})),
        snapshot("done", "data", json!({"readyToUse": true})),
        snapshot("other", "logs", json!({}))
    ]));
    assert_eq!(looked.causes(), ["SnapshotFinalizer"], "{:#?}", looked.report);
    let last = looked.chain(0).pop().unwrap();
    assert!(last.starts_with("VolumeSnapshot shop/nightly-1: ") && last.contains("class 'fast' not found"), "{last}");
    assert!(
        last.contains("VolumeSnapshot shop/nightly-2") && !last.contains("done") && !last.contains("other"),
        "{last}"
    );
    assert!(has(&looked, "Repair what keeps that object"), "{:#?}", texts(&looked));
    let command = "kubectl describe volumesnapshots.snapshot.storage.k8s.io/nightly-1 -n shop";
    assert!(looked.commands().iter().any(|one| one == command), "{:?}", looked.commands());
    // None is left that needs it.
    let looked = claim(json!([snapshot("done", "data", json!({"readyToUse": true}))]));
    assert!(looked.chain(0).pop().unwrap().contains("nothing uses it any more"), "{:?}", looked.chain(0));
    assert!(!has(&looked, "that object"), "{:#?}", texts(&looked));
}

/// One that is being deleted itself is waited for.
#[test]
fn a_user_that_is_being_deleted_is_a_link_of_the_chain() {
    let world = healthy().with_cluster_wide("gateway.networking.k8s.io", "gatewayclasses", "GatewayClass");
    let world = world.with_custom("gateway.networking.k8s.io", "gateways", "Gateway").active("shop");
    let finalizer = "gateway-exists-finalizer.gateway.networking.k8s.io";
    let version = "gateway.networking.k8s.io/v1";
    let world = world.held_cluster_wide(version, "GatewayClass", "nginx", finalizer);
    let world = world.held(version, "Gateway", "shop", "web", &["example.com/hold"]);
    let path = "/apis/gateway.networking.k8s.io/v1/gateways";
    let world = world.change(path, "web", |one| one["spec"] = json!({"gatewayClassName": "nginx"}));
    let looked = look(world, object("gatewayclass", "", "nginx"));
    assert!(looked.chain(0)[1].starts_with("Gateway shop/web"), "{:?}", looked.chain(0));
}

/// Crossplane counts usages of a ProviderConfig of the same name in another namespace.
#[test]
fn who_uses_one_of_the_same_name_is_no_user() {
    let group = "azure.m.upbound.io";
    let world = |namespace: &str| {
        let world = healthy().with_custom(group, "providerconfigs", "ProviderConfig").active("test-1").active("test-2");
        let world = world.with_custom(group, "providerconfigusages", "ProviderConfigUsage");
        let world = world.with(json!({
            "apiVersion": "azure.m.upbound.io/v1", "kind": "ProviderConfigUsage",
            "metadata": {"name": "bba1", "namespace": namespace},
            "providerConfigRef": {"kind": "ProviderConfig", "name": "test"}
        }));
        let world = world.deployment("ops", "op", 1, 1).may_change("ops", "op", group, "providerconfigs");
        let held = world.held("azure.m.upbound.io/v1", "ProviderConfig", "test-2", "test", &["in-use.crossplane.io"]);
        look(held, object("providerconfig", "test-2", "test"))
    };
    let looked = world("test-1");
    assert_eq!(looked.causes(), ["ProtectedWhileInUse"], "{:#?}", looked.report);
    let last = looked.chain(0).pop().unwrap();
    assert!(
        last.contains("nothing in test-2 uses it; ProviderConfigUsage test-1/bba1 names one of the same name"),
        "{last}"
    );
    assert!(has(&looked, "Last resort") && !has(&looked, "delete it first"), "{:#?}", texts(&looked));
    let looked = world("test-2");
    assert!(looked.chain(0).pop().unwrap().starts_with("ProviderConfigUsage test-2/bba1"), "{:?}", looked.chain(0));
    assert!(has(&looked, "delete it first") && !has(&looked, "Last resort"), "{:#?}", texts(&looked));
}

/// Before a deletion its finalizers are what makes it safe.
#[test]
fn no_finalizer_is_taken_off_before_the_deletion() {
    let subject = |before: bool| {
        let (word, namespace, name) = ("widget".to_owned(), "team".to_owned(), "w".to_owned());
        match before {
            true => aggregator_core::state::Subject::Before { word, namespace, name },
            false => aggregator_core::state::Subject::Object { word, namespace, name },
        }
    };
    let live = widget().change("/apis/example.com/v1/widgets", "w", |one| {
        one["metadata"]["deletionTimestamp"] = json!(null);
    });
    let looked = look(live, subject(true));
    assert!(!looked.report.roots.is_empty() && !has(&looked, "Last resort"), "{:#?}", looked.report);
    assert!(has(&look(widget(), subject(false)), "Last resort"));
}

/// A volume whose disk is not deleted; the csi-provisioner's Lease was renewed so long ago.
fn released(renewed: Option<i64>, policy: &str) -> Looked {
    let provisioner = "external-provisioner.volume.kubernetes.io/finalizer";
    let world = healthy().held_cluster_wide("v1", "PersistentVolume", "pv-1", provisioner);
    let world = world.change("/api/v1/persistentvolumes", "pv-1", |one| {
        one["spec"] = json!({
            "persistentVolumeReclaimPolicy": policy, "csi": {"driver": "ebs.csi.aws.com", "volumeHandle": "vol-1"}
        });
        one["status"] = json!({"phase": "Released"});
    });
    let world = match renewed.map(|seconds| world.ago(seconds)) {
        Some(renewed) => world.with(json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": "ebs-csi-aws-com", "namespace": "kube-system"},
            "spec": {"holderIdentity": "ebs-csi-controller-0", "leaseDurationSeconds": 15, "renewTime": renewed}
        })),
        None => world,
    };
    look(world, object("pv", "", "pv-1"))
}

/// The driver's controller is brought back where its Lease has run out, and not where it is renewed.
#[test]
fn a_provisioner_that_runs_is_not_brought_back() {
    for policy in ["Delete", "Retain"] {
        let has_back = |renewed| has(&released(renewed, policy), "the CSI controller of ebs.csi.aws.com again");
        assert_eq!([has_back(Some(5)), has_back(Some(600))], [false, true], "{policy}");
    }
    let runs = released(Some(5), "Delete");
    assert!(has(&runs, "Repair what the storage answers"), "{:#?}", texts(&runs));
    assert!(has(&released(Some(5), "Retain"), "renews its Lease"), "{:#?}", texts(&runs));
    assert!(!has(&released(Some(600), "Delete"), "Repair what the storage answers"));
    assert!(has(&released(None, "Delete"), "see whether the CSI controller of ebs.csi.aws.com runs"));
}

/// Argo CD is restored where it does not run.
#[test]
fn argo_cd_is_restored_only_where_it_does_not_run() {
    let application = |ready: i64| {
        let group = "argoproj.io";
        let world = healthy().with_custom(group, "applications", "Application").active("argocd");
        let world =
            world.held("argoproj.io/v1", "Application", "argocd", "shop", &["resources-finalizer.argocd.argoproj.io"]);
        let world = world.deployment("argocd", "argocd-application-controller", 1, ready);
        let world = world.may_change("argocd", "argocd-application-controller", group, "applications");
        look(world, object("application", "argocd", "shop"))
    };
    let runs = application(1);
    assert!(has(&runs, "Repair what Argo CD's log names") && !has(&runs, "Restore Argo CD"), "{:#?}", texts(&runs));
    let is_down = application(0);
    assert!(has(&is_down, "Restore Argo CD") && !has(&is_down, "log names"), "{:#?}", texts(&is_down));
}

/// servicelb and the controllers of etcd's members and of names are within the server, which calls itself so.
#[test]
fn what_the_server_of_k3s_set_is_removed_by_it() {
    let log = |name: &str| format!("journalctl -u k3s -u rke2-server --since -1h --no-pager --grep {name}");
    let service = |set_by: &str| {
        let world = healthy().active("apps");
        let world = world.held("v1", "Service", "apps", "web", &["service.kubernetes.io/load-balancer-cleanup"]);
        let world = world.change("/api/v1/services", "web", |one| one["spec"] = json!({"type": "LoadBalancer"}));
        look(world.set_by("/api/v1/services", "web", set_by), object("service", "apps", "web"))
    };
    for set_by in ["k3s", "k3s-cloud-controller-manager@srv1"] {
        let looked = service(set_by);
        assert_eq!(looked.causes(), ["ControllerCleanupPending"], "{:#?}", looked.report);
        assert!(looked.commands().contains(&log("web")), "{:?}", looked.commands());
        assert!(looked.chain(0)[0].contains("servicelb"), "{:?}", looked.chain(0));
        assert!(!has(&looked, "costs money") && !has(&looked, "cloud permissions"), "{:#?}", texts(&looked));
    }
    for set_by in ["cloud-controller-manager", "kubectl"] {
        let looked = service(set_by);
        assert_eq!(looked.causes(), ["LoadBalancerCleanupPending"], "{:#?}", looked.report);
        assert!(has(&looked, "cloud permissions"), "{:#?}", texts(&looked));
    }
    let nodes = |finalizers: &[&str], set_by: &str| {
        let world = healthy();
        let asked = world.ago(7200);
        let world = world.change("/api/v1/nodes", "node-a", |node| {
            node["metadata"]["deletionTimestamp"] = asked.into();
            node["metadata"]["finalizers"] = json!(finalizers);
        });
        look(world.set_by("/api/v1/nodes", "node-a", set_by), object("node", "", "node-a"))
    };
    let node = |finalizer: &str, set_by: &str| nodes(&[finalizer], set_by);
    for (finalizer, set_by) in [
        ("wrangler.cattle.io/managed-etcd-controller", "rke2-supervisor@srv1"),
        ("wrangler.cattle.io/managed-etcd-controller", "kubectl"),
        ("wrangler.cattle.io/node", "k3s-supervisor@srv1"),
        ("wrangler.cattle.io/of-a-later-version", "k3s-supervisor@srv1"),
    ] {
        let looked = node(finalizer, set_by);
        assert_eq!(looked.causes(), ["ControllerCleanupPending"], "{:#?}", looked.report);
        assert!(looked.commands().contains(&log("node-a")), "{finalizer}: {:?}", looked.commands());
    }
    let member = node("wrangler.cattle.io/managed-etcd-controller", "k3s-supervisor@srv1");
    assert!(member.chain(0)[0].contains("etcd"), "{:?}", member.chain(0));
    assert!(!node("wrangler.cattle.io/node", "rancher").commands().contains(&log("node-a")));
    let both = ["wrangler.cattle.io/node", "wrangler.cattle.io/managed-etcd-controller"];
    assert_eq!(nodes(&both, "k3s-supervisor@srv1").report.roots.len(), 1, "one server, one root");
}
