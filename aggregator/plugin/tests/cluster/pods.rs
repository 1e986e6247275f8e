//! Pods and their nodes, as far as the API shows them.

use aggregator_core::report::Counts;

use crate::support::*;

fn causes_of(world: World) -> Vec<&'static str> {
    let looked = look(world, everything());
    assert!(!looked.commands().iter().any(|command| command.contains("--force")));
    looked.causes()
}

fn on(phase: &str) -> World {
    healthy().going_pod("a", "p", "node-a", phase)
}

#[test]
fn at_a_healthy_node_the_phase_tells() {
    assert_eq!(causes_of(on("Running")), ["PodContainersNotStopped"]);
    assert_eq!(causes_of(on("Failed")), ["PodCleanupNotFinished"]);
    assert_eq!(causes_of(on("Pending")), ["PodNeverStarted"]);
}

/// Kubelets before 1.27 set no terminal phase, and no kubelet does while the sandbox is stopped.
#[test]
fn containers_that_ended_are_known_by_their_states() {
    let ended = |state: serde_json::Value| {
        on("Running").change("/api/v1/pods", "p", |pod| {
            pod["status"]["containerStatuses"] = json!([
                {"name": "app", "containerID": "containerd://a", "state": {"terminated": {"exitCode": 137}}},
                {"name": "late", "containerID": "containerd://b", "state": state}
            ]);
        })
    };
    let looked = look(ended(json!({"terminated": {"exitCode": 0}})), everything());
    assert_eq!(looked.causes(), ["PodCleanupNotFinished"]);
    assert!(looked.chain(0)[0].contains("every container has ended"), "{:?}", looked.chain(0));
    assert_eq!(causes_of(ended(json!({"waiting": {"reason": "CrashLoopBackOff"}}))), ["PodCleanupNotFinished"]);
    assert_eq!(causes_of(ended(json!({"running": {}}))), ["PodContainersNotStopped"]);
    // Its kubelet does not know.
    assert_eq!(causes_of(ended(json!({"waiting": {"reason": "ContainerCreating"}}))), ["PodContainersNotStopped"]);
}

/// The kubelet sets the grace period to 0 as well, when it is done.
#[test]
fn a_pod_whose_containers_ended_was_not_force_deleted() {
    let done = on("Running").change("/api/v1/pods", "p", |pod| {
        pod["metadata"]["deletionGracePeriodSeconds"] = json!(0);
        pod["metadata"]["finalizers"] = json!(["batch.kubernetes.io/job-tracking"]);
        pod["status"]["containerStatuses"] =
            json!([{"name": "app", "containerID": "containerd://a", "state": {"terminated": {"exitCode": 137}}}]);
    });
    assert_eq!(causes_of(done), ["JobTrackingFinalizer"]);
}

#[test]
fn a_pod_without_a_node_is_held_by_its_finalizer_alone() {
    for grace in [0, 30] {
        let world = healthy().going_pod("a", "p", "", "Pending").change("/api/v1/pods", "p", |pod| {
            pod["metadata"]["deletionGracePeriodSeconds"] = json!(grace);
            pod["metadata"]["finalizers"] = json!(["example.com/hold"]);
        });
        let looked = look(world, everything());
        assert_eq!(looked.causes(), ["FinalizerOwnerUnknown"], "grace {grace}");
        assert!(!looked.chain(0)[0].contains("the node is done"), "{:?}", looked.chain(0));
    }
}

/// The node lifecycle controller takes the taint off some seconds after the node is heard of again.
#[test]
fn a_node_that_is_ready_again_is_not_out_of_reach() {
    let back = |seconds: i64| {
        let world = on("Running").node_ready("node-a", "True", "KubeletReady", "kubelet is posting ready status");
        let since = world.ago(seconds);
        let world = world.taint("node-a", "node.kubernetes.io/unreachable", "NoExecute");
        world.change("/api/v1/nodes", "node-a", |node| {
            node["status"]["conditions"][0]["lastTransitionTime"] = since.into();
        })
    };
    let looked = look(back(12), everything());
    assert_eq!((looked.causes(), looked.report.verdict), (vec!["PodWithinGrace"], Verdict::Progressing));
    assert!(looked.chain(0)[0].contains("node-a is Ready again for 12s"), "{:?}", looked.chain(0));
    // The kubelet of a node that was cut off for a minute and a half needed 40 seconds for a pod with a grace period of ten.
    assert_eq!(causes_of(back(60)), ["PodWithinGrace"]);
    assert_eq!(causes_of(back(900)), ["PodContainersNotStopped"]);
    let node = look(back(12), object("node", "", "node-a"));
    assert!(!node.causes().contains(&"NodeUnreachable"), "{:#?}", node.report);
}

