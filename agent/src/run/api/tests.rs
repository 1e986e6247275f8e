//! What tenants and others who may write there put before the agent, over a real connection.

use std::{io::Write, time::Duration};

use agent_core::{gates::judge, observation::sample};
use apiserver::{FakeApiServer, Fault, Faults, Rule, Store};
use findings::FaultKind;
use findings::event::{CONTROLLER, EventName, FindingAnnotation, NAMESPACE, Phase, Subjects};
use reconcile::event::{Draft, NodeRef};
use reconcile::index::WatchEvent;
use reconcile::reconciler::{Command, Input, Scan, WriteOutcome};
use reconcile::{Instant, Reconciler, Settings};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::*;
use crate::host::api::MAX_ANSWER_BYTES;

struct Ground {
    fake: FakeApiServer,
    cluster: Cluster,
    _dir: tempfile::TempDir,
}

impl Ground {
    async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::new(dir.path().join("api"));
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-7", "uid": "7b0c"}});
        store.put_node("node-7", &node).unwrap();
        let fake = FakeApiServer::start(store).unwrap();
        let mut kubeconfig = tempfile::NamedTempFile::new().unwrap();
        kubeconfig.write_all(fake.kubeconfig_json().unwrap().as_bytes()).unwrap();
        let credentials = Credentials::Kubeconfig(kubeconfig.path().to_owned());
        let cluster = Cluster::new(credentials, "node-7", Arc::default()).await.unwrap();
        Ground { fake, cluster, _dir: dir }
    }

    fn put_pod(&self, number: usize, annotation: usize) {
        let name = format!("fat-{number}");
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod", "spec": {"nodeName": "node-7"},
            "metadata": {
                "name": name, "namespace": "tenant", "uid": format!("96fb425e-919e-44f9-8b42-{number:012x}"),
                "annotations": {"fat": "x".repeat(annotation)}
            }
        });
        self.fake.store().put_pod("tenant", &name, &pod).unwrap();
    }

    /// What was asked of the pods.
    fn queries(&self) -> Vec<String> {
        let requests = self.fake.store().requests().unwrap();
        requests.into_iter().filter(|request| request.path == "/api/v1/pods").map(|request| request.query).collect()
    }
}

#[tokio::test]
async fn pods_that_are_too_long_together_are_read_page_by_page() {
    let ground = Ground::new().await;
    (0..30).for_each(|number| ground.put_pod(number, MAX_ANSWER_BYTES / 10));
    assert_eq!(ground.cluster.pods(false).await.unwrap().len(), 30);
    // An answer that was not read to its end is logged late.
    let queries = ground.queries();
    let (cached, paged): (Vec<_>, Vec<_>) = queries.iter().partition(|query| query.contains("resourceVersion=0"));
    assert_eq!(cached.len(), 1, "{queries:?}");
    for limit in ["limit=125", "limit=7"] {
        assert!(paged.iter().any(|query| query.contains(limit)), "{limit}: {queries:?}");
    }
}

#[tokio::test]
async fn one_pod_that_is_too_long_is_a_fault() {
    let ground = Ground::new().await;
    (0..3).for_each(|number| ground.put_pod(number, number * MAX_ANSWER_BYTES / 2));
    let fault = ground.cluster.pods(true).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::TooLarge, "{fault}");
}

#[tokio::test]
async fn a_change_that_is_too_long_is_a_fault_and_the_pods_are_listed_anew() {
    let ground = Ground::new().await;
    ground.put_pod(0, 10);
    let (sender, mut inputs) = mpsc::channel(8);
    let watching = tokio::spawn(watch(ground.cluster.clone(), sender));
    let mut next = async || match tokio::time::timeout(Duration::from_secs(20), inputs.recv()).await {
        Ok(Some(Input::Watch(event))) => event,
        other => panic!("{other:?}"),
    };
    for _ in 0..3 {
        next().await;
    }
    ground.put_pod(1, 10);
    assert!(matches!(next().await, WatchEvent::Apply(pod) if pod.name == "fat-1"));
    ground.put_pod(1, MAX_ANSWER_BYTES);
    assert!(matches!(next().await, WatchEvent::Failed(fault) if fault.kind == FaultKind::TooLarge));
    ground.put_pod(1, 20);
    loop {
        match next().await {
            WatchEvent::Failed(fault) => assert_eq!(fault.kind, FaultKind::TooLarge),
            WatchEvent::Init => break,
            other => panic!("{other:?}"),
        }
    }
    drop(inputs);
    tokio::time::timeout(Duration::from_secs(5), watching).await.unwrap().unwrap();
}

#[tokio::test]
async fn after_a_version_that_is_too_old_the_pods_are_listed_anew() {
    let ground = Ground::new().await;
    ground.put_pod(0, 10);
    ground.fake.store().set_faults(&Rule::new(Fault::Gone).verb("watch").into()).unwrap();
    let (sender, mut inputs) = mpsc::channel(8);
    let watching = tokio::spawn(watch(ground.cluster.clone(), sender));
    let mut lists = 0;
    while lists < 2 {
        match tokio::time::timeout(Duration::from_secs(20), inputs.recv()).await {
            Ok(Some(Input::Watch(WatchEvent::Init))) => lists += 1,
            Ok(Some(Input::Watch(WatchEvent::Failed(fault)))) => assert_eq!(fault.kind, FaultKind::Stale),
            Ok(Some(Input::Watch(_))) => {}
            other => panic!("{other:?}"),
        }
    }
    drop(inputs);
    tokio::time::timeout(Duration::from_secs(5), watching).await.unwrap().unwrap();
}

