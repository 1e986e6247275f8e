//! What a tenant can do who may only make and delete pods in one namespace: none of it costs the service more than a bounded
//! amount of memory and time, and none of it hides what is stuck in another namespace.
//!
//! [`Process`] itself fails the test when the service takes more memory than it ever may.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use apiserver::Store;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpSocket;

use crate::api::Api;
use crate::cluster::{event, stuck_pod, stuck_pod_of};
use crate::process::Process;

/// The answer for everything that is stuck, compressed or not, is no longer.
const MAX_ANSWER_BYTES: usize = 8 << 20;
/// Until the service is ready and has answered. A debug build, on a busy machine.
const MAX_DURATION: Duration = Duration::from_secs(60);
/// The API server of these tests takes seconds for so many bytes.
const PATIENT: &[&str] = &["--request-timeout", "20"];

/// More than without an attack, in MiB.
const MAX_MORE_MIB: u64 = 64;

/// The chart's limit.
const CHART_LIMIT_MIB: u64 = 192;

/// One attack at a time: what it costs is measured.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the service takes where only the pod of the other tenant is stuck, in MiB.
fn normal_mib() -> u64 {
    static NORMAL: OnceLock<u64> = OnceLock::new();
    *NORMAL.get_or_init(|| {
        let api = Api::start("baseline", |store| stuck_pod(store, "victim", "v"));
        let process = Process::start(&api, &[]);
        process.until_ready();
        assert_eq!(process.status("/api/v1/stuck", "admin"), 200);
        process.peak()
    })
}

/// The same with what the kernel keeps for it.
fn normal_of_group_mib() -> u64 {
    let api = Api::start("baseline", |store| stuck_pod(store, "victim", "v"));
    let process = Process::limited(CHART_LIMIT_MIB, &api, &[]);
    process.until_ready();
    assert_eq!(process.status("/api/v1/stuck", "admin"), 200);
    process.group_peak()
}