/// What terminates normally may be held by what was not seen.
#[test]
fn beside_a_young_pod_what_could_not_be_seen_stays_unknown() {
    let young = |world: World| {
        let later = world.ago(-20);
        let world = world.going("shop", all_false()).going_pod("shop", "web", "node-a", "Running");
        let world = world.change("/api/v1/pods", "web", |pod| pod["metadata"]["deletionTimestamp"] = later.into());
        let now = world.ago(5);
        world.change("/api/v1/namespaces", "shop", |one| one["metadata"]["deletionTimestamp"] = now.into())
    };
    let seen = look(young(healthy()), object("ns", "", "shop"));
    assert_eq!(seen.report.verdict, Verdict::Progressing, "{:#?}", seen.report);
    let refused = young(healthy()).refuse("/api/v1/namespaces/shop/persistentvolumeclaims", 403, "forbidden");
    let blind = look(refused, object("ns", "", "shop"));
    assert_eq!(blind.report.verdict, Verdict::CannotTell, "{:#?}", blind.report);
}

#[test]
fn pods_that_no_kubelet_has() {
    assert_eq!(causes_of(healthy().going_pod("a", "p", "", "Pending")), ["PodGcRefused"]);
}

/// A kubelet that is well deletes a mirror that is asked to go, and makes it again. One that stays is first of all on
/// a node whose kubelet does not come to it.
#[test]
fn a_mirror_pod_is_its_kubelets_to_delete() {
    let mirror = || {
        on("Running").change("/api/v1/pods", "p", |pod| {
            pod["metadata"]["annotations"] = json!({"kubernetes.io/config.mirror": "0123"});
        })
    };
    let looked = look(mirror(), everything());
    assert_eq!(looked.causes(), ["StaticPod"]);
    assert_eq!(looked.report.roots[0].finding.confidence, Confidence::Probable);
    assert!(looked.chain(0)[0].contains("comes from a manifest on node-a"), "{:?}", looked.chain(0));
    let silent = "Kubelet stopped posting node status.";
    assert_eq!(causes_of(mirror().node_ready("node-a", "Unknown", "NodeStatusUnknown", silent)), ["NodeUnreachable"]);
    assert_eq!(causes_of(mirror().without("/api/v1/nodes", "node-a")), ["PodGcRefused"]);
    assert_eq!(causes_of(mirror().webhook("DELETE", "", "pods")), ["WebhookUnavailable"]);
    let unseen = mirror().refuse("/api/v1/nodes", 403, "nodes is forbidden");
    assert_eq!(look(unseen, everything()).causes(), ["StaticPod"]);
    let held = mirror().change("/api/v1/pods", "p", |pod| {
        pod["metadata"]["deletionGracePeriodSeconds"] = json!(0);
        pod["metadata"]["finalizers"] = json!(["example.com/hold"]);
    });
    assert_eq!(causes_of(held), ["FinalizerOwnerUnknown"], "its pod runs on, as its manifest says");
}

#[test]
fn a_forced_pod_with_a_finalizer_may_run() {
    let forced = on("Running").change("/api/v1/pods", "p", |pod| {
        pod["metadata"]["deletionGracePeriodSeconds"] = json!(0);
        pod["metadata"]["finalizers"] = json!(["example.com/hold"]);
    });
    assert_eq!(causes_of(forced), ["PodForceDeleted", "FinalizerOwnerUnknown"]);
}

