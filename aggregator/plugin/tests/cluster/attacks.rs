//! What a tenant, or an API server, can do to the plugin: none of it costs more than a bounded amount of memory and time.
//!
//! The limit is the kernel's: data beyond it is refused, and the plugin would abort.

use std::process::{Command, Output};
use std::time::{Duration, Instant};

use apiserver::Store;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::served::Server;
use crate::support::*;

const MAX_KIB: u64 = 256 << 10;
/// Of a debug build, on a busy machine.
const MAX_DURATION: Duration = Duration::from_secs(30);

/// Runs it with no more memory than it may take.
fn run(command: &Command) -> Output {
    let limit = format!("ulimit -d {MAX_KIB} && exec \"$@\"");
    let mut limited = Command::new("sh");
    limited.args(["-c", &limit, "sh"]).arg(command.get_program()).args(command.get_args()).env_remove("KUBECONFIG");
    let begin = Instant::now();
    let output = limited.output().unwrap();
    assert!(begin.elapsed() <= MAX_DURATION, "{:?}", begin.elapsed());
    output
}

/// The plugin sees the pod of another tenant.
fn survives(attack: impl FnOnce(&Store)) {
    let server = Server::start("baseline");
    attack(server.store());
    put_pod(server.store(), "victim", "v", json!(["example.com/never"]), json!({}));
    let output = run(&server.plugin(&["-o", "json"]));
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{:?}: {error:.2000}", output.status);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let roots = report["roots"].as_array().unwrap();
    let holds_victim = |root: &Value| root["victims"].to_string().contains(r#""namespace":"victim""#);
    assert!(roots.iter().any(holds_victim), "{} roots, and none holds the victim", roots.len());
}

/// A pod that should be gone since the year began.
pub fn put_pod(store: &Store, namespace: &str, name: &str, finalizers: Value, more: Value) {
    let mut metadata = json!({
        "name": name, "namespace": namespace, "uid": format!("uid-of-{namespace}-{name}"), "finalizers": finalizers,
        "creationTimestamp": "2026-01-01T00:00:00Z", "deletionTimestamp": "2026-01-01T00:00:00Z",
        "deletionGracePeriodSeconds": 0
    });
    metadata.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let pod = json!({"metadata": metadata, "spec": {"containers": []}, "status": {"phase": "Succeeded"}});
    store.put_pod(namespace, name, &pod).unwrap();
}

#[test]
fn fifteen_thousand_finalizers() {
    survives(|store| {
        for pod in 0..4 {
            let all: Vec<String> = (0..15_000).map(|number| format!("tenant{number}.example.com/hold-{pod}")).collect();
            put_pod(store, "tenant", &format!("p{pod}"), json!(all), json!({}));
        }
    });
}

#[test]
fn a_hundred_long_finalizers_on_each_of_many_pods() {
    let long = "x".repeat(60);
    survives(|store| {
        for pod in 0..2000 {
            let all: Vec<String> =
                (0..100).map(|number| format!("d{number}.{long}.example.com/{long}-{pod}")).collect();
            put_pod(store, "tenant", &format!("p{pod}"), json!(all), json!({}));
        }
    });
}

#[test]
fn a_chain_of_owners() {
    survives(|store| {
        for pod in 0..1500_u32 {
            let own = json!(["foregroundDeletion", format!("own{pod}.example.com/hold")]);
            put_pod(store, "tenant", &format!("p{pod}"), own, owned_by(pod.checked_sub(1)));
        }
    });
}

/// Each is owned by the one before it, and the first by the last.
#[test]
fn a_cycle_of_owners() {
    survives(|store| {
        for pod in 0..500_u32 {
            let owner = pod.checked_sub(1).unwrap_or(499);
            put_pod(store, "tenant", &format!("p{pod}"), json!(["foregroundDeletion"]), owned_by(Some(owner)));
        }
    });
}

fn owned_by(owner: Option<u32>) -> Value {
    let reference = |owner: u32| {
        json!({
            "apiVersion": "v1", "kind": "Pod", "name": format!("p{owner}"), "uid": format!("uid-of-tenant-p{owner}"),
            "blockOwnerDeletion": true
        })
    };
    owner.map_or(json!({}), |owner| json!({"ownerReferences": [reference(owner)]}))
}

#[test]
fn many_fat_pods() {
    survives(|store| {
        for pod in 0..1200 {
            let labels = (0..600).map(|number| (format!("label-{number}"), json!("x".repeat(63))));
            let labels = json!({"labels": Value::Object(labels.collect())});
            put_pod(store, "tenant", &format!("p{pod}"), json!(["example.com/never"]), labels);
        }
    });
}

#[test]
fn forged_events_without_end() {
    let long = json!({"finding": "x".repeat(15 << 10)}).to_string();
    survives(|store| {
        for number in 0..6000 {
            let mut forged = AgentEventFixture::fuse(&[]).event(|_| "2026-11-26T00:00:00Z".to_owned());
            forged["regarding"]["name"] = json!(format!("node-{number}"));
            let name = format!("forged-{number}");
            forged["metadata"]["name"] = json!(name);
            forged["metadata"]["uid"] = json!(name);
            forged["metadata"]["annotations"][findings::event::ANNOTATION] = json!(long);
            store.put("events", Some("default"), &name, &forged).unwrap();
        }
    });
}

/// Five hundred of each kind that others than a cluster administrator may make where an operator gives them the right.
#[test]
fn hundreds_of_kinds_and_webhooks() {
    survives(|store| {
        for number in 0..500 {
            let name = format!("things{number}.example.com");
            let spec = json!({
                "group": "example.com", "scope": "Namespaced",
                "names": {"plural": format!("things{number}"), "kind": format!("Thing{number}")},
                "versions": [{"name": "v1", "served": true, "storage": true}]
            });
            let metadata = json!({"name": name, "uid": name, "creationTimestamp": "2026-01-01T00:00:00Z"});
            store.put("customresourcedefinitions", None, &name, &json!({"metadata": metadata, "spec": spec})).unwrap();
            let webhook = json!({
                "name": format!("w.{name}"), "failurePolicy": "Fail", "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                "clientConfig": {"service": {"namespace": format!("gone-{number}"), "name": "gone", "path": "/"}},
                "rules": [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}]
            });
            let object = json!({"metadata": metadata, "webhooks": [webhook]});
            store.put("validatingwebhookconfigurations", None, &name, &object).unwrap();
        }
    });
}

