//! Claims, volumes, attachments.

use findings::render::{Detail, Style};
use plugin::report::{screen, tree};

use crate::support::*;

fn claim() -> World {
    healthy()
        .with(json!({"kind": "Namespace", "metadata": {"name": "a"}}))
        .held("v1", "PersistentVolumeClaim", "a", "data", &["kubernetes.io/pvc-protection"])
        .change("/api/v1/persistentvolumeclaims", "data", |one| one["spec"] = json!({"volumeName": "pv-1"}))
}

fn user(phase: &str, node: &str) -> Value {
    json!({
        "kind": "Pod", "metadata": {"name": "user", "namespace": "a"},
        "spec": {"nodeName": node, "volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]},
        "status": {"phase": phase}
    })
}

fn volume(finalizers: &[&str], phase: &str, spec: Value) -> World {
    let world = healthy();
    let asked = world.ago(600);
    world.with(json!({
        "kind": "PersistentVolume",
        "metadata": {"name": "pv-1", "uid": "pv", "deletionTimestamp": asked, "finalizers": finalizers},
        "spec": spec, "status": {"phase": phase, "message": "rpc error: still attached"}
    }))
}

fn csi() -> Value {
    json!({"persistentVolumeReclaimPolicy": "Delete", "csi": {"driver": "ebs.csi.aws.com", "volumeHandle": "vol-1",
        "controllerPublishSecretRef": {"namespace": "gone", "name": "keys"}}})
}

fn attachment(world: World, going: bool, error: Option<&str>) -> World {
    let asked = world.ago(600);
    let mut one = json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment",
        "metadata": {"name": "csi-1", "uid": "a", "finalizers": ["external-attacher/ebs-csi-aws-com"]},
        "spec": {"attacher": "ebs.csi.aws.com", "nodeName": "node-a", "source": {"persistentVolumeName": "pv-1"}},
        "status": {"attached": true}
    });
    if going {
        one["metadata"]["deletionTimestamp"] = asked.clone().into();
    }
    if let Some(message) = error {
        one["status"]["detachError"] = json!({"message": message, "time": asked});
    }
    world.with(one)
}

fn causes_of(world: World) -> Vec<&'static str> {
    look(world, everything()).causes()
}

#[test]
fn who_uses_a_claim() {
    assert_eq!(causes_of(claim().with(user("Running", "node-a"))), ["PvcUsedByPod"]);
    // Its container is started again, and its images may yet come.
    let crashes = claim().with(user("Running", "node-a")).change("/api/v1/pods", "user", |pod| {
        pod["status"]["containerStatuses"] = json!([
            {"name": "db", "containerID": "containerd://a", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}
        ]);
    });
    assert_eq!(causes_of(crashes), ["PvcUsedByPod"]);
    let starts = claim().with(user("Pending", "node-a")).change("/api/v1/pods", "user", |pod| {
        pod["status"]["initContainerStatuses"] =
            json!([{"name": "init", "containerID": "containerd://a", "state": {"terminated": {"exitCode": 0}}}]);
    });
    assert_eq!(causes_of(starts), ["PvcUsedByPod"]);
    // A pod without a node does not hold it, whatever kubectl describe says.
    assert_eq!(causes_of(claim().with(user("Pending", ""))), ["PvcProtectionNotReleased"]);
    assert_eq!(causes_of(claim().without_controller_manager()), ["ControllerManagerSilent"]);
}

/// Of two, the one that has ended is named first: its end costs nothing that runs.
#[test]
fn the_log_of_a_pod_that_has_ended_is_saved_before_it_is_deleted() {
    let of = |phases: &[&str]| {
        let with = |world: World, (at, phase): (usize, &&str)| {
            let mut pod = user(phase, "node-a");
            pod["metadata"]["name"] = json!(format!("user-{at}"));
            world.with(pod)
        };
        let looked = look(phases.iter().enumerate().fold(claim(), with), everything());
        assert_eq!(looked.causes(), ["PvcUsedByPod"]);
        (looked.commands().iter().any(|one| one.contains(" logs ")), looked.chain(0).pop().unwrap())
    };
    let (saves, chain) = of(&["Succeeded"]);
    assert!(saves && chain.contains("Succeeded on node-a; has ended"), "{chain}");
    let (saves, chain) = of(&["Running"]);
    assert!(!saves && chain.contains("Running on node-a; uses it"), "{chain}");
    let (saves, chain) = of(&["Running", "Failed"]);
    assert!(
        saves && chain.starts_with("2 pods: a/user-1, a/user-0: each holds its volumes until it is deleted"),
        "{chain}"
    );
}

