//! A finding as an `events.k8s.io/v1` Event, ready for server-side apply.

use findings::{
    PodRef,
    event::{ACTION, ANNOTATION, CONTROLLER, Carried, EventName, NAMESPACE},
};
use serde_json::{Value, json};

/// Whose Events: the node's name and uid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRef {
    /// `metadata.name` of the Node.
    pub node: String,
    /// `metadata.uid` of the Node.
    pub uid: String,
}

/// An Event that is to be written.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// `metadata.name`.
    pub name: EventName,
    /// The Node it regards.
    pub of: NodeRef,
    /// Warning while it holds, Normal when it is over.
    pub warning: bool,
    /// `reason`.
    pub reason: String,
    /// `note`, which cannot be changed once it is written.
    pub note: String,
    /// The pod, when it is about one.
    pub related: Option<PodRef>,
    /// `eventTime`.
    pub event_time: String,
    /// `series.count` and `series.lastObservedTime`, from the second time on.
    pub series: Option<(i32, String)>,
    /// What stands in the annotation.
    pub carried: Carried,
}

impl Draft {
    /// The object, whole: with server-side apply what is left out would be removed.
    pub fn to_json(&self) -> Value {
        let mut event = json!({
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {
                "name": self.name.as_str(),
                "namespace": NAMESPACE,
                "annotations": {ANNOTATION: self.carried.to_annotation()},
            },
            "eventTime": self.event_time,
            "type": if self.warning { "Warning" } else { "Normal" },
            "reason": self.reason,
            "action": ACTION,
            "note": self.note,
            "regarding": {"apiVersion": "v1", "kind": "Node", "name": self.of.node, "uid": self.of.uid},
            "reportingController": CONTROLLER,
            // At most 128 characters; the node's name, not the agent's pod's, so that a restarted
            // agent goes on.
            "reportingInstance": self.of.node.chars().take(128).collect::<String>(),
        });
        if let Some(pod) = &self.related {
            event["related"] = json!({"apiVersion": "v1", "kind": "Pod", "uid": pod.uid});
            if let (Some(namespace), Some(name)) = (&pod.namespace, &pod.name) {
                event["related"]["namespace"] = json!(namespace);
                event["related"]["name"] = json!(name);
            }
        }
        if let Some((count, last)) = &self.series {
            event["series"] = json!({"count": count, "lastObservedTime": last});
        }
        event
    }
}
