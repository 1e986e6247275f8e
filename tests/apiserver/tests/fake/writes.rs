//! Server-side apply, create, update, merge patch, delete.

use serde_json::{Value, json};

use crate::support::{APPLY, EVENTS, JSON, Server, event};

const MERGE: &str = "application/merge-patch+json";

fn one(server: &Server, name: &str) -> Value {
    server.get(&format!("{EVENTS}/{name}")).json()
}

#[test]
fn an_applied_event_is_what_a_real_server_made_of_it() {
    let server = Server::start();
    let mut sent = event("node-a.why-terminating.1a2b3c");
    sent["eventTime"] = json!("2026-11-20T21:58:00+01:00");
    sent["series"] = json!({"count": 3, "lastObservedTime": "2026-11-20T21:00:00.000000Z"});
    let created = server.apply("node-a.why-terminating.1a2b3c", "why", true, &sent);
    assert_eq!(created.status, 201, "{}", created.text());
    let created = created.json();
    assert_eq!(created["eventTime"], "2026-11-20T20:58:00.000000Z");
    assert_eq!(created["deprecatedSource"], json!({}));
    assert_eq!(created.get("deprecatedFirstTimestamp"), Some(&Value::Null));
    assert!(!created["metadata"]["uid"].as_str().unwrap().is_empty());
    // As recorded of a 1.36 server.
    let owned = &created["metadata"]["managedFields"][0];
    assert_eq!((&owned["manager"], &owned["operation"]), (&json!("why"), &json!("Apply")));
    assert_eq!(
        owned["fieldsV1"],
        json!({
            "f:action": {}, "f:eventTime": {}, "f:metadata": {"f:annotations": {"f:why-terminating/finding": {}}},
            "f:note": {}, "f:reason": {}, "f:regarding": {}, "f:related": {}, "f:reportingController": {},
            "f:reportingInstance": {}, "f:series": {"f:count": {}, "f:lastObservedTime": {}}, "f:type": {},
        })
    );
    let file = server.store().get("events", Some("default"), "node-a.why-terminating.1a2b3c").unwrap().unwrap();
    assert_eq!(file, created, "the file is the object");
    assert_eq!(server.store().events().unwrap().len(), 1);
}

#[test]
fn applying_again_renews_and_removes_what_is_no_longer_said() {
    let server = Server::start();
    let first = server.apply("e", "why", true, &event("e")).json();
    let again = server.apply("e", "why", true, &event("e"));
    assert_eq!((again.status, again.json()), (200, first.clone()), "nothing changed, not even the version");
    let mut renewed = event("e");
    renewed["metadata"]["annotations"] = json!({"why-terminating/finding": "{\"a\":1}", "b": "1"});
    renewed["series"] = json!({"count": 2, "lastObservedTime": "2026-11-20T21:00:00.000000Z"});
    let second = server.apply("e", "why", true, &renewed);
    assert_eq!(second.status, 200, "{}", second.text());
    let second = second.json();
    assert_eq!(second["metadata"]["uid"], first["metadata"]["uid"]);
    assert_ne!(second["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"]);
    assert_eq!(second["metadata"]["annotations"]["b"], "1");
    let third = server.apply("e", "why", true, &event("e")).json();
    assert_eq!(third["metadata"]["annotations"], json!({"why-terminating/finding": "{}"}));
    assert_eq!(third.get("series"), None);
}

#[test]
fn another_managers_field_is_a_conflict_until_it_is_forced() {
    let server = Server::start();
    server.apply("e", "why", false, &event("e"));
    let mut other = json!({"apiVersion": "events.k8s.io/v1", "kind": "Event"});
    other["metadata"] = json!({"annotations": {"theirs": "1"}});
    assert_eq!(server.apply("e", "other", false, &other).status, 200, "keys of annotations have owners of their own");
    other["metadata"]["annotations"]["why-terminating/finding"] = json!("changed");
    let refused = server.apply("e", "other", false, &other);
    assert_eq!(refused.status, 409);
    let status = refused.json();
    assert_eq!(status["reason"], "Conflict");
    assert_eq!(
        status["message"],
        "Apply failed with 1 conflict: conflict with \"why\": .metadata.annotations.why-terminating/finding"
    );
    assert_eq!(
        status["details"]["causes"][0],
        json!({
            "reason": "FieldManagerConflict", "message": "conflict with \"why\"",
            "field": ".metadata.annotations.why-terminating/finding",
        })
    );
    assert_eq!(server.apply("e", "other", true, &other).status, 200);
    // The first one no longer owns it: leaving it out removes nothing.
    let mut mine = event("e");
    mine["metadata"]["annotations"] = json!({});
    let kept = server.apply("e", "why", false, &mine).json();
    assert_eq!(kept["metadata"]["annotations"], json!({"theirs": "1", "why-terminating/finding": "changed"}));
}