/// Makes the attack, and sees the pod of another tenant in the first answer.
fn survives(attack: impl FnOnce(&Store)) {
    let _alone = alone();
    let api = Api::start("baseline", |store| {
        attack(store);
        stuck_pod(store, "victim", "v");
    });
    let begin = Instant::now();
    let process = Process::start(&api, PATIENT);
    process.until_ready();
    let (status, body) = process.get("/api/v1/stuck", "admin");
    assert_eq!(status, 200, "{body:.300}");
    assert!(body.len() <= MAX_ANSWER_BYTES, "{} bytes", body.len());
    let report: Value = serde_json::from_str(&body).unwrap();
    let roots = report["roots"].as_array().unwrap();
    let holds_victim = |root: &Value| root["victims"].to_string().contains(r#""namespace":"victim""#);
    assert!(roots.iter().any(holds_victim), "{} roots, and none holds the victim", roots.len());
    assert!(begin.elapsed() <= MAX_DURATION, "{:?}", begin.elapsed());
    let (peak, normal) = (process.peak(), normal_mib());
    eprintln!("{peak} MiB, {normal} without the attack, {:?}", begin.elapsed());
    assert!(peak <= normal + MAX_MORE_MIB, "{peak} MiB, {normal} without the attack");
}

/// A pod of the tenant with these finalizers.
fn pod_with(store: &Store, name: &str, finalizers: Vec<String>) {
    let mut pod = stuck_pod_of("tenant", name);
    pod["metadata"]["finalizers"] = json!(finalizers);
    store.put_pod("tenant", name, &pod).unwrap();
}

#[test]
fn fifteen_thousand_finalizers() {
    survives(|store| {
        for pod in 0..4 {
            let finalizers = (0..15_000).map(|number| format!("tenant{number}.example.com/hold-{pod}")).collect();
            pod_with(store, &format!("p{pod}"), finalizers);
        }
    });
}

#[test]
fn a_hundred_long_finalizers_on_each_of_many_pods() {
    survives(|store| {
        for pod in 0..2000 {
            let long = "x".repeat(60);
            let finalizers = (0..100).map(|number| format!("d{number}.{long}.example.com/{long}-{pod}")).collect();
            pod_with(store, &format!("p{pod}"), finalizers);
        }
    });
}

#[test]
fn a_chain_of_owners() {
    survives(|store| {
        (0..1500).for_each(|pod| put_owned_pod(store, pod));
    });
}

/// Owned by the one before it.
fn put_owned_pod(store: &Store, number: u32) {
    put_pod_owned_by(store, number, number.checked_sub(1));
}

fn put_pod_owned_by(store: &Store, number: u32, owner: Option<u32>) {
    let name = format!("owned-{number}");
    let mut object = stuck_pod_of("tenant", &name);
    object["metadata"]["finalizers"] = json!(["foregroundDeletion", format!("own{number}.example.com/hold")]);
    if let Some(owner) = owner {
        object["metadata"]["ownerReferences"] = json!([{
            "apiVersion": "v1", "kind": "Pod", "name": format!("owned-{owner}"),
            "uid": format!("uid-of-tenant-owned-{owner}"), "blockOwnerDeletion": true
        }]);
    }
    store.put_pod("tenant", &name, &object).unwrap();
}

/// Each is owned by the one before it, and the first by the last.
#[test]
fn a_cycle_of_owners() {
    survives(|store| {
        (0..500).for_each(|pod| put_pod_owned_by(store, pod, pod.checked_sub(1).or(Some(499))));
    });
}

/// Who set each finalizer is a question of its own, and there are more of them than are asked in ten minutes.
#[test]
fn a_question_for_each_of_many_pods() {
    survives(|store| {
        for number in 0..3000 {
            let finalizer = format!("h{number}.example.org/hold");
            let mut pod = stuck_pod_of("tenant", &format!("m{number}"));
            pod["metadata"]["finalizers"] = json!([finalizer]);
            pod["metadata"]["managedFields"] = json!([{
                "manager": format!("manager-{number}"), "operation": "Update", "apiVersion": "v1",
                "time": "2026-01-01T00:00:00Z", "fieldsType": "FieldsV1",
                "fieldsV1": {"f:metadata": {"f:finalizers": {".": {}, format!("v:\"{finalizer}\""): {}}}}
            }]);
            store.put_pod("tenant", &format!("m{number}"), &pod).unwrap();
        }
    });
}

/// Five hundred of each kind that others than a cluster administrator may make where an operator gives them the right.
#[test]
fn hundreds_of_kinds_and_webhooks() {
    survives(|store| (0..500).for_each(|number| put_kind_and_webhook(store, number)));
}

fn put_kind_and_webhook(store: &Store, number: u32) {
    let name = format!("things{number}.example.com");
    let metadata = json!({"name": name, "uid": name, "creationTimestamp": "2026-01-01T00:00:00Z"});
    let spec = json!({
        "group": "example.com", "scope": "Namespaced",
        "names": {"plural": format!("things{number}"), "kind": format!("Thing{number}")},
        "versions": [{"name": "v1", "served": true, "storage": true}]
    });
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

/// Each asks for all there is and reads nothing. Another user is answered. All of it, with what the kernel keeps of the
/// connections, is in the memory that is more than without an attack.
#[test]
fn answers_that_nobody_reads() {
    let _alone = alone();
    let api = Api::start("baseline", |store| {
        for pod in 0..2000 {
            let long = "x".repeat(60);
            let finalizers = (0..20).map(|number| format!("d{number}.{long}.example.com/{long}-{pod}")).collect();
            pod_with(store, &format!("p{pod}"), finalizers);
        }
    });
    let limit = normal_of_group_mib() + MAX_MORE_MIB;
    let mut process = Process::limited(limit, &api, PATIENT);
    process.until_ready();
    let whole = process.get("/api/v1/stuck", "admin").1;
    assert!(whole.len() > 1 << 20, "{} bytes", whole.len());
    eprintln!("{} bytes, {} MiB before", whole.len(), process.group_peak());
    drop(whole);
    let unread = process.ask_together((0..60).map(|_| ("/api/v1/stuck", "admin".to_owned())));
    let is = |status: u16| unread.iter().filter(|answer| answer.status() == status).count();
    eprintln!("{} answered, {} refused, {} MiB of {limit}", is(200), is(503), process.group_peak());
    assert!(is(200) > 0 && is(503) > 0, "{} answered, {} refused", is(200), is(503));
    assert_eq!(process.status("/api/v1/stuck", "alice"), 200);
    assert_eq!(process.status("/healthz", ""), 200);
    assert!(process.is_running() && process.group_peak() <= limit, "{} MiB of {limit}", process.group_peak());
}

/// Else the kernel would keep it for minutes after the connection is closed.
#[test]
fn what_nobody_takes_goes_with_its_connection() {
    let api = Api::start("baseline", |_| {});
    let process = Process::start(&api, &[]);
    let read_after = |pause: Duration| {
        process.runtime.block_on(async {
            let socket = TcpSocket::new_v4().unwrap();
            socket.set_recv_buffer_size(4096).unwrap();
            let mut stream = process.connect_over(socket.connect(process.address).await.unwrap()).await.unwrap();
            let request = b"GET /api/v1/causes HTTP/1.1\r\nhost: service\r\nconnection: close\r\n\r\n";
            stream.write_all(request).await.unwrap();
            tokio::time::sleep(pause).await;
            let mut body = Vec::new();
            stream.read_to_end(&mut body).await.map(|_| body.len())
        })
    };
    let whole = process.get("/api/v1/causes", "").1.len();
    assert!(read_after(Duration::from_secs(1)).unwrap() > whole);
    let late = read_after(Duration::from_secs(18));
    assert!(late.as_ref().map_or(true, |read| *read < whole), "{late:?} of {whole}");
}

/// All of it is of what the service keeps of a pod.
#[test]
fn many_fat_pods() {
    survives(|store| {
        (0..1200).for_each(|pod| put_fat_pod(store, pod));
    });
}

fn put_fat_pod(store: &Store, number: u32) {
    let name = format!("fat-{number}");
    let mut object = stuck_pod_of("tenant", &name);
    let labels = (0..600).map(|number| (format!("label-{number}"), json!("x".repeat(63))));
    object["metadata"]["labels"] = Value::Object(labels.collect());
    store.put_pod("tenant", &name, &object).unwrap();
}

/// What the service drops of them is what makes each page of the list too long.
#[test]
fn pods_of_which_no_page_can_be_read() {
    survives(|store| {
        let long = "x".repeat(300 << 10);
        for pod in 0..300 {
            let name = format!("p{pod}");
            let mut object = stuck_pod_of("tenant", &name);
            object["metadata"]["annotations"] = json!({"example.com/long": long});
            store.put_pod("tenant", &name, &object).unwrap();
        }
    });
}

#[test]
fn forged_events_without_end() {
    survives(|store| {
        let long = json!({"finding": "x".repeat(15 << 10)}).to_string();
        for number in 0..6000 {
            put_forged_event(store, number, &long);
        }
    });
}

fn put_forged_event(store: &Store, number: usize, finding: &str) {
    let name = format!("forged-{number}");
    let mut forged = event(&format!("node-{number}"), finding);
    forged["metadata"]["name"] = json!(name);
    forged["metadata"]["uid"] = json!(name);
    store.put("events", Some("default"), &name, &forged).unwrap();
}

/// Half of each, at the same time.
#[test]
fn several_attacks_at_once() {
    survives(|store| {
        let long = "x".repeat(60);
        for pod in 0..2 {
            let finalizers = (0..15_000).map(|number| format!("tenant{number}.example.com/hold-{pod}")).collect();
            pod_with(store, &format!("many-{pod}"), finalizers);
        }
        for pod in 0..1000 {
            let finalizers = (0..100).map(|number| format!("d{number}.{long}.example.com/{long}-{pod}")).collect();
            pod_with(store, &format!("long-{pod}"), finalizers);
        }
        (0..700).for_each(|pod| put_owned_pod(store, pod));
        (0..600).for_each(|pod| put_fat_pod(store, pod));
        let finding = json!({"finding": "x".repeat(15 << 10)}).to_string();
        for number in 0..3000 {
            put_forged_event(store, number, &finding);
        }
    });
}
