//! What is destroyed when a deletion completes is the first thing that an answer says of a root.

use aggregator_core::report::AtRisk;
use aggregator_core::state::Subject;
use findings::render::{Detail, Style};
use plugin::report::{screen, tree};

use crate::drain::cordoned;
use crate::support::*;

/// A claim that is being deleted, its volume, and a pod that uses it.
fn claim(policy: &str, pod_is_deleted: bool) -> World {
    let world = healthy();
    let ago = world.ago(600);
    let deleted = if pod_is_deleted { json!(ago) } else { json!(null) };
    world.with(json!([
        {"kind": "PersistentVolumeClaim",
         "metadata": {"name": "data", "namespace": "shop", "uid": "d", "deletionTimestamp": ago,
                      "finalizers": ["kubernetes.io/pvc-protection"]},
         "spec": {"volumeName": "pv-3"}, "status": {"phase": "Bound"}},
        {"kind": "PersistentVolume", "metadata": {"name": "pv-3", "uid": "v"},
         "spec": {"persistentVolumeReclaimPolicy": policy, "csi": {"driver": "ebs.csi.aws.com", "volumeHandle": "vol-3"},
                  "claimRef": {"namespace": "shop", "name": "data", "uid": "d"}}, "status": {"phase": "Bound"}},
        {"kind": "Pod", "metadata": {"name": "db-0", "namespace": "shop", "uid": "p", "deletionTimestamp": deleted,
                                     "deletionGracePeriodSeconds": if pod_is_deleted { json!(30) } else { json!(null) }},
         "spec": {"nodeName": "node-a", "volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]},
         "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}],
                    "containerStatuses": [{"name": "c", "containerID": "containerd://1", "state": {"running": {}}}]}}
    ]))
}

fn lines(looked: &Looked) -> Vec<String> {
    looked.report.roots.iter().flat_map(|root| AtRisk::lines(&root.at_risk, root.more_at_risk)).collect()
}

#[test]
fn to_delete_the_pod_that_keeps_a_claim_deletes_its_disk() {
    let looked = look(claim("Delete", false), everything());
    assert_eq!(looked.causes(), ["PvcUsedByPod"], "{:#?}", looked.report);
    let line = "Data at risk: deleting Pod shop/db-0 lets disk vol-3 be deleted (reclaim policy Delete)";
    assert_eq!(lines(&looked), [line]);
    // Below the line with its name, above all else.
    let screen = screen(&looked.report, 120, Style::Plain);
    let below = screen.lines().skip_while(|text| !text.contains("PvcUsedByPod")).nth(1);
    assert_eq!(below.map(str::trim), Some(line), "{screen}");
    let tree = tree(&looked.report, Detail::Short, 120, Style::Plain);
    let below = tree.lines().skip_while(|text| !text.contains("data: Stuck")).nth(1);
    assert_eq!(below.map(str::trim), Some(line), "{tree}");
}

/// The claim is being deleted already, and waits for its pod only.
#[test]
fn to_delete_the_pod_of_a_deleted_claim_would_delete_its_disk() {
    let word = "pod".to_owned();
    let subject = Subject::Before { word, namespace: "shop".to_owned(), name: "db-0".to_owned() };
    let before = |world: World| tree(&look(world, subject.clone()).report, Detail::Short, 120, Style::Plain);
    let said = before(claim("Delete", false));
    let line = "Data at risk: disk vol-3 is deleted with PersistentVolumeClaim shop/data (reclaim policy Delete)";
    assert_eq!(said.lines().nth(1), Some(line), "{said}");
    let said = before(claim("Retain", false));
    assert!(!said.contains("at risk"), "{said}");
    let claims = "/api/v1/persistentvolumeclaims";
    let kept = claim("Delete", false).change(claims, "data", |one| one["metadata"]["deletionTimestamp"] = json!(null));
    let said = before(kept);
    assert!(!said.contains("at risk"), "{said}");
}

/// In the minute in which nothing is called stuck the disk is as much at risk as later.
#[test]
fn what_is_held_for_seconds_is_not_called_normal_and_its_risk_is_named() {
    let world = claim("Delete", false);
    let asked = world.ago(13);
    let young = world
        .change("/api/v1/persistentvolumeclaims", "data", |one| one["metadata"]["deletionTimestamp"] = json!(asked));
    let report = look(young, everything()).report;
    let (screen, tree) = (screen(&report, 120, Style::Plain), tree(&report, Detail::Short, 120, Style::Plain));
    for said in [screen, tree] {
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains("1 persistentvolumeclaim is held, for 13s: that is called stuck after 1m."), "{said}");
        assert!(said.contains("waiting for Pod shop/db-0: ") && !said.contains("normally"), "{said}");
        assert!(said.contains("Data at risk: deleting Pod shop/db-0 lets disk vol-3 be deleted"), "{said}");
    }
}