/// The garbage collector writes Failed when the Node is gone, without having queried its kubelet.
#[test]
fn a_phase_that_the_collector_wrote_says_nothing_of_the_containers() {
    let marked = |state: serde_json::Value| {
        healthy().going_pod("a", "p", "node-x", "Failed").change("/api/v1/pods", "p", |pod| {
            pod["metadata"]["deletionGracePeriodSeconds"] = json!(0);
            pod["metadata"]["finalizers"] = json!(["kueue.x-k8s.io/managed"]);
            pod["status"]["conditions"] =
                json!([{"type": "DisruptionTarget", "status": "True", "reason": "DeletionByPodGC"}]);
            pod["status"]["containerStatuses"] =
                json!([{"name": "app", "containerID": "containerd://a", "state": state}]);
        })
    };
    let looked = look(marked(json!({"running": {}})), everything());
    // Its Node is gone, and with it all that could be looked up there.
    assert!(looked.causes().len() == 1 && !looked.causes().contains(&"PodForceDeleted"), "{:#?}", looked.report);
    let chain = looked.chain(0).concat();
    assert!(!chain.contains("kubelet has finished") && chain.contains("Node node-x does not exist"), "{chain}");
    let causes = causes_of(marked(json!({"terminated": {"exitCode": 0}})));
    assert!(!causes.contains(&"PodForceDeleted"), "its kubelet has reported it: {causes:?}");
}

/// For a node that is out of service it gives no condition (`gcTerminating`).
#[test]
fn a_phase_beside_a_container_that_runs_is_not_the_kubelets() {
    let looked = look(
        healthy().going_pod("a", "p", "node-a", "Failed").change("/api/v1/pods", "p", |pod| {
            pod["metadata"]["deletionGracePeriodSeconds"] = json!(0);
            pod["metadata"]["finalizers"] = json!(["kueue.x-k8s.io/managed"]);
            pod["status"]["containerStatuses"][0]["state"] = json!({"running": {}});
        }),
        everything(),
    );
    assert!(looked.causes().contains(&"PodForceDeleted"), "{:#?}", looked.report);
}

/// RabbitMQ's operator gives a week.
#[test]
fn a_grace_period_on_a_lost_node_ends_by_nobody() {
    let slow = |world: World| {
        let later = world.ago(-600_000);
        world.change("/api/v1/pods", "p", |pod| {
            pod["metadata"]["deletionTimestamp"] = later.into();
            pod["metadata"]["deletionGracePeriodSeconds"] = json!(604_800);
        })
    };
    assert_eq!(causes_of(slow(on("Running"))), ["PodWithinGrace"]);
    let looked = look(slow(on("Running").node_ready("node-a", "Unknown", "NodeStatusUnknown", "")), everything());
    assert_eq!((looked.causes(), looked.report.verdict), (vec!["NodeUnreachable"], Verdict::Stuck));
}

#[test]
fn a_kubelet_without_a_network_still_unmounts() {
    let network = "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network \
                   plugin returns error: cni plugin not initialized";
    let without = |phase: &str, words: &str| on(phase).node_ready("node-a", "False", "KubeletNotReady", words);
    assert_eq!(causes_of(without("Failed", network)), ["PodCleanupNotFinished"]);
    assert_eq!(causes_of(without("Running", network)), ["NodeNotReady"], "its sandbox may wait for the network");
    let both = format!("[container runtime is down, {network}]");
    assert_eq!(causes_of(without("Failed", &both)), ["NodeNotReady"]);
}

#[test]
fn no_step_needs_an_agent_where_none_can_run() {
    for (key, value) in
        [("kubernetes.io/os", "windows"), ("type", "virtual-kubelet"), ("eks.amazonaws.com/compute-type", "fargate")]
    {
        let world =
            on("Running").change("/api/v1/nodes", "node-a", |node| node["metadata"]["labels"][key] = value.into());
        let looked = look(world, everything());
        assert_eq!(looked.causes(), ["PodContainersNotStopped"]);
        assert!(!looked.commands().iter().any(|it| it.starts_with("why-terminating-agent")), "{:?}", looked.commands());
        assert!(
            looked.report.notes.iter().any(|note| note.contains("does not run Linux")),
            "{:?}",
            looked.report.notes
        );
    }
}

