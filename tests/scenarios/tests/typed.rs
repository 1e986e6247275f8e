//! Commands of the registry that only read, typed with the real kubectl.
//!
//! The API server is the fake, which answers from a recording and from one sample of each kind that
//! the recording lacks. What a command changes needs controllers, so it is not typed here.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};
use apiserver::{FakeApiServer, Store, recordings};
use findings::{Advice, Cause, Proven, cause};
use serde_json::{Value, json};

use super::kubectl;

const RECORDING: &str = "finalizer-and-webhook";
/// The name of every sample.
const SAMPLE: &str = "sample";
/// What the placeholders stand for that are not names of samples.
const NAMES: [(&str, &str); 5] = [
    ("type", "configmap"),
    ("workload", "deployment/sample"),
    ("crd", "widgets.example.com"),
    ("configuration", "validatingwebhookconfiguration/guard.example.com"),
    ("group_version", "apps/v1"),
];
/// Group and version, where the fake keeps them, kind, whether they live in a namespace.
const SAMPLES: [(&str, &str, &str, bool); 14] = [
    ("v1", "namespaces", "Namespace", false),
    ("v1", "nodes", "Node", false),
    ("v1", "configmaps", "ConfigMap", true),
    ("v1", "services", "Service", true),
    ("v1", "pods", "Pod", true),
    ("v1", "persistentvolumeclaims", "PersistentVolumeClaim", true),
    ("v1", "persistentvolumes", "PersistentVolume", false),
    ("apps/v1", "deployments", "Deployment", true),
    ("apiregistration.k8s.io/v1", "apiservices", "APIService", false),
    ("resource.k8s.io/v1", "resource.k8s.io/v1/resourceclaims", "ResourceClaim", true),
    ("admissionregistration.k8s.io/v1", "validatingadmissionpolicies", "ValidatingAdmissionPolicy", false),
    ("admissionregistration.k8s.io/v1", "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", false),
    ("storage.k8s.io/v1", "csinodes", "CSINode", false),
    ("storage.k8s.io/v1", "volumeattachments", "VolumeAttachment", false),
];
/// Single objects that commands name.
const NAMED: [(&str, &str, &str, Option<&str>, &str); 6] = [
    // Some objects live in no namespace; then none is typed.
    ("v1", "configmaps", "ConfigMap", Some("default"), SAMPLE),
    ("v1", "core/v1/secrets", "Secret", Some(SAMPLE), SAMPLE),
    ("coordination.k8s.io/v1", "leases", "Lease", Some("kube-system"), "cloud-controller-manager"),
    ("v1", "configmaps", "ConfigMap", Some("kube-system"), "extension-apiserver-authentication"),
    (
        "rbac.authorization.k8s.io/v1",
        "rbac.authorization.k8s.io/v1/clusterroles",
        "ClusterRole",
        None,
        "system:controller:namespace-controller",
    ),
    ("networking.k8s.io/v1", "networking.k8s.io/v1/ingressclasses", "IngressClass", None, "sample"),
];

/// Every command that the registry calls typed is accepted, and answers.
pub fn read_only_commands() -> anyhow::Result<()> {
    let dir = lab::default_dir().with_extension("typed");
    let outcome = type_all(&dir);
    fs::remove_dir_all(&dir).with_context(|| format!("remove {}", dir.display()))?;
    outcome
}

fn type_all(dir: &Path) -> anyhow::Result<()> {
    let recording = recordings()?.remove(RECORDING).context("the recording is there")?;
    let store = Store::new(dir.join("api")).with_recording(recording);
    stock(&store)?;
    let fake = FakeApiServer::start(store)?;
    let kubeconfig = dir.join("kubeconfig");
    fs::write(&kubeconfig, fake.kubeconfig_json()?)?;
    let shell = Shell { kubectl: kubectl::binary()?, dir: dir.to_owned(), kubeconfig };
    let all: Vec<(&Cause, &Advice)> =
        cause::all().flat_map(|cause| cause.safe.iter().map(move |advice| (cause, advice))).collect();
    let typed: Vec<_> = all.iter().filter(|(_, advice)| advice.proven == Proven::Typed).collect();
    ensure!(typed.len() > 50, "only {} commands are typed", typed.len());
    let mut faults = Vec::new();
    for (cause, advice) in typed {
        let command = advice.command.with_context(|| format!("{}: no command to type", cause.id))?;
        if let Err(error) = shell.reads(command) {
            faults.push(format!("{}: {error:#}", cause.id));
        }
    }
    fake.stop()?;
    ensure!(faults.is_empty(), "{}", faults.join("\n"));
    Ok(())
}

fn stock(store: &Store) -> anyhow::Result<()> {
    let object = |version: &str, kind: &str, namespace: Option<&str>, name: &str| -> Value {
        let mut object = json!({"apiVersion": version, "kind": kind, "metadata": {"name": name, "uid": name}});
        if let Some(namespace) = namespace {
            object["metadata"]["namespace"] = namespace.into();
        }
        object
    };
    for (version, kept, kind, namespaced) in SAMPLES {
        let namespace = namespaced.then_some(SAMPLE);
        let mut sample = object(version, kind, namespace, SAMPLE);
        if kind == "Deployment" {
            sample["spec"] = json!({"replicas": 1, "selector": {"matchLabels": {"app": SAMPLE}}, "template": {}});
        }
        store.put(kept, namespace, SAMPLE, &sample)?;
    }
    for (version, kept, kind, namespace, name) in NAMED {
        store.put(kept, namespace, name, &object(version, kind, namespace, name))?;
    }
    Ok(())
}

struct Shell {
    kubectl: PathBuf,
    dir: PathBuf,
    kubeconfig: PathBuf,
}

impl Shell {
    /// Types it as a person would; it must succeed and say something.
    fn reads(&self, template: &str) -> anyhow::Result<()> {
        let command = fill(template)?;
        let tools = self.kubectl.parent().context("kubectl stands in a directory")?;
        let path = std::env::var("PATH").unwrap_or_default();
        let mut shell = Command::new("sh");
        shell.args(["-c", &command]).env("PATH", format!("{}:{path}", tools.display()));
        shell.env("KUBECONFIG", &self.kubeconfig).env("KUBECACHEDIR", self.dir.join("cache")).env("HOME", &self.dir);
        let done = shell.output().context("run sh")?;
        let (said, complaint) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
        let nothing = said.trim().is_empty() && !complaint.starts_with("No resources found");
        if !done.status.success() || nothing {
            bail!("{command}: {} {complaint}{said}", done.status);
        }
        Ok(())
    }
}

fn fill(template: &str) -> anyhow::Result<String> {
    let mut command = template.to_owned();
    for (placeholder, name) in NAMES {
        command = command.replace(&format!("{{{placeholder}}}"), name);
    }
    // Every other one stands for the name of an object, and all samples have the same.
    while let Some((before, after)) = command.clone().split_once('{') {
        let (_, rest) = after.split_once('}').with_context(|| format!("an open placeholder in {template}"))?;
        command = format!("{before}{SAMPLE}{rest}");
    }
    Ok(command.replace(&format!("describe {SAMPLE}"), &format!("describe deployment/{SAMPLE}")))
}