#[test]
fn what_stands_above_the_root_is_at_risk_as_well() {
    let world = claim("Delete", true).node_ready("node-a", "Unknown", "NodeStatusUnknown", "stopped posting");
    let looked = look(world, everything());
    assert_eq!(looked.causes(), ["NodeUnreachable"], "{:#?}", looked.report);
    assert_eq!(
        lines(&looked),
        ["Data at risk: disk vol-3 is deleted with PersistentVolumeClaim shop/data (reclaim policy Delete)"]
    );
}

/// The claim is being deleted too, and goes when the pod has.
#[test]
fn the_end_of_a_stuck_pod_that_was_named_deletes_the_disk_behind_it() {
    let pod = |policy: &str, claim_is_deleted: bool| {
        let world = claim(policy, true).node_ready("node-a", "Unknown", "NodeStatusUnknown", "stopped posting");
        let world = world.change("/api/v1/persistentvolumeclaims", "data", |one| {
            if !claim_is_deleted {
                one["metadata"]["deletionTimestamp"] = json!(null);
            }
        });
        look(world, object("pod", "shop", "db-0"))
    };
    let looked = pod("Delete", true);
    assert_eq!(looked.causes(), ["NodeUnreachable"], "{:#?}", looked.report);
    let line = "Data at risk: disk vol-3 is deleted with PersistentVolumeClaim shop/data (reclaim policy Delete)";
    assert_eq!(lines(&looked), [line]);
    for looked in [pod("Delete", false), pod("Retain", true)] {
        assert_eq!((looked.causes(), lines(&looked)), (vec!["NodeUnreachable"], vec![]), "{:#?}", looked.report);
    }
}

/// A drain evicts the pod that keeps the claim.
#[test]
fn a_drain_that_goes_on_deletes_the_disks_behind_its_pods() {
    let world = |claim_is_deleted: bool| {
        cordoned(claim("Delete", false)).change("/api/v1/persistentvolumeclaims", "data", |one| {
            if !claim_is_deleted {
                one["metadata"]["deletionTimestamp"] = json!(null);
            }
        })
    };
    let looked = look(world(true), object("node", "", "node-a"));
    assert_eq!(looked.causes(), ["DrainNeedsConsent"], "{:#?}", looked.report);
    let line = "Data at risk: deleting Pod shop/db-0 lets disk vol-3 be deleted (reclaim policy Delete)";
    assert_eq!(lines(&looked), [line]);
    assert!(lines(&look(world(false), object("node", "", "node-a"))).is_empty());
    let before = |world: World| {
        let subject = Subject::Before { word: "node".to_owned(), namespace: String::new(), name: "node-a".to_owned() };
        AtRisk::lines(&look(world, subject).report.at_risk, 0)
    };
    let line = "Data at risk: disk vol-3 is deleted with PersistentVolumeClaim shop/data (reclaim policy Delete)";
    assert_eq!(before(world(true)), [line]);
    assert!(before(world(false)).is_empty());
}

