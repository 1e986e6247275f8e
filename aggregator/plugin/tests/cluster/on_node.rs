//! `--on-node`: what is created on the node of a pod, what becomes of its answer, and that it is always deleted.

use std::io::Read as _;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use apiserver::{Fault, LOG, Rule, Store};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::connecting::Cluster;
use crate::live::node_report;

const UID: &str = "ee7644fa-c649-4025-9178-81dc31cad0c6";
const CHECK: &[&str] = &["pod/web-0", "-n", "shop", "--on-node", "--yes"];

/// What the kubelet of node-a makes of the pod of a check.
type Kubelet = fn(&mut Value);

fn writes_its_report(pod: &mut Value) {
    let report = serde_json::to_string_pretty(&node_report("shop", "web-0", UID)).unwrap();
    ends_with(pod, &format!("looking at the node; a source is slow to answer …\n{report}\n"));
}

fn writes_nonsense(pod: &mut Value) {
    ends_with(pod, "error: there is no kubelet\n");
}

fn ends_with(pod: &mut Value, log: &str) {
    pod["metadata"]["annotations"][LOG] = json!(log);
    pod["status"] = json!({"phase": "Failed", "containerStatuses": [{"state": {"terminated": {"exitCode": 2}}}]});
}

fn is_check(pod: &Value) -> bool {
    pod["metadata"]["labels"]["app.kubernetes.io/component"] == "node-check"
}

fn checks(store: &Store) -> Vec<Value> {
    store.pods().unwrap().into_iter().filter(is_check).collect()
}

/// A cluster whose pod web-0 should be gone and whose containers have not ended; node-a is Ready and has no agent.
fn cluster() -> Cluster {
    let cluster = Cluster::start();
    let store = cluster.fake.store();
    let mut pod = store.pod("shop", "web-0").unwrap().unwrap();
    pod["metadata"]["finalizers"] = json!([]);
    pod["status"] = json!({"phase": "Running"});
    store.put_pod("shop", "web-0", &pod).unwrap();
    cluster
}

/// Runs the plugin while the kubelet does this. Returns its output and the pods that it created.
fn ask(cluster: &Cluster, arguments: &[&str], kubelet: Kubelet) -> (Output, Vec<Value>) {
    let done = Arc::new(AtomicBool::new(false));
    let (store, stop) = (cluster.fake.store().clone(), Arc::clone(&done));
    let node = std::thread::spawn(move || {
        let mut created: Vec<Value> = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            for mut pod in checks(&store) {
                if created.iter().all(|one| one["metadata"]["name"] != pod["metadata"]["name"]) {
                    created.push(pod.clone());
                    kubelet(&mut pod);
                    let name = pod["metadata"]["name"].as_str().unwrap().to_owned();
                    store.put_pod("kube-system", &name, &pod).unwrap();
                }
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        created
    });
    let answer = cluster.ask(arguments);
    done.store(true, Ordering::Relaxed);
    (answer, node.join().unwrap())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn the_check_of_a_node_is_part_of_the_answer() {
    let cluster = cluster();
    let before = text(&cluster.ask(&["pod/web-0", "-n", "shop"]).stdout);
    assert!(before.contains("kubectl why-terminating pod/web-0 -n shop --on-node"), "{before}");
    let (answer, created) = ask(&cluster, CHECK, writes_its_report);
    let said = text(&answer.stdout);
    assert!(said.contains("FuseServerNotResponding"), "{said}{}", text(&answer.stderr));
    let step = "check once more on node-a:\n              kubectl why-terminating pod/web-0 -n shop --on-node";
    assert!(said.contains(step), "{said}");
    assert_eq!(answer.status.code(), Some(2));
    assert_eq!((created.len(), checks(cluster.fake.store()).len()), (1, 0), "it is deleted");
    let spec = &created[0]["spec"];
    assert_eq!((&spec["nodeName"], &spec["hostPID"]), (&json!("node-a"), &json!(true)));
    let security = &spec["containers"][0]["securityContext"];
    assert_eq!(security["seLinuxOptions"]["type"], "spc_t", "as the DaemonSet: {security}");
    assert!(spec["volumes"].is_null() && spec["activeDeadlineSeconds"].is_u64(), "{spec:#}");
    assert_eq!(spec["containers"][0]["command"][3], json!("shop/web-0"));
}

#[test]
fn a_check_that_fails_is_deleted_too_and_its_words_are_shown() {
    let cluster = cluster();
    let (answer, created) = ask(&cluster, CHECK, writes_nonsense);
    let said = text(&answer.stderr);
    assert_eq!((answer.status.code(), created.len()), (Some(1), 1), "{said}");
    assert!(said.contains("the check on node-a failed: error: there is no kubelet"), "{said}");
    assert!(checks(cluster.fake.store()).is_empty());
}

#[test]
fn nothing_is_created_without_consent_or_where_it_cannot_run() {
    let unready = cluster();
    let store = unready.fake.store();
    let status = json!({"conditions": [{"type": "Ready", "status": "False"}]});
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-a"}, "status": status});
    store.put_node("node-a", &node).unwrap();
    for (cluster, arguments, words) in [
        (&cluster(), &["pod/web-0", "-n", "shop", "--on-node"][..], "add --yes to agree"),
        (&unready, CHECK, "node node-a is not Ready"),
        (&cluster(), &["ns/shop", "--on-node", "--yes"], "give it as pod/NAME -n NAMESPACE"),
        (&cluster(), &["pod/other", "-n", "shop", "--on-node", "--yes"], "pod shop/other is not there"),
        (&cluster(), &["pod/web-0", "-n", "shop", "--yes"], "--on-node"),
    ] {
        let (answer, created) = ask(cluster, arguments, writes_its_report);
        let said = text(&answer.stderr);
        assert_eq!((answer.status.code(), created.len()), (Some(1), 0), "{said}");
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn an_interrupted_check_is_deleted_and_a_left_one_is_named() {
    const CHECKS: &str = "/api/v1/namespaces/kube-system/pods";
    let slow = Rule::new(Fault::Slow { slow_ms: 2000 }).verb("create").path(CHECKS).times(1);
    let cluster = cluster().faults(slow);
    let store = cluster.fake.store();
    let config = cluster.write_config();
    let mut plugin = Command::new(env!("CARGO_BIN_EXE_kubectl-why_terminating"))
        .arg("--kubeconfig")
        .arg(config)
        .args(CHECK)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It creates the pod after it has looked for those that are left.
    while !store.requests().unwrap().iter().any(|one| one.path == CHECKS) {
        assert!(plugin.try_wait().unwrap().is_none(), "it has ended");
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_secs(1));
    kill(Pid::from_raw(i32::try_from(plugin.id()).unwrap()), Signal::SIGINT).unwrap();
    assert_eq!(plugin.wait().unwrap().code(), Some(1));
    let mut said = String::new();
    plugin.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    let was_created = store.requests().unwrap().iter().any(|one| one.verb == "create" && one.status == 201);
    assert!(said.contains("interrupted") && was_created && checks(store).is_empty(), "{said}");
    // As if the plugin had been killed.
    let (_, created) = ask(&cluster, CHECK, writes_its_report);
    let name = created[0]["metadata"]["name"].as_str().unwrap().to_owned();
    store.put_pod("kube-system", &name, &created[0]).unwrap();
    let (answer, _) = ask(&cluster, CHECK, writes_its_report);
    let said = text(&answer.stderr);
    assert!(said.contains(&format!("kubectl -n kube-system delete pod {name}")), "{said}");
}