/// The pod's deletion would be refused, so that comes before it.
#[test]
fn a_step_that_deletes_names_what_would_refuse_it() {
    let first = "Repair validatingwebhookconfiguration/guard first: it would refuse the deletion";
    let of = |world: World, name: &str| {
        let looked = look(world, everything());
        let found = looked.report.roots.iter().find(|root| root.finding.cause.id == name).unwrap();
        let steps = &found.finding.remedy.steps;
        let refused = steps.iter().position(|step| step.text.starts_with(first));
        let deletes = |command: &String| command.contains(" delete ");
        let deletion = steps.iter().position(|step| step.command.as_ref().is_some_and(deletes)).unwrap();
        refused.map(|refused| refused < deletion)
    };
    for phase in ["Running", "Succeeded"] {
        let used = || claim().with(user(phase, "node-a"));
        assert_eq!(of(used().webhook("DELETE", "", "pods"), "PvcUsedByPod"), Some(true));
        assert_eq!(of(used().webhook("DELETE", "", "configmaps"), "PvcUsedByPod"), None);
        let unseen = used().webhook("DELETE", "", "pods").refuse(
            "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
            403,
            "no",
        );
        assert_eq!(of(unseen, "PvcUsedByPod"), None);
    }
    let bound = volume(
        &["kubernetes.io/pv-protection"],
        "Bound",
        json!({"claimRef": {"namespace": "b", "name": "live", "uid": "c"}}),
    );
    let bound = bound
        .active("b")
        .with(json!({"kind": "PersistentVolumeClaim", "metadata": {"name": "live", "namespace": "b", "uid": "c"}}));
    assert_eq!(of(bound.webhook("DELETE", "", "persistentvolumeclaims"), "PvBoundToClaim"), Some(true));
}

/// Nothing is broken: a pod uses the claim.
#[test]
fn what_is_in_use_is_no_root_cause() {
    let report = look(claim().with(user("Running", "node-a")), everything()).report;
    assert_eq!((report.counts.stuck, report.counts.root_causes, report.counts.in_use), (1, 0, 1));
    assert_eq!(*report.roots[0].victims[0].nodes[0], *"node-a");
    let screen = screen(&report, 120, Style::Plain);
    assert!(screen.starts_with("1 object stuck, waiting for 1 object in use (oldest 10m)"), "{screen}");
    assert!(screen.contains("  PvcUsedByPod  waiting for pod/user in a  "), "{screen}");
    let tree = tree(&report, Detail::Short, 120, Style::Plain);
    assert!(tree.contains(" WAITING FOR PvcUsedByPod: ") && !tree.contains("ROOT CAUSE"), "{tree}");
}

#[test]
fn a_claim_waits_for_its_pod_and_the_pod_for_its_node() {
    let world = claim().with(user("Running", "node-a"));
    let asked = world.ago(300);
    let world = world
        .change("/api/v1/pods", "user", |pod| pod["metadata"]["deletionTimestamp"] = asked.into())
        .node_ready("node-a", "Unknown", "NodeStatusUnknown", "");
    let looked = look(world, object("pvc", "a", "data"));
    assert_eq!(looked.causes(), ["NodeUnreachable"], "{:#?}", looked.report);
    looked.assert_chain(0, &["PersistentVolumeClaim a/data", "Pod a/user", "Node node-a"]);
}

