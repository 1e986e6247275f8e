//! An agent's report, as the Event it writes.

use findings::event::{ANNOTATION, CONTROLLER, FindingAnnotation, Phase};
use findings::{PodRef, PodUid};
use serde_json::{Value, json};

use super::{World, fuse_server_not_responding, volume_held_by_process};

/// One Event in the making.
#[derive(Clone)]
pub struct AgentEventFixture {
    name: String,
    pub kind: &'static str,
    pub node_uid: String,
    /// The node as which it is written.
    pub instance: String,
    related: bool,
    /// Seconds ago that it was first seen: after the deadlines of the recorded pods.
    since: i64,
    written: i64,
    renewed: Option<i64>,
    pub carried: FindingAnnotation,
    /// In place of what is carried.
    pub annotation: Option<String>,
}

fn carried(pods: &[&str], finding: findings::Finding) -> FindingAnnotation {
    let pod = |uid: &&str| PodRef { namespace: None, name: None, uid: PodUid::parse(uid).unwrap() };
    let pods: Vec<PodRef> = pods.iter().map(pod).collect();
    FindingAnnotation::new(Phase::Holds, &finding, &pods, String::new(), String::new())
}

impl AgentEventFixture {
    fn new(pods: &[&str], finding: findings::Finding) -> AgentEventFixture {
        AgentEventFixture {
            name: "node-a.1".to_owned(),
            kind: "Warning",
            node_uid: "d9be1216-b059-46c7-a8c9-a06dce105d8b".to_owned(),
            instance: "node-a".to_owned(),
            related: true,
            since: 25,
            written: 12,
            renewed: None,
            carried: carried(pods, finding),
            annotation: None,
        }
    }

    /// A FUSE server does not answer.
    pub fn fuse(pods: &[&str]) -> AgentEventFixture {
        AgentEventFixture::new(pods, fuse_server_not_responding())
    }

    /// A process has its working directory in a volume.
    pub fn held(pods: &[&str]) -> AgentEventFixture {
        AgentEventFixture::new(pods, volume_held_by_process())
    }

    pub fn named(mut self, name: &str) -> AgentEventFixture {
        self.name = name.to_owned();
        self
    }

    pub fn of_node(mut self) -> AgentEventFixture {
        self.related = false;
        self
    }

    pub fn at(mut self, seconds_ago: i64) -> AgentEventFixture {
        self.written = seconds_ago;
        self
    }

    pub fn renewed(mut self, seconds_ago: i64) -> AgentEventFixture {
        self.renewed = Some(seconds_ago);
        self
    }

    /// The Event; `ago` says what time it was so many seconds ago.
    pub fn event(mut self, ago: impl Fn(i64) -> String) -> Value {
        self.carried.since = ago(self.since.max(self.written));
        self.carried.seen = ago(self.written);
        let annotation = self.annotation.unwrap_or_else(|| self.carried.to_json());
        let mut event = json!({
            "apiVersion": "events.k8s.io/v1", "kind": "Event",
            "metadata": {
                "name": self.name, "namespace": "default", "annotations": {ANNOTATION: annotation},
                "creationTimestamp": ago(self.written)
            },
            "eventTime": ago(self.written), "type": self.kind, "action": "TerminatePod",
            "reason": self.carried.finding.cause.event_reason, "note": "held",
            "regarding": {"apiVersion": "v1", "kind": "Node", "name": "node-a", "uid": self.node_uid},
            "reportingController": CONTROLLER, "reportingInstance": self.instance
        });
        if let Some(pod) = self.carried.pods.first().filter(|_| self.related) {
            event["related"] = json!({"apiVersion": "v1", "kind": "Pod", "uid": pod.uid});
        }
        if let Some(seconds) = self.renewed {
            event["series"] = json!({"count": 2, "lastObservedTime": ago(seconds)});
        }
        event
    }
}

impl AgentEventFixture {
    /// A forged Event: another cause, other values.
    pub fn forged(pods: &[&str], cause: &str, values: Value) -> AgentEventFixture {
        let mut says = AgentEventFixture::fuse(pods);
        let mut carried = serde_json::to_value(&says.carried).unwrap();
        carried["finding"]["cause"] = cause.into();
        carried["finding"]["values"] = values;
        says.annotation = Some(carried.to_string());
        says
    }
}

impl World {
    /// Adds the policy of `deploy/`, which is there since so many seconds.
    pub fn policy(self, seconds: i64) -> World {
        let metadata = json!({"name": "why-terminating-findings", "creationTimestamp": self.ago(seconds)});
        let version = "admissionregistration.k8s.io/v1";
        self.with(json!([
            {"apiVersion": version, "kind": "ValidatingAdmissionPolicy", "metadata": metadata,
             "spec": {"failurePolicy": "Fail", "validations": [{"expression": "false"}]}},
            {"apiVersion": version, "kind": "ValidatingAdmissionPolicyBinding", "metadata": metadata,
             "spec": {"policyName": "why-terminating-findings", "validationActions": ["Deny"]}}
        ]))
    }

    /// Adds an agent's report, where the policy keeps others from writing it.
    pub fn told(self, says: AgentEventFixture) -> World {
        let policy = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
        let is_there = self.has(policy, "why-terminating-findings");
        let world = if is_there { self } else { self.policy(86_400) };
        world.told_by_anybody(says)
    }

    /// Adds a report that an agent or another writer may have written.
    pub fn told_by_anybody(self, says: AgentEventFixture) -> World {
        let event = says.event(|seconds| self.ago(seconds));
        self.with(event)
    }

    /// Adds an agent.
    pub fn agent(self, node: &str, ready: &str) -> World {
        self.with(json!({
            "kind": "Pod",
            "metadata": {
                "name": format!("agent-{node}"), "namespace": "why-terminating",
                "labels": {"app.kubernetes.io/name": "why-terminating", "app.kubernetes.io/component": "agent"}
            },
            "spec": {"nodeName": node},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]}
        }))
    }
}
