//! The agent of a node, asked now and not by what it last said.

use aggregator_core::state::{Answer, Answered, Facts, Question, Subject};
use client::{BoundedClient, Bounds, answer};
use findings::{FaultKind, NodeFinding, NodeReport, PodRef, PodReport, PodUid};
use futures::SinkExt as _;
use kube::Client;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::{Message, protocol::Role};

use crate::support::*;

const POD: &str = "ee7644fa-c649-4025-9178-81dc31cad0c6";

fn asks(namespace: &str, name: &str, before: bool) -> Question {
    let both = |namespace: &str, name: &str| (namespace.to_owned(), name.to_owned());
    Question::Live { agent: both("why-terminating", "agent-node-a"), pod: both(namespace, name), before }
}

/// What comes of the question when the command writes this; and what was run.
fn asked(written: Vec<Vec<u8>>, bounds: Bounds) -> (Answered, String) {
    answered(asks("exam-dstate", "p", false), written, bounds)
}

fn answered(question: Question, written: Vec<Vec<u8>>, bounds: Bounds) -> (Answered, String) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let serves = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            let head = String::from_utf8(head).unwrap();
            assert!(head.to_lowercase().contains("upgrade: websocket"), "{head}");
            let accepts = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
                           sec-websocket-protocol: v4.channel.k8s.io\r\n\r\n";
            stream.write_all(accepts.as_bytes()).await.unwrap();
            let mut socket = WebSocketStream::from_raw_socket(stream, Role::Server, None).await;
            for message in written {
                // A client that has read enough closes the connection.
                let _ = socket.send(Message::binary(message)).await;
            }
            let _ = socket.close(None).await;
            head.split(' ').nth(1).unwrap().to_owned()
        };
        let asks = async {
            let client = Client::try_from(kube::Config::new(url.parse().unwrap())).unwrap();
            answer(&BoundedClient::new(&client, bounds), question).await
        };
        tokio::join!(asks, serves)
    })
}

fn report(uid: &str) -> Vec<u8> {
    serde_json::to_vec(&node_report("exam-dstate", "p", uid)).unwrap()
}

pub fn node_report(namespace: &str, name: &str, uid: &str) -> NodeReport {
    let [namespace, name] = [namespace, name].map(|name| Some(name.to_owned()));
    let pod = PodRef { namespace, name, uid: PodUid::parse(uid).unwrap() };
    NodeReport {
        schema: NodeReport::SCHEMA,
        node: "node-a".to_owned(),
        at: "2026-11-22T10:00:00Z".to_owned(),
        verdict: Verdict::Stuck,
        pods: vec![PodReport {
            pod,
            before: false,
            verdict: Verdict::Stuck,
            gate: None,
            gone_because: String::new(),
            overdue_seconds: None,
            gates: Vec::new(),
            findings: vec![fuse_server_not_responding()],
            unknown: Vec::new(),
            force: None,
        }],
        node_findings: Vec::new(),
        unknown: Vec::new(),
        not_looked_for: Vec::new(),
        notes: Vec::new(),
    }
}

fn on_channel(channel: u8, bytes: &[u8]) -> Vec<u8> {
    [&[channel], bytes].concat()
}

#[test]
fn what_the_agent_writes_is_read_as_what_it_should_be_or_not_at_all() {
    let said = report(POD);
    let (one, other) = said.split_at(said.len() / 2);
    // Its errors and its end are on other channels.
    let written = vec![on_channel(1, one), on_channel(2, b"looking"), on_channel(1, other), on_channel(3, b"{}")];
    let (answered, ran) = asked(written, Bounds::default());
    let Answer::Seen(Facts::AgentEvents(events)) = &answered.answer else { panic!("{answered:?}") };
    assert_eq!(events[0].carried().unwrap().finding.cause.0.id, "FuseServerNotResponding");
    assert_eq!(
        ran,
        "/api/v1/namespaces/why-terminating/pods/agent-node-a/exec?container=talker&stdout=true\
         &command=%2Fwhy-terminating-agent&command=check&command=--pod&command=exam-dstate%2Fp\
         &command=--output&command=json"
    );
    for (written, kind) in [
        (vec![on_channel(1, b"\x1b[2J$(reboot)")], FaultKind::Malformed),
        (vec![], FaultKind::Malformed),
        (vec![on_channel(1, &said); 8], FaultKind::TooLarge),
        (vec![on_channel(1, &vec![b' '; 1 << 21])], FaultKind::Malformed),
    ] {
        let bounds = Bounds { answer: said.len() * 4, ..Bounds::default() };
        let (answered, _) = asked(written, bounds);
        assert!(matches!(&answered.answer, Answer::Failed(fault) if fault.kind == kind), "{kind:?}: {answered:?}");
    }
}