/// Used by a pod on node-a that is being deleted.
fn local_data(hostname: &str) -> World {
    let world = claim().with(user("Running", "node-a")).with(json!({
        "kind": "PersistentVolume", "metadata": {"name": "pv-1"}, "status": {"phase": "Bound"},
        "spec": {"local": {"path": "/mnt"}, "nodeAffinity": {"required": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [hostname]}]}
        ]}}}
    }));
    let asked = world.ago(300);
    world.change("/api/v1/pods", "user", |pod| pod["metadata"]["deletionTimestamp"] = asked.into())
}

fn is_local_to_node_a(looked: &Looked) -> bool {
    looked.chain(0).last().is_some_and(|node| node.ends_with("; only its disks have the data of PersistentVolume pv-1"))
}

#[test]
fn local_data_on_a_lost_node() {
    let world = local_data("node-a").node_ready("node-a", "Unknown", "NodeStatusUnknown", "");
    let looked = look(world, object("pvc", "a", "data"));
    assert_eq!(looked.explanations(), ["LocalVolumeOnLostNode", "NodeUnreachable"], "{:#?}", looked.report);
    assert_eq!(looked.causes(), ["NodeUnreachable"], "one node, which is lost: {:#?}", looked.report);
    assert!(is_local_to_node_a(&looked), "{:?}", looked.report.notes);
    let has = |looked: &Looked, words: &str| {
        let all = looked.report.roots.iter().flat_map(|root| root.also.iter().chain([&root.finding]));
        let mut of_data = all.filter(|finding| finding.cause.id == "LocalVolumeOnLostNode");
        of_data.next().unwrap().remedy.steps.iter().any(|step| step.text.starts_with(words))
    };
    assert!(has(&looked, "Bring node node-a back") && !has(&looked, "The Node object is gone"));
    let gone = look(local_data("node-a").without("/api/v1/nodes", "node-a"), object("pvc", "a", "data"));
    assert!(has(&gone, "The Node object is gone") && !has(&gone, "Bring node"), "{:#?}", gone.report);
    // The volumes of the pods that were met are asked for, and not those of the whole cluster.
    let whole = |path: &String| path.starts_with("/api/v1/persistentvolumes?");
    assert!(!looked.requests.iter().any(whole), "{:#?}", looked.requests);
}

/// Only a kubelet that lives writes `False` (kubernetes: pkg/kubelet/nodestatus/setters.go, `ReadyCondition`).
#[test]
fn a_node_whose_kubelet_says_that_it_is_not_ready_is_not_lost() {
    let words = "container runtime network not ready: cni plugin not initialized";
    let world = || local_data("node-a").node_ready("node-a", "False", "KubeletNotReady", words);
    for world in [world(), world().taint("node-a", "node.cloudprovider.kubernetes.io/shutdown", "NoSchedule")] {
        let looked = look(world, object("pvc", "a", "data"));
        assert_eq!(looked.causes(), ["NodeNotReady"], "{:#?}", looked.report);
        assert!(is_local_to_node_a(&looked), "{:?}", looked.chain(0));
    }
    // One that was silent for a moment may only be late, unless its cloud says that it is off.
    let late = || {
        let world = local_data("node-a").node_ready("node-a", "Unknown", "NodeStatusUnknown", "");
        let since = world.ago(20);
        world.change("/api/v1/nodes", "node-a", |node| {
            node["status"]["conditions"][0]["lastTransitionTime"] = since.into();
        })
    };
    let is_lost = |world| look(world, object("pvc", "a", "data")).explanations().contains(&"LocalVolumeOnLostNode");
    assert!(!is_lost(late()));
    assert!(is_lost(late().taint("node-a", "node.cloudprovider.kubernetes.io/shutdown", "NoSchedule")));
}

