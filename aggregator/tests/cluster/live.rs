//! The agent of a node, asked now and not by what it last said.

use aggregator::client::{Bounds, Server, answer};
use aggregator_core::state::{Answer, Answered, Facts, Question};
use findings::{FaultKind, NodeReport, PodRef, PodReport, PodUid, Verdict};
use futures::SinkExt as _;
use kube::Client;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::{Message, protocol::Role};

use crate::support::*;

const POD: &str = "ee7644fa-c649-4025-9178-81dc31cad0c6";

fn asks(namespace: &str, name: &str) -> Question {
    let both = |namespace: &str, name: &str| (namespace.to_owned(), name.to_owned());
    Question::Live { agent: both("why-terminating", "agent-node-a"), pod: both(namespace, name) }
}

/// What comes of the question when the command writes this; and what was run.
fn asked(written: Vec<Vec<u8>>, bounds: Bounds) -> (Answered, String) {
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
                // Whoever has read enough goes.
                let _ = socket.send(Message::binary(message)).await;
            }
            let _ = socket.close(None).await;
            head.split(' ').nth(1).unwrap().to_owned()
        };
        let asks = async {
            let client = Client::try_from(kube::Config::new(url.parse().unwrap())).unwrap();
            answer(&Server::new(&client, bounds), asks("exam-dstate", "p")).await
        };
        tokio::join!(asks, serves)
    })
}

fn report(uid: &str) -> Vec<u8> {
    let name = |name: &str| Some(name.to_owned());
    let pod = PodRef { namespace: name("exam-dstate"), name: name("p"), uid: PodUid::parse(uid).unwrap() };
    let report = NodeReport {
        schema: NodeReport::SCHEMA,
        node: "node-a".to_owned(),
        at: "2026-11-22T10:00:00Z".to_owned(),
        verdict: Verdict::Stuck,
        pods: vec![PodReport {
            pod,
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
    };
    serde_json::to_vec(&report).unwrap()
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
    assert_eq!(events[0].said().unwrap().finding.cause.0.id, "FuseServerNotResponding");
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
    let world = || stuck().told(Says::held(&[POD]));
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
    let note = "The agent on node-a, asked now, names nothing that holds Pod exam-dstate/p.";
    assert!(notes.contains(note), "{notes:#?}");
}

#[test]
fn without_the_right_it_is_what_was_said_before() {
    let exec = "/api/v1/namespaces/why-terminating/pods/agent-node-a/exec";
    let world = stuck().told(Says::fuse(&[POD])).refuse(exec, 403, "pods \"agent-node-a\" is forbidden");
    let looked = look_with(world, object("pod", "exam-dstate", "p"), |state| state.live = true);
    assert_eq!(looked.causes(), ["FuseServerNotResponding"], "{:#?}", looked.report);
    let says = format!("{:?}", looked.report.notes);
    assert!(says.contains("was not asked now") && says.contains("create pods/exec in why-terminating"), "{says}");
    assert!(!looked.commands().iter().any(|command| command.contains("exec")), "nobody is told to take it");
    // Nobody asks who has not been told to.
    let quiet = look(stuck().told(Says::fuse(&[POD])), object("pod", "exam-dstate", "p"));
    assert!(!quiet.requests.iter().any(|path| path.contains("/exec")), "{:?}", quiet.requests);
}

#[test]
fn a_state_that_was_saved_live_is_judged_again() {
    let question = serde_json::to_value(asks("a", "b")).unwrap();
    assert_eq!(question, json!({"Live": {"agent": ["why-terminating", "agent-node-a"], "pod": ["a", "b"]}}));
}
