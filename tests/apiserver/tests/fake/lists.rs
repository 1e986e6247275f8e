//! Lists, pages, selectors, forms; and that files are the truth.

use std::io::Read as _;

use crate::support::{self, Server};
use flate2::read::GzDecoder;
use serde_json::{Value, json};

const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

#[test]
fn files_are_seen_at_once_whoever_wrote_them() {
    let server = Server::start();
    assert_eq!(server.get("/api/v1/pods").names(), Vec::<String>::new());
    server.pod("ns", "a", "n");
    assert_eq!(server.get("/api/v1/pods").names(), ["a"]);
    let one = server.get("/api/v1/namespaces/ns/pods/a").json();
    assert_eq!((&one["kind"], &one["apiVersion"]), (&json!("Pod"), &json!("v1")));
    assert_eq!(one["metadata"]["namespace"], "ns");
    server.store().remove_pod("ns", "a").unwrap();
    let gone = server.get("/api/v1/namespaces/ns/pods/a");
    assert_eq!(gone.status, 404);
    assert_eq!(gone.message(), "pods \"a\" not found");
    assert_eq!(gone.json()["details"], json!({"name": "a", "kind": "pods"}));
}

#[test]
fn a_directory_that_comes_and_goes_as_a_whole_is_seen() {
    let server = Server::start();
    let outside = tempfile::tempdir_in(server.store().root().parent().unwrap()).unwrap();
    let other = apiserver::Store::new(outside.path());
    other.put_pod("ns", "a", &json!({})).unwrap();
    other.put_pod("ns", "b", &json!({})).unwrap();
    let pods = server.store().root().join("pods");
    std::fs::rename(outside.path().join("pods"), &pods).unwrap();
    assert_eq!(server.get("/api/v1/pods").names(), ["a", "b"]);
    std::fs::rename(&pods, outside.path().join("pods")).unwrap();
    assert_eq!(server.get("/api/v1/pods").names(), Vec::<String>::new());
}

#[test]
fn a_file_that_cannot_be_understood_is_told() {
    let server = Server::start();
    server.pod("ns", "a", "n");
    let file = server.store().root().join("pods/ns/b.json");
    std::fs::write(&file, "{").unwrap();
    let broken = server.get("/api/v1/pods");
    assert_eq!(broken.status, 500);
    assert!(broken.message().contains("b.json"), "{}", broken.message());
    std::fs::remove_file(&file).unwrap();
    assert_eq!(server.get("/api/v1/pods").names(), ["a"]);
}

#[test]
fn pages_go_on_where_they_ended_and_keep_their_version() {
    let server = Server::start();
    for name in ["a", "b", "c", "d", "e"] {
        server.pod("ns", name, "n");
    }
    let first = server.get("/api/v1/pods?limit=2");
    assert_eq!(first.names(), ["a", "b"]);
    let first = first.json();
    assert_eq!(first["metadata"]["remainingItemCount"], 3);
    server.pod("ns", "f", "n");
    let token = first["metadata"]["continue"].as_str().unwrap();
    let second = server.get(&format!("/api/v1/pods?limit=2&continue={token}"));
    assert_eq!(second.names(), ["c", "d"]);
    assert_eq!(second.json()["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"]);
    let last = second.json()["metadata"]["continue"].as_str().unwrap().to_owned();
    assert_eq!(server.get(&format!("/api/v1/pods?limit=9&continue={last}")).json()["metadata"].get("continue"), None);
    let expired = server.get("/api/v1/pods?limit=2&continue=v1.1.ns/a");
    assert_eq!((expired.status, &expired.json()["reason"]), (410, &json!("Expired")));
    assert_eq!(server.get("/api/v1/pods?continue=x").status, 400);
    assert_eq!(server.get("/api/v1/pods?limit=2&resourceVersion=0").names().len(), 6, "the watch cache knows no pages");
}

