//! The service as a process would run it, against the fake API server: who sees what, what changes, what is served when the
//! API server cannot be queried.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "for tests")]

mod api;
mod attacks;
mod client;
mod cluster;
mod faults;
mod guards;
mod helm_test;
mod hidden_objects;
mod idle_watch;
mod metrics;
mod not_deleted;
mod page;
mod page_layout;
mod process;
mod replicas;
mod running;
mod stream;

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::time::Duration;

    use serde_json::json;

    use crate::api::until;
    use crate::running::Running;

    #[test]
    fn it_tells_what_the_plugin_tells() {
        let running = Running::start("volumes-busy");
        let (status, stuck) = running.json("/api/v1/stuck", "admin");
        assert_eq!(status, 200, "{stuck}");
        assert_eq!(stuck["verdict"], "Stuck");
        let roots = stuck["roots"].as_array().unwrap();
        assert!(
            !roots.is_empty() && roots.iter().all(|root| !root["victims"].as_array().unwrap().is_empty()),
            "{stuck}"
        );
        let (_, incidents) = running.json("/api/v1/incidents", "admin");
        let incidents = incidents["incidents"].as_array().unwrap();
        assert!(!incidents.is_empty() && incidents.iter().all(|one| one["end"].is_null()), "{incidents:#?}");
        let id = incidents[0]["id"].as_str().unwrap();
        let (status, text) = running.get(&format!("/api/v1/incidents/{id}?format=md"), "admin");
        assert!(status == 200 && text.starts_with("# ") && text.contains("its deletion was requested"), "{text}");
        let (status, metrics) = running.get("/metrics", "admin");
        assert!(status == 200 && metrics.contains("why_terminating_cluster_objects{"), "{metrics}");
        assert!(metrics.contains("why_terminating_cluster_oldest_stuck_seconds "), "{metrics}");
        assert!(metrics.ends_with("# EOF\n"), "{metrics}");
    }

    /// The metrics with their types, and the labels of those that have a value.
    fn shape(metrics: &str) -> (BTreeSet<&str>, BTreeMap<&str, BTreeSet<&str>>) {
        let types = metrics.lines().filter(|line| line.starts_with("# TYPE")).collect();
        let samples = metrics.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.rsplit_once(' '));
        let labelled = samples.map(|(series, _)| {
            let (name, labels) = series.split_once('{').unwrap_or((series, ""));
            let keys = labels.split("\",").filter_map(|label| Some(label.split_once('=')?.0));
            (name, keys.collect())
        });
        (types, labelled.collect())
    }

    /// The dashboard and the alerts are tested against this file.
    #[test]
    fn it_exports_what_dashboard_and_alerts_were_tested_with() {
        let (_, exported) = Running::start("volumes-busy").get("/metrics", "admin");
        let stored = include_str!("../../../../tests/chart/metrics/aggregator.prom");
        let ((mut types, labels), (known, known_labels)) = (shape(&exported), shape(stored));
        // Has no value while everything is explained, and is then not exported at all.
        assert!(include_str!("../../src/http/metrics.rs").contains("\"unexplained_objects\""));
        types.insert("# TYPE why_terminating_cluster_unexplained_objects gauge");
        // Nor does this while no list is cut.
        types.insert("# TYPE why_terminating_cluster_cut_list gauge");
        assert_eq!(known, types, "put it into tests/chart/metrics/aggregator.prom");
        for (name, labels) in labels {
            assert_eq!(known_labels.get(name), Some(&labels), "{name}");
        }
    }

    #[test]
    fn nobody_sees_more_than_the_api_server_shows_them() {
        let running = Running::start("volumes-busy");
        for path in ["/api/v1/stuck", "/api/v1/incidents", "/metrics"] {
            assert_eq!(running.get(path, "").0, 401, "{path}");
            assert_eq!(running.get(path, "forged").0, 401, "{path}");
        }
        assert_eq!(running.get("/metrics", "bob").0, 403);
        let (status, nothing) = running.json("/api/v1/stuck", "bob");
        assert_eq!((status, &nothing["roots"], &nothing["verdict"]), (200, &json!([]), &json!("Clear")));
        let (_, incidents) = running.json("/api/v1/incidents", "bob");
        assert_eq!(incidents["incidents"], json!([]));
        // What is forbidden and what does not exist get the same words.
        let (_, all) = running.json("/api/v1/incidents", "admin");
        let id = all["incidents"][0]["id"].as_str().unwrap().to_owned();
        assert_eq!(running.get(&format!("/api/v1/incidents/{id}"), "bob"), running.get("/api/v1/incidents/0", "bob"));
        // Her pods, and nothing of what holds them.
        let (_, pods) = running.json("/api/v1/stuck", "alice");
        let text = pods.to_string();
        assert!(!text.contains("node-a") && !text.contains("/var/lib/kubelet"), "{text}");
        assert_eq!((&pods["roots"], &pods["verdict"]), (&json!([]), &json!("CannotTell")));
        let unexplained = pods["unexplained"].as_array().unwrap();
        assert!(!unexplained.is_empty() && unexplained.iter().all(|held| held["thing"]["kind"] == "Pod"), "{text}");
        let (_, incidents) = running.json("/api/v1/incidents", "alice");
        let incidents = incidents["incidents"].as_array().unwrap();
        assert!(!incidents.is_empty() && incidents.iter().all(|one| one["holds"] == json!([])), "{incidents:#?}");
    }

    #[test]
    fn what_goes_is_over() {
        let running = Running::start("volumes-busy");
        let (_, before) = running.json("/api/v1/incidents", "admin");
        let pod = before["incidents"].as_array().unwrap().iter().find(|one| one["object"]["kind"] == "Pod").unwrap();
        let (namespace, name) = (&pod["object"]["namespace"], &pod["object"]["name"]);
        running.api.remove_pod(namespace.as_str().unwrap(), name.as_str().unwrap());
        let path = format!("/api/v1/incidents/{}", pod["id"].as_str().unwrap());
        until(Duration::from_secs(20), || {
            let (_, one) = running.json(&path, "admin");
            one["end"]["seen"] == true
        });
    }

    #[test]
    fn who_has_an_answer_is_told_so_in_a_few_bytes() {
        let running = Running::start("volumes-busy");
        let first = running.ask("/api/v1/causes", "admin", &[]);
        let tag = first.headers()["etag"].to_str().unwrap();
        let again = |tag: &str| running.ask("/api/v1/causes", "admin", &[("if-none-match", tag)]).status();
        assert_eq!(again(tag), 304);
        assert_eq!(again("\"other\""), 200);
    }

    #[test]
    fn an_api_server_that_is_away_changes_nothing_but_the_time() {
        let mut running = Running::start("volumes-busy");
        let (_, before) = running.json("/api/v1/stuck", "admin");
        running.api.stop();
        // Who may see what is cached for a while, and then no caller sees anything.
        until(Duration::from_secs(40), || running.get("/api/v1/stuck", "admin").0 == 503);
        assert_eq!(running.get("/healthz", "").0, 200);
        assert_eq!(running.get("/readyz", "").0, 200);
        // Every caller gets that, and nothing that was known.
        let told = |token| {
            let (status, metrics) = running.get("/metrics", token);
            let values: Vec<String> = metrics.lines().filter(|it| !it.starts_with('#')).map(str::to_owned).collect();
            (status, values)
        };
        for token in ["admin", "forged"] {
            let (status, values) = told(token);
            assert!(status == 200 && values.len() == 1, "{status} {values:?}");
            assert!(values[0].starts_with("why_terminating_cluster_api_silent_seconds{} "), "{values:?}");
        }
        assert_eq!(told("").0, 401);
        running.api.serve();
        until(Duration::from_secs(60), || {
            let (status, after) = running.json("/api/v1/stuck", "admin");
            status == 200 && after["roots"].as_array().map(Vec::len) == before["roots"].as_array().map(Vec::len)
        });
    }
}
