//! Silent nodes: kubelet, machine or network, who else is silent, and whether anything is evicted.

use crate::support::*;

const POD: &str = "ee7644fa-c649-4025-9178-81dc31cad0c6";
const SHUT_DOWN: &str = "node.cloudprovider.kubernetes.io/shutdown";
const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";

/// The node with the pod in the FUSE call has been silent for a quarter of an hour.
fn silent() -> World {
    silence(recording("dstate-fuse"), "node-a")
}

fn silence(world: World, node: &str) -> World {
    let then = world.ago(900);
    world.node_ready(node, "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.").change(
        "/apis/coordination.k8s.io/v1/leases",
        node,
        |lease| lease["spec"]["renewTime"] = then.into(),
    )
}

/// Adds nodes of a zone with their Leases; the first of them are silent.
fn zone(mut world: World, zone: &str, all: usize, silent: usize) -> World {
    for number in 0..all {
        let (name, now) = (format!("{zone}-{number}"), world.ago(3));
        world = world.with(json!([
            {
                "kind": "Node", "metadata": {"name": name, "uid": name, "labels": {"topology.kubernetes.io/zone": zone}},
                "status": {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": now}]}
            },
            {
                "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                "metadata": {"name": name, "namespace": "kube-node-lease"},
                "spec": {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": now}
            }
        ]));
        if number < silent {
            world = silence(world, &name).taint(&name, "node.kubernetes.io/unreachable", "NoSchedule");
        }
    }
    world
}

/// The agent of node-a wrote an Event so many seconds ago, and a policy keeps others from writing it.
fn heard(world: World, ago: i64) -> World {
    world.agent("node-a", "True").policy(86_400).told(AgentEventFixture::fuse(&[POD]).at(ago))
}

fn notes(looked: &Looked) -> String {
    looked.report.notes.iter().cloned().collect::<Vec<_>>().join("\n")
}

fn evidence(looked: &Looked) -> String {
    let all = looked.report.roots.iter().flat_map(|root| &root.finding.evidence);
    all.map(|one| format!("{}: {}\n", one.source, one.says)).collect()
}

#[test]
fn an_agent_that_spoke_later_than_its_kubelet_shows_that_the_machine_runs() {
    let looked = look(heard(silent(), 60), everything());
    assert_eq!(looked.causes(), ["FuseServerNotResponding", "NodeKubeletSilent"], "{:#?}", looked.report);
    let root = &looked.report.roots[1];
    assert_eq!((root.verdict, root.finding.confidence), (Verdict::Stuck, Confidence::Proven));
    assert!(looked.chain(1).last().unwrap().contains("the kubelet is what is down"), "{:?}", looked.chain(1));
    // Nothing that would let a second copy start.
    assert!(!looked.commands().iter().any(|command| command.contains("taint")), "{:?}", looked.commands());
    // What it said long ago may be over.
    let late = look(silence(silent(), "node-a").told(AgentEventFixture::fuse(&[POD]).at(45 * 60)), everything());
    assert_eq!(late.causes(), ["NodeUnreachable"], "it spoke before the silence");
}

/// Then a tenant could make a machine that is off look as if it ran.
#[test]
fn what_anybody_may_have_written_proves_no_machine() {
    let told = |world: World, says: AgentEventFixture| look(world.told_by_anybody(says), everything());
    let root = |looked: &Looked| {
        let root = looked.report.roots.iter().find(|root| root.finding.cause.id == "NodeKubeletSilent");
        root.map(|root| (root.finding.confidence, root.finding.missing.clone().unwrap_or_default()))
    };
    let deployed = || silent().agent("node-a", "True");
    for (world, why) in [(deployed(), "no policy"), (silent().policy(86_400), "no agent is deployed there")] {
        let (confidence, missing) = root(&told(world, AgentEventFixture::fuse(&[POD]).at(60))).unwrap();
        assert!(confidence == Confidence::Probable && missing.contains(why), "{missing}");
    }
    // An agent writes as its own node.
    let mut other = AgentEventFixture::fuse(&[POD]).at(60);
    other.instance = "node-b".to_owned();
    assert_eq!(root(&told(deployed().policy(86_400), other)), None);
}

#[test]
fn an_agent_that_is_late_itself_leaves_it_probable() {
    let then = |world: &World| world.ago(2 * 3600);
    let world = silent();
    let long = then(&world);
    let world = world
        .change("/apis/coordination.k8s.io/v1/leases", "node-a", |lease| {
            lease["spec"]["renewTime"] = long.clone().into()
        })
        .change("/api/v1/nodes", "node-a", |node| {
            node["status"]["conditions"][0]["lastHeartbeatTime"] = long.clone().into()
        });
    let looked = look(world.told(AgentEventFixture::fuse(&[POD]).at(50 * 60)), everything());
    let root = looked.report.roots.iter().find(|root| root.finding.cause.id == "NodeKubeletSilent").unwrap();
    assert_eq!(root.finding.confidence, Confidence::Probable);
}

#[test]
fn without_such_a_word_kubelet_machine_and_network_look_alike() {
    for world in [
        silent(),
        // Older than the silence, or so close to it that both may have ended together.
        silent().told(AgentEventFixture::fuse(&[POD]).at(1200)),
        silent().told(AgentEventFixture::fuse(&[POD]).at(880)),
    ] {
        let looked = look(world, everything());
        assert_eq!(looked.causes(), ["NodeUnreachable"], "{:#?}", looked.report);
        assert!(looked.chain(0).last().unwrap().contains("look alike from here"), "{:?}", looked.chain(0));
        assert!(evidence(&looked).contains("Events of the agent on node-a: none since then"), "{}", evidence(&looked));
    }
    // Of a Node that was called so before.
    let mut other = AgentEventFixture::fuse(&[POD]).at(60);
    other.node_uid = "00000000-0000-4000-8000-000000000000".to_owned();
    assert_eq!(look(silent().told(other), everything()).causes(), ["NodeUnreachable"]);
    let hidden =
        silent().told(AgentEventFixture::fuse(&[POD]).at(60)).refuse("/apis/events.k8s.io", 403, "events is forbidden");
    let looked = look(hidden, everything());
    assert_eq!(looked.causes(), ["NodeUnreachable"]);
    assert!(
        notes(&looked)
            .contains("Not readable with these permissions, and not needed for the verdict: Events of the agents ("),
        "{}",
        notes(&looked)
    );
    assert!(evidence(&looked).contains("Events of the agent on node-a: could not be seen"), "{}", evidence(&looked));
}

#[test]
fn what_the_agent_says_of_the_kubelet_is_the_root() {
    use findings::cause::{KUBELET_NOT_RUNNING, KUBELET_STOPPED, KUBELET_SYNC_LOOP_HUNG};
    for cause in [&KUBELET_NOT_RUNNING, &KUBELET_STOPPED, &KUBELET_SYNC_LOOP_HUNG] {
        let mut says = AgentEventFixture::fuse(&[POD]).at(60);
        says.carried.finding.cause = findings::CauseRef(cause);
        says.carried.finding.gate = None;
        let looked = look(silent().told(says), everything());
        assert_eq!(looked.causes(), [cause.id], "{:#?}", looked.report);
    }
}

/// The cloud's controller writes no time.
fn stopped(world: World) -> World {
    world.taint("node-a", SHUT_DOWN, "NoSchedule").change("/api/v1/nodes", "node-a", |node| {
        node["spec"]["taints"][0]["timeAdded"] = json!(null);
    })
}

#[test]
fn a_machine_that_its_cloud_has_stopped() {
    let looked = look(stopped(silent()), everything());
    assert_eq!(looked.causes(), ["NodeShutDown"], "{:#?}", looked.report);
    assert_eq!(looked.report.roots[0].finding.confidence, Confidence::Probable);
    assert!(evidence(&looked).contains("taints of Node node-a: node.cloudprovider.kubernetes.io/shutdown:NoSchedule"));
    // It may have been started again: nothing is to be given up before its cloud has been asked.
    let remedy = &looked.report.roots[0].finding.remedy;
    assert!(remedy.dont.contains("--force") && remedy.dont.contains("delete the Node"), "{remedy:#?}");
    assert!(remedy.dont.contains("claims and volumes") && remedy.breaks.contains("twice"), "{remedy:#?}");
    let taints = remedy.steps.iter().filter(|step| step.command.as_ref().is_some_and(|one| one.contains("taint")));
    let is_asked = |step: &findings::Step| step.text.starts_with("If its cloud still shows it as stopped");
    assert_eq!(taints.map(is_asked).collect::<Vec<_>>(), [true], "{remedy:#?}");
    // The last word from before it was stopped.
    let world = silent().taint("node-a", SHUT_DOWN, "NoSchedule").told(AgentEventFixture::fuse(&[POD]).at(820));
    assert!(look(world, everything()).causes().contains(&"NodeShutDown"));
}

/// Who still hears its agent gives nothing up that is on its disk.
#[test]
fn local_data_of_a_machine_that_runs_is_not_lost() {
    let world = |world: World| {
        let asked = world.ago(300);
        let going = |name: &str| json!({"name": name, "namespace": "a", "uid": name, "deletionTimestamp": asked});
        let hostname = json!({"key": "kubernetes.io/hostname", "operator": "In", "values": ["node-a"]});
        world.active("a").held("v1", "PersistentVolumeClaim", "a", "data", &["kubernetes.io/pvc-protection"]).with(json!([
            {
                "kind": "Pod", "metadata": going("user"), "status": {"phase": "Running"},
                "spec": {"nodeName": "node-a", "volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]}
            },
            {
                "kind": "PersistentVolume", "metadata": {"name": "pv-1"}, "status": {"phase": "Bound"},
                "spec": {"local": {"path": "/mnt"}, "nodeAffinity": {"required": {"nodeSelectorTerms": [
                    {"matchExpressions": [hostname]}
                ]}}}
            }
        ])).change("/api/v1/persistentvolumeclaims", "data", |claim| claim["spec"] = json!({"volumeName": "pv-1"}))
    };
    let causes = |of: World| look(world(of), object("pvc", "a", "data")).explanations();
    assert_eq!(causes(silent()), ["LocalVolumeOnLostNode", "NodeUnreachable"]);
    assert_eq!(causes(stopped(silent())), ["LocalVolumeOnLostNode", "NodeShutDown"]);
    let spoke = || heard(silent(), 60);
    assert_eq!(causes(spoke()), ["NodeKubeletSilent"]);
    assert_eq!(causes(stopped(spoke())), ["NodeKubeletSilent"]);
}

/// The taint stays until the node is Ready: that of a machine that was started again may be old.
#[test]
fn a_machine_that_runs_although_its_cloud_had_stopped_it() {
    let down = silent().node_ready("node-a", "False", "KubeletNotReady", "container runtime is down");
    let looked = look(stopped(down), everything());
    assert_eq!(looked.causes(), ["NodeNotReady"], "{:#?}", looked.report);
    assert!(!looked.commands().iter().any(|command| command.contains("out-of-service")), "{:?}", looked.commands());
    // A component on it reported later than its kubelet, and where the taint has a time, later than that.
    for (world, confidence) in [
        (stopped(silent()), Confidence::Probable),
        (silent().taint("node-a", SHUT_DOWN, "NoSchedule"), Confidence::Proven),
    ] {
        let looked = look(heard(world, 60), everything());
        let root = looked.report.roots.iter().find(|root| root.finding.cause.id == "NodeKubeletSilent");
        assert_eq!(root.map(|root| root.finding.confidence), Some(confidence), "{:#?}", looked.report);
    }
}

/// A forged Event must not prevent a failover.
#[test]
fn a_machine_does_not_run_on_anybodys_word() {
    let spoke = silent().agent("node-a", "True").told_by_anybody(AgentEventFixture::fuse(&[POD]).at(60));
    let looked = look(stopped(spoke), everything());
    assert!(looked.causes().contains(&"NodeShutDown"), "{:#?}", looked.report);
    let said = notes(&looked);
    assert!(
        said.contains("if that was its agent (any account that can create Events")
            && said.contains("See whether it is off"),
        "{said}"
    );
}

#[test]
fn a_machine_that_runs_although_it_was_declared_out_of_service() {
    let tainted = || silent().taint("node-a", OUT_OF_SERVICE, "NoExecute");
    let looked = look(heard(tainted(), 60), everything());
    assert!(looked.causes().contains(&"OutOfServiceNotEffective"), "{:?}", looked.causes());
    let said = notes(&looked);
    assert!(
        said.contains("has written an Event since, 1m ago: then the host ran. Unless it was switched off"),
        "{said}"
    );
    // From before the taint, which `kubectl taint` gives no time; or of another writer.
    assert!(!notes(&look(heard(tainted(), 820), everything())).contains("declared out of service"));
    let without_time = tainted().change("/api/v1/nodes", "node-a", |node| {
        node["spec"]["taints"][0]["timeAdded"] = json!(null);
    });
    for (world, only_if) in [
        (heard(without_time, 60), "if that was after the taint, which has no time"),
        (tainted().told(AgentEventFixture::fuse(&[POD]).at(60)), "if that was its agent ("),
    ] {
        let said = notes(&look(world, everything()));
        assert!(said.contains(only_if) && said.contains("See whether it is off"), "{said}");
        assert!(!said.contains("kubectl taint"), "{said}");
    }
}

#[test]
fn a_node_that_has_just_been_declared_out_of_service_is_progressing() {
    let world = silent();
    let now = world.ago(10);
    let world = world.taint("node-a", OUT_OF_SERVICE, "NoExecute").change("/api/v1/nodes", "node-a", |node| {
        node["spec"]["taints"][0]["timeAdded"] = now.into();
    });
    let looked = look(world, everything());
    assert_eq!((looked.causes(), looked.report.verdict), (vec!["NodeUnreachable"], Verdict::Progressing));
}

/// `kubectl taint` writes no time: the collector may be about to remove its pods.
#[test]
fn since_when_a_node_was_declared_out_of_service_is_mostly_not_known() {
    let world = silent().taint("node-a", OUT_OF_SERVICE, "NoExecute");
    let world = world.change("/api/v1/nodes", "node-a", |node| {
        node["spec"]["taints"][0]["timeAdded"] = json!(null);
    });
    let looked = look(world, everything());
    assert_eq!(looked.causes(), ["OutOfServiceNotEffective"]);
    assert_eq!(looked.report.roots[0].finding.confidence, Confidence::Probable);
}

#[test]
fn what_refuses_the_collector_at_a_node_that_is_out_of_service_is_the_root() {
    let world = silent().taint("node-a", OUT_OF_SERVICE, "NoExecute").webhook("DELETE", "", "pods");
    assert_eq!(look(world, everything()).causes(), ["WebhookUnavailable"]);
}

#[test]
fn a_node_that_is_out_of_service_and_empty_is_not_stuck_for_that() {
    let gone = silent().taint("node-a", OUT_OF_SERVICE, "NoExecute").without("/api/v1/pods", "p");
    let looked = look(gone, object("node", "", "node-a"));
    assert!(!looked.causes().contains(&"OutOfServiceNotEffective"), "{:#?}", looked.report);
}

/// The taint was forgotten, and removes nothing of a node that is ready.
#[test]
fn the_pods_of_a_ready_node_have_their_own_causes_whatever_it_was_declared() {
    let tainted = || recording("dstate-fuse").taint("node-a", OUT_OF_SERVICE, "NoExecute");
    let looked = look(tainted(), everything());
    assert_eq!(looked.causes(), ["PodContainersNotStopped"], "{:#?}", looked.report);
    assert!(notes(&looked).contains("is declared out of service, and Ready"), "{}", notes(&looked));
    assert_eq!(
        look(tainted().told(AgentEventFixture::fuse(&[POD])), everything()).causes(),
        ["FuseServerNotResponding"]
    );
}

#[test]
fn who_else_is_silent_is_told() {
    let one = silence(zone(healthy(), "z", 4, 0), "node-a").going_pod("a", "p", "node-a", "Running");
    let alone = look(one, everything());
    assert!(evidence(&alone).contains("so it is this host, its kubelet or its own link"), "{}", evidence(&alone));
    let zone_down = zone(healthy(), "z", 5, 4).going_pod("a", "p", "z-0", "Running");
    let looked = look(zone_down, everything());
    assert_eq!(looked.causes(), ["NodeUnreachable"], "{:#?}", looked.report);
    assert!(
        notes(&looked).contains("4 of 5 nodes of zone z are not ready: the network or the power"),
        "{}",
        notes(&looked)
    );
    // Nodes are only asked for by their zone, and only when many Leases have run out.
    let lists = |looked: &Looked| {
        let is_list = |path: &&String| path.starts_with("/api/v1/nodes?") && path.contains("labelSelector");
        looked.requests.iter().filter(is_list).count()
    };
    assert_eq!((lists(&alone), lists(&looked)), (0, 1), "{:#?}", looked.requests);
}

/// Every node is silent, and none is evicted.
fn all_silent() -> World {
    let world = zone(healthy().without("/api/v1/nodes", "node-a"), "z", 3, 3);
    world.without("/apis/coordination.k8s.io/v1/leases", "node-a").with(json!({
        "kind": "Pod", "metadata": {"name": "p", "namespace": "a", "uid": "p"}, "spec": {"nodeName": "z-1"},
        "status": {"phase": "Running"}
    }))
}

#[test]
fn eviction_is_suspended_when_every_node_is_silent() {
    for subject in [object("pod", "a", "p"), object("node", "default", "z-1")] {
        let looked = look(all_silent(), subject);
        let root = looked.report.roots.iter().find(|root| root.finding.cause.id == "EvictionSuspended");
        let root = root.unwrap_or_else(|| panic!("{:#?}", looked.report));
        assert_eq!((root.verdict, root.finding.confidence), (Verdict::Clear, Confidence::Proven));
        assert!(evidence(&looked).contains("3 of 3 Leases of nodes have run out"), "{}", evidence(&looked));
    }
    let looked = look(all_silent(), object("pod", "a", "p"));
    assert_eq!((looked.causes(), looked.report.verdict), (vec!["EvictionSuspended"], Verdict::Clear));
    looked.assert_chain(
        0,
        &["Pod a/p: is not being deleted; its node z-1 is not ready", "Node z-1: silent, and not evicted"],
    );
}

#[test]
fn eviction_of_most_of_a_zone_is_suspended_probably() {
    let world = zone(healthy(), "z", 5, 3).with(json!({
        "kind": "Pod", "metadata": {"name": "p", "namespace": "a", "uid": "p"}, "spec": {"nodeName": "z-1"}
    }));
    let looked = look(world, object("pod", "a", "p"));
    assert_eq!(looked.causes(), ["EvictionSuspended"], "{:#?}", looked.report);
    assert_eq!(looked.report.roots[0].finding.confidence, Confidence::Probable);
    assert!(looked.chain(0).last().unwrap().ends_with("so nothing is evicted in it"), "{:?}", looked.chain(0));
    // Beside a pod that is stuck there it is a note.
    let looked =
        look(zone(healthy(), "z", 5, 3).going_pod("a", "q", "z-1", "Running"), object("node", "default", "z-1"));
    assert_eq!(looked.causes(), ["NodeUnreachable"], "{:#?}", looked.report);
    let note = "Other pods of silent nodes are not evicted";
    assert!(notes(&looked).contains(note), "{}", notes(&looked));
    // Of several nodes that it holds it is said once.
    let several =
        zone(healthy(), "z", 5, 3).going_pod("a", "q", "z-1", "Running").going_pod("a", "r", "z-2", "Running");
    let told = notes(&look(several, everything()));
    assert_eq!(told.matches(note).count(), 1, "{told}");
}

#[test]
fn a_large_zone_is_evicted_slowly() {
    let world = zone(healthy(), "z", 60, 40).with(json!({
        "kind": "Pod", "metadata": {"name": "p", "namespace": "a", "uid": "p"}, "spec": {"nodeName": "z-1"}
    }));
    let looked = look(world, object("pod", "a", "p"));
    assert_eq!(looked.causes(), ["EvictionSuspended"], "{:#?}", looked.report);
    assert!(looked.chain(0).last().unwrap().contains("one node of it is evicted in 100 s"), "{:?}", looked.chain(0));
}

#[test]
fn eviction_that_is_not_suspended_is_not_called_so() {
    let pod = json!({
        "kind": "Pod", "metadata": {"name": "p", "namespace": "a", "uid": "p"}, "spec": {"nodeName": "z-1"}
    });
    let causes = |world: World| look(world.with(pod.clone()), object("pod", "a", "p")).causes();
    // Two of five; a zone of which none is ready while another is; a node that is already evicted.
    assert!(causes(zone(healthy(), "z", 5, 2)).is_empty());
    // Three of ten.
    assert!(causes(zone(healthy(), "z", 10, 3)).is_empty());
    // Two of four, besides one that the node controller does not count.
    let uncounted = zone(healthy(), "z", 5, 3).change("/api/v1/nodes", "z-0", |node| {
        node["metadata"]["labels"]["node.kubernetes.io/exclude-disruption"] = "".into();
    });
    assert!(causes(uncounted).is_empty());
    assert!(causes(zone(healthy(), "z", 3, 3)).is_empty());
    assert!(causes(zone(healthy(), "z", 5, 3).taint("z-1", "node.kubernetes.io/unreachable", "NoExecute")).is_empty());
    let unmanaged =
        look(zone(healthy(), "z", 5, 3).without_controller_manager().with(pod.clone()), object("pod", "a", "p"));
    assert!(
        unmanaged.causes().is_empty() && notes(&unmanaged).contains("Nothing is evicted while"),
        "{}",
        notes(&unmanaged)
    );
}

#[test]
fn a_pod_of_a_daemon_set_stays_on_a_silent_node() {
    let world = all_silent().change("/api/v1/pods", "p", |pod| {
        pod["metadata"]["ownerReferences"] =
            json!([{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "d"}]);
    });
    let world = world.with(json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "d", "namespace": "a", "uid": "d"}
    }));
    let looked = look(world, object("pod", "a", "p"));
    assert!(looked.causes().is_empty(), "{:#?}", looked.report);
    assert!(notes(&looked).contains("belongs to a DaemonSet"), "{}", notes(&looked));
}