#[tokio::test]
async fn an_answer_without_the_event_is_none() {
    let ground = Ground::new().await;
    let mut seen = sample::deleted();
    seen.api.get_mut().unwrap().pods[0].finalizers.push("example.com/hold".into());
    let report = judge(&seen);
    let (pod, finding) = (report.pods[0].pod.clone(), report.pods[0].findings[0].clone());
    let draft = Draft {
        name: EventName::new("node-7", "7b0c", Subjects::Pod(&pod.uid), &finding),
        of: NodeRef { node: "node-7".to_owned(), uid: "7b0c".to_owned() },
        warning: true,
        reason: finding.cause.event_reason.to_owned(),
        note: "x".to_owned(),
        related: None,
        event_time: "2026-08-01T10:00:00.000000Z".to_owned(),
        series: None,
        annotation: FindingAnnotation::new(Phase::Holds, &finding, &[pod], String::new(), String::new()),
    };
    let store = ground.fake.store();
    store.set_faults(&Rule::new(Fault::Nonsense).verb("patch").into()).unwrap();
    assert_eq!(ground.cluster.write(&draft).await, WriteOutcome::Unknown { after: None });
    assert!(store.list("events").unwrap().is_empty());
    store.set_faults(&Faults::none()).unwrap();
    assert!(matches!(ground.cluster.write(&draft).await, WriteOutcome::Done { .. }));
    assert_eq!(store.list("events").unwrap().len(), 1);
}

#[tokio::test]
async fn an_event_that_stands_there_first_silences_nobody() {
    let ground = Ground::new().await;
    let mut seen = sample::deleted();
    let facts = seen.api.get_mut().unwrap();
    facts.pods[0].finalizers.push("example.com/hold".into());
    let (pod, report) = (facts.pods[0].clone(), judge(&seen));
    let name = EventName::new("node-7", "7b0c", Subjects::Pod(&pod.uid), &report.pods[0].findings[0]);
    let forged = json!({
        "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": name.as_str(), "namespace": NAMESPACE},
        "eventTime": "2026-08-01T10:00:00.000000Z", "type": "Normal", "reason": "AllIsWell", "action": "x",
        "reportingController": CONTROLLER, "reportingInstance": "node-7",
        "regarding": {"apiVersion": "v1", "kind": "Node", "name": "node-7"},
    });
    let store = ground.fake.store();
    store.put("events", Some(NAMESPACE), name.as_str(), &forged).unwrap();

    let mut now = Instant { steady: Duration::from_secs(1_000_000), wall_ms: seen.at_ms };
    let mut reconciler = Reconciler::new("node-7", Settings::default(), true, 7, now);
    let mut inputs = vec![WatchEvent::Init, WatchEvent::InitApply(pod), WatchEvent::InitDone];
    inputs.reverse();
    let mut inputs: Vec<Input> = inputs.into_iter().map(Input::Watch).collect();
    for _ in 0..60 {
        let commands = reconciler.handle(inputs.pop().unwrap_or(Input::Tick), now);
        for command in commands {
            inputs.push(match command {
                Command::Scan(_) => Input::Scanned(Box::new(Scan {
                    began: now,
                    at: now,
                    took: Duration::ZERO,
                    report: report.clone(),
                    complete: true,
                    forgotten: Default::default(),
                })),
                Command::List { consistent } => Input::Listed(ground.cluster.pods(consistent).await),
                Command::GetNode => Input::Node(ground.cluster.node().await),
                Command::ReadOwn => Input::OwnEvents(ground.cluster.own_events().await),
                Command::Write(draft) => Input::Wrote(ground.cluster.write(&draft).await),
                Command::ReadExisting(name) => Input::Existing(ground.cluster.existing(&name).await),
            });
        }
        now = now.later(Duration::from_secs(5));
    }
    let events = store.list("events").unwrap();
    let [ours] = &events.iter().filter(|event| event["type"] == "Warning").collect::<Vec<&Value>>()[..] else {
        panic!("{events:?}")
    };
    let written = EventName::read(ours["metadata"]["name"].as_str().unwrap());
    assert!(written != name && name.is_base_of(&written), "{written}");
    // Another agent on this node goes on with it.
    let own = ground.cluster.own_events().await.unwrap();
    let mut next = Reconciler::new("node-7", Settings::default(), true, 8, now);
    next.handle(Input::Node(ground.cluster.node().await), now);
    next.handle(Input::OwnEvents(Ok(own)), now);
    assert_eq!(next.tracker().holding().map(|entry| entry.name.salted.clone()).collect::<Vec<_>>(), [Some(written)]);
}