#[test]
fn a_collector_that_is_refused() {
    let marked = |node: &str, seconds: i64| {
        let world = healthy().going_pod("a", "p", node, "Running");
        let marked = world.ago(seconds);
        world.change("/api/v1/pods", "p", |pod| {
            pod["status"]["conditions"] = json!([{
                "type": "DisruptionTarget", "status": "True", "reason": "DeletionByPodGC", "lastTransitionTime": marked
            }]);
        })
    };
    assert_eq!(causes_of(marked("node-x", 400)), ["PodGcRefused"]);
    // Its node may be there again; then only the mark shows it, once the collector has had its time.
    assert_eq!(causes_of(marked("node-a", 400)), ["PodGcRefused"]);
    assert_eq!(causes_of(marked("node-a", 60)), ["PodContainersNotStopped"]);
}

#[test]
fn a_node_without_a_csi_node_has_no_driver() {
    let world = on("Failed").without("/apis/storage.k8s.io/v1/csinodes", "node-a").with(json!([
        {
            "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "a"},
            "spec": {"volumeName": "pv-1"}
        },
        {"kind": "PersistentVolume", "metadata": {"name": "pv-1"}, "spec": {"csi": {"driver": "csi.example.com"}}}
    ]));
    let world = world.change("/api/v1/pods", "p", |pod| {
        pod["spec"]["volumes"] = json!([{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]);
    });
    let looked = look(world, everything());
    assert_eq!(looked.causes(), ["CsiDriverNotOnNode"], "{:#?}", looked.report);
}

#[test]
fn a_node_that_went_long_ago_should_have_freed_its_pods() {
    let world = |seconds| {
        let world = healthy().going_pod("a", "p", "node-x", "Running");
        let then = world.ago(seconds);
        world.with(json!({
            "kind": "Event", "metadata": {"name": "e", "namespace": "default"}, "reason": "RemovingNode",
            "involvedObject": {"kind": "Node", "name": "node-x"}, "lastTimestamp": then
        }))
    };
    assert_eq!(causes_of(world(30)), ["NodeObjectGone"]);
    assert_eq!(causes_of(world(600)), ["PodGcRefused"]);
}

#[test]
fn nodes_tell_what_they_can() {
    let unknown = "Kubelet stopped posting node status.";
    let silent = || on("Running").node_ready("node-a", "Unknown", "NodeStatusUnknown", unknown);
    assert_eq!(causes_of(silent()), ["NodeUnreachable"]);
    assert_eq!(
        causes_of(silent().taint("node-a", "node.cloudprovider.kubernetes.io/shutdown", "NoSchedule")),
        ["NodeShutDown"]
    );
    assert_eq!(
        causes_of(silent().taint("node-a", "node.kubernetes.io/out-of-service", "NoExecute")),
        ["OutOfServiceNotEffective"]
    );
    let never =
        on("Pending").node_ready("node-a", "Unknown", "NodeStatusNeverUpdated", "Kubelet never posted node status.");
    assert_eq!(causes_of(never), ["NodeNeverReported"]);
    let down = on("Running").node_ready("node-a", "False", "KubeletNotReady", "container runtime is down");
    let looked = look(down, everything());
    assert_eq!(looked.causes(), ["NodeNotReady"]);
    assert!(looked.chain(0).last().unwrap().contains("container runtime is down"));
}

#[test]
fn one_silent_node_holds_many_pods_once() {
    let mut world = healthy().node_ready("node-a", "Unknown", "NodeStatusUnknown", "");
    for number in 0..11 {
        world = world.going_pod("a", &format!("p{number}"), "node-a", "Running");
    }
    let looked = look(world, object("node", "default", "node-a"));
    assert_eq!(looked.causes(), ["NodeUnreachable"]);
    assert_eq!(looked.victims(0).len(), 11);
}

/// It is not being deleted: stuck is what waits for it.
#[test]
fn a_lost_node_that_is_named_is_not_counted_itself() {
    let silent = || healthy().node_ready("node-a", "Unknown", "NodeStatusUnknown", "");
    let running = json!({"kind": "Pod", "metadata": {"name": "r", "namespace": "a", "uid": "r"},
        "spec": {"nodeName": "node-a"}, "status": {"phase": "Running"}});
    let looked = look(silent().with(running), object("node", "default", "node-a"));
    let Counts { stuck, root_causes, .. } = looked.report.counts;
    assert_eq!((looked.causes(), looked.report.verdict), (vec!["NodeUnreachable"], Verdict::Clear));
    assert_eq!((stuck, root_causes, looked.report.roots[0].verdict), (0, 0, Verdict::Clear), "{:#?}", looked.report);
    // Also where the pods have causes of their own.
    for finalizers in [json!([]), json!(["example.com/hold"])] {
        let world = silent().going_pod("a", "p", "node-a", "Failed").going_pod("a", "q", "node-a", "Running");
        let world = world.change("/api/v1/pods", "p", |pod| pod["metadata"]["finalizers"] = finalizers.clone());
        let looked = look(world, object("node", "default", "node-a"));
        assert_eq!(looked.report.counts.stuck, 2, "{:#?}", looked.report);
    }
}

#[test]
fn a_node_that_is_well_holds_nothing() {
    let looked = look(healthy(), object("node", "default", "node-a"));
    assert_eq!(looked.report.verdict, Verdict::Clear, "{:#?}", looked.report);
}

#[test]
fn a_node_that_may_not_be_seen_leaves_the_answer_probable() {
    let world = on("Running").refuse("/api/v1/nodes", 403, "nodes is forbidden");
    let looked = look(world, object("pod", "a", "p"));
    assert_eq!(looked.causes(), ["PodContainersNotStopped"]);
    assert_eq!(looked.report.roots[0].finding.confidence, findings::Confidence::Probable);
    assert_eq!(looked.report.unknown.len(), 1, "{:#?}", looked.report.unknown);
}

/// A ReplicaSet counts a pod that is being deleted as gone: its replacement may run on another node already.
#[test]
fn who_does_the_work_of_a_named_pod_already_is_told() {
    let owner = |kind: &str, uid: &str| json!([{"kind": kind, "name": "web", "uid": uid, "controller": true}]);
    let world = |kind: &str| {
        let of = |name: &str, node: &str, owner: serde_json::Value, ready: &str| {
            json!({
                "kind": "Pod",
                "metadata": {"name": name, "namespace": "a", "uid": name, "ownerReferences": owner},
                "spec": {"nodeName": node, "volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": name}}]},
                "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]}
            })
        };
        let sharing = of("data", "node-b", owner(kind, "u1"), "True");
        on("Running")
            .change("/api/v1/pods", "p", |pod| {
                pod["metadata"]["ownerReferences"] = owner(kind, "u1");
                pod["spec"]["volumes"] = json!([{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]);
            })
            .with(sharing)
            .with(of("other", "node-c", owner(kind, "u1"), "True"))
            .with(of("late", "node-c", owner(kind, "u1"), "False"))
            .with(of("stranger", "node-c", owner(kind, "u2"), "True"))
    };
    let notes = |world: World, subject| {
        let looked = look(world, subject);
        assert_eq!(looked.causes(), ["PodContainersNotStopped"]);
        let all = looked.report.notes.iter().filter(|note| note.contains("already run")).cloned();
        all.collect::<Vec<String>>()
    };
    let named = || object("pod", "a", "p");
    assert_eq!(
        notes(world("ReplicaSet"), named()),
        [
            "Of ReplicaSet a/web already run, and are ready: data on node-b (uses claim data too), other on node-c. After \
          a forced deletion of Pod a/p its processes may go on beside them."
        ]
    );
    // The other pods of a StatefulSet do a work of their own.
    let of_set = notes(world("StatefulSet"), named());
    assert!(of_set.len() == 1 && !of_set[0].contains("other on"), "{of_set:?}");
    assert_eq!(notes(world("ReplicaSet"), everything()), [""; 0], "it takes all pods of the namespace");
}

