//! What the agents of the nodes say, joined into the cluster's answer.

use aggregator_core::state::{Answer, Answered, Question, Scope, Select, known};
use findings::event::Phase;
use findings::render::{Detail, Style};
use findings::{CauseRef, FaultKind};
use plugin::report::{dot, table, tree};

use crate::support::*;

mod hostile;

const EVENTS: &str = "/apis/events.k8s.io/v1/namespaces/default/events";
const POD: &str = "ee7644fa-c649-4025-9178-81dc31cad0c6";
const CWD: &str = "a710cd16-c48b-4c82-88a5-9064a1833d8a";
/// The first step, whatever an Event says.
const ASK: &str = "kubectl why-terminating pod/p -n exam-dstate --live";
const NESTED: &str = "42331e16-a9a8-4ad7-adaf-9dcadc109451";

/// A moment after it was recorded: when the pod is no longer young.
fn dstate() -> World {
    let mut world = recording("dstate-fuse");
    world.at = world.ago(-30).parse().unwrap();
    world
}

/// Only an agent can have said it.
fn joined(says: AgentEventFixture) -> Looked {
    look(dstate().policy(86_400).told(says), everything())
}

/// Every account with the right to write Events can have written it.
fn told_by_anybody(says: AgentEventFixture) -> Looked {
    look(dstate().told_by_anybody(says), everything())
}

/// The kubelet reports, and asks for the object's deletion, when all else is done: a webhook that refuses that holds no
/// container.
#[test]
fn a_webhook_hides_nothing_that_the_agent_sees() {
    let causes = |world: World| {
        let mut causes = look(world, everything()).causes();
        causes.sort_unstable();
        causes
    };
    let deletion = || dstate().webhook("DELETE", "", "pods");
    let report = || dstate().webhook("UPDATE", "", "pods/status");
    assert_eq!(
        causes(deletion().told(AgentEventFixture::fuse(&[POD]))),
        ["FuseServerNotResponding", "WebhookUnavailable"]
    );
    assert_eq!(
        causes(report().told(AgentEventFixture::fuse(&[POD]))),
        ["FuseServerNotResponding", "WebhookBlocksUpdate"]
    );
    assert_eq!(causes(deletion()), ["PodContainersNotStopped", "WebhookUnavailable"]);
    // What the kubelet says of the containers does not arrive.
    assert_eq!(causes(report()), ["WebhookBlocksUpdate"]);
    let unmounts = recording("volumes-busy").webhook("DELETE", "", "pods");
    assert!(
        causes(unmounts.told(AgentEventFixture::held(&[CWD]))).contains(&"VolumeHeldByProcess"),
        "an ended pod holds its volumes"
    );
    // Who refuses the kubelet's last request is known here, and not there.
    let pod = |world: World| {
        let mut says = AgentEventFixture::held(&[CWD]);
        says.carried.finding.cause = CauseRef(&findings::cause::OBJECT_NOT_DELETED);
        look(world.told(says), object("pod", "node-scn", "cwd")).causes()
    };
    assert_eq!(pod(recording("volumes-busy")), ["ObjectNotDeleted"]);
    assert_eq!(pod(recording("volumes-busy").webhook("DELETE", "", "pods")), ["WebhookUnavailable"]);
}

fn notes(looked: &Looked) -> String {
    looked.report.notes.iter().cloned().collect::<Vec<_>>().join("\n")
}

fn is_number(text: &str) -> bool {
    text.parse::<u32>().is_ok_and(|number| number.to_string() == text)
}

/// The answer without any agent.
fn is_as_without(looked: &Looked) {
    assert_eq!(looked.causes(), ["PodContainersNotStopped"], "{:#?}", looked.report);
    assert_eq!(looked.report.verdict, Verdict::Stuck);
    assert!(looked.report.roots[0].told_by.is_none());
}

#[test]
fn the_chain_goes_on_to_the_process() {
    let looked = joined(AgentEventFixture::fuse(&[POD]));
    assert_eq!(looked.causes(), ["FuseServerNotResponding"], "{:#?}", looked.report);
    looked.assert_chain(
        0,
        &[
            "Namespace exam-dstate: Terminating",
            "Pod exam-dstate/p: container c is still running",
            "Node node-a: Ready; agent reports:",
            "container c (containerd://31426e3c56e0): RUNNING",
            "pid 15731 ls: D",
            "fuse mount /mnt/media (0:41, fuse): 1 request",
            "pid 22655 s3fs: S",
        ],
    );
    let root = &looked.report.roots[0];
    let by = root.told_by.as_ref().unwrap();
    assert_eq!((by.node.as_str(), by.seconds_ago, by.first_seen_seconds_ago), ("node-a", 12, Some(25)));
    assert_eq!((root.verdict, root.finding.confidence), (Verdict::Stuck, Confidence::Proven));
    assert_eq!(root.finding.gate, Some(findings::Gate::ContainersStopped));
    assert_eq!(looked.commands().last().unwrap(), "echo 1 > /sys/fs/fuse/connections/41/abort");
    assert!(root.finding.evidence.iter().any(|one| one.source.starts_with("agent on node-a: /proc/15731/")));
    assert!(looked.report.notes.is_empty(), "{:?}", looked.report.notes);
    assert_eq!(looked.requests.iter().filter(|path| path.starts_with(EVENTS)).count(), 1, "{:#?}", looked.requests);
}

