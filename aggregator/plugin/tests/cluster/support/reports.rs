//! What objects and controllers report.

use serde_json::{Value, json};

use super::World;

impl World {
    /// Adds an Event that was seen a minute ago.
    pub fn event(self, about: (&str, &str, &str), kind: &str, reason: &str, message: &str) -> World {
        let (object, namespace, name) = about;
        let seen = self.ago(60);
        // Events about cluster-scoped objects are in this namespace.
        let at = if namespace.is_empty() { "default" } else { namespace };
        self.with(json!({
            "kind": "Event", "metadata": {"name": format!("{name}.{reason}"), "namespace": at}, "type": kind,
            "reason": reason, "message": message, "lastTimestamp": seen,
            "involvedObject": {"kind": object, "namespace": namespace, "name": name}
        }))
    }

    /// AgentEventFixture what an object has in its status.
    pub fn reports(self, path: &str, name: &str, status: Value) -> World {
        self.change(path, name, |object| object["status"] = status)
    }

    /// Adds an object that lives in no namespace, is being deleted for two hours and has this finalizer.
    pub fn held_cluster_wide(self, version: &str, kind: &str, name: &str, finalizer: &str) -> World {
        let asked = self.ago(7200);
        self.with(json!({
            "apiVersion": version, "kind": kind,
            "metadata": {"name": name, "uid": name, "deletionTimestamp": asked, "finalizers": [finalizer]}
        }))
    }

    /// Lets a node be deleted for two hours, with the finalizer of Karpenter.
    pub fn terminated_by_karpenter(self, name: &str) -> World {
        let asked = self.ago(7200);
        self.change("/api/v1/nodes", name, |node| {
            node["metadata"]["deletionTimestamp"] = asked.into();
            node["metadata"]["finalizers"] = json!(["karpenter.sh/termination"]);
        })
    }
}