#[test]
fn a_node_that_is_called_ready_while_nobody_judges_nodes() {
    let then = |world: &World| world.ago(900);
    let frozen = |world: World| {
        let then = then(&world);
        world.change("/apis/coordination.k8s.io/v1/leases", "node-a", |lease| lease["spec"]["renewTime"] = then.into())
    };
    let world = frozen(recording("dstate-fuse")).without_controller_manager();
    let mut causes = look(world, object("pod", "exam-dstate", "p")).causes();
    causes.sort_unstable();
    assert_eq!(causes, ["ControllerManagerSilent", "NodeUnreachable"]);
    // The kubelet works, even without a controller manager.
    let world = recording("dstate-fuse").without_controller_manager();
    assert_eq!(look(world, object("pod", "exam-dstate", "p")).causes(), ["PodContainersNotStopped"]);
}

/// Machines do not fail all at once: one thing is broken, and it is said once and first.
#[test]
fn leases_that_have_all_run_out_are_one_root() {
    let nodes = |world: World| {
        let world = world.going_pod("a", "p", "z-0", "Running").going_pod("b", "q", "z-1", "Running");
        world.going_pod("c", "r", "z-2", "Failed")
    };
    let world = || nodes(zone(healthy().without("/apis/coordination.k8s.io/v1/leases", "node-a"), "z", 3, 3));
    let claim = |world: World| world.held("v1", "PersistentVolumeClaim", "a", "c", &["kubernetes.io/pvc-protection"]);
    for (world, manager) in [(world(), false), (claim(world().without_controller_manager()), true)] {
        let looked = look(world, everything());
        assert_eq!(looked.causes(), ["AllLeasesExpired"], "{:#?}", looked.report);
        assert_eq!(looked.victims(0).len(), if manager { 4 } else { 3 });
        let root = looked.chain(0).pop().unwrap();
        assert!(root.starts_with("Leases of all nodes: all 3"), "{root}");
        assert_eq!(root.contains("and that of kube-controller-manager too"), manager, "{root}");
    }
    // One node that is heard, and the others are silent each for itself.
    let looked = look(nodes(zone(healthy(), "z", 3, 3)), everything());
    assert!(!looked.causes().contains(&"AllLeasesExpired"), "{:#?}", looked.report);
    // A cluster of one node has only that.
    assert_eq!(look(silent(), everything()).causes(), ["NodeUnreachable"]);
}

