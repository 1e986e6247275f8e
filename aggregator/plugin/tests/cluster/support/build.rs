//! Objects as the API has them, with no more than what counts.

use serde_json::{Value, json};

use super::World;

/// Something is wrong with a namespace: one condition `True`, the others `False`.
pub fn failing(kind: &str, message: &str) -> Value {
    let all = [
        "NamespaceDeletionDiscoveryFailure",
        "NamespaceDeletionGroupVersionParsingFailure",
        "NamespaceDeletionContentFailure",
        "NamespaceContentRemaining",
        "NamespaceFinalizersRemaining",
    ];
    let each = all.iter().map(|name| {
        let is_it = *name == kind;
        let said = if is_it { message } else { "All content successfully removed" };
        json!({"type": name, "status": if is_it { "True" } else { "False" }, "reason": "Because", "message": said})
    });
    Value::Array(each.collect())
}

/// No condition complains.
pub fn all_false() -> Value {
    failing("", "")
}

/// An error of the namespace controller.
pub fn content_failure(error: &str) -> Value {
    failing("NamespaceDeletionContentFailure", &format!("Failed to delete all resource types, 1 remaining: {error}"))
}

/// A service account, as bindings name it.
pub fn sa(namespace: &str, name: &str) -> Value {
    json!({"kind": "ServiceAccount", "namespace": namespace, "name": name})
}