/// What Argo CD deletes before it lets an Application go, and the disks of its claims.
#[test]
fn what_an_application_manages_is_deleted_with_it() {
    let cascade = ["resources-finalizer.argocd.argoproj.io"];
    let lines_of = |finalizers: &[&str], server: &str, options: &str, inside: &str| {
        let managed = json!([
            {"kind": "StatefulSet", "group": "apps", "version": "v1", "namespace": "shop", "name": "db"},
            {"kind": "CustomResourceDefinition", "group": "apiextensions.k8s.io", "version": "v1", "name": "x.example.com"},
            match inside {
                "Namespace" => json!({"kind": "Namespace", "version": "v1", "name": "shop"}),
                _ => json!({"kind": inside, "version": "v1", "namespace": "shop", "name": "data"}),
            }
        ]);
        let path = "/apis/argoproj.io/v1/applications";
        let world = claim("Delete", false)
            .with_custom("argoproj.io", "applications", "Application")
            .active("argocd")
            .held("argoproj.io/v1", "Application", "argocd", "shop", finalizers)
            .change(path, "shop", |one| {
                one["spec"] = json!({"destination": {"server": server}});
                one["status"] = json!({"resources": managed});
            })
            .change("/api/v1/persistentvolumeclaims", "data", |one| {
                one["metadata"]["deletionTimestamp"] = json!(null);
                one["metadata"]["annotations"] = json!({"argocd.argoproj.io/sync-options": options});
            });
        lines(&look(world, object("application", "argocd", "shop")))
    };
    let (local, disk) = ("https://kubernetes.default.svc", "disk vol-3 is deleted with Application argocd/shop");
    let disk = format!("Data at risk: {disk} (reclaim policy Delete)");
    let both = |inside: &str| {
        format!(
            "At risk: 2 objects ({inside}, StatefulSet shop/db) are deleted with Application argocd/shop (unless annotated \
             Delete=false)"
        )
    };
    let claim = "PersistentVolumeClaim";
    assert_eq!(
        lines_of(&cascade, local, "Prune=false", claim),
        [disk.clone(), both("PersistentVolumeClaim shop/data")]
    );
    assert_eq!(lines_of(&cascade, local, "", "Namespace"), [disk, both("Namespace shop")]);
    // Its claim there is another one.
    let remote = lines_of(&cascade, "https://10.0.0.1", "", claim);
    assert_eq!(remote, [both("PersistentVolumeClaim shop/data")]);
    let kept = lines_of(&cascade, local, "Prune=false, Delete=false", claim);
    assert_eq!(kept, [both("PersistentVolumeClaim shop/data")]);
    let hooks = ["post-delete-finalizer.argocd.argoproj.io"];
    assert_eq!(lines_of(&hooks, local, "", claim), [] as [String; 0]);
}

/// Nothing is guessed: the policy is read, of the volume that names this claim.
#[test]
fn without_a_policy_that_deletes_nothing_is_at_risk() {
    let volumes = "/api/v1/persistentvolumes";
    let another =
        claim("Delete", false).change(volumes, "pv-3", |one| one["spec"]["claimRef"]["uid"] = json!("before"));
    for world in [claim("Retain", false), claim("", false), claim("Delete", false).without(volumes, "pv-3"), another] {
        let looked = look(world, everything());
        let risks: Vec<&AtRisk> = looked.report.roots.iter().flat_map(|root| &root.at_risk).collect();
        assert_eq!((looked.causes(), risks), (vec!["PvcUsedByPod"], vec![]), "{:#?}", looked.requests);
    }
    let refused = claim("Delete", false).refuse(&format!("{volumes}/pv-3"), 403, "persistentvolumes is forbidden");
    let looked = look(refused, object("pvc", "shop", "data"));
    assert_eq!((looked.causes(), lines(&looked)), (vec!["PvcUsedByPod"], vec![]), "{:#?}", looked.report);
    let notes: Vec<&String> = looked.report.notes.iter().collect();
    assert!(notes.iter().any(|note| note.contains("whether a disk is deleted with its claim")), "{notes:?}");
}

/// A handle is a name that its driver gives: another driver may give the same.
#[test]
fn one_handle_of_two_drivers_is_two_disks() {
    let with_another = |driver: &str| {
        let world = claim("Delete", false).with(json!([
            {"kind": "PersistentVolumeClaim",
             "metadata": {"name": "logs", "namespace": "shop", "uid": "l", "deletionTimestamp": "2026-01-01T00:00:00Z",
                          "finalizers": ["kubernetes.io/pvc-protection"]},
             "spec": {"volumeName": "pv-4"}, "status": {"phase": "Bound"}},
            {"kind": "PersistentVolume", "metadata": {"name": "pv-4", "uid": "w"},
             "spec": {"persistentVolumeReclaimPolicy": "Delete", "csi": {"driver": driver, "volumeHandle": "vol-3"},
                      "claimRef": {"namespace": "shop", "name": "logs", "uid": "l"}}, "status": {"phase": "Bound"}}
        ]));
        let world = world.change("/api/v1/pods", "db-0", |pod| {
            let volumes = pod["spec"]["volumes"].as_array_mut().unwrap();
            volumes.push(json!({"name": "l", "persistentVolumeClaim": {"claimName": "logs"}}));
        });
        lines(&look(world, everything()))
    };
    assert!(with_another("ebs.csi.aws.com")[0].contains("lets disk vol-3 be deleted"));
    assert!(
        with_another("disk.csi.example.com")[0]
            .contains("lets 2 disks (vol-3 of disk.csi.example.com, vol-3 of ebs.csi.aws.com) be deleted")
    );
}

