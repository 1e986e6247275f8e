//! What a tenant learns of objects that the API server does not show them, whatever they name in their own: nothing. Clusters
//! that differ only in what is hidden give the same answer.

use std::time::{Duration, Instant};

use apiserver::Store;
use serde_json::{Value, json};

use crate::api::until;
use crate::cluster::{ago, still_alive, stuck_pod_of};
use crate::running::Running;

/// In the names of all that `alice`, who may get pods, has no permission to see.
const SECRET: &str = "hush";

/// Pods that lead to a program by the domain of a finalizer, and to a node.
fn tenant(store: &Store) {
    let mut held = stuck_pod_of("tenant", "held");
    held["metadata"]["finalizers"] = json!(["acme.example/hold"]);
    held["metadata"]["managedFields"] = json!([{
        "manager": "acme-operator", "operation": "Update", "apiVersion": "v1", "time": ago(4000),
        "fieldsType": "FieldsV1", "fieldsV1": {"f:metadata": {"f:finalizers": {".": {}, "v:\"acme.example/hold\"": {}}}}
    }]);
    store.put_pod("tenant", "held", &held).unwrap();
    let mut running = stuck_pod_of("tenant", "running");
    running["metadata"]["finalizers"] = json!([]);
    running["metadata"]["deletionGracePeriodSeconds"] = json!(30);
    running["spec"]["nodeName"] = json!("node-x");
    running["status"]["phase"] = json!("Running");
    store.put_pod("tenant", "running", &running).unwrap();
}

fn name(kind: &str) -> String {
    format!("{SECRET}-{kind}")
}

/// The program of the domain, with its account and its rights, and how many of its pods are ready.
fn program(store: &Store, ready: u32) {
    let (namespace, deployment, account, role) = (name("ns"), "acme-operator".to_owned(), name("sa"), name("role"));
    let meta = |name: &str| json!({"name": name, "uid": format!("uid-{name}"), "labels": {"app": "x"}});
    let mut object = json!({
        "metadata": meta(&deployment),
        "spec": {"replicas": 1, "template": {"metadata": {"labels": {"app": "x"}}, "spec": {"serviceAccountName": account}}},
        "status": {"replicas": 1, "readyReplicas": ready, "availableReplicas": ready}
    });
    object["metadata"]["namespace"] = json!(namespace);
    store.put("deployments", Some(&namespace), &deployment, &object).unwrap();
    let rules = json!([
        {"apiGroups": ["acme.example"], "resources": ["*"], "verbs": ["*"]},
        {"apiGroups": [""], "resources": ["pods", "pods/finalizers"], "verbs": ["update", "patch"]}
    ]);
    store.put("clusterroles", None, &role, &json!({"metadata": meta(&role), "rules": rules})).unwrap();
    let binding = json!({
        "metadata": meta(&name("binding")),
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "namespace": namespace, "name": account}]
    });
    store.put("clusterrolebindings", None, &name("binding"), &binding).unwrap();
}

fn node(store: &Store, status: &str) {
    let condition = json!({
        "type": "Ready", "status": status, "reason": "KubeletNotReady", "message": format!("{SECRET} words of the kubelet"),
        "lastTransitionTime": ago(3000), "lastHeartbeatTime": ago(20)
    });
    let node = json!({
        "metadata": {"name": "node-x", "uid": "uid-node-x"}, "spec": {},
        "status": {"conditions": [condition], "nodeInfo": {"operatingSystem": "linux"}}
    });
    store.put_node("node-x", &node).unwrap();
}

/// What does not come from the time.
fn timeless(mut answer: Value) -> Value {
    match &mut answer {
        Value::Object(fields) => {
            let of_time = ["at", "oldestScan", "overdue_seconds", "stuck_since", "oldest_since"];
            fields.retain(|field, _| !of_time.contains(&field.as_str()));
            fields.values_mut().for_each(|value| *value = timeless(value.take()));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = timeless(item.take())),
        _ => {}
    }
    answer
}

/// All that `alice` gets, and all that is there, once what is hidden has been judged.
fn answers(hidden: &str, prepare: impl FnOnce(&Store)) -> (Vec<Value>, String) {
    let running = Running::start_with("baseline", |store| {
        still_alive(store);
        tenant(store);
        prepare(store);
    });
    let pods = ["held", "running"].map(|name| format!("/api/v1/objects/-/Pod/tenant/{name}"));
    let is_known = |path: &String| running.get(path, "admin").0 == 200;
    until(Duration::from_secs(30), || pods.iter().all(is_known));
    until(Duration::from_secs(30), || running.get("/api/v1/stuck", "admin").1.contains(hidden));
    let paths = ["/api/v1/stuck", "/api/v1/roots", "/api/v1/nodes/node-x"].map(str::to_owned);
    let hers = paths.iter().chain(&pods).map(|path| timeless(running.json(path, "alice").1)).collect();
    (hers, running.get("/api/v1/stuck", "admin").1)
}