#[test]
fn two_pods_of_one_root_are_one_answer() {
    let world = recording("volumes-busy")
        .told(AgentEventFixture::held(&[CWD]))
        .told(AgentEventFixture::held(&[NESTED]).named("node-a.2"));
    let looked = look(world, everything());
    assert_eq!(looked.causes(), ["VolumeHeldByProcess"], "{:#?}", looked.report);
    assert_eq!(looked.victims(0), ["Pod node-scn/cwd", "Pod node-scn/nested"]);
    let line = table(&looked.report, false, Style::Plain);
    assert!(
        line.contains("VolumeHeldByProcess   pid 22817 backup on node-a   pod/node-scn/cwd,pod/node-scn/nested"),
        "{line}"
    );
}

/// Of one pod alone: what it waits for may be another process by the next scan.
#[test]
fn what_holds_one_pod_alone_is_one_root() {
    let mut other = AgentEventFixture::held(&[POD]).named("node-a.2");
    other.carried.finding.gate = Some(findings::Gate::ContainersStopped);
    let looked = look(dstate().told(AgentEventFixture::fuse(&[POD])).told(other.clone()), everything());
    assert_eq!(looked.causes(), ["FuseServerNotResponding"], "{:#?}", looked.report);
    let [root] = looked.report.roots.as_slice() else { panic!("{:#?}", looked.report) };
    let also: Vec<&str> = root.also.iter().map(|other| other.cause.id).collect();
    assert_eq!((also, root.victims.len()), (vec!["VolumeHeldByProcess"], 1), "{root:#?}");
    let shown = [
        plugin::report::screen(&looked.report, 100, Style::Plain),
        tree(&looked.report, Detail::Short, 100, Style::Plain),
        dot(&looked.report),
    ];
    for shown in &shown {
        assert!(shown.contains("VolumeHeldByProcess") && shown.contains("pid 22817 backup"), "{shown}");
    }
    assert!(table(&looked.report, false, Style::Plain).contains(" on node-a (+1)"));
    // Whichever process it is, the id stays.
    let alone = look(dstate().told(other), everything());
    assert_eq!(alone.report.roots[0].id, root.id);
    // The report distinguishes two of one cause.
    let mut second = AgentEventFixture::fuse(&[POD]).named("node-a.3");
    let last = second.carried.finding.chain.last_mut().unwrap();
    last.subject = "pid 4242 s3fs".to_owned();
    last.what = Some(findings::Entity::process(4242, "s3fs", 'S'));
    second.carried.finding.root = "FuseServerNotResponding:4242".to_owned();
    let looked = look(dstate().told(AgentEventFixture::fuse(&[POD])).told(second), everything());
    assert_eq!((looked.report.roots.len(), looked.report.roots[0].also.len()), (1, 1), "{:#?}", looked.report);
    let shown = plugin::report::screen(&looked.report, 100, Style::Plain);
    assert!(
        shown.contains("pid 4242 s3fs") && shown.contains("Also    FuseServerNotResponding pid 22655 s3fs"),
        "{shown}"
    );
}

/// What holds several pods stays the root of all of them, and is the same for a question about one.
#[test]
fn what_holds_several_pods_is_a_root_of_its_own() {
    let world = || {
        let mut of_one = AgentEventFixture::fuse(&[CWD]).named("node-a.3");
        of_one.carried.finding.gate = Some(findings::Gate::VolumesUnmounted);
        recording("volumes-busy")
            .told(AgentEventFixture::held(&[CWD]))
            .told(AgentEventFixture::held(&[NESTED]).named("node-a.2"))
            .told(of_one)
    };
    let all = look(world(), everything());
    assert_eq!(all.causes(), ["VolumeHeldByProcess", "FuseServerNotResponding"], "{:#?}", all.report);
    let ids =
        |looked: &Looked| looked.report.roots.iter().map(|root| root.id).collect::<std::collections::BTreeSet<_>>();
    let one = look(world(), object("pod", "node-scn", "cwd"));
    assert_eq!(ids(&one), ids(&all));
    let mut over = AgentEventFixture::held(&[NESTED]).named("node-a.2.0");
    over.carried.phase = Phase::Over;
    over.kind = "Normal";
    let alone = look(world().told(over), object("pod", "node-scn", "cwd"));
    assert_eq!(alone.report.roots.len(), 1, "the other pod is not held any more: {:#?}", alone.report);
}