/// The taint is offered once.
#[test]
fn a_node_that_is_declared_out_of_service_is_not_to_be_declared_so_again() {
    let silent = || healthy().node_ready("node-a", "Unknown", "NodeStatusUnknown", "stopped posting");
    let taint = "kubectl taint node node-a node.kubernetes.io/out-of-service=nodeshutdown:NoExecute";
    let untaint = "kubectl taint node node-a node.kubernetes.io/out-of-service-";
    let tainted = silent().taint("node-a", "node.kubernetes.io/out-of-service", "NoExecute");
    let off = |world: World| world.taint("node-a", SHUT_DOWN, "NoSchedule");
    let tainted_off = off(silent().taint("node-a", OUT_OF_SERVICE, "NoExecute"));
    for (world, cause, offered) in [
        (silent(), "NodeUnreachable", [true, false]),
        (tainted, "NodeUnreachable", [false, true]),
        (off(silent()), "NodeShutDown", [true, false]),
        (tainted_off, "NodeShutDown", [false, true]),
    ] {
        let looked = look(world, object("node", "default", "node-a"));
        assert_eq!(looked.causes(), [cause], "{:#?}", looked.report);
        let commands = looked.commands();
        assert_eq!([taint, untaint].map(|one| commands.iter().any(|it| it == one)), offered, "{commands:#?}");
    }
}