impl World {
    /// Adds a namespace that is being deleted for ten minutes.
    pub fn going(self, name: &str, conditions: Value) -> World {
        let asked = self.ago(600);
        self.with(json!({
            "kind": "Namespace",
            "metadata": {"name": name, "uid": name, "deletionTimestamp": asked, "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"finalizers": ["kubernetes"]},
            "status": {"phase": "Terminating", "conditions": conditions}
        }))
    }

    /// Adds an object that is being deleted for ten minutes and has these finalizers.
    pub fn held(self, version: &str, kind: &str, namespace: &str, name: &str, finalizers: &[&str]) -> World {
        let asked = self.ago(600);
        self.with(json!({
            "apiVersion": version, "kind": kind,
            "metadata": {
                "name": name, "namespace": namespace, "uid": format!("{kind}-{name}"), "deletionTimestamp": asked,
                "creationTimestamp": "2026-01-01T00:00:00Z", "finalizers": finalizers
            }
        }))
    }

    /// Adds a pod that is being deleted for ten minutes.
    pub fn going_pod(self, namespace: &str, name: &str, node: &str, phase: &str) -> World {
        let asked = self.ago(600);
        let state = match phase {
            "Running" => json!({"running": {}}),
            "Pending" => json!({"waiting": {"reason": "ContainerCreating"}}),
            _ => json!({"terminated": {}}),
        };
        let id = if phase == "Pending" { "" } else { "containerd://1" };
        self.with(json!({
            "kind": "Pod",
            "metadata": {
                "name": name, "namespace": namespace, "uid": name, "deletionTimestamp": asked,
                "deletionGracePeriodSeconds": 30
            },
            "spec": {"nodeName": node},
            "status": {"phase": phase, "containerStatuses": [{"name": "c", "containerID": id, "state": state}]}
        }))
    }

    /// Adds an APIService that is not available, served by a Service of namespace `addon`.
    pub fn dead_api(self, reason: &str, message: &str) -> World {
        self.with(json!({
            "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
            "metadata": {"name": "v1.gone.example.com"},
            "spec": {"group": "gone.example.com", "version": "v1", "service": {"namespace": "addon", "name": "api", "port": 443}},
            "status": {"conditions": [{"type": "Available", "status": "False", "reason": reason, "message": message}]}
        }))
    }

    /// Adds a Service; its endpoint, if it has one, is on this node.
    pub fn service(self, namespace: &str, name: &str, ready_on: Option<&str>) -> World {
        let endpoints = ready_on.map_or(
            json!([]),
            |node| json!([{"addresses": ["10.1.0.7"], "conditions": {"ready": true}, "nodeName": node}]),
        );
        self.with(json!([
            {"kind": "Service", "metadata": {"name": name, "namespace": namespace}, "spec": {"selector": {"app": name}}},
            {
                "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
                "metadata": {"name": format!("{name}-1"), "namespace": namespace, "labels": {"kubernetes.io/service-name": name}},
                "endpoints": endpoints
            }
        ]))
    }

    /// Adds a Deployment whose pods run as the account of the same name.
    pub fn deployment(self, namespace: &str, name: &str, replicas: i64, ready: i64) -> World {
        self.with(json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"replicas": replicas, "template": {
                "metadata": {"labels": {"app": name}}, "spec": {"serviceAccountName": name}
            }},
            "status": {"readyReplicas": ready}
        }))
    }

    /// Lets an account change a custom resource.
    pub fn may_change(self, namespace: &str, account: &str, group: &str, plural: &str) -> World {
        self.with(json!([
            {
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": account},
                "rules": [{"apiGroups": [group], "resources": [plural, format!("{plural}/status")], "verbs": ["get", "update"]}]
            },
            {
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": account},
                "roleRef": {"kind": "ClusterRole", "name": account},
                "subjects": [{"kind": "ServiceAccount", "namespace": namespace, "name": account}]
            }
        ]))
    }

    /// Adds a ClusterRole, and binds it to these.
    pub fn grants(self, name: &str, groups: &[&str], resources: &[&str], verbs: &[&str], subjects: Value) -> World {
        let version = "rbac.authorization.k8s.io/v1";
        self.with(json!([
            {
                "apiVersion": version, "kind": "ClusterRole", "metadata": {"name": name},
                "rules": [{"apiGroups": groups, "resources": resources, "verbs": verbs}]
            },
            {
                "apiVersion": version, "kind": "ClusterRoleBinding", "metadata": {"name": name},
                "roleRef": {"kind": "ClusterRole", "name": name}, "subjects": subjects
            }
        ]))
    }

    /// Records who set the finalizers of an object.
    pub fn set_by(self, path: &str, name: &str, manager: &str) -> World {
        self.change(path, name, |one| {
            let all = one["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
            let set = all.iter().map(|finalizer| (format!("v:{finalizer}"), json!({})));
            let set: serde_json::Map<String, Value> = set.collect();
            one["metadata"]["managedFields"] = json!([{
                "manager": manager, "operation": "Update", "time": "2026-01-01T00:00:00Z",
                "fieldsV1": {"f:metadata": {"f:finalizers": set}}
            }]);
        })
    }

    /// Adds a webhook that must agree.
    pub fn webhook(self, operation: &str, group: &str, resource: &str) -> World {
        self.with(json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "guard"},
            "webhooks": [{
                "name": "guard.example.com", "failurePolicy": "Fail",
                "clientConfig": {"service": {"namespace": "guard", "name": "guard"}},
                "rules": [{"operations": [operation], "apiGroups": [group], "apiVersions": ["*"], "resources": [resource]}]
            }]
        }))
    }

    /// The controller manager has stopped ten minutes ago.
    pub fn without_controller_manager(self) -> World {
        let then = self.ago(600);
        self.change("/apis/coordination.k8s.io/v1/leases", "kube-controller-manager", |lease| {
            lease["spec"]["renewTime"] = then.into();
        })
    }

    /// Changes what a node says of itself.
    pub fn node_ready(self, name: &str, status: &str, reason: &str, message: &str) -> World {
        let since = self.ago(900);
        self.change("/api/v1/nodes", name, |node| {
            node["status"]["conditions"] = json!([{
                "type": "Ready", "status": status, "reason": reason, "message": message,
                "lastTransitionTime": since, "lastHeartbeatTime": since
            }]);
        })
    }

    /// Adds a taint to a node.
    pub fn taint(self, name: &str, key: &str, effect: &str) -> World {
        let since = self.ago(800);
        self.change("/api/v1/nodes", name, |node| {
            let mut taints = node["spec"]["taints"].as_array().cloned().unwrap_or_default();
            taints.push(json!({"key": key, "effect": effect, "timeAdded": since}));
            node["spec"]["taints"] = taints.into();
        })
    }
}