#[test]
fn word_for_word() {
    let busy = || recording("volumes-busy");
    let pod = object("pod", "node-scn", "cwd");
    for (name, world, subject) in [
        (
            "joined-dstate-fuse",
            recording("dstate-fuse").policy(86_400).told(AgentEventFixture::fuse(&[POD])),
            everything(),
        ),
        ("joined-pod-busy", busy().policy(86_400).told(AgentEventFixture::held(&[CWD])), pod.clone()),
        ("joined-pod-unverified", busy().told_by_anybody(AgentEventFixture::held(&[CWD])), pod),
        ("joined-volumes-busy", busy().told(AgentEventFixture::held(&[CWD, NESTED]).of_node()), everything()),
    ] {
        let looked = look(world, subject);
        for width in [80, 120] {
            let text = tree(&looked.report, Detail::Short, width, Style::Plain);
            crate::golden::assert_golden(&format!("{name}.{width}.txt"), &text);
        }
    }
}

#[test]
fn one_of_more_pods_than_are_named_is_probable() {
    let mut says = AgentEventFixture::held(&[CWD]).of_node();
    says.carried.pod_count = 60;
    let looked = look(recording("volumes-busy").told(says), everything());
    assert_eq!(looked.causes(), ["VolumeHeldByProcess"], "{:#?}", looked.report);
    assert_eq!(looked.victims(0).len(), 2);
    let other = look(recording("volumes-busy").told(AgentEventFixture::held(&[CWD]).of_node()), everything());
    assert_eq!(other.causes(), ["VolumeHeldByProcess", "PodCleanupNotFinished"], "it is reported whole");
    // Alone, the pod that is not named has only a probable cause.
    let mut says = AgentEventFixture::held(&["00000000-0000-4000-8000-000000000000"]).of_node();
    says.carried.pod_count = 60;
    let looked = look(recording("volumes-busy").told(says), object("pod", "node-scn", "nested"));
    let finding = &looked.report.roots[0].finding;
    assert_eq!((finding.cause.id, finding.confidence), ("VolumeHeldByProcess", Confidence::Probable));
    assert!(finding.evidence.iter().any(|one| one.says.contains("names 1 of them, not this one")));
}

#[test]
fn an_old_word_is_told_as_old() {
    let late = joined(AgentEventFixture::fuse(&[POD]).at(50 * 60));
    let root = &late.report.roots[0];
    assert_eq!((root.finding.cause.id, root.finding.confidence), ("FuseServerNotResponding", Confidence::Probable));
    let text = tree(&late.report, Detail::Short, 200, Style::Plain);
    assert!(text.contains("50m ago") && text.contains("it may be gone"), "{text}");
    let expired = joined(AgentEventFixture::fuse(&[POD]).at(70 * 60));
    is_as_without(&expired);
    assert!(notes(&expired).contains("said FuseServerNotResponding 1h10m ago"), "{}", notes(&expired));
    // A renewal is newer than the Event it renews.
    let renewed = joined(AgentEventFixture::fuse(&[POD]).at(70 * 60).renewed(60));
    assert_eq!(renewed.report.roots[0].told_by.as_ref().unwrap().seconds_ago, 60);
}

#[test]
fn what_is_over_is_not_told() {
    let over = |at| {
        let mut over = AgentEventFixture::fuse(&[POD]).named("node-a.1.0").at(at);
        over.carried.phase = Phase::Over;
        over.kind = "Normal";
        over
    };
    is_as_without(&look(dstate().told(AgentEventFixture::fuse(&[POD]).at(300)).told(over(30)), everything()));
    let again = look(dstate().told(AgentEventFixture::fuse(&[POD]).at(30)).told(over(300)), everything());
    assert_eq!(again.causes(), ["FuseServerNotResponding"], "it came back");
    let mut merged = AgentEventFixture::fuse(&[POD]);
    merged.carried.phase = Phase::Merged;
    is_as_without(&joined(merged));
}

