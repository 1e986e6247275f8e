//! What goes wrong on purpose, who may ask, and what is written down of it.

use std::time::{Duration, Instant};

use apiserver::{Fault, Faults, Rule};
use serde_json::json;

use crate::support::{EVENTS, Server, client, event};

const PODS: &str = "/api/v1/pods";

fn with(rule: Rule) -> Server {
    let server = Server::start();
    server.pod("ns", "a", "n");
    server.store().set_faults(&Faults::from(rule)).unwrap();
    server
}

#[test]
fn statuses_as_a_real_server_words_them() {
    let server = with(Rule::new(Fault::Status { status: 429, retry_after: Some(2) }).times(2));
    for _ in 0..2 {
        let refused = server.get(PODS);
        assert_eq!((refused.status, refused.text().as_str()), (429, "Too many requests, please try again later.\n"));
        assert!(refused.headers.contains("retry-after: 2"), "{}", refused.headers);
    }
    assert_eq!(server.get(PODS).names(), ["a"], "the rule is spent");
    for (status, reason) in [(500, "InternalError"), (503, "ServiceUnavailable")] {
        let server = with(Rule::new(Fault::Status { status, retry_after: None }));
        let refused = server.get(PODS);
        assert_eq!((refused.status, &refused.json()["reason"]), (status, &json!(reason)));
    }
    assert_eq!(with(Rule::new(Fault::Unauthorized)).get(PODS).json()["reason"], "Unauthorized");
    let server = with(Rule::new(Fault::Gone));
    assert_eq!(server.get(PODS).json()["reason"], "Expired");
    let expired = server.watch("/api/v1/pods?watch=true").next_of_all().unwrap();
    assert_eq!((&expired["type"], &expired["object"]["code"]), (&json!("ERROR"), &json!(410)));
}

#[test]
fn access_is_refused_as_rbac_words_it() {
    let server = with(Rule::new(Fault::Forbidden));
    assert_eq!(
        server.get(PODS).message(),
        "pods is forbidden: User \"system:serviceaccount:default:fake\" cannot list resource \"pods\" in API group \"\" \
         at the cluster scope"
    );
    let refused = server.apply("e", "why", true, &event("e"));
    assert_eq!((refused.status, &refused.json()["reason"]), (403, &json!("Forbidden")));
    assert_eq!(
        refused.message(),
        "events.events.k8s.io \"e\" is forbidden: User \"system:serviceaccount:default:fake\" cannot patch resource \
         \"events\" in API group \"events.k8s.io\" in the namespace \"default\""
    );
}

#[test]
fn rules_choose_by_verb_path_and_watch() {
    let fault = Fault::Status { status: 500, retry_after: None };
    let server = with(Rule::new(fault.clone()).verb("PATCH").path("/apis/events"));
    assert_eq!(server.get(PODS).status, 200);
    assert_eq!(server.get(EVENTS).status, 200);
    assert_eq!(server.apply("e", "why", true, &event("e")).status, 500);
    assert_eq!(server.store().events().unwrap().len(), 0, "what is refused is not done");
    server.store().set_faults(&Faults::from(Rule::new(fault.clone()).watch(true))).unwrap();
    assert_eq!(server.get(PODS).status, 200);
    assert_eq!(server.get("/api/v1/pods?watch=true").status, 500);
    server.store().set_faults(&Faults::from(Rule::new(fault).verb("list"))).unwrap();
    assert_eq!(server.get(PODS).status, 500);
    server.store().set_faults(&Faults::none()).unwrap();
    assert_eq!(server.get(PODS).status, 200);
}

#[test]
fn an_answer_is_cut_but_what_was_asked_is_done() {
    let server = with(Rule::new(Fault::Cut));
    let cut = server.apply("e", "why", true, &event("e"));
    assert_eq!(cut.status, 201);
    assert!(!cut.complete);
    assert!(!cut.body.is_empty());
    assert_eq!(server.store().events().unwrap().len(), 1);
    let watch = server.get("/api/v1/pods?watch=true");
    assert_eq!((watch.status, watch.complete), (200, false));
}

#[test]
fn slow_silent_and_nonsense() {
    let server = with(Rule::new(Fault::Slow { slow_ms: 300 }));
    let begun = Instant::now();
    assert_eq!(server.get(PODS).names(), ["a"]);
    assert!(begun.elapsed() >= Duration::from_millis(300));
    server.store().set_faults(&Faults::from(Rule::new(Fault::Nonsense))).unwrap();
    let nonsense = server.get(PODS);
    assert_eq!(nonsense.status, 200);
    assert!(serde_json::from_slice::<serde_json::Value>(&nonsense.body).is_err());
    server.store().set_faults(&Faults::from(Rule::new(Fault::Silent))).unwrap();
    let begun = Instant::now();
    let silent = client(Duration::from_millis(300)).run(server.request("GET", PODS, &[]).body(()).unwrap());
    assert!(matches!(silent, Err(ureq::Error::Timeout(_))), "nothing comes: {silent:?}");
    assert!(begun.elapsed() >= Duration::from_millis(300));
    let asked = server.store().requests().unwrap().pop().unwrap();
    assert_eq!((asked.status, asked.path.as_str()), (0, PODS));
}

#[test]
fn a_token_is_asked_for_when_there_are_tokens() {
    let server = Server::start();
    assert_eq!(server.get(PODS).status, 200);
    server.store().set_tokens(&["secret"]).unwrap();
    let refused = server.get(PODS);
    assert_eq!((refused.status, refused.message().as_str()), (401, "Unauthorized"));
    assert_eq!(server.ask("GET", PODS, &[("Authorization", "Bearer wrong")], "").status, 401);
    assert_eq!(server.ask("GET", PODS, &[("Authorization", "Bearer secret")], "").status, 200);
    assert!(server.fake.kubeconfig_json().unwrap().contains("secret"));
}

#[test]
fn rules_that_cannot_be_understood_are_told() {
    let server = Server::start();
    std::fs::write(server.store().root().join("faults.json"), r#"[{"do": "explode"}]"#).unwrap();
    let told = server.get(PODS);
    assert_eq!(told.status, 500);
    assert!(told.message().contains("faults.json"), "{}", told.message());
}

#[test]
fn every_request_is_written_down() {
    let server = Server::start();
    server.get("/api/v1/pods?limit=1");
    server.apply("e", "why", true, &event("e"));
    let mut watch = server.watch("/apis/events.k8s.io/v1/events?watch=true&timeoutSeconds=1");
    watch.next();
    let requests = server.store().requests().unwrap();
    let told: Vec<_> = requests.iter().map(|request| (request.verb.as_str(), request.status, request.open)).collect();
    assert_eq!(told, [("list", 200, false), ("patch", 201, false), ("watch", 200, true)]);
    assert_eq!((requests[0].path.as_str(), requests[0].query.as_str()), (PODS, "limit=1"));
    assert_eq!(requests[0].user_agent, "tester/1");
    assert_eq!(requests[1].body_bytes, event("e").to_string().len() as u64);
    assert!(requests[1].answered_bytes > requests[1].body_bytes);
    assert!(requests[0].at.ends_with('Z') && requests[0].at.len() == "2026-11-20T20:58:00.123Z".len());
    assert_eq!(watch.next_of_all(), None);
    let ended = server.store().requests().unwrap().pop().unwrap();
    assert!(!ended.open && ended.answered_bytes > 0, "{ended:?}");
}