/// A volume names its node by the label kubernetes.io/hostname, and a cloud may call the Node otherwise.
#[test]
fn a_node_whose_hostname_is_not_its_name_is_not_lost() {
    let world = || {
        local_data("host-a").change("/api/v1/nodes", "node-a", |node| {
            node["metadata"]["labels"]["kubernetes.io/hostname"] = "host-a".into();
        })
    };
    let well = look(world(), object("pvc", "a", "data"));
    assert_eq!(well.causes(), ["PodContainersNotStopped"], "{:#?}", well.report);
    let lost = look(world().node_ready("node-a", "Unknown", "NodeStatusUnknown", ""), object("pvc", "a", "data"));
    assert_eq!(lost.explanations(), ["LocalVolumeOnLostNode", "NodeUnreachable"], "{:#?}", lost.report);
}

#[test]
fn who_holds_a_volume() {
    assert_eq!(causes_of(bound_to("u").with(unbound_claim())), ["PvBoundToClaim"]);
    let provisioner = "external-provisioner.volume.kubernetes.io/finalizer";
    assert_eq!(causes_of(volume(&[provisioner], "Released", csi())), ["PvBackendDeleteFails"]);
    assert_eq!(causes_of(volume(&["kubernetes.io/pv-controller"], "Released", csi())), ["PvDeletionPending"]);
}

/// sig-storage-lib-external-provisioner: controller/controller.go, `handleProtectionFinalizer` and `shouldDelete`.
#[test]
fn a_disk_that_nobody_is_to_delete_is_not_said_to_fail() {
    let of = |phase: &str, policy: &str| {
        let spec = json!({"csi": {"driver": "ebs.csi.aws.com", "volumeHandle": "vol-1"}, "persistentVolumeReclaimPolicy": policy});
        let looked = look(volume(&["external-provisioner.volume.kubernetes.io/finalizer"], phase, spec), everything());
        assert_eq!(looked.causes(), ["PvProvisionerNotDue"], "{phase} {policy}: {:#?}", looked.report);
        (looked.chain(0).concat(), looked.report.roots[0].finding.confidence)
    };
    let (kept, confidence) = of("Released", "Retain");
    assert!(kept.contains("its disk is kept") && confidence == Confidence::Probable, "{kept}");
    let (unclaimed, confidence) = of("Available", "Delete");
    assert!(unclaimed.contains("only when the volume is Released"), "{unclaimed}");
    assert_eq!(confidence, Confidence::Proven);
}

fn bound_to(uid: &str) -> World {
    let bound = json!({"claimRef": {"namespace": "a", "name": "data", "uid": uid}});
    volume(&["kubernetes.io/pv-protection"], "Bound", bound)
}

