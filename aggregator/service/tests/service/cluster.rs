//! Objects that are stuck, and what agents say of them.

use apiserver::Store;
use findings::event::{ANNOTATION, CONTROLLER, FindingAnnotation, Phase};
use findings::{
    CauseRef, Confidence, Entity, Evidence, Finding, Gate, Link, PodRef, PodUid, Remedy, Subject, Values, cause,
};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

/// The time so many seconds ago.
pub fn ago(seconds: i64) -> String {
    let at = Timestamp::now().checked_sub(SignedDuration::from_secs(seconds)).unwrap();
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The metadata of what was asked to go an hour ago.
pub fn going(name: &str) -> Value {
    json!({
        "name": name, "uid": format!("uid-of-{name}"), "creationTimestamp": "2026-01-01T00:00:00Z",
        "deletionTimestamp": ago(3600), "deletionGracePeriodSeconds": 0
    })
}

/// A pod that a finalizer has held for an hour.
pub fn stuck_pod(store: &Store, namespace: &str, name: &str) {
    store.put_pod(namespace, name, &stuck_pod_of(namespace, name)).unwrap();
}

/// The same, not put anywhere.
pub fn stuck_pod_of(namespace: &str, name: &str) -> Value {
    let mut pod = json!({"metadata": going(name), "spec": {"containers": []}, "status": {"phase": "Succeeded"}});
    pod["metadata"]["uid"] = json!(format!("uid-of-{namespace}-{name}"));
    pod["metadata"]["namespace"] = json!(namespace);
    pod["metadata"]["finalizers"] = json!(["example.com/never"]);
    pod
}

/// A namespace that such a pod holds. The condition ends with these words.
pub fn stuck_namespace(store: &Store, namespace: &str, pod: &str, words: &str) {
    stuck_pod(store, namespace, pod);
    let conditions = json!([{
        "type": "NamespaceContentRemaining", "status": "True", "reason": "SomeResourcesRemain",
        "lastTransitionTime": ago(3600),
        "message": format!("Some resources are remaining: pods. has 1 resource instances{words}")
    }]);
    let object = json!({
        "metadata": going(namespace), "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Terminating", "conditions": conditions}
    });
    store.put_namespace(namespace, &object).unwrap();
}

/// As if the kubelet and the controller manager of a recording were still there.
pub fn still_alive(store: &Store) {
    for (namespace, name) in [("kube-node-lease", "node-a"), ("kube-system", "kube-controller-manager")] {
        let spec = json!({
            "holderIdentity": format!("{name}_1"), "leaseDurationSeconds": 40, "renewTime": ago(-600).replace('Z', ".000000Z")
        });
        let lease = json!({"metadata": {"name": name, "uid": format!("lease-{name}")}, "spec": spec});
        store.put("leases", Some(namespace), name, &lease).unwrap();
    }
}

/// The agent of `node-a` says that a process of this name holds the pod of the recording `dstate-fuse`.
pub fn fuse_server(comm: &str) -> Value {
    let of = "FuseServerNotResponding";
    let cause = cause::all().find(|cause| cause.id == of).unwrap();
    let process = |pid: u32, state| Subject::new(format!("pid {pid} {comm}"), Entity::process(pid, comm, state));
    let mount = Entity::mount("/mnt/media", "0:40".to_owned(), "fuse.s3fs");
    let mut chain = vec![
        Link::new(process(22717, 'D'), "D (uninterruptible) in request_wait_answer, SIGKILL pending"),
        Link::new(Subject::new("fuse mount /mnt/media (0:40, fuse.s3fs)", mount), "1 request waiting"),
        Link::new(process(22655, 'S'), "S (sleeping) in tcp_recvmsg"),
    ];
    chain[2].root = true;
    let finding = Finding {
        cause: CauseRef(cause),
        gate: Some(Gate::ContainersStopped),
        confidence: Confidence::Proven,
        missing: None,
        must_end_too: None,
        chain,
        evidence: vec![Evidence { source: "/proc/22717/wchan".to_owned(), says: "request_wait_answer".to_owned() }],
        remedy: Remedy::fill(cause, &Values::new()),
        values: Values::new(),
        root: "fuse:0:40".to_owned(),
    };
    let uid = PodUid::parse("ee7644fa-c649-4025-9178-81dc31cad0c6").unwrap();
    let pods = [PodRef { namespace: None, name: None, uid }];
    event("node-a", &FindingAnnotation::new(Phase::Holds, &finding, &pods, ago(600), ago(12)).to_json())
}

/// What the agent of a node writes, with this annotation.
pub fn event(node: &str, annotation: &str) -> Value {
    json!({
        "apiVersion": "events.k8s.io/v1", "kind": "Event",
        "metadata": {
            "name": format!("{node}.1"), "namespace": "default", "annotations": {ANNOTATION: annotation},
            "creationTimestamp": ago(12)
        },
        "eventTime": ago(12), "type": "Warning", "action": "TerminatePod", "reason": "Held", "note": "held",
        "regarding": {
            "apiVersion": "v1", "kind": "Node", "name": node, "uid": "d9be1216-b059-46c7-a8c9-a06dce105d8b"
        },
        "reportingController": CONTROLLER, "reportingInstance": node
    })
}

/// The chart's policy that keeps others from writing in the name of an agent.
pub fn findings_policy(store: &Store) {
    let metadata = json!({"name": "why-terminating-findings", "creationTimestamp": "2026-01-01T00:00:00Z"});
    let policy = json!({"failurePolicy": "Fail", "validations": [{"expression": "false"}]});
    let binding = json!({"policyName": "why-terminating-findings", "validationActions": ["Deny"]});
    for (plural, spec) in [("validatingadmissionpolicies", policy), ("validatingadmissionpolicybindings", binding)] {
        let object = json!({"metadata": metadata, "spec": spec});
        store.put(plural, None, "why-terminating-findings", &object).unwrap();
    }
}
