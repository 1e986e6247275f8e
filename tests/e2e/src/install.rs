//! What `deploy/` says, on the cluster.

use std::fs::File;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context as _;
use lab::wait_for;
use serde_json::json;

use crate::cluster::{Cluster, list, project};
use crate::container::socket;

const NAMESPACE: &str = "why-terminating";
/// Who asks the service.
const READER: &str = "why-terminating-e2e";

/// Agent and service run; a token that may see everything.
pub struct Installed {
    token: String,
}

/// Loads the images, and installs the chart or applies the manifests.
pub fn install(cluster: &Cluster) -> anyhow::Result<Installed> {
    let dir = tempfile::tempdir()?;
    let busybox = dir.path().join("busybox.tar");
    lab::image::write_archive(&busybox)?;
    let target = std::env::var("TARGET").unwrap_or_else(|_| "target".to_owned());
    let ours = |program| project().join(&target).join(format!("why-terminating-{program}.oci.tar"));
    for image in [busybox, ours("agent"), ours("aggregator")] {
        let mut ctr = Command::new("ctr");
        ctr.arg("-a").arg(socket()).args(["-n", "k8s.io", "images", "import"]);
        let output = ctr.arg(&image).output()?;
        let words = String::from_utf8_lossy(&output.stderr);
        anyhow::ensure!(output.status.success(), "import {} (make image writes it): {words}", image.display());
    }
    match helm() {
        Some(mut helm) => done(helm.arg("install"))?,
        None => {
            for part in folders(cluster.minor()) {
                cluster.kubectl(&["apply", "-k", &project().join(part).to_string_lossy()])?;
            }
        }
    }
    for part in ["daemonset/why-terminating-agent", "deployment/why-terminating-aggregator"] {
        cluster.kubectl(&["-n", NAMESPACE, "rollout", "status", part, "--timeout=120s"])?;
    }
    let subject = json!({"kind": "ServiceAccount", "name": READER, "namespace": NAMESPACE});
    let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": READER});
    cluster.apply(&[
        // No right to change anything: a holder of such a right might be the one that removes a finalizer.
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": READER},
            "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}]
        }),
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": READER, "namespace": NAMESPACE}}),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": READER},
            "subjects": [subject], "roleRef": role
        }),
    ])?;
    let token = cluster
        .kubectl(&["-n", NAMESPACE, "create", "token", READER, "--audience=why-terminating", "--duration=2h"])?;
    Ok(Installed { token: token.trim().to_owned() })
}

/// Those of `deploy/README.md` for the agent and the service of this minor version of Kubernetes.
fn folders(minor: u32) -> [&'static str; 2] {
    match minor {
        ..30 => ["deploy/before-1.30", "deploy/aggregator-before-1.30"],
        30..32 => ["deploy/base", "deploy/aggregator"],
        32.. => ["deploy", "deploy/aggregator"],
    }
}

/// What installs the chart, where Helm's library is there.
fn helm() -> Option<Command> {
    let python = std::env::var_os("HELM_PYTHON").filter(|python| !python.is_empty())?;
    let mut command = Command::new(python);
    command.arg(project().join("tests/chart/cluster.py"));
    Some(command)
}

/// It says itself what went wrong.
fn done(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status().context("run Python")?;
    anyhow::ensure!(status.success(), "{command:?}: {status}");
    Ok(())
}

impl Installed {
    /// Gives the agent the right to read the kubelet's counters.
    pub fn let_read_counters(&self, cluster: &Cluster) -> anyhow::Result<()> {
        match helm() {
            Some(mut helm) => done(helm.arg("counters"))?,
            None => {
                let right = r#"{"apiGroups": [""], "resources": ["nodes/metrics"], "verbs": ["get"]}"#;
                let patch = format!(r#"[{{"op": "add", "path": "/rules/-", "value": {right}}}]"#);
                cluster.kubectl(&["patch", "clusterrole", "why-terminating-agent", "--type=json", "-p", &patch])?;
            }
        }
        // Who was refused asks again after ten minutes only.
        cluster.kubectl(&["-n", NAMESPACE, "rollout", "restart", "daemonset/why-terminating-agent"])?;
        let status = ["rollout", "status", "daemonset/why-terminating-agent", "--timeout=120s"];
        cluster.kubectl(&[&["-n", NAMESPACE], &status[..]].concat())?;
        Ok(())
    }

    /// Where one replica of the service listens.
    pub fn service(&self, cluster: &Cluster) -> anyhow::Result<String> {
        let label = "app.kubernetes.io/component=aggregator";
        wait_for("the service is ready", Duration::from_secs(60), || {
            let pods = cluster.json(&["get", "pods", "-n", NAMESPACE, "-l", label])?;
            let ready = list(&pods).iter().find(|pod| pod["status"]["containerStatuses"][0]["ready"] == true);
            Ok(ready.and_then(|pod| Some(format!("{}:8443", pod["status"]["podIP"].as_str()?))))
        })
    }

    /// The header with the token, for the standard input of a program: no command line shows it.
    pub fn authorization(&self) -> anyhow::Result<Stdio> {
        let mut file: File = tempfile::tempfile()?;
        writeln!(file, "authorization: Bearer {}", self.token)?;
        std::io::Seek::rewind(&mut file).context("rewind")?;
        Ok(Stdio::from(file))
    }

    /// Takes all of it away.
    pub fn remove(&self, cluster: &Cluster) -> anyhow::Result<()> {
        cluster.kubectl(&["delete", "clusterrolebinding,clusterrole", READER])?;
        cluster.kubectl(&["delete", "serviceaccount", READER, "-n", NAMESPACE])?;
        if let Some(mut helm) = helm() {
            return done(helm.arg("uninstall"));
        }
        for part in folders(cluster.minor()).into_iter().rev() {
            let part = project().join(part);
            cluster.kubectl(&["delete", "-k", &part.to_string_lossy(), "--ignore-not-found", "--timeout=120s"])?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_applied_to_a_version_is_there() {
        assert_eq!(folders(25), ["deploy/before-1.30", "deploy/aggregator-before-1.30"]);
        assert_eq!(folders(31), ["deploy/base", "deploy/aggregator"]);
        assert_eq!(folders(36), ["deploy", "deploy/aggregator"]);
        for folder in [29, 30, 32].into_iter().flat_map(folders) {
            assert!(project().join(folder).join("kustomization.yaml").exists(), "{folder}");
        }
    }
}
