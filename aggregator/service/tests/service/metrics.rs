//! What the metrics show of nodes, of the API server, and of the service itself.

use std::time::Duration;

use apiserver::{Fault, Rule};
use serde_json::Value;

use crate::api::{Api, until};
use crate::client::Client;
use crate::cluster::{ago, event, fuse_server, still_alive, stuck_pod_of};
use crate::running::Running;

fn value(service: &Client, series: &str) -> f64 {
    exported(service, &format!("why_terminating_cluster_{series} "))
}

fn exported(service: &Client, name: &str) -> f64 {
    let (status, metrics) = service.get("/metrics", "admin");
    assert_eq!(status, 200, "{metrics}");
    let value = metrics.lines().find_map(|line| line.strip_prefix(name)?.parse().ok());
    value.unwrap_or_else(|| panic!("no {name}in {metrics}"))
}

/// The label that an alert brings leads to one line of the API and one piece of the page.
#[test]
fn what_metrics_call_a_root_is_what_api_and_page_call_it() {
    let running = Running::start("unreachable-node-pvc-chain");
    running.until_ready();
    let (_, metrics) = running.get("/metrics", "admin");
    let mut series = metrics.lines().filter_map(|line| line.strip_prefix("why_terminating_cluster_root_victims{"));
    let labels = series.find_map(|it| it.split_once("} ")?.0.strip_suffix(",node=\"node-b\"")).unwrap();
    let (cause, id) = (labels.split('"').nth(1).unwrap(), labels.split('"').nth(3).unwrap());
    let (status, roots) = running.get("/api/v1/roots", "admin");
    assert_eq!(status, 200, "{roots}");
    let roots: Value = serde_json::from_str(&roots).unwrap();
    let line = roots["roots"].as_array().unwrap().iter().find(|root| root["id"] == id).unwrap();
    assert_eq!((line["cause"].as_str(), line["root"].as_str()), (Some(cause), Some("Node node-b")), "{labels}");
    let (status, piece) = running.get(&format!("/page/roots/{id}"), "admin");
    assert!(status == 200 && piece.contains("node-b"), "{piece}");
}

/// Metrics, JSON and page count the same objects, each once.
#[test]
fn the_numbers_of_objects_agree() {
    for recording in
        ["unreachable-node-pvc-chain", "dstate-fuse", "finalizer-and-webhook", "csi-unmount", "volumes-busy"]
    {
        let running = Running::start(recording);
        running.until_ready();
        let (_, stuck) = running.get("/api/v1/stuck", "admin");
        let (_, metrics) = running.get("/metrics", "admin");
        let (_, page) = running.get("/page/roots", "admin");
        let report: Value = serde_json::from_str(&stuck).unwrap();
        let sum = |verdict: &str| {
            let label = format!("verdict=\"{verdict}\"}} ");
            let lines = metrics.lines().filter(|line| line.starts_with("why_terminating_cluster_objects{"));
            lines.filter_map(|line| line.split_once(&label)?.1.parse::<f64>().ok()).sum::<f64>()
        };
        let counts = &report["counts"];
        let found = [sum("Stuck"), sum("Progressing")].map(Some);
        assert_eq!(
            found,
            [counts["stuck"].as_f64(), counts["terminating_normally"].as_f64()],
            "{recording}: {metrics}"
        );
        for root in report["roots"].as_array().unwrap() {
            let number = root["victims"].as_array().unwrap().len() + root["on_the_way"].as_array().unwrap().len();
            let id = root["id"].as_str().unwrap();
            let item = page.split("<li>").find(|item| item.contains(id)).unwrap();
            assert!(item.contains(&format!("holds {number} object")), "{recording}: {item}");
            let series = metrics.lines().find(|line| line.contains(&format!("root=\"{id}\"")));
            assert!(series.is_some_and(|line| line.ends_with(&format!(" {number}"))), "{recording}: {metrics}");
        }
    }
}

/// It should not be gone yet: every root has an alert.
#[test]
fn what_holds_a_pod_inside_its_grace_period_is_no_root_of_the_metrics() {
    let running = Running::start_with("baseline", |store| {
        let mut pod = stuck_pod_of("default", "slow");
        pod["metadata"]["finalizers"].take();
        pod["metadata"]["deletionTimestamp"] = ago(-30 * 60).into();
        pod["metadata"]["deletionGracePeriodSeconds"] = (60 * 60).into();
        pod["status"]["phase"] = "Running".into();
        store.put_pod("default", "slow", &pod).unwrap();
    });
    running.until_ready();
    let objects = "objects{kind=\"Pod\",cause=\"PodWithinGrace\",verdict=\"Progressing\"}";
    assert_eq!(value(&running, objects), 1.0);
    let (_, metrics) = running.get("/metrics", "admin");
    assert!(!metrics.contains("root_victims{"), "{metrics}");
}

#[test]
fn a_node_whose_agent_says_nothing_is_counted_until_it_does() {
    let running = Running::start_with("dstate-fuse", still_alive);
    assert_eq!(value(&running, "nodes_without_agent{}"), 1.0);
    running.api.store.put("events", Some("default"), "node-a.1", &fuse_server("s3fs")).unwrap();
    until(Duration::from_secs(20), || {
        // The fake looks at its files when it is asked.
        running.get("/api/v1/stuck", "bob");
        value(&running, "nodes_without_agent{}") == 0.0
    });
}

/// That node has an alert of its own.
#[test]
fn what_the_agent_of_a_lost_node_does_not_say_again_is_not_late() {
    let running = Running::start_with("unreachable-node-pvc-chain", |store| {
        for node in ["node-a", "node-b"] {
            let mut event = event(node, "{}");
            event["eventTime"] = ago(50 * 60).into();
            event["metadata"]["uid"] = node.into();
            store.put("events", Some("default"), &format!("{node}.1"), &event).unwrap();
        }
    });
    running.until_ready();
    assert_eq!(value(&running, "agent_findings{state=\"late\"}"), 1.0, "node-b is lost, node-a is not");
}

#[test]
fn what_the_api_server_refuses_for_want_of_time_is_counted() {
    let api = Api::start("baseline", |_| {});
    api.set_faults(Rule::new(Fault::Status { status: 429, retry_after: Some(1) }).times(3));
    let running = Running::beside(api);
    running.until_ready();
    assert_eq!(value(&running, "api_requests_total{code=\"429\"}"), 3.0);
    let answered = value(&running, "api_requests_total{code=\"2xx\"}");
    let asked = running.api.store.requests().unwrap().len() as f64;
    assert!(answered > 8.0 && answered < asked + 10.0, "{answered} of {asked}");
}

#[test]
fn what_the_service_costs_is_told() {
    let running = Running::start("baseline");
    assert!(exported(&running, "process_resident_memory_bytes{} ") > (1 << 20) as f64);
    let before = exported(&running, "process_cpu_seconds_total ");
    until(Duration::from_secs(20), || exported(&running, "process_cpu_seconds_total ") > before);
}