/// With the right to get a pod but not to list pods, a missing replacement is not claimed.
#[test]
fn who_may_not_list_pods_is_told_that_it_is_not_known_who_does_its_work() {
    let mut one = serde_json::Value::Null;
    let world = on("Running").change("/api/v1/pods", "p", |pod| {
        pod["metadata"]["ownerReferences"] =
            json!([{"kind": "ReplicaSet", "name": "web", "uid": "u1", "controller": true}]);
        one = pod.clone();
    });
    let list = "/api/v1/namespaces/a/pods";
    let world = world.refuse(list, 403, "pods is forbidden").refuse(&format!("{list}/p"), 200, &one.to_string());
    let looked = look(world, object("pod", "a", "p"));
    assert_eq!(looked.causes(), ["PodContainersNotStopped"], "{:#?}", looked.report);
    let report = serde_json::to_string(&looked.report).unwrap();
    assert!(!report.contains("none runs and is ready that could do its work"), "{report}");
    assert!(report.contains("whether another pod of ReplicaSet web already runs"), "{report}");
}

/// Only the kubelet knows, and it is queried only on request.
#[test]
fn the_kubelets_own_words_are_quoted_when_they_are_asked_for() {
    let uid = "ee7644fa-c649-4025-9178-81dc31cad0c6";
    let subject = || object("pod", "exam-dstate", "p");
    let log = |text: &str| recording("dstate-fuse").refuse("/api/v1/nodes/node-a/proxy/logs/", 200, text);
    let line =
        |words: &str| format!("Nov 20 20:21:50 node-a kubelet[812]: {words} pod=\"exam-dstate/p\" podUID=\"{uid}\"\n");
    let text = line("first") + &line("E1120 failed to kill: \u{1b}[8m DeadlineExceeded") + "of another pod\n";
    let looked = look_with(log(&text), subject(), |state| state.kubelet_log = true);
    assert_eq!(looked.causes(), ["PodContainersNotStopped"], "{:#?}", looked.report);
    let root = looked.chain(0).pop().unwrap();
    assert!(root.starts_with("kubelet log of node-a: \"Nov 20") && root.contains("DeadlineExceeded"), "{root}");
    assert!(!root.contains('\u{1b}') && !format!("{:?}", looked.report).contains("of another pod"));
    let asked = |looked: &Looked| looked.requests.iter().filter(|path| path.contains("/proxy/")).count();
    assert_eq!(asked(&looked), 1, "{:#?}", looked.requests);
    assert!(looked.requests.iter().any(|path| path.contains(&format!("pattern={uid}&tailLines=50"))));
    // A kubelet without it lists its files.
    let listing =
        look_with(log("<pre><a href=\"syslog\">syslog</a></pre>"), subject(), |state| state.kubelet_log = true);
    let told = |looked: &Looked, words: &str| {
        let begin = "Could not be read, and not needed for the verdict: kubelet log of node-a (";
        looked.report.notes.iter().any(|note| note.starts_with(begin) && note.contains(words))
    };
    assert!(told(&listing, "has no NodeLogQuery"), "{:#?}", listing.report.notes);
    // One that writes to a file refuses the options, with 200.
    let files = "\noptions present and query resolved to log files for [kubelet]\ntry without specifying options\n";
    let files = look_with(log(files), subject(), |state| state.kubelet_log = true);
    let plain = look(recording("dstate-fuse"), subject());
    assert_eq!((files.causes(), files.report.verdict), (plain.causes(), plain.report.verdict));
    assert_eq!(files.chain(0), plain.chain(0));
    assert!(told(&files, "?query=kubelet' | grep ee7644fa"), "{:#?}", files.report.notes);
    assert!(files.report.notes.iter().all(|note| !note.contains("has no line")), "{:#?}", files.report.notes);
    let nothing = look_with(log("-- No entries --\n"), subject(), |state| state.kubelet_log = true);
    assert!(!told(&nothing, ""), "{:#?}", nothing.report.notes);
    assert!(nothing.report.notes.iter().any(|note| note.contains("has no line about")), "{:#?}", nothing.report.notes);
    // A missing right of the caller is reported.
    let words = "nodes \"node-a\" is forbidden: User \"jane\" cannot get resource \"nodes/proxy\"";
    let denied = recording("dstate-fuse").refuse("/api/v1/nodes/node-a/proxy/logs/", 403, words);
    let denied = look_with(denied, subject(), |state| state.kubelet_log = true);
    assert_eq!(denied.causes(), ["PodContainersNotStopped"]);
    assert!(
        denied.report.notes.iter().any(|note| note.contains("kubelet log of node-a")),
        "{:#?}",
        denied.report.notes
    );
    assert_eq!(asked(&look(recording("dstate-fuse"), subject())), 0);
}
