//! A finding as an `events.k8s.io/v1` Event, ready for server-side apply.

use findings::PodRef;
use findings::event::{ACTION, ANNOTATION, CONTROLLER, EventName, FindingAnnotation, NAMESPACE};
use serde::{Deserialize, Serialize};
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
    /// Warning while the finding holds, Normal when it has ended.
    pub warning: bool,
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
    pub annotation: FindingAnnotation,
}

/// What says who speaks of whom. None of it can be changed once the Event stands, and unlike the note and
/// the time an agent would always say the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Identity {
    /// `Warning` or `Normal`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The cause's.
    pub reason: String,
    pub action: String,
    pub reporting_controller: String,
    /// At most 128 characters; the node's name, not the agent's pod's, so that a restarted agent goes on.
    pub reporting_instance: String,
    /// The Node.
    pub regarding: Reference,
    /// The pod, when it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub related: Option<Reference>,
}

/// An `ObjectReference`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Reference {
    pub api_version: String,
    pub kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field_path: Option<String>,
}

impl Identity {
    /// As the agent of this node writes it.
    pub fn new(of: &NodeRef, warning: bool, reason: &str, related: Option<&PodRef>) -> Self {
        let reference =
            |kind: &str| Reference { api_version: "v1".to_owned(), kind: kind.to_owned(), ..Reference::default() };
        Identity {
            kind: if warning { "Warning" } else { "Normal" }.to_owned(),
            reason: reason.to_owned(),
            action: ACTION.to_owned(),
            reporting_controller: CONTROLLER.to_owned(),
            reporting_instance: of.node.chars().take(128).collect(),
            regarding: Reference { name: Some(of.node.clone()), uid: Some(of.uid.clone()), ..reference("Node") },
            related: related.map(|pod| {
                let (namespace, name) = pod.namespace.clone().zip(pod.name.clone()).unzip();
                Reference { namespace, name, uid: Some(pod.uid.to_string()), ..reference("Pod") }
            }),
        }
    }
}

impl Draft {
    /// Who speaks of whom.
    pub fn identity(&self) -> Identity {
        Identity::new(&self.of, self.warning, &self.reason, self.related.as_ref())
    }

    /// The object, whole: with server-side apply what is left out would be removed.
    pub fn to_json(&self) -> Value {
        let mut event = json!(self.identity());
        event["apiVersion"] = json!("events.k8s.io/v1");
        event["kind"] = json!("Event");
        event["metadata"] = json!({
            "name": self.name.as_str(),
            "namespace": NAMESPACE,
            "annotations": {ANNOTATION: self.annotation.to_json()},
        });
        event["eventTime"] = json!(self.event_time);
        event["note"] = json!(self.note);
        if let Some((count, last)) = &self.series {
            event["series"] = json!({"count": count, "lastObservedTime": last});
        }
        event
    }
}
