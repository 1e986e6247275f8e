//! What goes wrong around the service. It does not crash, does not grow, and says what it does not know.

use std::sync::Arc;
use std::time::Duration;

use apiserver::{Fault, Faults, Prepared, Rule};
use serde_json::{Value, json};

use crate::api::{Api, until};
use crate::cluster::{self, fuse_server, stuck_namespace};
use crate::process::Process;
use crate::stream::Follower;

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

/// The lists that were asked for, and the watches that began with all there is, of one kind.
fn lists_and_streams(api: &Api, plural: &str) -> (usize, usize) {
    let requests = api.store.requests().unwrap();
    let of_kind = |verb| requests.iter().filter(move |one| one.verb == verb && one.path.ends_with(plural));
    let streams = of_kind("watch").filter(|one| one.query.contains("sendInitialEvents=true"));
    (of_kind("list").count(), streams.count())
}

/// Of what a watch follows only what goes is known, and it is known at once.
#[test]
fn a_volume_that_goes_is_told_without_a_list_of_all() {
    let api = Api::start("finalizer-and-webhook", |store| {
        for n in 0..300 {
            let volume = json!({"metadata": {"name": format!("pv-{n}"), "uid": format!("pv-{n}")}, "spec": {}});
            store.put_persistent_volume(&format!("pv-{n}"), &volume).unwrap();
        }
    });
    let service = Process::start(&api, &[]);
    service.until_ready();
    let mut volume = json!({"metadata": cluster::going("pv-7"), "spec": {}, "status": {"phase": "Released"}});
    volume["metadata"]["uid"] = json!("pv-7");
    volume["metadata"]["finalizers"] = json!(["kubernetes.io/pv-protection"]);
    api.store.put_persistent_volume("pv-7", &volume).unwrap();
    until(Duration::from_secs(20), || {
        service.get("/api/v1/stuck", "bob");
        let (_, stuck) = service.json("/api/v1/stuck", "admin");
        let (_, incidents) = service.json("/api/v1/incidents", "admin");
        stuck.to_string().contains("pv-7") && incidents.to_string().contains("pv-7")
    });
    assert_eq!(lists_and_streams(&api, "/persistentvolumes"), (0, 1));
    assert_eq!(lists_and_streams(&api, "/volumeattachments").1, 1);
    api.store.remove("persistentvolumes", None, "pv-7").unwrap();
    until(Duration::from_secs(20), || {
        let (_, incidents) = service.json("/api/v1/incidents", "admin");
        let all = incidents["incidents"].as_array().unwrap();
        all.iter().any(|one| one["object"]["name"] == "pv-7" && one["end"]["seen"] == true)
    });
}

/// As by a server before 1.32.
#[test]
fn where_no_stream_is_served_a_list_is_asked_for() {
    let api = Api::start("finalizer-and-webhook", |_| {});
    let refused = Fault::Status { status: 422, retry_after: None };
    api.set_faults(Rule::new(refused).watch(true).path("/api/v1/persistentvolumes").times(1));
    let service = Process::start(&api, &[]);
    service.until_ready();
    assert_eq!(lists_and_streams(&api, "/persistentvolumes").1, 1);
    assert!(lists_and_streams(&api, "/persistentvolumes").0 > 0);
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

/// What the agent of a node writes that holds nothing which is stuck.
fn of_another_node(node: &str, carried: &Value) -> Value {
    let mut event = cluster::event(node, "");
    event["metadata"]["annotations"] = carried.clone();
    event["metadata"]["uid"] = json!(format!("uid-of-{node}"));
    event
}

/// More than are kept of one list: what matters is asked for by itself.
#[test]
fn fifty_thousand_events_hide_nothing_and_fit_in_memory() {
    let carried = fuse_server("s3fs")["metadata"]["annotations"].clone();
    let nodes = (0..50_000).map(|n| format!("node-{n}")).chain(["node-a".to_owned()]);
    let events = nodes.map(|node| {
        let mut event = of_another_node(&node, &carried);
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
    assert!(names(&service).contains("FuseServerNotResponding"), "{}", names(&service));
    println!("{} MiB", service.peak());
}

/// The same, as news of a watch.
#[test]
fn a_burst_of_fifty_thousand_events_hides_nothing_and_fits_in_memory() {
    let mut api = Api::away("dstate-fuse");
    cluster::still_alive(&api.store);
    let good = fuse_server("s3fs");
    // To a request for that node alone.
    api.store.put("events", Some("default"), "node-a.1", &good).unwrap();
    let begun = Arc::new(tokio::sync::Notify::new());
    let carried = good["metadata"]["annotations"].clone();
    api.serve_burst(Arc::clone(&begun), move |n| {
        let mut event = of_another_node(&format!("node-{n}"), &carried);
        event["metadata"]["resourceVersion"] = json!((n + 6).to_string());
        (n < 50_000).then(|| format!("{}\n", json!({"type": "ADDED", "object": event})))
    });
    let service = Process::start(&api, &[]);
    service.until_ready();
    // A watch that is silent for longer than a request may take has not failed.
    std::thread::sleep(Duration::from_secs(7));
    assert!(!names(&service).contains("FuseServerNotResponding"), "{}", names(&service));
    begun.notify_one();
    let count = |metrics: &str, state: &str| {
        let name = format!("why_terminating_cluster_agent_findings{{state=\"{state}\"}} ");
        metrics.lines().find_map(|line| line.strip_prefix(&name)?.parse::<u32>().ok()).unwrap_or(0)
    };
    until(Duration::from_secs(240), || {
        std::thread::sleep(Duration::from_secs(1));
        let metrics = service.get("/metrics", "admin").1;
        // As many as there is room for.
        metrics.contains("why_terminating_cluster_cut_lists{} 1\n")
            && count(&metrics, "fresh") >= 3_000
            && names(&service).contains("FuseServerNotResponding")
    });
    assert!(!service.log().contains("a watch has failed"), "{}", service.log());
    println!("{} findings, {} MiB", count(&service.get("/metrics", "admin").1, "fresh"), service.peak());
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
        assert!(service.is_running());
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
