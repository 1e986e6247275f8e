//! Pods that have ended and are not deleted, and whose volume the next pod waits for.

use findings::{PodRef, PodUid};

use crate::support::*;

const DONE: &str = "96fb425e-919e-44f9-8b42-b1254a602ba1";
const LISTED: &str = "kubernetes.io/csi/ebs.csi.aws.com^vol-1";

fn attachment(node: &str) -> Value {
    json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": {"name": format!("csi-{node}")},
        "spec": {"attacher": "ebs.csi.aws.com", "nodeName": node, "source": {"persistentVolumeName": "pv-1"}},
        "status": {"attached": true}
    })
}

/// A Job's pod that ended ten minutes ago on node-a.
fn completed() -> World {
    let world = healthy();
    let ended = world.ago(600);
    world
        .with(json!([
            {"kind": "Namespace", "metadata": {"name": "a"}},
            {
                "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "a", "uid": "c"},
                "spec": {"volumeName": "pv-1"}, "status": {"phase": "Bound"}
            },
            {
                "kind": "PersistentVolume", "metadata": {"name": "pv-1"},
                "spec": {"csi": {"driver": "ebs.csi.aws.com", "volumeHandle": "vol-1"}}, "status": {"phase": "Bound"}
            },
            attachment("node-a"),
            {
                "kind": "Pod", "metadata": {"name": "done", "namespace": "a", "uid": DONE},
                "spec": {"nodeName": "node-a", "volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]},
                "status": {"phase": "Succeeded", "containerStatuses": [
                    {"name": "c", "containerID": "containerd://1", "state": {"terminated": {"finishedAt": ended}}}
                ]}
            }
        ]))
        .change("/api/v1/nodes", "node-a", |node| node["status"]["volumesInUse"] = json!([LISTED]))
}

/// The next pod of the Job, made so long ago on another node.
fn next(world: World, seconds: i64) -> World {
    let made = world.ago(seconds);
    world.with(json!([
        {
            "kind": "Pod", "metadata": {"name": "next", "namespace": "a", "uid": "n", "creationTimestamp": made},
            "spec": {"nodeName": "node-b", "volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]},
            "status": {"phase": "Pending", "containerStatuses": [
                {"name": "c", "containerID": "", "state": {"waiting": {"reason": "ContainerCreating"}}}
            ]}
        },
        {
            "kind": "Event", "metadata": {"name": "e", "namespace": "a"}, "type": "Warning", "reason": "FailedAttachVolume",
            "message": "Multi-Attach error for volume \"pv-1\" Volume is already used by pod(s) done",
            "involvedObject": {"kind": "Pod", "name": "next", "uid": "n"}
        }
    ]))
}

#[test]
fn a_pod_waits_for_the_volume_of_one_that_has_ended() {
    let looked = look(next(completed(), 500), everything());
    assert_eq!(looked.causes(), ["CompletedPodHoldsVolume"], "{:#?}", looked.report);
    assert_eq!(looked.report.verdict, Verdict::Stuck);
    assert_eq!(looked.victims(0), ["Pod a/next"]);
    looked.assert_chain(
        0,
        &[
            "Pod a/next: Pending 8m20s on node-b: waits for volume pv-1",
            "Pod a/done: Succeeded on node-a 10m ago, and not deleted; a volume is still mounted",
            "Node node-a: still lists the volume of claim data in volumesInUse",
        ],
    );
    let finding = &looked.report.roots[0].finding;
    assert_eq!(finding.confidence, Confidence::Proven);
    assert!(finding.evidence.iter().any(|one| one.says.contains("Multi-Attach")), "{:?}", finding.evidence);
    let run = looked.commands();
    assert!(run.contains(&check_once("a/done")), "{run:?}");
    // Named, each leads to the same.
    for name in ["next", "done"] {
        assert_eq!(
            look(next(completed(), 500), object("pod", "a", name)).causes(),
            ["CompletedPodHoldsVolume"],
            "{name}"
        );
    }
}

#[test]
fn nothing_is_said_where_no_volume_of_a_completed_pod_is_waited_for() {
    let says_nothing = |world: World, why: &str| {
        let looked = look(world, everything());
        assert_eq!((looked.causes(), looked.report.verdict), (vec![], Verdict::Clear), "{why}: {:#?}", looked.report);
    };
    says_nothing(completed(), "nothing waits");
    says_nothing(next(completed(), 60), "the next one starts");
    says_nothing(next(completed().with(attachment("node-b")), 500), "it can be attached to both");
    let unmounted =
        |world: World| world.change("/api/v1/nodes", "node-a", |node| node["status"]["volumesInUse"] = json!([]));
    says_nothing(unmounted(next(completed(), 500)), "it is unmounted");
    let just = completed();
    let ended = just.ago(30);
    let just = just.change("/api/v1/pods", "done", |pod| {
        pod["status"]["containerStatuses"][0]["state"]["terminated"]["finishedAt"] = ended.into();
    });
    says_nothing(next(just, 500), "the kubelet has just begun");
    let other = json!({
        "kind": "Pod", "metadata": {"name": "other", "namespace": "a", "uid": "o"},
        "spec": {"nodeName": "node-a", "volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]},
        "status": {"phase": "Running"}
    });
    says_nothing(next(completed().with(other), 500), "another pod uses it there");
    let refused = next(completed(), 500).refuse("/apis/storage.k8s.io/v1/volumeattachments", 403, "no");
    assert_eq!(look(refused, object("pod", "a", "next")).causes(), [""; 0]);
}

#[test]
fn a_completed_pod_waits_for_its_node() {
    let world = next(completed(), 500).node_ready("node-a", "Unknown", "NodeStatusUnknown", "");
    assert_eq!(look(world, everything()).causes(), ["NodeUnreachable"]);
}

#[test]
fn an_agent_says_what_holds_the_volume_of_a_completed_pod() {
    let said = |world: World| {
        let mut says = AgentEventFixture::held(&[DONE]);
        let (namespace, name) = (Some("a".to_owned()), Some("done".to_owned()));
        says.carried.pods = vec![PodRef { namespace, name, uid: PodUid::parse(DONE).unwrap() }];
        let event = says.event(|seconds| world.ago(seconds));
        world.policy(3600).with(event)
    };
    let agents = "VolumeHeldByProcess";
    let waits = look(said(next(completed(), 500)), everything());
    assert_eq!(waits.causes(), [agents], "{:#?}", waits.report);
    assert_eq!(waits.victims(0), ["Pod a/next"]);
    // Also where no other pod waits, and where the API shows nothing: a volume that is not attached.
    let alone = completed().change("/api/v1/nodes", "node-a", |node| node["status"]["volumesInUse"] = json!([]));
    let looked = look(said(alone), everything());
    assert_eq!((looked.causes(), looked.victims(0)), (vec![agents], vec!["Pod a/done".to_owned()]));
}