fn stuck() -> World {
    recording("dstate-fuse").agent("node-a", "True")
}

#[test]
fn what_is_said_now_takes_the_place_of_what_was_said() {
    let now = |uid: &str| asked(vec![on_channel(1, &report(uid))], Bounds::default()).0;
    let subject = || object("pod", "exam-dstate", "p");
    let world = || stuck().told(AgentEventFixture::held(&[POD]));
    assert_eq!(look(world(), subject()).causes(), ["VolumeHeldByProcess"]);
    let live = |answered: Answered| {
        look_with(world(), subject(), |state| {
            state.live = true;
            state.add(answered);
        })
    };
    let looked = live(now(POD));
    assert_eq!(looked.causes(), ["FuseServerNotResponding"], "{:#?}", looked.report);
    let by = looked.report.roots[0].told_by.clone().unwrap();
    assert_eq!((by.node.as_str(), by.seconds_ago, by.unverified), ("node-a", 0, None));
    // Another pod of this name is another pod.
    let other = live(now("96fb425e-919e-44f9-8b42-b1254a602ba1"));
    assert!(!other.causes().contains(&"FuseServerNotResponding"), "{:#?}", other.report);
    let mut nothing = now(POD);
    let Answer::Seen(Facts::AgentEvents(said)) = &mut nothing.answer else { panic!("{nothing:?}") };
    said.clear();
    let notes = live(nothing).report.notes;
    let note = "The agent on node-a, queried now, names nothing that holds Pod exam-dstate/p.";
    assert!(notes.contains(note), "{notes:#?}");
}

#[test]
fn without_the_right_it_is_what_was_said_before() {
    let exec = "/api/v1/namespaces/why-terminating/pods/agent-node-a/exec";
    let world = stuck().told(AgentEventFixture::fuse(&[POD])).refuse(exec, 403, "pods \"agent-node-a\" is forbidden");
    let looked = look_with(world, object("pod", "exam-dstate", "p"), |state| state.live = true);
    assert_eq!(looked.causes(), ["FuseServerNotResponding"], "{:#?}", looked.report);
    let says = format!("{:?}", looked.report.notes);
    assert!(says.contains("could not be queried") && says.contains("create pods/exec in why-terminating"), "{says}");
    assert!(!looked.commands().iter().any(|command| command.contains("exec")), "no step takes it");
    // Without the flag no agent is queried.
    let quiet = look(stuck().told(AgentEventFixture::fuse(&[POD])), object("pod", "exam-dstate", "p"));
    assert!(!quiet.requests.iter().any(|path| path.contains("/exec")), "{:?}", quiet.requests);
}

#[test]
fn a_state_that_was_saved_live_is_judged_again() {
    let question = serde_json::to_value(asks("a", "b", false)).unwrap();
    assert_eq!(question, json!({"Live": {"agent": ["why-terminating", "agent-node-a"], "pod": ["a", "b"]}}));
}

/// It is a state of the node then, and no finding of the pod's own.
#[test]
fn what_holds_all_pods_of_a_node_holds_this_one() {
    let mut said = node_report("exam-dstate", "p", POD);
    let pod = &mut said.pods[0];
    let finding = pod.findings.remove(0);
    said.node_findings = vec![NodeFinding { finding, pods: vec![pod.pod.clone()] }];
    let (answered, _) = asked(vec![on_channel(1, &serde_json::to_vec(&said).unwrap())], Bounds::default());
    let Answer::Seen(Facts::AgentEvents(events)) = &answered.answer else { panic!("{answered:?}") };
    assert_eq!(events[0].carried().unwrap().finding.cause.0.id, "FuseServerNotResponding");
}

