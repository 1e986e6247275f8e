//! Recordings are answered from as they were, and files win over them.

use serde_json::json;

use crate::support::Server;

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

#[test]
fn all_recordings_can_be_served() {
    let recordings = apiserver::recordings().unwrap();
    assert!(recordings.len() >= 9, "{:?}", recordings.keys());
    for (name, dir) in recordings {
        let server = Server::of(|store| store.with_recording(&dir));
        let index: Vec<serde_json::Value> =
            serde_json::from_slice(&std::fs::read(dir.join("index.json")).unwrap()).unwrap();
        for entry in index {
            let (path, accept) = (entry["path"].as_str().unwrap(), entry["accept"].as_str().unwrap());
            let answer = server.get_as(path, accept);
            let recorded = std::fs::read(dir.join(entry["file"].as_str().unwrap())).unwrap();
            assert_eq!(json!(answer.status), entry["status"], "{name} {path}");
            let Ok(mut recorded) = serde_json::from_slice::<serde_json::Value>(&recorded) else {
                assert_eq!(answer.body, recorded, "{name} {path}");
                continue;
            };
            let mut answered = answer.json();
            // The version of a list is that of the fake.
            if recorded["items"].is_array() {
                recorded["metadata"] = json!({});
                answered["metadata"] = json!({});
            }
            assert_eq!(answered, recorded, "{name} {path}");
        }
    }
}

#[test]
fn discovery_comes_in_both_forms() {
    let server = Server::recorded("discovery-failure");
    let aggregated = server.get_as("/apis", AGGREGATED);
    assert!(aggregated.headers.contains("apidiscovery.k8s.io"), "{}", aggregated.headers);
    let text = aggregated.text();
    assert!(text.contains("\"Stale\""));
    assert_eq!(server.get("/apis").json()["kind"], "APIGroupList");
    let dead = server.get("/apis/metrics.k8s.io/v1beta1");
    assert_eq!((dead.status, dead.text().trim()), (503, "service unavailable"));
    assert_eq!(server.get("/apis/metrics.k8s.io/v1beta1/pods").status, 503, "so does all below it");
    let terminating = server.get("/api/v1/namespaces?fieldSelector=status.phase%3DTerminating");
    assert_eq!(terminating.names(), ["ack-system-e2e-test-0"]);
}

#[test]
fn what_was_not_recorded_follows_from_what_was() {
    let server = Server::recorded("runtime-and-freezer");
    let all = server.get("/api/v1/pods").names();
    let some = server.get("/api/v1/namespaces/n2/pods");
    assert!(!some.names().is_empty() && some.names().len() <= all.len());
    let first = server.get("/api/v1/namespaces/n2/pods?limit=1").json();
    assert_eq!(first["items"].as_array().unwrap().len(), 1);
    assert!(first["metadata"]["continue"].is_string());
    let fin = server.get("/api/v1/namespaces/n2/pods/fin").json();
    assert_eq!(fin["metadata"]["finalizers"], json!(["example.com/hold"]));
    let metadata = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    assert_eq!(server.get_as("/api/v1/pods", metadata).json()["kind"], "PartialObjectMetadataList");
    assert_eq!(server.get("/api/v1/secrets").names(), Vec::<String>::new(), "known and empty");
    assert_eq!(server.get("/api/v1/unicorns").status, 404);
    assert_eq!(server.get("/api/v1/namespaces/n2/pods/nope").message(), "pods \"nope\" not found");

    let server = Server::recorded("finalizer-and-webhook");
    let widgets = server.get("/apis/example.com/v1/namespaces/team-widgets/widgets").json();
    assert_eq!(widgets["items"][0]["kind"], "Widget", "custom resources say their kind in lists");
}

#[test]
fn files_win_and_can_hide() {
    let server = Server::recorded("runtime-and-freezer");
    let before = server.get("/api/v1/namespaces/n2/pods").names();
    assert!(before.contains(&"fin".to_owned()));
    let version = server.version("/api/v1/pods");
    let mut watch = server.watch(&format!("/api/v1/pods?watch=true&resourceVersion={version}"));
    server.store().put_pod("n2", "fin", &json!({"spec": {"nodeName": "moved"}})).unwrap();
    assert_eq!(watch.next(), ("MODIFIED".to_owned(), "fin".to_owned()));
    assert_eq!(server.get("/api/v1/namespaces/n2/pods/fin").json()["spec"]["nodeName"], "moved");
    server.store().put_pod("n2", "fin", &serde_json::Value::Null).unwrap();
    assert_eq!(watch.next(), ("DELETED".to_owned(), "fin".to_owned()));
    assert_eq!(server.get("/api/v1/namespaces/n2/pods").names().len(), before.len() - 1);
    assert!(server.store().remove_pod("n2", "fin").unwrap());
    assert_eq!(watch.next(), ("ADDED".to_owned(), "fin".to_owned()));
    let path = "/api/v1/namespaces/n2/pods/frozen";
    assert_eq!(server.ask("DELETE", path, &[], "").status, 200);
    assert_eq!(server.get(path).status, 404);
}

#[test]
fn a_store_may_hold_its_recording() {
    let recording = apiserver::recordings().unwrap().remove("baseline").unwrap();
    let server = Server::of(|store| {
        let inside = store.root().join("recording");
        std::fs::create_dir(&inside).unwrap();
        for entry in std::fs::read_dir(&recording).unwrap() {
            let entry = entry.unwrap();
            if entry.path().is_file() {
                std::fs::copy(entry.path(), inside.join(entry.file_name())).unwrap();
            }
        }
        store
    });
    assert!(server.get("/api/v1/namespaces").names().contains(&"default".to_owned()));
}