/// `alice` sees the pods, and not what explains them.
#[test]
fn what_is_not_explained_has_a_heading() {
    let running = Running::start_with("baseline", |store| {
        still_alive(store);
        tenant(store);
    });
    until(Duration::from_secs(30), || running.get("/page/roots", "alice").1.contains("tenant/running"));
    let (_, list) = running.get("/page/roots", "alice");
    assert!(list.contains("<h2>2 objects unknown, not explained</h2>"), "{list}");
    let (_, list) = running.get("/page/roots?q=held", "alice");
    assert!(list.contains("<h2>1 object unknown, not explained (1 of 2)</h2>"), "{list}");
}

#[test]
fn what_is_hidden_changes_no_answer() {
    let (nothing, _) = answers("", |store| node(store, "True"));
    assert!(nothing[0].to_string().contains(r#""name":"held""#), "{nothing:#?}");
    assert!(nothing[0]["seesAll"] == false && nothing[1]["seesAll"] == false, "{nothing:#?}");
    let (ready, _) = answers("", |store| {
        node(store, "True");
        program(store, 1);
    });
    let (broken, whole) = answers(&name("ns"), |store| {
        node(store, "False");
        program(store, 0);
    });
    assert!(whole.contains(&name("ns")) && whole.contains("words of the kubelet"), "nothing was hidden: {whole}");
    assert!(whole.contains(r#""seesAll":true"#), "{whole}");
    for other in [&ready, &broken] {
        assert_eq!(&nothing, other);
        assert!(!json!(other).to_string().contains(SECRET), "{other:#?}");
    }
}

/// The tag, the length and the time of an answer are of what the caller sees.
#[test]
fn no_tag_and_no_length_shows_what_is_hidden() {
    let asked = |prepare: fn(&Store), known: Option<&str>| {
        let running = Running::start_with("baseline", |store| {
            still_alive(store);
            prepare(store);
        });
        until(Duration::from_secs(30), || {
            known.is_none_or(|known| running.get("/api/v1/roots", "admin").1.contains(known))
        });
        let head = |path: &str, headers: &[(&str, &str)]| {
            let answer = running.ask(path, "bob", headers);
            let header = |name: &str| answer.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
            (answer.status().as_u16(), header("etag"), header("content-length"))
        };
        ["/api/v1/roots", "/api/v1/incidents", "/api/v1/objects/-/Pod/tenant/held", "/api/v1/nodes/node-x"].map(
            |path| {
                let plain = head(path, &[]);
                let tag = plain.1.clone().unwrap_or_default();
                (path, head(path, &[("if-none-match", &tag)]).0, plain)
            },
        )
    };
    let nothing = asked(|_| {}, None);
    assert!(matches!(&nothing[0], (_, 304, (200, Some(_), Some(_)))), "{nothing:?}");
    let full = asked(
        |store| {
            tenant(store);
            program(store, 0);
            node(store, "False");
        },
        Some("roots\":[{"),
    );
    assert_eq!(nothing, full);
}

/// Asked in turn, so that a busy machine slows both.
#[test]
fn an_answer_takes_as_long_for_what_is_hidden_as_for_what_is_absent() {
    let running = Running::start_with("baseline", |store| {
        for pod in 0..500 {
            let mut held = stuck_pod_of("tenant", &format!("p{pod}"));
            held["metadata"]["finalizers"] = json!([format!("own{pod}.example.com/hold")]);
            store.put_pod("tenant", &format!("p{pod}"), &held).unwrap();
        }
    });
    until(Duration::from_secs(60), || running.status("/api/v1/objects/-/Pod/tenant/p7", "admin") == 200);
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..41 {
        for (times, name) in times.iter_mut().zip(["p7", "absent"]) {
            let begin = Instant::now();
            assert_eq!(running.status(&format!("/api/v1/objects/-/Pod/tenant/{name}"), "bob"), 404);
            times.push(begin.elapsed());
            std::thread::sleep(Duration::from_millis(100));
        }
    }
    let [hidden, absent] = times.map(|mut times| {
        times.sort();
        times[times.len() / 2]
    });
    let (less, more) = (hidden.min(absent), hidden.max(absent));
    assert!(
        more <= less * 5 / 4 + Duration::from_millis(1),
        "{hidden:?} for what is hidden, {absent:?} for what is absent"
    );
}
