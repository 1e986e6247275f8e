//! Two replicas, and one of them writes.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::api::{Api, until};
use crate::cluster::stuck_namespace;
use crate::process::Process;
use crate::running::Running;

const LEASE: [&str; 2] = ["--lease", "why-terminating/why-terminating-aggregator"];

fn leads(process: &Process) -> bool {
    let (status, metrics) = process.get("/metrics", "admin");
    status == 200 && metrics.contains("why_terminating_cluster_leader{} 1\n")
}

/// What the service has written.
fn events(api: &Api) -> Vec<Value> {
    let mut events = api.store.events().unwrap();
    events.retain(|event| event["reportingController"] == "why-terminating/aggregator");
    events
}

fn told_of(api: &Api, namespace: &str) -> Vec<Value> {
    let mut events = events(api);
    events.retain(|event| event["regarding"]["name"] == namespace);
    events
}

/// How often Events were written, or tried to.
fn writes(api: &Api) -> usize {
    let requests = api.store.requests().unwrap();
    let is_write = |verb: &str| matches!(verb, "create" | "patch" | "update");
    let written = requests.iter().filter(|one| is_write(&one.verb) && one.path.contains("/events"));
    written.count()
}

#[test]
fn one_writes_and_both_serve() {
    let api = Api::start("finalizer-and-webhook", |_| {});
    let replicas = [Process::start(&api, &LEASE), Process::start(&api, &LEASE)];
    replicas.iter().for_each(Process::until_ready);
    until(Duration::from_secs(15), || replicas.iter().any(leads));
    until(Duration::from_secs(30), || !told_of(&api, "team-widgets").is_empty());
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(replicas.iter().filter(|one| leads(one)).count(), 1);
    let stuck = replicas.each_ref().map(|one| one.json("/api/v1/roots", "admin").1["roots"].as_array().unwrap().len());
    assert!(stuck[0] > 0 && stuck[0] == stuck[1], "{stuck:?}");
    let mut instances: Vec<Value> = events(&api).iter().map(|event| event["reportingInstance"].clone()).collect();
    instances.dedup();
    assert_eq!(instances.len(), 1, "{instances:?}");
    // The one that leads is killed: the other writes within 15 seconds, and no earlier Event is written again.
    let [mut leader, other] = replicas;
    let other = if leads(&leader) { other } else { std::mem::replace(&mut leader, other) };
    let before = events(&api).len();
    leader.signal(Signal::SIGKILL);
    let killed = Instant::now();
    until(Duration::from_secs(15), || leads(&other));
    println!("taken over after {:?}", killed.elapsed());
    stuck_and_told(&api, "later");
    assert_eq!(events(&api).len(), before + 1, "{:#?}", events(&api));
    assert!(!leader.is_running());
}

fn stuck_and_told(api: &Api, namespace: &str) {
    stuck_namespace(&api.store, namespace, "held", "");
    until(Duration::from_secs(40), || !told_of(api, namespace).is_empty());
}

/// Pauses a leader that knows of a namespace and has not reported it yet: it would report it first thing.
fn pause_before_it_tells(api: &Api, leader: &Process) -> String {
    for attempt in 0..5 {
        // It has just written, and writes again ten seconds later.
        stuck_and_told(api, &format!("told-{attempt}"));
        let pending = format!("pending-{attempt}");
        stuck_namespace(&api.store, &pending, "held", "");
        until(Duration::from_secs(30), || {
            std::thread::sleep(Duration::from_millis(200));
            let (_, incidents) = leader.json("/api/v1/incidents", "admin");
            let is_known = |one: &Value| one["object"]["name"] == pending.as_str() && one["holds"][0].is_object();
            incidents["incidents"].as_array().is_some_and(|all| all.iter().any(is_known))
        });
        leader.signal(Signal::SIGSTOP);
        if told_of(api, &pending).is_empty() {
            return pending;
        }
        leader.signal(Signal::SIGCONT);
    }
    panic!("it always reported before it could be paused");
}

#[test]
fn who_was_paused_does_not_write_as_leader() {
    let api = Api::start("finalizer-and-webhook", |_| {});
    let leader = Process::start(&api, &LEASE);
    leader.until_ready();
    until(Duration::from_secs(30), || leads(&leader));
    let other = Process::start(&api, &LEASE);
    other.until_ready();
    let pending = pause_before_it_tells(&api, &leader);
    until(Duration::from_secs(15), || leads(&other));
    until(Duration::from_secs(40), || !told_of(&api, &pending).is_empty());
    // The other has checked again by now, and there is nothing left to write.
    std::thread::sleep(Duration::from_secs(11));
    let before = writes(&api);
    leader.signal(Signal::SIGCONT);
    std::thread::sleep(Duration::from_secs(13));
    assert_eq!(writes(&api), before, "{:#?}", events(&api));
    assert!(!leads(&leader) && leads(&other));
}