fn unbound_claim() -> serde_json::Value {
    json!({"kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "a", "uid": "u"}})
}

/// A claim that was made again has the name, but is another object. The controller sees that by the uid, and releases the
/// volume; while it is still Bound, the controller has not checked.
#[test]
fn a_volume_whose_claim_is_gone_waits_for_the_controller() {
    let again = || bound_to("before").with(unbound_claim());
    for (world, words) in [(again(), "another has its name"), (bound_to("before"), "its claim is gone")] {
        let looked = look(world, everything());
        assert_eq!(looked.causes(), ["PvDeletionPending"], "{:#?}", looked.report);
        assert!(looked.chain(0)[0].contains(words), "{:?}", looked.chain(0));
    }
    for world in [again(), bound_to("before")] {
        let looked = look(world.without_controller_manager(), everything());
        assert_eq!(looked.causes(), ["ControllerManagerSilent"], "{:#?}", looked.report);
        let deletes = |command: &String| command.contains("delete");
        assert!(!looked.commands().iter().any(deletes), "{:?}", looked.commands());
    }
}

#[test]
fn why_a_volume_is_not_detached() {
    let held = || volume(&["external-attacher/ebs-csi-aws-com"], "Released", csi());
    assert_eq!(causes_of(attachment(held(), true, Some("rpc error: InvalidVolume.NotFound"))), ["VolumeDetachFails"]);
    let words = |world: World| look(world, everything()).chain(0).join("\n");
    let refused = Some("rpc error: InvalidVolume.NotFound");
    assert!(!words(attachment(held(), true, refused)).contains("does not exist"));
    let lost = attachment(held(), true, refused).without("/api/v1/nodes", "node-a");
    assert!(words(lost).contains("; Node node-a does not exist"));
    assert_eq!(causes_of(attachment(held(), true, None)), ["VolumeAttacherGone"]);
    // The driver says nothing: that the node is gone is said, and what is then right.
    let forgets = |looked: &Looked| looked.commands().iter().any(|it| it.starts_with("kubectl patch volumeattachment"));
    let lost = look(attachment(held(), true, None).without("/api/v1/nodes", "node-a"), everything());
    assert_eq!(lost.causes(), ["VolumeAttacherGone"], "{:#?}", lost.report);
    assert!(lost.chain(0).join("\n").contains("; Node node-a does not exist") && forgets(&lost), "{:?}", lost.chain(0));
    assert_eq!(causes_of(attachment(held(), true, Some("failed to load secret \"gone/keys\""))), ["DetachSecretGone"]);
    let mounted = attachment(held(), false, None).change("/api/v1/nodes", "node-a", |node| {
        node["status"]["volumesInUse"] = json!(["kubernetes.io/csi/ebs.csi.aws.com^vol-1"]);
    });
    assert_eq!(causes_of(mounted), ["VolumeStillMounted"]);
}

/// A node lists a volume as `kubernetes.io/csi/DRIVER^HANDLE` (kubernetes: pkg/volume/csi/csi_plugin.go,
/// `GetVolumeName`). One whose handle ends alike, or of another driver, is another volume.
#[test]
fn another_volume_in_use_on_the_node_is_not_taken_for_this_one() {
    let held = || volume(&["external-attacher/ebs-csi-aws-com"], "Released", csi());
    for other in ["ebs.csi.aws.com^other-vol-1", "efs.csi.aws.com^vol-1", "x-ebs.csi.aws.com^vol-1"] {
        let mounted = attachment(held(), false, None).change("/api/v1/nodes", "node-a", |node| {
            node["status"]["volumesInUse"] = json!([format!("kubernetes.io/csi/{other}")]);
        });
        assert!(causes_of(mounted).is_empty(), "{other}");
    }
}

#[test]
fn a_claim_made_for_a_pod_is_let_go_when_its_containers_are_gone() {
    let made_for = |owner: &str, grace: i64| {
        let world = claim();
        let asked = world.ago(300);
        let world = world.change("/api/v1/persistentvolumeclaims", "data", |one| {
            one["metadata"]["name"] = "user-d".into();
            one["metadata"]["ownerReferences"] = json!([{"kind": "Pod", "name": "user", "uid": owner}]);
        });
        let world = world.with(json!({
            "kind": "Pod",
            "metadata": {
                "name": "user", "namespace": "a", "uid": "u", "deletionTimestamp": asked,
                "deletionGracePeriodSeconds": grace, "finalizers": if grace == 0 { json!(["example.com/hold"]) } else { json!([]) }
            },
            "spec": {"nodeName": "node-a", "volumes": [{"name": "d", "ephemeral": {}}]}, "status": {"phase": "Failed"}
        }));
        look(world, object("pvc", "a", "user-d")).causes()
    };
    assert_eq!(made_for("u", 30), ["PodCleanupNotFinished"]);
    assert_eq!(made_for("u", 0), ["PvcProtectionNotReleased"]);
    // The pod before it had the same name.
    assert_eq!(made_for("before", 30), ["PvcProtectionNotReleased"]);
}

#[test]
fn a_disk_that_is_not_deleted_says_why_or_leaves_it_probable() {
    let provisioner = "external-provisioner.volume.kubernetes.io/finalizer";
    let silent = || {
        volume(&[provisioner], "Released", csi()).change("/api/v1/persistentvolumes", "pv-1", |one| {
            one["status"]["message"] = json!(null);
        })
    };
    let looked = look(silent(), everything());
    assert_eq!(looked.causes(), ["PvBackendDeleteFails"]);
    assert_eq!(looked.report.roots[0].finding.confidence, Confidence::Probable);
    let told = silent().with(json!({
        "kind": "Event", "metadata": {"name": "e", "namespace": "default"}, "reason": "VolumeFailedDelete",
        "message": "rpc error: VolumeInUse", "involvedObject": {"kind": "PersistentVolume", "name": "pv-1"}
    }));
    let looked = look(told, everything());
    assert_eq!(looked.report.roots[0].finding.confidence, Confidence::Proven);
    assert!(looked.chain(0)[0].contains("rpc error: VolumeInUse"), "{:?}", looked.chain(0));
}

#[test]
fn a_released_volume_that_is_retained_is_not_stuck() {
    let world =
        volume(&["kubernetes.io/pv-protection"], "Released", json!({"persistentVolumeReclaimPolicy": "Retain"}));
    let world = world.change("/api/v1/persistentvolumes", "pv-1", |one| {
        one["metadata"]["deletionTimestamp"] = json!(null);
    });
    let looked = look(world, object("pv", "default", "pv-1"));
    assert!(looked.causes().is_empty(), "{:#?}", looked.report);
    assert!(
        looked.report.notes.iter().any(|note| note.contains("its reclaim policy is Retain")),
        "{:#?}",
        looked.report
    );
}

/// An attacher takes its finalizer off when it has seen that nothing is attached.
#[test]
fn an_attacher_that_left_its_finalizer_on_a_volume_that_is_not_attached() {
    let kept = || volume(&["external-attacher/ebs-csi-aws-com"], "Released", csi());
    let looked = look(kept(), everything());
    assert_eq!(looked.causes(), ["VolumeAttacherGone"], "{:#?}", looked.report);
    let root = looked.chain(0).pop().unwrap();
    assert!(root.contains("nothing is attached, and external-attacher/ebs-csi-aws-com is left"), "{root}");
    assert_eq!(looked.report.roots[0].finding.confidence, Confidence::Probable, "its log was not read");
    let path = "/apis/storage.k8s.io/v1/volumeattachments";
    let looked = look(kept().refuse(path, 403, "volumeattachments is forbidden"), everything());
    assert!(looked.causes().is_empty(), "it may be attached: {:#?}", looked.report);
}

/// Adds the Lease of a driver's controller part.
fn lease(world: World, name: &str, seconds_ago: i64) -> World {
    let renewed = world.ago(seconds_ago);
    world.with(json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name, "namespace": "csi"},
        "spec": {"holderIdentity": "ebs-csi-controller-0", "leaseDurationSeconds": 15, "renewTime": renewed}
    }))
}

