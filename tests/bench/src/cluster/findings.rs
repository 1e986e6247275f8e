//! What agents say: of nodes where one FUSE server holds fifty pods, and of thousands where what held is gone.

use anyhow::Context as _;
use apiserver::Prepared;
use findings::event::{ANNOTATION, CONTROLLER, FindingAnnotation, Phase};
use findings::{
    CauseRef, Confidence, Entity, Evidence, Finding, Gate, Link, PodRef, PodUid, Remedy, Subject, Values, cause,
};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::crowd::{Crowd, node_name};
use super::text::{object, uid};

/// Pods that one server holds: one Event reports no more.
const PODS: usize = 50;
/// The first nodes have other troubles.
const FIRST: usize = 20;

/// Adds all of it.
pub fn stage(crowd: &Crowd, add: &mut dyn FnMut(Prepared)) -> anyhow::Result<()> {
    let leaving = crowd.pod.with(|pod| {
        pod["metadata"]["deletionTimestamp"] = crowd.ago(7160).into();
        pod["metadata"]["deletionGracePeriodSeconds"] = json!(30);
    });
    for index in 0..crowd.size.held_nodes {
        let node = node_name(FIRST + index);
        let mut uids = Vec::new();
        for pod in 0..PODS {
            // Two namespaces to a node, and some of them with pods of several nodes.
            let namespace = format!("team-{:05}", (index + pod % 2) % (crowd.size.pods / 15).max(1));
            let name = format!("media-{index}-{pod}");
            add(leaving.fill(
                &namespace,
                &name,
                &Crowd::pod_values(&node, "media", &uid("replicasets", &namespace, "media")),
            ));
            uids.push(uid("pods", &namespace, &name));
        }
        add(object("events", finding(&node, "held", &uids)?));
    }
    for index in crowd.size.held_nodes..crowd.size.findings {
        let node = node_name(index % crowd.size.nodes);
        let name = format!("gone-{index}");
        add(object("events", finding(&node, &name, &[uid("pods", "gone", &name)])?));
    }
    Ok(())
}

/// What the agent of a node writes of pods that wait for a FUSE server.
pub fn finding(node: &str, name: &str, pods: &[String]) -> anyhow::Result<Value> {
    let of = "FuseServerNotResponding";
    let cause = cause::all().find(|cause| cause.id == of).with_context(|| format!("no cause is called {of}"))?;
    let process =
        |pid: u32, comm: &str, state| Subject::new(format!("pid {pid} {comm}"), Entity::process(pid, comm, state));
    let mount = Entity::mount("/mnt/media", "0:40".to_owned(), "fuse.s3fs");
    let mut chain = vec![
        Link::new(process(22717, "import", 'D'), "D (uninterruptible) in request_wait_answer, SIGKILL pending"),
        Link::new(Subject::new("fuse mount /mnt/media (0:40, fuse.s3fs)", mount), "1 request waiting"),
        Link::new(process(22655, "s3fs", 'S'), "S (sleeping) in tcp_recvmsg"),
    ];
    if let Some(last) = chain.last_mut() {
        last.root = true;
    }
    let says = |source: &str, says: &str| Evidence { source: source.to_owned(), says: says.to_owned() };
    let finding = Finding {
        cause: CauseRef(cause),
        gate: Some(Gate::ContainersStopped),
        confidence: Confidence::Proven,
        missing: None,
        must_end_too: None,
        chain,
        evidence: vec![
            says("/proc/22717/wchan", "request_wait_answer"),
            says("/proc/22717/status", "SigPnd: 0000000000000100"),
            says("/sys/fs/fuse/connections/40/waiting", "1"),
        ],
        remedy: Remedy::fill(cause, &Values::new()),
        values: Values::new(),
        root: "fuse:0:40".to_owned(),
    };
    let pods: Vec<PodRef> =
        pods.iter().filter_map(|uid| Some(PodRef { namespace: None, name: None, uid: PodUid::parse(uid)? })).collect();
    let now = Timestamp::now();
    let ago = |seconds| now.checked_sub(SignedDuration::from_secs(seconds)).unwrap_or(now);
    let text = |at: Timestamp| at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let carried = FindingAnnotation::new(Phase::Holds, &finding, &pods, text(ago(600)), text(ago(60))).to_json();
    Ok(json!({
        "metadata": {
            "name": format!("{node}.{name}"), "namespace": "default", "annotations": {ANNOTATION: carried},
            "uid": uid("events", "default", &format!("{node}.{name}")), "creationTimestamp": text(ago(60))
        },
        "eventTime": ago(60).strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string(),
        "type": "Warning", "action": "TerminatePod", "reason": of, "note": "a process waits for a FUSE server",
        "regarding": {"apiVersion": "v1", "kind": "Node", "name": node, "uid": uid("nodes", "", node)},
        "reportingController": CONTROLLER, "reportingInstance": node
    }))
}
