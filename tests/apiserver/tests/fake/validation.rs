//! Every rule for events, with the words of the refusal.

use serde_json::{Value, json};

use crate::support::{EVENTS, Server, event};

/// What a change makes the server say against a new event.
fn refused(server: &Server, change: impl FnOnce(&mut Value)) -> String {
    let mut changed = event("x");
    change(&mut changed);
    let answer = server.create(&changed);
    assert_eq!(answer.status, 422, "{changed}: {}", answer.text());
    let status = answer.json();
    assert_eq!(status["reason"], "Invalid");
    assert_eq!(status["details"]["kind"], "Event");
    assert!(!status["details"]["causes"].as_array().unwrap().is_empty());
    let name = changed["metadata"]["name"].as_str().unwrap();
    let message = answer.message();
    let said = message.strip_prefix(&format!("Event.events.k8s.io \"{name}\" is invalid: "));
    said.unwrap_or_else(|| panic!("{message}")).to_owned()
}

#[test]
fn each_rule_for_new_events() {
    let server = Server::start();
    let cases: &[(&str, Value, &str)] = &[
        ("/type", json!("Error"), "type: Invalid value: \"\": has invalid value: Error"),
        ("/type", Value::Null, "type: Invalid value: \"\": has invalid value: "),
        ("/reportingInstance", json!(""), "reportingInstance: Required value"),
        (
            "/reportingInstance",
            json!("i".repeat(129)),
            "reportingInstance: Invalid value: \"\": can have at most 128 characters",
        ),
        ("/action", json!(""), "action: Required value"),
        ("/action", json!("a".repeat(129)), "action: Invalid value: \"\": can have at most 128 characters"),
        ("/reason", json!(""), "reason: Required value"),
        ("/reason", json!("r".repeat(129)), "reason: Invalid value: \"\": can have at most 128 characters"),
        // 1025 bytes in 513 characters.
        (
            "/note",
            json!(format!("a{}", "ü".repeat(512))),
            "message: Invalid value: \"\": can have at most 1024 characters",
        ),
        ("/deprecatedCount", json!(1), "count: Invalid value: \"\": needs to be unset"),
        (
            "/deprecatedFirstTimestamp",
            json!("2026-11-20T20:58:00Z"),
            "firstTimestamp: Invalid value: \"\": needs to be unset",
        ),
        (
            "/deprecatedLastTimestamp",
            json!("2026-11-20T20:58:00Z"),
            "lastTimestamp: Invalid value: \"\": needs to be unset",
        ),
        ("/deprecatedSource", json!({"component": "x"}), "source: Invalid value: \"\": needs to be unset"),
        (
            "/series",
            json!({"count": 1, "lastObservedTime": "2026-11-20T20:58:00Z"}),
            "series.count: Invalid value: \"\": should be at least 2",
        ),
        ("/series", json!({"count": 2}), "series.lastObservedTime: Required value"),
        ("/eventTime", Value::Null, "eventTime: Required value"),
    ];
    for (pointer, value, wanted) in cases {
        let said = refused(&server, |event| event[&pointer[1..]] = value.clone());
        assert_eq!(&said, wanted, "{pointer}");
    }
    assert_eq!(server.store().events().unwrap(), Vec::<Value>::new());
}

#[test]
fn names_of_events_and_controllers() {
    let server = Server::start();
    let said = refused(&server, |event| event["metadata"]["name"] = json!("Node_a"));
    assert!(
        said.starts_with("metadata.name: Invalid value: \"Node_a\": a lowercase RFC 1123 subdomain must"),
        "{said}"
    );
    let said = refused(&server, |event| event["reportingController"] = json!("a/b/c"));
    assert!(said.starts_with("reportingController: Invalid value: \"a/b/c\": a qualified name must"), "{said}");
    let said = refused(&server, |event| event["reportingController"] = json!(""));
    assert!(said.starts_with("[reportingController: Required value, reportingController: Invalid"), "{said}");
    let said = refused(&server, |event| event["metadata"]["annotations"] = json!({"a b": ""}));
    assert!(said.starts_with("metadata.annotations: Invalid value: \"a b\": name part must"), "{said}");
    let said = refused(&server, |event| event["metadata"]["annotations"] = json!({"a": "x".repeat(262_144)}));
    assert_eq!(said, "metadata.annotations: Too long: may not be more than 262144 bytes");
}

#[test]
fn an_event_of_no_namespace_lies_in_default_or_kube_system() {
    let server = Server::start();
    let create = |namespace: &str| {
        let mut event = event("x");
        event["metadata"]["namespace"] = json!(namespace);
        let path = EVENTS.replace("default", namespace);
        server.ask("POST", &path, &[("Content-Type", "application/json")], &event.to_string())
    };
    assert_eq!(create("default").status, 201);
    assert_eq!(create("kube-system").status, 201);
    let refused = create("shop");
    assert_eq!(refused.status, 422);
    assert_eq!(
        refused.message(),
        "Event.events.k8s.io \"x\" is invalid: involvedObject.namespace: Invalid value: \"\": does not match event.namespace"
    );
}

#[test]
fn several_faults_are_told_together() {
    let server = Server::start();
    let said = refused(&server, |event| {
        event["action"] = json!("");
        event["type"] = json!("Bad");
    });
    assert_eq!(said, "[action: Required value, type: Invalid value: \"\": has invalid value: Bad]");
    let mut no_time = event("y");
    no_time["eventTime"] = json!("yesterday");
    assert_eq!(server.create(&no_time).status, 400);
}

#[test]
fn everything_but_series_and_metadata_is_immutable() {
    let server = Server::start();
    assert_eq!(server.apply("e", "why", true, &event("e")).status, 201);
    let cases = [
        ("note", json!("new"), "message: Invalid value: \"new\": field is immutable"),
        ("reason", json!("New"), "reason: Invalid value: \"New\": field is immutable"),
        ("action", json!("New"), "action: Invalid value: \"New\": field is immutable"),
        ("type", json!("Normal"), "type: Invalid value: \"Normal\": field is immutable"),
        ("reportingInstance", json!("b"), "reportingInstance: Invalid value: \"b\": field is immutable"),
        ("reportingController", json!("b/c"), "reportingController: Invalid value: \"b/c\": field is immutable"),
        (
            "eventTime",
            json!("2026-11-20T20:59:00.25Z"),
            "eventTime: Invalid value: 2026-11-20 20:59:00.25 +0000 UTC: field is immutable",
        ),
        (
            "regarding",
            json!({"kind": "Node"}),
            "involvedObject: Invalid value: {\"kind\":\"Node\"}: field is immutable",
        ),
        ("related", Value::Null, "related: Invalid value: null: field is immutable"),
    ];
    for (field, value, wanted) in cases {
        let mut changed = event("e");
        changed[field] = value;
        let refused = server.apply("e", "why", true, &changed);
        assert_eq!(refused.status, 422, "{field}: {}", refused.text());
        assert_eq!(refused.message(), format!("Event.events.k8s.io \"e\" is invalid: {wanted}"));
    }
    let mut changed = event("e");
    changed["series"] = json!({"count": 1, "lastObservedTime": "2026-11-20T20:58:00Z"});
    assert_eq!(server.apply("e", "why", true, &changed).status, 422);
    changed["series"]["count"] = json!(2);
    assert_eq!(server.apply("e", "why", true, &changed).status, 200);
}