#[test]
fn the_lease_of_a_drivers_controller_tells_whether_it_runs() {
    let held = attachment(volume(&["external-attacher/ebs-csi-aws-com"], "Released", csi()), true, None);
    let looked = look(lease(held, "external-attacher-leader-ebs-csi-aws-com", 600), everything());
    assert_eq!(looked.causes(), ["VolumeAttacherGone"], "{:#?}", looked.report);
    let root = looked.chain(0).pop().unwrap();
    assert!(root.contains("is silent: Lease csi/external-attacher-leader-ebs-csi-aws-com is held by"), "{root}");
    assert_eq!(looked.report.roots[0].finding.confidence, Confidence::Probable, "it may be left over");
    let held = attachment(volume(&["external-attacher/ebs-csi-aws-com"], "Released", csi()), true, None);
    let looked = look(lease(held, "external-attacher-leader-ebs-csi-aws-com", 3), everything());
    assert!(looked.chain(0).pop().unwrap().contains("runs, and reports nothing"), "{:?}", looked.chain(0));
    let kept = volume(&["external-provisioner.volume.kubernetes.io/finalizer"], "Released", csi());
    let kept = kept.change("/api/v1/persistentvolumes", "pv-1", |one| one["status"]["message"] = json!(null));
    let looked = look(lease(kept, "ebs-csi-aws-com", 600), everything());
    let evidence = &looked.report.roots[0].finding.evidence;
    assert!(evidence.iter().any(|one| one.source == "Lease csi/ebs-csi-aws-com"), "{evidence:#?}");
}

