//! The project's programs may do what the chart grants them; all others may do everything.

use serde_json::{Value, json};

use crate::support::{APPLY, EVENTS, JSON, Server, event};

const AGENT: (&str, &str) = ("User-Agent", "why-terminating-agent/0.1.0");

#[test]
fn a_program_may_do_what_the_chart_grants_it() {
    let server = Server::start();
    server.store().put_node("node-a", &json!({})).unwrap();
    let ask = |path: &str| server.ask("GET", path, &[("Accept", JSON), AGENT], "");
    assert_eq!(ask("/api/v1/nodes/node-a").status, 200);
    assert_eq!(ask("/api/v1/pods?fieldSelector=spec.nodeName%3Dnode-a").status, 200);
    assert_eq!(ask("/version").status, 200);
    let applied = server.ask(
        "PATCH",
        &format!("{EVENTS}/e?fieldManager=why&force=true"),
        &[("Content-Type", APPLY), AGENT],
        &event("e").to_string(),
    );
    assert_eq!(applied.status, 201, "{}", applied.text());
}

#[test]
fn what_is_not_granted_is_refused_before_anything_else() {
    let server = Server::start();
    let refused = server.ask("GET", "/api/v1/namespaces/shop/secrets/a", &[("Accept", JSON), AGENT], "");
    assert_eq!((refused.status, &refused.json()["details"]), (403, &json!({"kind": "secrets", "name": "a"})));
    assert_eq!(
        refused.message(),
        "secrets \"a\" is forbidden: User \"system:serviceaccount:default:fake\" cannot get resource \"secrets\" in API \
         group \"\" in the namespace \"shop\""
    );
    assert_eq!(server.get("/api/v1/namespaces/shop/secrets/a").status, 404, "any other caller");
}

/// Each right that the test account of `helm test` has by name is for that name alone.
#[test]
fn a_name_in_a_rule_is_for_that_name_alone() {
    let text = include_str!("../../rights.json");
    let rights: Value = serde_json::from_str(text).unwrap();
    let rules = rights["why-terminating-test"][0]["rules"].as_array().unwrap();
    let named = rules.iter().find(|rule| rule["verbs"] == json!(["delete", "patch"])).unwrap();
    assert_eq!(named["resourceNames"], json!(["why-terminating-test-held"]));
    let server = Server::start();
    server.pod("why-terminating", "why-terminating-test-held", "node-a");
    server.pod("why-terminating", "other", "node-a");
    let delete = |name: &str| {
        let path = format!("/api/v1/namespaces/why-terminating/pods/{name}");
        server.ask("DELETE", &path, &[("User-Agent", "why-terminating-test/0.1.0")], "").status
    };
    assert_eq!((delete("why-terminating-test-held"), delete("other")), (200, 403));
}