#[test]
fn selectors_select() {
    let server = Server::start();
    server.pod("one", "a", "n1");
    server.pod("two", "b", "n2");
    let labelled =
        json!({"metadata": {"labels": {"app": "web"}}, "spec": {"nodeName": "n2"}, "status": {"phase": "Running"}});
    server.store().put_pod("two", "c", &labelled).unwrap();
    for (query, wanted) in [
        ("fieldSelector=spec.nodeName%3Dn2", vec!["b", "c"]),
        ("fieldSelector=spec.nodeName%3Dn2,status.phase!%3DRunning", vec!["b"]),
        ("fieldSelector=metadata.namespace%3D%3Done", vec!["a"]),
        ("labelSelector=app%20in%20(web,db)", vec!["c"]),
        ("labelSelector=!app", vec!["a", "b"]),
    ] {
        assert_eq!(server.get(&format!("/api/v1/pods?{query}")).names(), wanted, "{query}");
    }
    assert_eq!(server.get("/api/v1/namespaces/two/pods").names(), ["b", "c"]);
    let unknown = server.get("/api/v1/pods?fieldSelector=spec.color%3Dred");
    assert_eq!((unknown.status, unknown.message().as_str()), (400, "field label not supported: spec.color"));
}

#[test]
fn metadata_alone_is_answered_when_asked_for() {
    let server = Server::start();
    server.pod("ns", "a", "n");
    let list = server.get_as("/api/v1/pods", METADATA_LIST).json();
    assert_eq!((&list["kind"], &list["apiVersion"]), (&json!("PartialObjectMetadataList"), &json!("meta.k8s.io/v1")));
    assert_eq!(list["items"][0]["kind"], "PartialObjectMetadata");
    assert_eq!(list["items"][0].get("spec"), None);
    let one = server.get_as(
        "/api/v1/namespaces/ns/pods/a",
        "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json",
    );
    assert_eq!(one.json()["kind"], "PartialObjectMetadata");
    let table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
    let rows = server.get_as("/api/v1/pods", table).json();
    assert_eq!((&rows["kind"], &rows["rows"][0]["cells"][0]), (&json!("Table"), &json!("a")));
    assert_eq!(rows["rows"][0]["object"]["metadata"]["namespace"], "ns");
    let columns = rows["columnDefinitions"].as_array().unwrap();
    let cell =
        |name: &str| &rows["rows"][0]["cells"][columns.iter().position(|column| column["name"] == name).unwrap()];
    assert_eq!((cell("Node"), cell("IP"), columns.len()), (&json!("n"), &json!("<none>"), 9));
    assert_eq!(server.get_as("/api/v1/namespaces/ns/pods/a", table).json()["kind"], "Pod");
    assert_eq!(server.get_as("/api/v1/pods", "application/vnd.kubernetes.protobuf").status, 406);
}

#[test]
fn a_large_answer_is_packed_for_whoever_accepts_that() {
    let server = Server::start();
    let ask = |accepted: &[(&str, &str)]| {
        let answer = server.ask("GET", "/api/v1/pods", accepted, "");
        let asked = server.store().requests().unwrap().pop().unwrap();
        assert_eq!(asked.answered_bytes, answer.body.len() as u64);
        (answer.headers.contains("content-encoding: gzip"), answer.body, asked.plain_bytes)
    };
    let accepts = [("Accept-Encoding", "deflate, gzip")];
    server.pod("ns", "a", "n");
    assert!(!ask(&accepts).0, "a small one is sent as it is");
    let labels: serde_json::Map<_, _> = (0..9000).map(|label| (label.to_string(), json!("a value"))).collect();
    server.store().put_pod("ns", "b", &json!({"metadata": {"labels": labels}})).unwrap();
    let (is_packed, plain, size) = ask(&[]);
    assert!(!is_packed && plain.len() > 128 * 1024 && size == plain.len() as u64);
    let (is_packed, packed, size) = ask(&accepts);
    assert!(is_packed && packed.len() * 3 < plain.len() && size == plain.len() as u64);
    let mut unpacked = Vec::new();
    GzDecoder::new(packed.as_slice()).read_to_end(&mut unpacked).unwrap();
    assert_eq!(unpacked, plain);
}