#[test]
fn what_cannot_be_read_is_said() {
    for (garbage, why) in [
        ("{".to_owned(), "another version"),
        ("x".repeat(100_000), "more than an agent writes"),
        (AgentEventFixture::fuse(&[POD]).carried.to_json().replace("\"schema\":3", "\"schema\":9"), "schema 9"),
        (
            AgentEventFixture::fuse(&[POD]).carried.to_json().replace("FuseServerNotResponding", "NodeUnreachable"),
            "no agent",
        ),
    ] {
        let mut says = AgentEventFixture::fuse(&[POD]);
        says.annotation = Some(garbage);
        let looked = joined(says);
        is_as_without(&looked);
        assert!(notes(&looked).contains(why), "{}", notes(&looked));
        let saved = serde_json::to_string(&looked.state).unwrap();
        assert!(saved.len() < 200_000, "a state keeps no more of it than it needs");
    }
}

#[test]
fn without_an_agent_it_says_what_one_would_add() {
    let none = look(dstate(), everything());
    is_as_without(&none);
    assert!(
        notes(&none).starts_with("No agent runs in this cluster, so the process, mount or cgroup"),
        "{}",
        notes(&none)
    );
    let elsewhere = look(dstate().agent("node-b", "True"), everything());
    is_as_without(&elsewhere);
    assert!(
        notes(&elsewhere).starts_with("No agent is deployed on node-a (on other nodes: 1)"),
        "{}",
        notes(&elsewhere)
    );
    let silent = look(dstate().agent("node-a", "True"), everything());
    assert!(notes(&silent).starts_with("The agent on node-a says nothing"), "{}", notes(&silent));
    let sick = look(dstate().agent("node-a", "False"), everything());
    assert!(notes(&sick).starts_with("The agent on node-a is not ready"), "{}", notes(&sick));
}

#[test]
fn nobody_is_sent_to_an_agent_that_is_known_not_to_run() {
    // Whether its Events are read, and whether its check is run once in a pod that is then deleted.
    let reads_and_checks = |looked: Looked| {
        let commands = looked.commands();
        let is_there = |end: &str| commands.iter().any(|command| command.ends_with(end));
        let checks = is_there(&check_once("exam-dstate/p"));
        assert_eq!(checks, is_there("| grep /node-debugger- | xargs -r kubectl -n kube-system delete"), "{commands:?}");
        (is_there("involvedObject.kind=Node,involvedObject.name=node-a"), checks)
    };
    let after = |world: World| reads_and_checks(look(world, everything()));
    assert_eq!(after(dstate()), (false, true), "none in the cluster");
    assert_eq!(after(dstate().agent("node-b", "True")), (false, true), "none on this node");
    assert_eq!(after(dstate().agent("node-a", "True")), (true, false), "it may yet say something");
    assert_eq!(after(dstate().agent("node-a", "False")), (true, true), "what it said before stands");
    let agents = "app.kubernetes.io/name=why-terminating,app.kubernetes.io/component=agent";
    let question = Question::Objects {
        resource: known::PODS.into(),
        scope: Scope::All,
        select: Select::Labels(agents.to_owned()),
        detail: aggregator_core::state::Detail::Full,
    };
    let answer = Answer::failed(FaultKind::Denied, "pods is forbidden");
    let hidden = look_with(dstate(), everything(), |state| state.add(Answered::whole(question, answer)));
    assert_eq!(reads_and_checks(hidden), (true, true), "not known");
}

#[test]
fn an_agent_is_heard_of_its_own_node_only() {
    let mut event = AgentEventFixture::fuse(&[POD]).event(|seconds| dstate().ago(seconds));
    event["reportingInstance"] = "node-b".into();
    let looked = look(dstate().with(event), everything());
    is_as_without(&looked);
    assert!(notes(&looked).contains("an agent of another node"), "{}", notes(&looked));
}

#[test]
fn what_may_not_be_seen_is_said_and_changes_nothing() {
    let looked =
        look(dstate().told(AgentEventFixture::fuse(&[POD])).refuse(EVENTS, 403, "events is forbidden"), everything());
    is_as_without(&looked);
    let unknown = &looked.report.unknown[0];
    assert_eq!(unknown.source, "Events of the agents");
    assert!(notes(&looked).starts_with("What exactly holds it is on the node"), "{}", notes(&looked));
    assert!(!notes(&looked).contains("No agent is deployed"), "{}", notes(&looked));
    assert!(unknown.why.contains("not visible to us"), "{unknown:?}");
}

