//! What a product installs beside its workloads.

use serde_json::{Value, json};

use super::World;

impl World {
    /// Adds a namespace that is not being deleted.
    pub fn active(self, name: &str) -> World {
        self.with(json!({"kind": "Namespace", "metadata": {"name": name, "uid": name}, "status": {"phase": "Active"}}))
    }

    /// Adds a webhook with failurePolicy Fail that a Service of the product answers: `NAMESPACE/NAME`.
    pub fn product_webhook(self, name: &str, service: &str, operations: &[&str], group: &str, plural: &str) -> World {
        let (namespace, service) = service.split_once('/').unwrap();
        self.with(json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": name},
            "webhooks": [{
                "name": format!("{name}.{group}"), "failurePolicy": "Fail",
                "clientConfig": {"service": {"namespace": namespace, "name": service}},
                "rules": [{"operations": operations, "apiGroups": [group], "apiVersions": ["*"], "resources": [plural]}]
            }]
        }))
    }

    /// Adds an APIService of a Service, `NAMESPACE/NAME`, and what the API server says of it.
    pub fn aggregated(self, group: &str, version: &str, service: &str, available: Value) -> World {
        let (namespace, service) = service.split_once('/').unwrap();
        let mut condition = available;
        condition["type"] = "Available".into();
        self.with(json!({
            "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
            "metadata": {"name": format!("{version}.{group}")},
            "spec": {"group": group, "version": version,
                "service": {"namespace": namespace, "name": service, "port": 443}},
            "status": {"conditions": [condition]}
        }))
    }

    /// Sets the status of an object.
    pub fn says(self, path: &str, name: &str, conditions: Value) -> World {
        self.change(path, name, |one| one["status"] = json!({"conditions": conditions}))
    }
}

/// The group of an aggregated API did not answer when the namespace controller asked.
pub fn stale(group_version: &str) -> Value {
    super::failing(
        "NamespaceDeletionDiscoveryFailure",
        &format!(
            "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: \
             {group_version}: stale GroupVersion discovery: {group_version}"
        ),
    )
}

/// Something remains in a namespace: `volumes.longhorn.io has 1 resource instances`.
pub fn remain(what: &str) -> Value {
    super::failing("NamespaceContentRemaining", &format!("Some resources are remaining: {what}"))
}

/// The aggregator got no answer from this address.
pub fn no_answer(address: &str, group_version: &str) -> Value {
    let url = format!("https://{address}/apis/{group_version}");
    json!({
        "status": "False", "reason": "FailedDiscoveryCheck",
        "message": format!("failing or missing response from {url}: Get \"{url}\": dial tcp {address}: i/o timeout")
    })
}
