//! What the three programs say of one namespace.

use std::collections::BTreeSet;
use std::process::Command;

use anyhow::Context as _;
use serde_json::Value;

use crate::cluster::{Cluster, list};
use crate::install::Installed;

/// The ids of all root causes in an answer.
pub fn causes(answer: &Value) -> BTreeSet<String> {
    strings(answer, "cause")
}

/// All commands in an answer.
pub fn commands(answer: &Value) -> BTreeSet<String> {
    strings(answer, "command")
}

fn strings(answer: &Value, key: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut rest = vec![answer];
    while let Some(value) = rest.pop() {
        match value {
            Value::Object(fields) => {
                found.extend(fields.get(key).and_then(Value::as_str).map(str::to_owned));
                rest.extend(fields.values());
            }
            Value::Array(values) => rest.extend(values),
            _ => {}
        }
    }
    found
}

/// The plugin's.
pub fn plugin(cluster: &Cluster, namespace: &str) -> anyhow::Result<Value> {
    asked(cluster, &[&format!("ns/{namespace}"), "-o", "json"])
}

/// The plugin's, which asks the agent on the node for it; where that cannot be asked, its Events.
pub fn live(cluster: &Cluster, namespace: &str) -> anyhow::Result<Value> {
    asked(cluster, &[&format!("ns/{namespace}"), "-o", "json", "--live"])
}

/// The plugin's, which checks the node of the pod in a pod of its own.
pub fn on_node(cluster: &Cluster, namespace: &str, pod: &str) -> anyhow::Result<Value> {
    asked(cluster, &[&format!("pod/{pod}"), "-n", namespace, "-o", "json", "--on-node", "--yes"])
}

fn asked(cluster: &Cluster, args: &[&str]) -> anyhow::Result<Value> {
    let answer = cluster.ask("kubectl-why_terminating", args)?;
    anyhow::ensure!(answer["roots"].is_array(), "no answer: {answer}");
    Ok(answer)
}

/// What an agent that is started now says of the pod.
pub fn agent(cluster: &Cluster, namespace: &str, pod: &str) -> anyhow::Result<Value> {
    let pod = format!("{namespace}/{pod}");
    cluster.ask("why-terminating-agent", &["check", "--pod", &pod, "--node-name", &cluster.node, "-o", "json"])
}

/// The service's.
pub fn service(cluster: &Cluster, installed: &Installed, namespace: &str) -> anyhow::Result<Value> {
    let address = installed.service(cluster)?;
    let output = Command::new("curl")
        .args(["--silent", "--insecure", "--max-time", "10", "--header", "@-"])
        .arg(format!("https://{address}/api/v1/objects/-/Namespace/-/{namespace}"))
        .stdin(installed.authorization()?)
        .output()
        .context("run curl")?;
    serde_json::from_slice(&output.stdout).with_context(|| format!("{}", String::from_utf8_lossy(&output.stdout)))
}

/// What `kubectl events --for` shows of this namespace: (type, reason, words). Those of another that had its name are
/// left out.
pub fn events(cluster: &Cluster, namespace: &str, uid: &str) -> anyhow::Result<Vec<[String; 3]>> {
    let words =
        cluster.kubectl(&["events", "-n", "default", "--for", &format!("namespace/{namespace}"), "-o", "json"])?;
    // Where there are none it says so beside its answer, which is empty.
    let events: Value = if words.is_empty() { Value::Null } else { serde_json::from_str(&words)? };
    let text = |event: &Value, field: &str| event[field].as_str().unwrap_or_default().to_owned();
    let ours = list(&events).iter().filter(|event| event["involvedObject"]["uid"] == uid);
    Ok(ours.map(|event| ["type", "reason", "message"].map(|field| text(event, field))).collect())
}