/// Who was refused the list is not asked about each of thousands.
#[test]
fn without_the_right_to_volumes_each_is_not_queried() {
    let more = (0..60).map(|number| {
        json!({"kind": "PersistentVolumeClaim",
               "metadata": {"name": format!("c-{number}"), "namespace": "shop", "uid": format!("c-{number}"),
                            "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["kubernetes.io/pvc-protection"]},
               "spec": {"volumeName": format!("pv-c-{number}")}})
    });
    let world = claim("Delete", false).with(json!(more.collect::<Vec<_>>()));
    // One root for all of them.
    let world = world.change("/api/v1/pods", "db-0", |pod| {
        let uses = |name: String| json!({"name": name, "persistentVolumeClaim": {"claimName": name}});
        let volumes = pod["spec"]["volumes"].as_array_mut().unwrap();
        volumes.extend((0..60).map(|number| uses(format!("c-{number}"))));
    });
    let world = world.refuse("/api/v1/persistentvolumes", 403, "persistentvolumes is forbidden");
    let looked = look(world, everything());
    let single = looked.requests.iter().filter(|path| path.contains("/persistentvolumes/")).count();
    assert_eq!(single, 0, "{:#?}", looked.requests);
}

/// What only adds to an answer takes nothing from those who have no permission to read it.
#[test]
fn the_volume_is_not_what_the_explanation_rests_on() {
    let looked = look(claim("Delete", false), everything());
    let root = &looked.report.roots[0];
    let reads_volumes = |reads: &aggregator_core::access::Reads| {
        reads.all().unwrap().iter().any(|access| format!("{access:?}").contains("persistentvolumes\""))
    };
    assert!(!reads_volumes(&root.reads) && reads_volumes(&root.at_risk[0].reads), "{:#?}", root.reads);
}

#[test]
fn the_load_balancer_of_a_service_that_is_being_deleted() {
    let world = healthy();
    let ago = world.ago(600);
    let service = |ingress: serde_json::Value| {
        healthy().with(json!({"kind": "Namespace", "metadata": {"name": "shop", "uid": "n"}})).with(json!({
            "kind": "Service", "metadata": {"name": "web", "namespace": "shop", "uid": "s", "deletionTimestamp": ago,
                                            "finalizers": ["service.kubernetes.io/load-balancer-cleanup"]},
            "spec": {"type": "LoadBalancer"}, "status": {"loadBalancer": {"ingress": ingress}}
        }))
    };
    let looked = look(service(json!([{"ip": "203.0.113.7"}])), object("service", "shop", "web"));
    assert_eq!(
        lines(&looked),
        ["At risk: load balancer 203.0.113.7 is deleted with Service shop/web"],
        "{:#?}",
        looked.report
    );
    let none = look(service(json!([])), object("service", "shop", "web"));
    assert_eq!((none.report.roots.len(), lines(&none)), (1, vec![]), "{:#?}", none.report);
}

/// What the entry of its finalizer says that its controller deletes.
#[test]
fn what_a_controller_deletes_outside_of_the_cluster_is_at_risk() {
    let managed = "finalizer.managedresource.crossplane.io";
    let buckets = |names: &[&str]| {
        let world = healthy().with_cluster_wide("s3.aws.upbound.io", "buckets", "Bucket");
        let world = names
            .iter()
            .fold(world, |world, name| world.held_cluster_wide("s3.aws.upbound.io/v1", "Bucket", name, managed));
        lines(&look(world, object("bucket", "", names[0])))
    };
    let policies = "(unless deletionPolicy or managementPolicies keep it)";
    assert_eq!(
        buckets(&["logs"]),
        [format!("Data at risk: cloud resource of logs is deleted with Bucket logs {policies}")]
    );
    let held = |group: &str, plural: &str, kind: &str, finalizer: &str| {
        let world = healthy().with_custom(group, plural, kind).active("shop");
        let world = world.held(&format!("{group}/v1"), kind, "shop", "web", &[finalizer]);
        lines(&look(world, object(&kind.to_lowercase(), "shop", "web"))).join("; ")
    };
    assert_eq!(
        held("kafka.strimzi.io", "kafkatopics", "KafkaTopic", "strimzi.io/topic-operator"),
        "Data at risk: Kafka topic web is deleted with KafkaTopic shop/web (unless strimzi.io/managed is false)"
    );
    assert_eq!(
        held("networking.k8s.io", "ingresses", "Ingress", "ingress.k8s.aws/resources"),
        "At risk: load balancer of web is deleted with Ingress shop/web (unless other objects share it)"
    );
    // For other kinds the same finalizer stands for something else.
    assert_eq!(held("elbv2.k8s.aws", "targetgroupbindings", "TargetGroupBinding", "elbv2.k8s.aws/resources"), "");
    assert_eq!(held("example.com", "widgets", "Widget", "example.com/hold"), "");
}
