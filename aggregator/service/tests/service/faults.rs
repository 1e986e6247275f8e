//! What goes wrong around the service. It does not crash, does not grow, and says what it does not know.

use std::time::Duration;

use apiserver::{Fault, Faults, Prepared, Rule};
use serde_json::{Value, json};

use crate::api::{Api, until};
use crate::cluster::{self, fuse_server, stuck_namespace};
use crate::process::Process;
use crate::stream::Follower;

/// Of a debug build, which is larger.
const MOST_MIB: u64 = 128;

fn names(service: &Process) -> String {
    service.json("/api/v1/stuck", "admin").1["roots"].to_string()
}

fn until_told(service: &Process, name: &str) {
    until(Duration::from_secs(60), || {
        // The fake looks at its files when it is asked.
        service.get("/api/v1/stuck", "bob");
        std::thread::sleep(Duration::from_millis(300));
        names(service).contains(name)
    });
}

#[test]
fn an_api_server_that_is_away_at_the_start_is_waited_for() {
    let mut api = Api::away("finalizer-and-webhook");
    let mut service = Process::start(&api, &[]);
    assert_eq!((service.get("/healthz", "").0, service.get("/readyz", "").0), (200, 503));
    assert_eq!(service.status("/api/v1/stuck", "admin"), 503);
    std::thread::sleep(Duration::from_secs(5));
    assert!(service.is_running());
    api.serve();
    until(Duration::from_secs(60), || service.get("/readyz", "").0 == 200);
    assert!(names(&service).contains("team-widgets"));
    assert!(service.peak() <= MOST_MIB, "{} MiB", service.peak());
}

#[test]
fn a_watch_that_has_expired_begins_anew() {
    let api = Api::start("finalizer-and-webhook", |_| {});
    let service = Process::start(&api, &[]);
    service.until_ready();
    api.set_faults(Rule::new(Fault::Gone).watch(true).times(20));
    stuck_namespace(&api.store, "later", "held", "");
    until_told(&service, "later");
}

/// As by a proxy without a server behind it. What is not watched is listed, and not all the time.
#[test]
fn a_watch_that_ends_at_once_hides_nothing() {
    let api = Api::start("finalizer-and-webhook", |_| {});
    api.set_faults(Rule::new(Fault::Cut).watch(true));
    let service = Process::start(&api, &[]);
    service.until_ready();
    stuck_namespace(&api.store, "later", "held", "");
    until_told(&service, "later");
    let before = api.store.requests().unwrap().len();
    std::thread::sleep(Duration::from_secs(10));
    let asked = api.store.requests().unwrap().len() - before;
    assert!(asked <= 120, "{asked} requests in ten seconds");
}

/// More than are kept of one list: what matters is asked for by itself.
#[test]
fn fifty_thousand_events_hide_nothing_and_fit_in_memory() {
    let carried = fuse_server("s3fs")["metadata"]["annotations"].clone();
    let nodes = (0..50_000).map(|n| format!("node-{n}")).chain(["node-a".to_owned()]);
    let events = nodes.map(|node| {
        let mut event = cluster::event(&node, "");
        event["metadata"]["annotations"] = carried.clone();
        event["metadata"]["uid"] = json!(format!("uid-of-{node}"));
        let metadata = event["metadata"].take().to_string();
        event.as_object_mut().unwrap().retain(|field, _| !["metadata", "kind", "apiVersion"].contains(&field.as_str()));
        let (name, rest) = (format!("{node}.1"), event.to_string());
        Prepared::new("events", Some("default"), &name, &metadata, &rest[1..rest.len() - 1])
    });
    let mut api = Api::away_with("dstate-fuse", events.collect());
    cluster::still_alive(&api.store);
    api.serve();
    let service = Process::start(&api, &["--request-timeout", "60"]);
    until(Duration::from_secs(200), || service.get("/readyz", "").0 == 200);
    let (_, stuck) = service.json("/api/v1/stuck", "admin");
    assert!(stuck["roots"].to_string().contains("FuseServerNotResponding"), "{stuck}");
    println!("{} MiB", service.peak());
    assert!(service.peak() <= MOST_MIB, "{} MiB", service.peak());
}