#[test]
fn what_cannot_be_applied_is_refused_as_a_real_server_does() {
    let server = Server::start();
    let path = format!("{EVENTS}/e");
    let patch = |path: &str, kind: &str, body: &str| server.ask("PATCH", path, &[("Content-Type", kind)], body);
    let manager = format!("{path}?fieldManager=why");
    assert_eq!(patch(&path, APPLY, &event("e").to_string()).status, 422);
    assert_eq!(patch(&manager, "application/json-patch+json", "[]").status, 415);
    assert_eq!(patch(&manager, APPLY, "kind: Event\n").status, 415);
    assert_eq!(patch(&manager, APPLY, "{}").message(), "invalid object type: , Kind=");
    assert_eq!(
        patch(&manager, APPLY, &event("f").to_string()).message(),
        "the name of the object (f) does not match the name on the URL (e)"
    );
    let mut typo = event("e");
    typo["notes"] = json!("x");
    let refused = patch(&manager, APPLY, &typo.to_string());
    assert_eq!(
        (refused.status, refused.message().as_str()),
        (
            500,
            "failed to create typed patch object (default/e; events.k8s.io/v1, Kind=Event): .notes: field not declared in schema"
        )
    );
    let mut managed = event("e");
    managed["metadata"]["managedFields"] = json!([{}]);
    assert_eq!(patch(&manager, APPLY, &managed.to_string()).message(), "metadata.managedFields must be nil");
    assert_eq!(server.store().events().unwrap(), Vec::<Value>::new());
}

#[test]
fn created_once_changed_by_merge_and_deleted() {
    let server = Server::start();
    let created = server.create(&event("e"));
    assert_eq!(created.status, 201, "{}", created.text());
    let exists = server.create(&event("e"));
    assert_eq!((exists.status, &exists.json()["reason"]), (409, &json!("AlreadyExists")));
    assert_eq!(exists.message(), "events.events.k8s.io \"e\" already exists");
    let mut generated = event("");
    generated["metadata"] = json!({"generateName": "gen-"});
    let name = server.create(&generated).json()["metadata"]["name"].as_str().unwrap().to_owned();
    assert!(name.starts_with("gen-") && name.len() > 4, "{name}");

    let path = format!("{EVENTS}/e");
    let series = r#"{"series":{"count":2,"lastObservedTime":"2026-11-20T21:00:00Z"},"metadata":{"annotations":null}}"#;
    let merged = server.ask("PATCH", &path, &[("Content-Type", MERGE)], series);
    assert_eq!(merged.status, 200, "{}", merged.text());
    let merged = merged.json();
    assert_eq!(merged["series"]["lastObservedTime"], "2026-11-20T21:00:00.000000Z");
    assert_eq!(merged["metadata"].get("annotations"), None);
    let stale = json!({"metadata": {"resourceVersion": created.json()["metadata"]["resourceVersion"]}});
    let refused = server.ask("PATCH", &path, &[("Content-Type", MERGE)], &stale.to_string());
    assert_eq!(refused.status, 409);
    assert!(refused.message().contains("the object has been modified"), "{}", refused.message());

    let mut replaced = merged.clone();
    replaced["metadata"]["labels"] = json!({"a": "b"});
    let replaced = server.ask("PUT", &path, &[("Content-Type", JSON)], &replaced.to_string());
    assert_eq!(replaced.json()["metadata"]["labels"]["a"], "b", "{}", replaced.text());

    let deleted = server.ask("DELETE", &path, &[], "");
    assert_eq!((deleted.status, &deleted.json()["status"]), (200, &json!("Success")));
    assert_eq!(server.ask("DELETE", &path, &[], "").status, 404);
    assert_eq!(server.ask("PATCH", &path, &[("Content-Type", MERGE)], "{}").status, 404);
    assert_eq!(server.ask("DELETE", EVENTS, &[], "").status, 405);
}