#[test]
fn an_agent_is_heard_while_its_kubelet_is_not_ready() {
    let message = "container runtime is down";
    let world =
        dstate().told(AgentEventFixture::fuse(&[POD])).node_ready("node-a", "False", "KubeletNotReady", message);
    let looked = look(world, everything());
    assert_eq!(looked.causes(), ["FuseServerNotResponding", "NodeNotReady"], "{:#?}", looked.report);
    // Its agent cannot be queried through a runtime that is down.
    let screen = plugin::report::screen(&looked.report, 100, Style::Plain);
    assert_eq!(screen.matches("Next    kubectl describe node node-a").count(), 2, "{screen}");
    assert!(!screen.contains("--live"), "{screen}");
    // A silent node has a silent agent.
    let world = dstate().told(AgentEventFixture::fuse(&[POD])).node_ready("node-a", "Unknown", "NodeStatusUnknown", "");
    assert_eq!(look(world, everything()).causes(), ["NodeUnreachable"]);
}

/// The kubelet repeats what the agent has from the runtime itself.
#[test]
fn what_the_agent_says_of_the_runtime_is_why_its_kubelet_is_not_ready() {
    use findings::cause::{NETWORK_NOT_READY, PLEG_STALLED, RUNTIME_NOT_RESPONDING};
    for cause in [&NETWORK_NOT_READY, &PLEG_STALLED, &RUNTIME_NOT_RESPONDING] {
        let mut says = AgentEventFixture::fuse(&[POD]);
        says.carried.finding.cause = findings::CauseRef(cause);
        says.carried.finding.gate = None;
        let message = "container runtime network not ready: cni plugin not initialized";
        let world = dstate().told(says).node_ready("node-a", "False", "KubeletNotReady", message);
        let looked = look(world, everything());
        assert_eq!(looked.causes(), [cause.id], "{:#?}", looked.report);
    }
}

#[test]
fn an_agent_is_heard_of_a_pod_that_was_forced() {
    let forced = dstate().told(AgentEventFixture::fuse(&[POD])).change("/api/v1/pods", "p", |pod| {
        pod["metadata"]["deletionGracePeriodSeconds"] = json!(0);
        pod["metadata"]["finalizers"] = json!(["example.com/hold"]);
    });
    let looked = look(forced, object("pod", "exam-dstate", "p"));
    assert_eq!(looked.causes(), ["FuseServerNotResponding", "FinalizerOwnerUnknown"], "{:#?}", looked.report);
    let also: Vec<&str> = looked.report.roots[0].also.iter().map(|other| other.cause.id).collect();
    assert_eq!(also, ["PodForceDeleted"], "both are of the pod: {:#?}", looked.report);
}

#[test]
fn many_nodes_are_asked_for_at_once() {
    let world = |nodes: usize| {
        (0..nodes).fold(healthy(), |world, number| {
            let (node, pod) = (format!("node-{number}"), format!("p{number}"));
            let mut copy = Value::Null;
            let world = world.change("/api/v1/nodes", "node-a", |node| copy = node.clone());
            copy["metadata"]["name"] = node.as_str().into();
            copy["kind"] = "Node".into();
            world.with(copy).going_pod("a", &pod, &node, "Running")
        })
    };
    let asked = |nodes: usize| {
        let looked = look(world(nodes), everything());
        looked.requests.into_iter().filter(|path| path.starts_with(EVENTS)).collect::<Vec<_>>()
    };
    assert_eq!(asked(2).len(), 1);
    let many = asked(30);
    assert!(many.len() == 1 && !many[0].contains("regarding"), "{many:?}");
}

#[test]
fn the_node_itself_is_asked_first() {
    let looked = joined(AgentEventFixture::fuse(&[POD]));
    assert_eq!(looked.commands(), [ASK, "echo 1 > /sys/fs/fuse/connections/41/abort"]);
}

fn over(name: &str, at: i64) -> AgentEventFixture {
    let mut over = AgentEventFixture::fuse(&[POD]).named(name).at(at);
    over.carried.phase = Phase::Over;
    over.kind = "Normal";
    over
}

#[test]
fn an_end_hides_nothing_that_the_api_shows() {
    let told =
        |over: AgentEventFixture| look(dstate().told(AgentEventFixture::fuse(&[POD]).at(300)).told(over), everything());
    for forged in [over("node-a.1.0", -86_400), over("any.0", 30), over("node-a.10", 30)] {
        assert_eq!(told(forged).causes(), ["FuseServerNotResponding"]);
    }
    let mut warning = over("node-a.1.0", 30);
    warning.kind = "Warning";
    assert_eq!(told(warning).causes(), ["FuseServerNotResponding"]);
    let ended = told(over("node-a.1.0", 30));
    is_as_without(&ended);
    let said = notes(&ended);
    for words in ["(pid 22655 s3fs) ended 30s ago, yet pod exam-dstate/p is still there", ASK] {
        assert!(said.contains(words), "{said}");
    }
}