#[test]
fn versions_grow_and_a_restarted_fake_is_newer() {
    let server = Server::start();
    let version = |server: &Server| -> u64 { server.version("/api/v1/pods").parse().unwrap() };
    let first = version(&server);
    server.store().put_pod("ns", "a", &json!({})).unwrap();
    let second = version(&server);
    assert!(second > first);
    server.store().put_pod("ns", "a", &json!({})).unwrap();
    assert_eq!(version(&server), second, "the same again is no change");
    assert!(version(&server.restarted()) > second);
}

#[test]
fn discovery_names_what_is_served() {
    let server = Server::start();
    let legacy = server.get("/apis").json();
    assert_eq!(legacy["kind"], "APIGroupList");
    let events = server.get("/apis/events.k8s.io/v1").json();
    assert_eq!(events["resources"][0]["name"], "events");
    let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
    let aggregated = server.get_as("/apis", accept);
    assert_eq!(aggregated.json()["kind"], "APIGroupDiscoveryList");
    assert!(aggregated.headers.contains("as=apigroupdiscoverylist"), "{}", aggregated.headers);
    assert_eq!(server.get_as("/api", accept).json()["items"][0]["versions"][0]["version"], "v1");
    assert_eq!(server.get("/apis/nope.example.com/v1").status, 404);
    assert_eq!(server.get("/api/v1/unicorns").message(), "the server could not find the requested resource");
}

#[test]
fn core_events_are_the_same_events_in_the_older_form() {
    let server = Server::start();
    assert_eq!(server.apply("e", "agent", true, &support::event("e")).status, 201);
    let path = "/api/v1/namespaces/default/events?fieldSelector=involvedObject.kind%3DNode,reportingComponent%3Dwhy-terminating%2Fagent";
    let list = server.get(path).json();
    assert_eq!(list["items"][0]["message"], "shop/db-0: volume data is still mounted");
    assert_eq!(list["items"][0]["involvedObject"]["name"], "node-a");
    assert_eq!(server.get("/api/v1/namespaces/default/events/e").json()["apiVersion"], "v1");
}

#[test]
fn objects_that_were_prepared_as_text_are_served_like_files() {
    let prepared = |name: &str, node: &str| {
        let metadata = json!({"name": name, "namespace": "ns", "uid": name, "labels": {"app": node}});
        apiserver::Prepared::new(
            "pods",
            Some("ns"),
            name,
            &metadata.to_string(),
            &format!(r#""spec":{{"nodeName":"{node}"}}"#),
        )
    };
    let server = Server::of(|store| store.with_prepared([prepared("a", "m"), prepared("b", "n"), prepared("c", "n")]));
    assert_eq!(server.get("/api/v1/pods?limit=2").names(), ["a", "b"]);
    assert_eq!(server.get("/api/v1/namespaces/ns/pods?fieldSelector=spec.nodeName%3Dn").names(), ["b", "c"]);
    assert_eq!(server.get("/api/v1/pods?labelSelector=app%3Dm").names(), ["a"]);
    let list = server.get_as("/api/v1/pods", METADATA_LIST).json();
    assert_eq!((&list["items"][2]["metadata"]["uid"], list["items"][2].get("spec")), (&json!("c"), None));
    for _ in 0..2 {
        assert_eq!(server.get("/api/v1/pods").names(), ["a", "b", "c"]);
    }
    // A file lies above it.
    server.pod("ns", "b", "other");
    assert_eq!(server.get("/api/v1/namespaces/ns/pods/b").json()["spec"]["nodeName"], "other");
    server.store().put("pods", Some("ns"), "a", &Value::Null).unwrap();
    assert_eq!(server.get("/api/v1/pods").names(), ["b", "c"]);
}