/// A driver that was removed: what is left of it ends with a check, a step and a guarded patch for each object.
#[test]
fn a_volume_whose_driver_was_removed_has_a_last_step() {
    let installed = |world: World| {
        world.with(json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": "ebs.csi.aws.com"}
        }))
    };
    let patches = |looked: &Looked, of: &str| {
        let patch = format!("kubectl patch {of} ");
        looked.commands().iter().any(|command| command.starts_with(&patch))
    };
    let held = || volume(&["external-attacher/ebs-csi-aws-com"], "Released", csi());
    let attached = look(attachment(held(), true, None), everything());
    let root = attached.chain(0).pop().unwrap();
    assert!(root.contains("PersistentVolume pv-1 has the same finalizer"), "{root}");
    assert!(root.contains("CSIDriver ebs.csi.aws.com does not exist"), "{root}");
    assert!(patches(&attached, "volumeattachment"), "{:#?}", attached.commands());

    let left = look(held(), everything());
    assert!(patches(&left, "persistentvolume"), "{:#?}", left.commands());
    let lease = "kubectl get leases -A -o wide --field-selector metadata.name=external-attacher-leader-ebs-csi-aws-com";
    for looked in [&attached, &left] {
        assert!(looked.commands().iter().any(|command| command == lease), "{:#?}", looked.commands());
    }
    let steps = |looked: &Looked| -> Vec<String> {
        looked.report.roots[0].finding.remedy.steps.iter().map(|step| step.text.clone()).collect()
    };
    assert!(steps(&attached).iter().any(|step| step.contains("detaches")), "{:#?}", steps(&attached));
    assert!(!steps(&left).iter().any(|step| step.contains("detaches")), "{:#?}", steps(&left));

    let kept = || volume(&["external-provisioner.volume.kubernetes.io/finalizer"], "Released", csi());
    let undeleted = look(kept(), everything());
    let root = undeleted.chain(0).pop().unwrap();
    assert!(root.contains("CSIDriver ebs.csi.aws.com does not exist"), "{root}");
    assert!(patches(&undeleted, "persistentvolume"), "{:#?}", undeleted.commands());

    for world in [attachment(held(), true, None), held(), kept()] {
        let looked = look(installed(world), everything());
        assert!(!looked.chain(0).concat().contains("CSIDriver"), "{:?}", looked.chain(0));
        assert!(!looked.commands().iter().any(|command| command.contains("patch")), "{:#?}", looked.commands());
    }
}

/// What made the pod makes another one, which waits for the claim that is being deleted.
#[test]
fn a_claims_pod_that_would_be_replaced_is_scaled_down_first() {
    let owned = |owner: Value| {
        let world = claim().with(user("Running", "node-a"));
        let world = world.change("/api/v1/pods", "user", |pod| {
            pod["metadata"]["labels"] = json!({"pod-template-hash": "5d4"});
            pod["metadata"]["ownerReferences"] = json!([owner]);
        });
        look(world, everything()).commands()
    };
    let owner = |version: &str, kind: &str, name: &str| json!({"apiVersion": version, "kind": kind, "name": name, "uid": "o", "controller": true});
    let delete = "kubectl -n a delete pod user".to_owned();
    for (owner, scaled) in [
        (owner("apps/v1", "ReplicaSet", "web-5d4"), Some("kubectl -n a scale deployment/web --replicas=0")),
        (owner("apps/v1", "StatefulSet", "db"), Some("kubectl -n a scale statefulset/db --replicas=0")),
        (owner("apps/v1", "DaemonSet", "agent"), None),
        (owner("batch/v1", "Job", "report"), None),
    ] {
        let commands = owned(owner);
        let scales = commands.iter().position(|it| it.contains(" scale "));
        assert_eq!(scales.map(|at| commands[at].as_str()), scaled, "{commands:#?}");
        let deletes = commands.iter().position(|it| *it == delete).unwrap();
        assert!(scales.is_none_or(|at| at < deletes), "{commands:#?}");
    }
}
