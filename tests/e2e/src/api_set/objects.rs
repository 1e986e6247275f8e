//! What situations are made of.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context as _;
use axum::Router;
use base64::prelude::{BASE64_STANDARD, Engine as _};
use lab::process::signal;
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::server::Server;

/// Creates all of them at once.
pub fn create(all: &[Value]) -> anyhow::Result<()> {
    let mut child = Command::new("kubectl")
        .args(["create", "-f", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let list = json!({"apiVersion": "v1", "kind": "List", "items": all});
    child.stdin.take().context("no standard input")?.write_all(list.to_string().as_bytes())?;
    let output = child.wait_with_output()?;
    anyhow::ensure!(output.status.success(), "kubectl create: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// Runs a line of kubectl.
pub fn kubectl(line: &str) -> anyhow::Result<String> {
    let output = Command::new("kubectl").args(line.split(' ')).output()?;
    anyhow::ensure!(output.status.success(), "kubectl {line}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

/// Writes this status of TYPE NAME, as its controller or kubelet would.
pub fn set_status(what: &str, status: &Value) -> anyhow::Result<()> {
    let patch = json!({"status": status}).to_string();
    let mut args: Vec<&str> = what.split(' ').collect();
    args.extend(["--subresource=status", "--type=merge", "-p", &patch]);
    let output = Command::new("kubectl").arg("patch").args(args).output()?;
    anyhow::ensure!(output.status.success(), "status of {what}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// A pod of this node.
pub fn pod(namespace: &str, name: &str, node: &str, annotations: &Value) -> Value {
    let mut pod = held("v1", "Pod", namespace, name, &[]);
    pod["metadata"]["annotations"] = annotations.clone();
    let containers = json!([{"name": "main", "image": "registry.invalid/none"}]);
    pod["spec"] = json!({"nodeName": node, "terminationGracePeriodSeconds": 1, "containers": containers});
    pod
}

/// A Warning of this reason about an object, as its controller or kubelet writes it.
pub fn warning(about: &Value, uid: &str, reason: &str, message: &str) -> anyhow::Result<Value> {
    let meta = &about["metadata"];
    let namespace = meta["namespace"].as_str().unwrap_or("default");
    let now = crate::api_set::nodes::now()?;
    Ok(json!({
        "apiVersion": "v1", "kind": "Event", "type": "Warning", "reason": reason, "message": message,
        "metadata": {"name": format!("{}.{}", meta["name"].as_str().unwrap_or_default(), reason.to_lowercase()), "namespace": namespace},
        "involvedObject": {
            "apiVersion": about["apiVersion"], "kind": about["kind"], "name": meta["name"], "namespace": meta["namespace"],
            "uid": uid
        },
        "source": {"component": "kubelet"}, "count": 3, "firstTimestamp": now, "lastTimestamp": now
    }))
}

/// The uid of TYPE NAME.
pub fn uid(what: &str) -> anyhow::Result<String> {
    kubectl(&format!("get {what} -o jsonpath={{.metadata.uid}}"))
}

/// Asks for its deletion: TYPE NAME and flags.
pub fn delete(what: &str) -> anyhow::Result<()> {
    kubectl(&format!("delete --wait=false {what}")).map(drop)
}

/// A namespace that carries its name as a label.
pub fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"e2e": name}}})
}

/// Selects that namespace only.
pub fn only(namespace: &str) -> Value {
    json!({"matchLabels": {"e2e": namespace}})
}

/// An object of this kind with these finalizers.
pub fn held(version: &str, kind: &str, namespace: &str, name: &str, finalizers: &[&str]) -> Value {
    json!({
        "apiVersion": version, "kind": kind,
        "metadata": {"name": name, "namespace": namespace, "finalizers": finalizers}
    })
}

/// Beside what `object` has.
pub fn with(mut object: Value, field: &str, value: Value) -> Value {
    object[field] = value;
    object
}

/// The definition of a kind, made and served.
pub fn define(name: &str, kind: &str, scope: &str) -> anyhow::Result<()> {
    create(&[definition(name, kind, scope)])?;
    kubectl(&format!("wait --for=condition=Established crd/{name} --timeout=30s")).map(drop)
}

fn definition(name: &str, kind: &str, scope: &str) -> Value {
    let (plural, group) = name.split_once('.').unwrap_or((name, ""));
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": name, "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"}},
        "spec": {
            "group": group, "scope": scope,
            "names": {"plural": plural, "singular": kind.to_lowercase(), "kind": kind},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}
            }]
        }
    })
}

/// A Deployment of one pod, which has this account if there is one of its name.
pub fn deployment(namespace: &str, name: &str, pod: &Value) -> Value {
    // Other nodes fall silent.
    let mut spec = json!({
        "nodeSelector": {"kubernetes.io/hostname": "node-a"},
        "containers": [{"name": "main", "image": "registry.invalid/none"}]
    });
    if let (Some(spec), Some(pod)) = (spec.as_object_mut(), pod["spec"].as_object()) {
        spec.extend(pod.clone());
    }
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "replicas": 1, "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}, "annotations": pod["annotations"]}, "spec": spec
            }
        }
    })
}