/// A namespace with so many pods that run and have a claim.
fn shop(pods: usize) -> World {
    let pod = |n: usize| {
        json!({
            "kind": "Pod",
            "metadata": {"name": name(n), "namespace": "shop", "uid": uid(n)},
            "spec": {"nodeName": "node-a", "volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}],
                       "containerStatuses": [{"name": "c", "containerID": "containerd://1", "state": {"running": {}}}]}
        })
    };
    healthy()
        .agent("node-a", "True")
        .with(json!([
            {"kind": "Namespace", "metadata": {"name": "shop", "uid": "n"}, "spec": {"finalizers": ["kubernetes"]},
             "status": {"phase": "Active"}},
            {"kind": "PersistentVolumeClaim",
             "metadata": {"name": "data", "namespace": "shop", "uid": "d", "finalizers": ["kubernetes.io/pvc-protection"]},
             "status": {"phase": "Bound"}}
        ]))
        .with((0..pods).map(pod).collect::<Vec<_>>().into())
}

fn name(n: usize) -> String {
    format!("db-{n:02}")
}

fn uid(n: usize) -> String {
    format!("ee7644fa-c649-4025-9178-81dc31cad{n:03}")
}

fn before(word: &str, name: &str) -> Subject {
    Subject::Before { word: word.to_owned(), namespace: "shop".to_owned(), name: name.to_owned() }
}

/// What the agent answers when it is asked who would hold the volumes of a pod.
fn would_hold(n: usize, change: impl FnOnce(&mut NodeReport)) -> Answered {
    let mut said = node_report("shop", &name(n), &uid(n));
    (said.pods[0].before, said.pods[0].findings) = (true, vec![volume_held_by_process()]);
    change(&mut said);
    let written = vec![on_channel(1, &serde_json::to_vec(&said).unwrap())];
    answered(asks("shop", &name(n), true), written, Bounds::default()).0
}

fn nobody(report: &mut NodeReport) {
    (report.pods, report.verdict) = (Vec::new(), Verdict::Clear);
}

fn look_before(world: World, subject: Subject, answers: Vec<Answered>) -> Looked {
    look_with(world, subject, |state| {
        state.live = true;
        answers.into_iter().for_each(|answered| state.add(answered));
    })
}

#[test]
fn before_a_deletion_it_is_asked_who_holds_the_volumes_of_what_runs() {
    let (_, ran) = answered(asks("shop", "db-00", true), vec![on_channel(1, &report(POD))], Bounds::default());
    assert!(ran.ends_with("&command=--output&command=json&command=--before"), "{ran}");
    for (subject, first) in [
        (before("ns", "shop"), "Namespace shop"),
        (before("pvc", "data"), "PersistentVolumeClaim shop/data"),
        (before("node", "node-a"), "Node node-a"),
        (before("pod", "db-00"), "Pod shop/db-00"),
    ] {
        let answers = vec![would_hold(0, |_| {}), would_hold(1, nobody)];
        let looked = look_before(shop(2), subject, answers);
        let at = looked.causes().iter().position(|cause| *cause == "VolumeHeldByProcess");
        let at = at.unwrap_or_else(|| panic!("{first}: {:#?}", looked.report));
        let chain = looked.chain(at);
        assert!(chain[0].starts_with(first), "{chain:#?}");
        assert!(chain.iter().any(|link| link.starts_with("Pod shop/db-00: Running on node-a")), "{chain:#?}");
        let root = &looked.report.roots[at];
        assert_eq!((root.verdict, root.told_by.as_ref().unwrap().seconds_ago), (Verdict::Stuck, 0));
        // It may pass by itself before anything is unmounted.
        assert_eq!(root.finding.confidence, Confidence::Probable);
        assert!(root.finding.missing.as_ref().unwrap().contains("seen once"), "{:?}", root.finding.missing);
    }
}

