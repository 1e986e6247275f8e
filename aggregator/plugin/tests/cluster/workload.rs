//! `--workload-kubeconfig`: the drain of a Machine goes on in the cluster that its node is in.

use std::process::Command;

use apiserver::{FakeApiServer, Store};
use jiff::Timestamp;

use crate::drain::{budget, cordoned, pod, shop};
use crate::support::*;

const PLUGIN: &str = env!("CARGO_BIN_EXE_kubectl-why_terminating");
const MACHINES: &str = "/apis/cluster.x-k8s.io/v1/machines";

/// A cluster on a socket, and its kubeconfig.
pub struct Served {
    _fake: FakeApiServer,
    pub dir: tempfile::TempDir,
}

pub fn serve(world: &World) -> Served {
    let dir = tempfile::tempdir().unwrap();
    let [recording, store] = ["recording", "store"].map(|name| dir.path().join(name));
    for made in [&recording, &store] {
        std::fs::create_dir(made).unwrap();
    }
    world.write(&recording);
    let store = Store::new(store).with_recording(recording);
    let lease = |seconds: i64| {
        json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": "x", "namespace": "y"},
            "spec": {"holderIdentity": "me", "leaseDurationSeconds": seconds, "renewTime": Timestamp::now().to_string()}
        })
    };
    for (namespace, name) in [("kube-system", "kube-controller-manager"), ("kube-node-lease", "node-a")] {
        let mut lease = lease(3600);
        (lease["metadata"]["namespace"], lease["metadata"]["name"]) = (namespace.into(), name.into());
        store.put("leases", Some(namespace), name, &lease).unwrap();
    }
    let fake = FakeApiServer::start(store).unwrap();
    std::fs::write(dir.path().join("kube config"), fake.kubeconfig_json().unwrap()).unwrap();
    Served { _fake: fake, dir }
}

/// The management cluster: a Machine whose drain waits.
fn management(its_node: Value) -> Served {
    let world = shop()
        .with_custom("cluster.x-k8s.io", "machines", "Machine")
        .held("cluster.x-k8s.io/v1", "Machine", "shop", "md-0", &["machine.cluster.x-k8s.io"])
        .change(MACHINES, "md-0", |one| {
            one["status"] = json!({
                "nodeRef": its_node,
                "conditions": [{
                    "type": "Deleting", "status": "True", "reason": "DrainingNode",
                    "message": "Drain not completed yet (started at 2026-11-20T20:00:00Z):\n* Pod shop/web-0: cannot evict pod as it would violate the pod's disruption budget. The disruption budget web needs 2 healthy pods and has 1 currently"
                }]
            });
        })
        .deployment("capi-system", "capi-controller-manager", 1, 1)
        .may_change("capi-system", "capi-controller-manager", "cluster.x-k8s.io", "machines");
    serve(&world)
}

/// The workload cluster: the node is cordoned, and a budget keeps its pod.
fn workload() -> Served {
    let world = cordoned(shop())
        .with(budget("web", 0, 1, 2, 3))
        .with(pod("web-0", "True", |pod| pod["spec"]["volumes"] = json!([{"name": "cache", "emptyDir": {}}])))
        .change("/api/v1/nodes", "node-a", |node| node["metadata"]["uid"] = "w".into());
    serve(&world)
}

/// What the plugin says of the Machine, as text, and with what code it ends.
fn ask(management: &Served, arguments: &[&str]) -> (String, Option<i32>) {
    let mut command = Command::new(PLUGIN);
    command.arg("--kubeconfig").arg(management.dir.path().join("kube config")).args(arguments).env_remove("KUBECONFIG");
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (String::from_utf8(text).unwrap(), output.status.code())
}

#[test]
fn the_drain_of_a_machine_goes_on_in_its_own_cluster() {
    let (management, workload) = (management(json!({"name": "node-a", "uid": "w"})), workload());
    let file = workload.dir.path().join("kube config");
    let file = file.to_str().unwrap();
    let machine = ["machine/md-0", "-n", "shop", "-o", "json"];
    let (alone, code) = ask(&management, &machine);
    assert!(code == Some(2) && !alone.contains("workload cluster"), "{alone}");
    let (text, code) = ask(&management, &[&machine[..], &["--workload-kubeconfig", file]].concat());
    let report: Value = serde_json::from_str(&text).unwrap();
    let root = &report["roots"][0];
    assert_eq!((code, &root["finding"]["cause"]), (Some(2), &json!("DrainBudgetAllowsNone")), "{text}");
    let chain = root["finding"]["chain"].as_array().unwrap();
    let subjects: Vec<&str> = chain.iter().map(|link| link["subject"].as_str().unwrap()).collect();
    assert_eq!(
        subjects,
        [
            "Machine shop/md-0",
            "Node node-a (workload cluster)",
            "1 pod on it (workload cluster)",
            "PodDisruptionBudget shop/web (workload cluster)"
        ],
        "{text}"
    );
    assert_eq!(root["victims"][0]["thing"]["name"], "md-0", "{text}");
    let steps = root["finding"]["remedy"]["steps"].as_array().unwrap();
    let commands: Vec<&str> = steps.iter().filter_map(|step| step["command"].as_str()).collect();
    let flag = format!("--kubeconfig '{file}' ");
    assert!(
        commands.iter().any(|command| command.contains("describe poddisruptionbudget web -n shop")),
        "{commands:?}"
    );
    assert!(commands.iter().all(|command| command.contains(&flag)), "{commands:?}");
    // What this cluster shows stays beside it.
    assert!(!root["also"].as_array().unwrap().is_empty(), "{text}");
    let (tree, _) = ask(&management, &["machine/md-0", "-n", "shop", "--workload-kubeconfig", file]);
    assert!(tree.contains("ROOT CAUSE DrainBudgetAllowsNone") && tree.contains("Machine shop/md-0"), "{tree}");
    // Of all that is stuck as well.
    let (screen, _) = ask(&management, &["-A", "--workload-kubeconfig", file]);
    assert!(screen.contains("DrainBudgetAllowsNone"), "{screen}");
}

#[test]
fn a_node_of_another_cluster_is_not_taken_for_the_machines() {
    let (management, workload) = (management(json!({"name": "node-a", "uid": "other"})), workload());
    let file = workload.dir.path().join("kube config");
    let file = file.to_str().unwrap();
    let (text, code) = ask(&management, &["machine/md-0", "-n", "shop", "--workload-kubeconfig", file]);
    assert!(code == Some(2) && text.contains("another one than its node"), "{text}");
    assert!(!text.contains("DrainBudgetAllowsNone"), "{text}");
    let nowhere = management.dir.path().join("nowhere");
    let arguments = ["machine/md-0", "-n", "shop", "--workload-kubeconfig", nowhere.to_str().unwrap()];
    let (text, code) = ask(&management, &arguments);
    assert!(code == Some(1) && text.contains("the workload cluster: cannot read the kubeconfig"), "{text}");
    let (text, code) = ask(&management, &["node/node-a", "--workload-kubeconfig", file]);
    assert!(code != Some(1) && text.contains("No Machine of this answer"), "{text}");
}