/// A server with its namespace, Deployment and Service, all of one name, that is called at NAME.NAME.svc:443.
pub struct Backend {
    name: String,
    server: Server,
}

impl Backend {
    /// Serves until it is dropped.
    pub fn start(name: &str, app: Router) -> anyhow::Result<Self> {
        let server = Server::start(&format!("{name}.{name}.svc"), app)?;
        let backend = Self { name: name.to_owned(), server };
        create(&[namespace(name), deployment(name, name, &json!({})), backend.service()])?;
        kubectl(&format!("-n {name} rollout status deployment {name} --timeout=60s"))?;
        Ok(backend)
    }

    /// Its Service.
    pub fn service(&self) -> Value {
        let Self { name, server } = self;
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": name},
            "spec": {"selector": {"app": name}, "ports": [{"port": 443, "targetPort": server.port}]}
        })
    }

    /// Its certificate, as a caBundle.
    pub fn bundle(&self) -> String {
        BASE64_STANDARD.encode(&self.server.certificate)
    }

    /// Where a webhook finds it.
    pub fn client_config(&self) -> Value {
        json!({
            "service": {"namespace": self.name, "name": self.name, "path": "/v", "port": 443}, "caBundle": self.bundle()
        })
    }
}

/// A webhook that is called for these requests of one namespace.
pub fn webhook(name: &str, namespace: &str, policy: &str, client: &Value, operation: &str, resource: &str) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [{
            "name": format!("{name}.e2e.example.com"), "clientConfig": client, "failurePolicy": policy,
            "sideEffects": "None", "timeoutSeconds": 30, "admissionReviewVersions": ["v1"],
            "namespaceSelector": only(namespace),
            "rules": [{
                "apiGroups": ["*"], "apiVersions": ["*"], "operations": [operation], "resources": [resource]
            }]
        }]
    })
}

/// A policy about these requests of one namespace, and its binding.
pub fn policy(name: &str, namespace: &str, operation: &str, resource: &str, expression: &str) -> [Value; 2] {
    let version = "admissionregistration.k8s.io/v1";
    [
        json!({
            "apiVersion": version, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name},
            "spec": {
                "failurePolicy": "Fail", "validations": [{"expression": expression}],
                "matchConstraints": {"resourceRules": [{
                    "apiGroups": ["*"], "apiVersions": ["*"], "operations": [operation], "resources": [resource]
                }]}
            }
        }),
        json!({
            "apiVersion": version, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": name},
            "spec": {
                "policyName": name, "validationActions": ["Deny"],
                "matchResources": {"namespaceSelector": only(namespace)}
            }
        }),
    ]
}

/// An APIService of group GROUP, served by that Service.
pub fn api_service(group: &str, service: &str, bundle: Option<&str>) -> Value {
    let mut spec = json!({
        "group": group, "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 10,
        "service": {"namespace": service, "name": service, "port": 443}
    });
    match bundle {
        Some(bundle) => spec["caBundle"] = json!(bundle),
        None => spec["insecureSkipTLSVerify"] = json!(true),
    }
    json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": {"name": format!("v1.{group}")}, "spec": spec
    })
}

/// An account that may do everything with a kind.
pub fn operator_rights(namespace: &str, account: &str, group: &str) -> [Value; 3] {
    let rbac = "rbac.authorization.k8s.io";
    [
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": account, "namespace": namespace}}),
        json!({
            "apiVersion": format!("{rbac}/v1"), "kind": "ClusterRole", "metadata": {"name": account},
            "rules": [{"apiGroups": [group], "resources": ["*"], "verbs": ["*"]}]
        }),
        json!({
            "apiVersion": format!("{rbac}/v1"), "kind": "ClusterRoleBinding", "metadata": {"name": account},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": account}
        }),
    ]
}

/// Writes to etcd past the API server; an empty value removes the key.
pub fn etcd(key: &str, value: &[u8]) -> anyhow::Result<()> {
    let key = BASE64_STANDARD.encode(key);
    let (action, body) = match value.is_empty() {
        true => ("deleterange", json!({"key": key})),
        false => ("put", json!({"key": key, "value": BASE64_STANDARD.encode(value)})),
    };
    let url = format!("http://127.0.0.1:2379/v3/kv/{action}");
    let curl = ["--silent", "--fail-with-body", &url, "--data", &body.to_string()];
    let output = Command::new("curl").args(curl).output()?;
    anyhow::ensure!(output.status.success(), "etcd {action}: {}", String::from_utf8_lossy(&output.stdout));
    Ok(())
}

/// A program of this control plane that does nothing until this is dropped.
pub struct Paused(i32);

impl Paused {
    /// By the name that `control-plane.sh` has for it.
    pub fn program(name: &str) -> anyhow::Result<Self> {
        let config = std::env::var("KUBECONFIG")?;
        let cluster = Path::new(&config).ancestors().nth(2).context("KUBECONFIG is in no folder of a cluster")?;
        let pid = std::fs::read_to_string(cluster.join(format!("run/{name}.pid")))?.trim().parse()?;
        signal(pid, Signal::SIGSTOP)?;
        Ok(Self(pid))
    }
}

impl Drop for Paused {
    fn drop(&mut self) {
        let _ = signal(self.0, Signal::SIGCONT);
    }
}