/// A gibibyte of spaces in a megabyte, for whatever is asked.
#[test]
fn a_gzip_bomb_from_an_api_server() {
    use std::io::{Read as _, Write as _};
    let mut bomb = GzEncoder::new(Vec::new(), Compression::best());
    let spaces = vec![b' '; 1 << 20];
    (0..1024).for_each(|_| bomb.write_all(&spaces).unwrap());
    let bomb = bomb.finish().unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, bomb) = (stream.unwrap(), bomb.clone());
            std::thread::spawn(move || {
                let _ = stream.read(&mut [0; 4096]);
                let head =
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\nconnection: close";
                let _ = write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n", bomb.len());
                let _ = stream.write_all(&bomb);
            });
        }
    });
    let kubeconfig = tempfile::NamedTempFile::new().unwrap();
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": format!("http://{address}")}}],
        "users": [{"name": "u", "user": {}}], "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]
    });
    std::fs::write(kubeconfig.path(), config.to_string()).unwrap();
    let mut plugin = Command::new(env!("CARGO_BIN_EXE_kubectl-why_terminating"));
    plugin.arg("--kubeconfig").arg(kubeconfig.path());
    let output = run(&plugin);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{:?}: {error:.2000}", output.status);
    assert!(error.contains("API server"), "{error:.2000}");
}
