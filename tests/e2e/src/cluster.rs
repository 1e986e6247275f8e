//! The cluster, as kubectl reaches it.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use anyhow::Context as _;
use lab::wait_for;
use serde_json::Value;

use crate::container::is_unified;
use crate::situation::Staged;

/// A cluster whose only node that matters is this machine.
pub struct Cluster {
    /// The name of that node.
    pub node: String,
    /// Of its kubelet.
    pub version: String,
    /// Of its container runtime.
    pub runtime: String,
    /// Where the programs are that are tried.
    programs: PathBuf,
}

fn minor(version: &str) -> u32 {
    version.split('.').nth(1).and_then(|minor| minor.parse().ok()).unwrap_or(u32::MAX)
}

impl Cluster {
    /// The cluster of `KUBECONFIG`, if this machine is its node.
    pub fn connect() -> anyhow::Result<Self> {
        anyhow::ensure!(std::env::var_os("KUBECONFIG").is_some(), "no cluster: KUBECONFIG is not set");
        let programs = std::env::current_exe()?.parent().context("a program without a directory")?.to_owned();
        let mut cluster = Self { node: String::new(), version: String::new(), runtime: String::new(), programs };
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
        let nodes = cluster.json(&["get", "nodes"])?;
        let is_here = |node: &&Value| node["status"]["nodeInfo"]["bootID"] == boot.trim();
        let node = list(&nodes).iter().find(is_here).context("no node of this cluster is this machine")?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        cluster.node = text(&node["metadata"]["name"]);
        cluster.version = text(&node["status"]["nodeInfo"]["kubeletVersion"]);
        cluster.runtime = text(&node["status"]["nodeInfo"]["containerRuntimeVersion"]);
        Ok(cluster)
    }

    /// The one of `KUBECONFIG`, whose nodes are stand-ins.
    pub fn without_node() -> anyhow::Result<Self> {
        let programs = std::env::current_exe()?.parent().context("a program without a directory")?.to_owned();
        Ok(Self { node: String::new(), version: String::new(), runtime: String::new(), programs })
    }

    /// The second number of its version.
    pub fn minor(&self) -> u32 {
        minor(&self.version)
    }

    /// Whether it has the policy that lets only an agent speak as one: where it has none no step of the plugin touches what
    /// is not the pod's own.
    pub fn has_event_policy(&self) -> bool {
        self.minor() >= 32
    }

    /// Of everything that has a part in what is seen.
    pub fn versions(&self) -> String {
        let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let kernel = kernel.split(['-', '+', '\n']).next().unwrap_or_default();
        let cgroups = if is_unified() { "v2" } else { "v1" };
        let runtime = self.runtime.replace("://", " ");
        format!("Kubernetes {}, {runtime}, Linux {kernel}, cgroup {cgroups}", self.version.trim_start_matches('v'))
    }

    /// What `kubectl` prints.
    pub fn kubectl(&self, args: &[&str]) -> anyhow::Result<String> {
        let output = Command::new("kubectl").args(args).output().context("run kubectl")?;
        ensure(&output, || format!("kubectl {}", args.join(" ")))?;
        Ok(String::from_utf8(output.stdout)?)
    }

    /// What `kubectl -o json` prints.
    pub fn json(&self, args: &[&str]) -> anyhow::Result<Value> {
        Ok(serde_json::from_str(&self.kubectl(&[args, &["-o", "json"]].concat())?)?)
    }

    /// Applies manifests.
    pub fn apply(&self, manifests: &[Value]) -> anyhow::Result<()> {
        for manifest in manifests {
            let mut child = Command::new("kubectl")
                .args(["apply", "-f", "-"])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()?;
            child.stdin.take().context("no standard input")?.write_all(manifest.to_string().as_bytes())?;
            ensure(&child.wait_with_output()?, || format!("kubectl apply of {manifest}"))?;
        }
        Ok(())
    }

    /// Whether an object is there.
    pub fn has(&self, object: &[&str]) -> anyhow::Result<bool> {
        let words = self.kubectl(&[&["get"], object, &["--ignore-not-found", "-o", "name"]].concat())?;
        Ok(!words.is_empty())
    }

    /// Waits until the pod's containers run.
    pub fn wait_ready(&self, namespace: &str, pod: &str) -> anyhow::Result<()> {
        let pod = format!("pod/{pod}");
        self.kubectl(&["wait", "--for=condition=Ready", "-n", namespace, &pod, "--timeout=90s"])?;
        Ok(())
    }

    /// Waits until an object is gone.
    pub fn wait_gone(&self, object: &[&str], limit: Duration) -> anyhow::Result<()> {
        wait_for(&format!("{} is gone", object.join(" ")), limit, || {
            std::thread::sleep(Duration::from_millis(500));
            Ok((!self.has(object)?).then_some(()))
        })
    }

    /// What one of our own programs prints. How it ends says what it has found, so that is no error.
    pub fn ask(&self, program: &str, args: &[&str]) -> anyhow::Result<Value> {
        let output = Command::new(self.programs.join(program)).args(args).output().context(program.to_owned())?;
        let words = || format!("{program} {}: {}", args.join(" "), String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).with_context(words)
    }

    /// How one of our own programs ends, and what it prints.
    pub fn run(&self, program: &str, args: &[&str]) -> anyhow::Result<(Option<i32>, String)> {
        let output = Command::new(self.programs.join(program)).args(args).output().context(program.to_owned())?;
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        Ok((output.status.code(), text))
    }

    /// Types a line into a shell.
    pub fn types(&self, line: &str) -> anyhow::Result<()> {
        let output = Command::new("sh").args(["-c", line]).output()?;
        ensure(&output, || line.to_owned())
    }
}

/// Deletes an object of the whole cluster at the end.
pub fn deleted_afterwards(kind: &str, name: &str) -> Staged {
    let (kind, name) = (kind.to_owned(), name.to_owned());
    Staged::at_the_end(move || {
        let args = ["delete", &kind, &name, "--ignore-not-found", "--timeout=30s"];
        let _ = Command::new("kubectl").args(args).output();
    })
}

/// The objects of a list.
pub fn list(of: &Value) -> &[Value] {
    of["items"].as_array().map_or(&[], Vec::as_slice)
}

fn ensure(output: &Output, what: impl Fn() -> String) -> anyhow::Result<()> {
    let words = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "{}: {}", what(), words.trim());
    Ok(())
}

/// The root of the project.
pub fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_number_of_a_version() {
        assert_eq!([minor("v1.25.9"), minor("v1.31.4+k3s1"), minor("v1.36.0-alpha.1")], [25, 31, 36]);
    }
}