#[test]
fn an_agent_that_lies_or_stammers_is_not_believed() {
    let good = fuse_server("s3fs");
    let annotation = good["metadata"]["annotations"]["why-terminating/finding"].as_str().unwrap().to_owned();
    let found = |events: Vec<Value>| {
        let api = Api::start("dstate-fuse", |store| {
            cluster::still_alive(store);
            for (n, event) in events.iter().enumerate() {
                store.put("events", Some("default"), &format!("event-{n}"), event).unwrap();
            }
        });
        let mut service = Process::start(&api, &[]);
        service.until_ready();
        std::thread::sleep(Duration::from_secs(3));
        let (status, stuck) = service.json("/api/v1/stuck", "admin");
        assert_eq!(status, 200);
        let (_, metrics) = service.get("/metrics", "admin");
        assert!(service.is_running() && service.peak() <= MOST_MIB, "{} MiB", service.peak());
        (stuck.to_string(), metrics)
    };
    let named = |n: usize, event: Value| {
        let mut event = event;
        event["metadata"]["name"] = json!(format!("event-{n}"));
        event
    };
    let (told, metrics) = found(vec![named(0, good.clone())]);
    assert!(told.contains("FuseServerNotResponding"), "{told}");
    assert!(metrics.contains("agent_findings{state=\"fresh\"} 1"), "{metrics}");
    let mut of_another = good.clone();
    of_another["reportingInstance"] = json!("node-b");
    let garbage = ["", "{", "null", "[[[[", "{\"schema\":2}"].map(|text| cluster::event("node-a", text));
    let deep = cluster::event("node-a", &"[".repeat(100_000));
    let long = cluster::event("node-a", &annotation.replace("1 request", &"x".repeat(200_000)));
    let mut lies = vec![of_another, deep, long];
    lies.extend(garbage);
    let lies = lies.into_iter().enumerate().map(|(n, event)| named(n, event)).collect();
    let (told, _) = found(lies);
    assert!(!told.contains("FuseServerNotResponding"), "{told}");
    assert!(told.contains("PodContainersNotStopped"), "{told}");
}

#[test]
fn a_right_that_is_taken_away_is_missed_aloud() {
    let api = Api::start("finalizer-and-webhook", |_| {});
    let service = Process::start(&api, &[]);
    service.until_ready();
    let open = || {
        let (_, incidents) = service.json("/api/v1/incidents", "admin");
        incidents["incidents"].as_array().unwrap().iter().filter(|one| one["end"].is_null()).count()
    };
    let before = open();
    assert!(before > 0);
    let refused = |path: &str| Rule::new(Fault::Forbidden).path(path);
    api.set_faults(Faults::none().and(refused("/api/v1/pods")).and(refused("/api/v1/namespaces")));
    // Watches that are open go on, as with a real API server; these end.
    let mut api = api;
    api.stop();
    api.serve();
    until(Duration::from_secs(120), || {
        std::thread::sleep(Duration::from_secs(1));
        service.json("/api/v1/stuck", "admin").1["unknown"].to_string().contains("pods")
    });
    assert_eq!(open(), before, "what cannot be seen has not gone");
    api.set_faults(Faults::none());
    until(Duration::from_secs(90), || {
        std::thread::sleep(Duration::from_secs(1));
        names(&service).contains("team-widgets")
    });
    assert_eq!(open(), before);
}

#[test]
fn who_reads_slowly_is_waited_for_by_nobody() {
    let api = Api::start("finalizer-and-webhook", |_| {});
    let service = Process::start(&api, &[]);
    service.until_ready();
    let followers: Vec<Follower> = (0..8).map(|_| Follower::new(&service, "admin")).collect();
    for n in 0..40 {
        stuck_namespace(&api.store, &format!("ns-{n}"), "held", "");
    }
    until_told(&service, "ns-39");
    let begin = std::time::Instant::now();
    assert_eq!(service.status("/api/v1/roots", "admin"), 200);
    assert!(begin.elapsed() < Duration::from_secs(3), "{:?}", begin.elapsed());
    assert!(service.peak() <= MOST_MIB, "{} MiB", service.peak());
    drop(followers);
}

#[test]
fn a_full_disk_is_said_and_outlived() {
    let api = Api::start("finalizer-and-webhook", |_| {});
    let file = api.dir.path().join("incidents");
    // What is written there finds no space, once.
    std::os::unix::fs::symlink("/dev/full", file.with_extension("new")).unwrap();
    let service = Process::start(&api, &["--incidents", file.to_str().unwrap()]);
    service.until_ready();
    until(Duration::from_secs(15), || service.log().contains("incidents cannot be written"));
    assert_eq!(service.status("/api/v1/incidents", "admin"), 200);
    until(Duration::from_secs(30), || file.exists());
}