#[test]
fn a_lease_is_given_back() {
    let api = Api::start("baseline", |_| {});
    let leader = Process::start(&api, &LEASE);
    leader.until_ready();
    until(Duration::from_secs(10), || leads(&leader));
    let other = Process::start(&api, &LEASE);
    other.until_ready();
    leader.signal(Signal::SIGTERM);
    until(Duration::from_secs(5), || leads(&other));
}

#[test]
fn a_namespace_is_told_what_holds_it_and_when_it_is_over() {
    let running = Running::start("finalizer-and-webhook");
    stuck_and_told(&running.api, "short");
    let told = told_of(&running.api, "short");
    assert_eq!(told.len(), 1);
    let (event, note) = (&told[0], told[0]["note"].as_str().unwrap());
    assert_eq!((&event["type"], &event["metadata"]["namespace"]), (&json!("Warning"), &json!("default")));
    assert_eq!(event["regarding"]["uid"], "uid-of-short");
    assert!(note.contains("Pod short/held"), "{note}");
    running.api.remove_pod("short", "held");
    running.api.store.remove("namespaces", None, "short").unwrap();
    until(Duration::from_secs(40), || told_of(&running.api, "short").len() == 2);
    let over = told_of(&running.api, "short").into_iter().find(|event| event["type"] == "Normal").unwrap();
    assert!(over["note"].as_str().unwrap().contains("is gone, after"), "{over}");
}

#[test]
fn an_event_that_stands_there_first_silences_nobody() {
    let running = Running::start("finalizer-and-webhook");
    until(Duration::from_secs(30), || !told_of(&running.api, "team-widgets").is_empty());
    let mut foreign = told_of(&running.api, "team-widgets").remove(0);
    let name = foreign["metadata"]["name"].as_str().unwrap().to_owned();
    drop(running);
    foreign["note"] = json!("all is well");
    foreign["reportingController"] = json!("somebody");
    let running = Running::start_with("finalizer-and-webhook", |store| {
        store.put("events", Some("default"), &name, &foreign).unwrap();
    });
    until(Duration::from_secs(30), || !told_of(&running.api, "team-widgets").is_empty());
    assert!(told_of(&running.api, "team-widgets")[0]["metadata"]["name"].as_str().unwrap().starts_with(&name));
}

#[test]
fn no_event_is_written_where_none_is_wanted() {
    let api = Api::start("finalizer-and-webhook", |_| {});
    let service = Process::start(&api, &["--no-events"]);
    service.until_ready();
    std::thread::sleep(Duration::from_secs(12));
    assert_eq!(writes(&api), 0);
}

/// What the shipped policy compares with is what the service writes and the account that docs/service.md gives it.
#[test]
fn the_policy_lets_only_the_service_speak_for_itself() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/aggregator/event-policy.yaml");
    let objects: Vec<Value> = serde_saphyr::from_multiple(&std::fs::read_to_string(file).unwrap()).unwrap();
    let [policy, binding] = objects.as_slice() else { panic!("{objects:?}") };
    assert_eq!(policy["spec"]["failurePolicy"], "Fail");
    assert_eq!(binding["spec"], json!({"policyName": policy["metadata"]["name"], "validationActions": ["Deny"]}));
    let rule = &policy["spec"]["matchConstraints"]["resourceRules"][0];
    assert_eq!(
        (&rule["apiGroups"], &rule["operations"]),
        (&json!(["", "events.k8s.io"]), &json!(["CREATE", "UPDATE"]))
    );
    let ours = policy["spec"]["matchConditions"][0]["expression"].as_str().unwrap();
    assert_eq!(ours.matches("== 'why-terminating/aggregator'").count(), 4, "{ours}");
    let who = policy["spec"]["validations"][0]["expression"].as_str().unwrap();
    assert!(who.ends_with("== 'system:serviceaccount:why-terminating:why-terminating-aggregator'"), "{who}");
    let parts =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/aggregator/kustomization.yaml"));
    assert!(parts.unwrap().contains("- event-policy.yaml"));
}
