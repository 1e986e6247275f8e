//! What `helm test` runs, with the chart's account.

use std::process::Command;

use apiserver::{Fault, Faults, Rule};
use serde_json::{Value, json};

use crate::api::Api;
use crate::process::Process;

const NAMESPACE: &str = "why-terminating";
const POD: &str = "why-terminating-test-held";

/// The chart's pod, which has ended.
fn put_pod(api: &Api, finalizers: &Value) {
    let pod = json!({
        "metadata": {
            "name": POD, "namespace": NAMESPACE, "uid": "uid-of-the-test", "finalizers": finalizers,
            "creationTimestamp": "2026-01-01T00:00:00Z"
        },
        "spec": {"containers": []}, "status": {"phase": "Succeeded"}
    });
    api.store.put_pod(NAMESPACE, POD, &pod).unwrap();
}

/// How it ended, and what is left of the pod.
struct Ended {
    succeeded: bool,
    said: String,
    error: String,
    pod: Option<Value>,
}

/// Runs it beside a service, with a user's token.
fn run(finalizers: &Value, token: &str, patience: &str) -> Ended {
    run_while(&Faults::none(), finalizers, token, patience)
}

fn run_while(faults: &Faults, finalizers: &Value, token: &str, patience: &str) -> Ended {
    let api = Api::start("baseline", |store| store.set_faults(faults).unwrap());
    put_pod(&api, finalizers);
    let service = Process::start(&api, &["--no-events"]);
    service.until_ready();
    let file = api.dir.path().join("token");
    std::fs::write(&file, format!("{token}\n")).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_why-terminating-aggregator"))
        .args(["helm-test", "--pod", &format!("{NAMESPACE}/{POD}"), "--patience", patience, "--kubeconfig"])
        .arg(api.kubeconfig())
        .arg("--token-file")
        .arg(file)
        .env("WHY_TERMINATING_AGGREGATOR_SERVICE_HOST", service.address.ip().to_string())
        .env("WHY_TERMINATING_AGGREGATOR_SERVICE_PORT", service.address.port().to_string())
        .output()
        .unwrap();
    drop(service);
    Ended {
        succeeded: output.status.success(),
        said: String::from_utf8(output.stdout).unwrap(),
        error: String::from_utf8(output.stderr).unwrap(),
        pod: api.store.pod(NAMESPACE, POD).unwrap(),
    }
}

#[test]
fn a_pod_that_sticks_is_explained_and_let_go() {
    // The second was held by a test that was killed.
    for finalizers in [json!([]), json!(["why-terminating/helm-test"])] {
        let Ended { succeeded, said, error, pod } = run(&finalizers, "admin", "60");
        assert!(succeeded, "{error}");
        assert!(said.starts_with("why-terminating/why-terminating-test-held: FinalizerOwnerUnknown"), "{said}");
        assert!(pod.is_none());
    }
}

#[test]
fn an_account_with_the_rights_of_the_chart_is_shown_which_it_lacks() {
    let Ended { succeeded, said, error, pod } = run(&json!([]), "alice", "60");
    assert!(succeeded, "{error}");
    assert!(said.contains("no permission to read all that its explanation rests on; ask for:"), "{said}");
    assert!(pod.is_none());
}

#[test]
fn it_fails_where_the_service_says_nothing_and_lets_the_pod_go() {
    let ended = run(&json!([]), "bob", "3");
    assert!(!ended.succeeded && ended.error.contains("the service says nothing of it"), "{}", ended.error);
    assert!(ended.pod.is_none());
}

#[test]
fn a_pod_of_another_is_not_touched() {
    let finalizers = json!(["example.com/other"]);
    let ended = run(&finalizers, "admin", "3");
    assert!(!ended.succeeded && ended.error.contains("example.com/other"), "{}", ended.error);
    let metadata = &ended.pod.unwrap()["metadata"];
    assert!(metadata["deletionTimestamp"].is_null() && metadata["finalizers"] == finalizers, "{metadata}");
}

#[test]
fn what_may_have_been_put_on_is_taken_off() {
    let pod = format!("/api/v1/namespaces/{NAMESPACE}/pods/{POD}");
    let unheard = Rule::new(Fault::Cut).verb("PATCH").path(&pod).times(1);
    let ended = run_while(&unheard.into(), &json!([]), "admin", "3");
    assert!(!ended.succeeded && ended.error.contains("put the finalizer on"), "{}", ended.error);
    let metadata = &ended.pod.unwrap()["metadata"];
    assert!(metadata["deletionTimestamp"].is_null() && metadata["finalizers"] == json!([]), "{metadata}");
}