#[test]
fn who_holds_nothing_is_said_and_who_was_not_asked_about_too() {
    let notes = |looked: &Looked| looked.report.notes.iter().cloned().collect::<Vec<_>>().join("\n");
    let none = look_before(shop(2), before("ns", "shop"), vec![would_hold(0, nobody), would_hold(1, nobody)]);
    assert_eq!((none.causes(), none.report.verdict), (vec![], Verdict::Clear), "{:#?}", none.report);
    assert!(notes(&none).contains("Queried now, the agents name no process outside of these pods"), "{}", notes(&none));
    assert!(notes(&none).contains("shop/db-00, shop/db-01."), "{}", notes(&none));
    // An agent that could not check all of it reports no holder, and that is no answer.
    let cannot = |report: &mut NodeReport| {
        nobody(report);
        report.verdict = Verdict::CannotTell;
        report.notes = vec!["no such pod was found on node node-a".to_owned()];
    };
    let unsure = look_before(shop(1), before("ns", "shop"), vec![would_hold(0, cannot)]);
    assert!(notes(&unsure).contains("no such pod was found on node node-a"), "{}", notes(&unsure));
    assert!(
        notes(&unsure).contains("for 0 of 1 running pod. Nothing is known about: shop/db-00."),
        "{}",
        notes(&unsure)
    );
    let many = look_before(shop(12), before("ns", "shop"), (0..10).map(|n| would_hold(n, nobody)).collect());
    assert!(notes(&many).contains("answered now for 10 of 12 running pods."), "{}", notes(&many));
    assert!(notes(&many).contains("Nothing is known about: shop/db-10, shop/db-11."), "{}", notes(&many));
    assert!(!many.requests.iter().any(|path| path.contains("/exec")), "more than ten are asked about");
}

/// Karpenter evicts also what a DaemonSet has made, if that does not tolerate its taint.
#[test]
fn before_a_drain_those_are_asked_about_whom_it_evicts() {
    let notes = |taint: &str| {
        let world = shop(1).change("/api/v1/pods", "db-00", |one| {
            one["metadata"]["ownerReferences"] = json!([{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "db"}]);
        });
        let world = world.change("/api/v1/nodes", "node-a", |one| {
            one["spec"]["taints"] = json!([{"key": taint, "effect": "NoSchedule"}]);
        });
        format!("{:?}", look_before(world, before("node", "node-a"), vec![would_hold(0, nobody)]).report.notes)
    };
    assert!(notes("karpenter.sh/disrupted").contains("Queried now"), "{}", notes("karpenter.sh/disrupted"));
    assert!(!notes("ToBeDeletedByClusterAutoscaler").contains("Queried now"));
}

#[test]
fn before_a_deletion_the_right_may_be_missing_as_well() {
    let exec = "/api/v1/namespaces/why-terminating/pods/agent-node-a/exec";
    let world = shop(1).refuse(exec, 403, "pods \"agent-node-a\" is forbidden");
    let looked = look_before(world, before("ns", "shop"), Vec::new());
    assert_eq!(looked.report.verdict, Verdict::Clear, "{:#?}", looked.report);
    let says = format!("{:?}", looked.report.notes);
    assert!(says.contains("could not be queried") && says.contains("create pods/exec in why-terminating"), "{says}");
    // An agent of before knows no such flag: it writes nothing.
    let (old, _) = answered(asks("shop", "db-00", true), Vec::new(), Bounds::default());
    let looked = look_before(shop(1), before("ns", "shop"), vec![old]);
    assert!(format!("{:?}", looked.report.notes).contains("an older agent knows no --before"), "{:#?}", looked.report);
    // Without the flag no agent is queried.
    let quiet = look(shop(1), before("ns", "shop"));
    assert!(!quiet.requests.iter().any(|path| path.contains("/exec")), "{:?}", quiet.requests);
}