#[test]
fn a_pod_is_deleted_under_its_uid_only_and_waits_for_its_finalizers() {
    let server = Server::start();
    let pod = |finalizers: &[&str]| json!({"metadata": {"uid": "u1", "finalizers": finalizers}});
    server.store().put_pod("ns", "a", &pod(&[])).unwrap();
    let path = "/api/v1/namespaces/ns/pods/a";
    let delete = |uid: &str| {
        let options = json!({"gracePeriodSeconds": 0, "preconditions": {"uid": uid}}).to_string();
        server.ask("DELETE", path, &[("Content-Type", JSON)], &options)
    };
    let refused = delete("u2");
    assert_eq!((refused.status, &refused.json()["reason"]), (409, &json!("Conflict")));
    assert!(server.store().pod("ns", "a").unwrap().is_some());
    assert_eq!(delete("u1").json()["kind"], "Pod");
    assert!(server.store().pod("ns", "a").unwrap().is_none());
    server.store().put_pod("ns", "a", &pod(&["example.com/hold"])).unwrap();
    let marked = delete("u1").json();
    assert_eq!(marked["metadata"]["deletionGracePeriodSeconds"], 0);
    assert!(server.store().pod("ns", "a").unwrap().is_some());
}

#[test]
fn nothing_new_comes_into_a_namespace_that_is_going() {
    let server = Server::start();
    let mut existing = event("old");
    existing["metadata"]["namespace"] = json!("going");
    existing["regarding"]["namespace"] = json!("going");
    let path = "/apis/events.k8s.io/v1/namespaces/going/events";
    let apply = |event: &Value| {
        let name = event["metadata"]["name"].as_str().unwrap();
        let path = format!("{path}/{name}?fieldManager=why&force=true");
        server.ask("PATCH", &path, &[("Content-Type", APPLY)], &event.to_string())
    };
    server.store().put_namespace("going", &json!({"metadata": {}})).unwrap();
    assert_eq!(apply(&existing).status, 201);
    let going = json!({"metadata": {"deletionTimestamp": "2026-11-20T20:58:00Z"}});
    server.store().put_namespace("going", &going).unwrap();
    existing["metadata"]["labels"] = json!({"a": "b"});
    assert_eq!(apply(&existing).status, 200, "what is there can still be changed");
    existing["metadata"]["name"] = json!("new");
    for refused in [apply(&existing), server.ask("POST", path, &[("Content-Type", JSON)], &existing.to_string())] {
        assert_eq!(refused.status, 403);
        assert_eq!(
            refused.message(),
            "events.events.k8s.io \"new\" is forbidden: unable to create new content in namespace going because it is \
             being terminated"
        );
        assert_eq!(
            refused.json()["details"]["causes"][0],
            json!({
                "reason": "NamespaceTerminating", "message": "namespace going is being terminated",
                "field": "metadata.namespace",
            })
        );
    }
}

#[test]
fn a_write_is_seen_by_watchers_and_by_the_next_request() {
    let server = Server::start();
    let version = server.version("/apis/events.k8s.io/v1/events");
    let selected = "fieldSelector=reportingController%3Dwhy-terminating/agent,regarding.kind%3DNode";
    let mut watch =
        server.watch(&format!("/apis/events.k8s.io/v1/events?watch=true&resourceVersion={version}&{selected}"));
    server.apply("e", "why", true, &event("e"));
    assert_eq!(one(&server, "e")["reason"], "PodVolumeUnmountBlocked");
    assert_eq!(watch.next(), ("ADDED".to_owned(), "e".to_owned()));
    // Expired: events go when their file goes.
    server.store().remove("events", Some("default"), "e").unwrap();
    assert_eq!(watch.next(), ("DELETED".to_owned(), "e".to_owned()));
    assert_eq!(server.apply("e", "why", true, &event("e")).status, 201);
}

#[test]
fn whoever_has_a_token_is_somebody_who_may_do_everything() {
    let server = Server::start();
    let ask = |path: &str, body: &str| server.ask("POST", path, &[("Content-Type", JSON)], body).json();
    let review = ask("/apis/authentication.k8s.io/v1/tokenreviews", r#"{"spec":{"token":"ann"}}"#);
    assert_eq!(review["status"], json!({"authenticated": true, "user": {"username": "ann"}}));
    let review = ask("/apis/authorization.k8s.io/v1/subjectaccessreviews", r#"{"spec":{"user":"ann"}}"#);
    assert_eq!(review["status"], json!({"allowed": true}));
    assert_eq!(server.get("/api/v1/pods").status, 200);
}
