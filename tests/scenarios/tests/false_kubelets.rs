//! Processes that only call themselves `kubelet`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use findings::NodeReport;
use lab::{Node, PodRef, Restart, cgroup, process, scenario, wait_for};
use nix::sys::signal::Signal;
use serde_json::json;

use super::ask;

/// One of them, which ends with the test.
struct False {
    child: Child,
    /// Why it must not be believed.
    why: &'static str,
}

impl Drop for False {
    fn drop(&mut self) {
        if let Err(error) = self.child.kill().and_then(|()| self.child.wait()) {
            eprintln!("process {}: {error}", self.child.id());
        }
    }
}

/// A user's process, root's in a user namespace of its own, one whose program is world-writable, and one in a pod: all bring
/// a kubeconfig that names a program. None is trusted, nothing is run, each is reported; and the kubelet is found among
/// them.
pub fn are_not_believed() -> anyhow::Result<()> {
    let node = Node::up(&lab::default_dir()).context("bring the node up")?;
    let place = Path::new("/dev/shm/why-terminating-false-kubelets");
    fs::create_dir_all(place)?;
    let tried = among_them(&node, place);
    fs::remove_dir_all(place)?;
    tried?;
    node.down().context("take the node down")
}

fn among_them(node: &Node, place: &Path) -> anyhow::Result<()> {
    (scenario::find("cwd").context("the lab has no scenario cwd")?.stage)(node)?;
    let marker = place.join("was-run");
    fs::write(place.join("kubeconfig"), kubeconfig(&marker))?;
    let pid = node.kubelet_pid()?;
    process::signal(pid, Signal::SIGKILL)?;
    process::wait_end(pid)?;
    let user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let all = [
        start(place, "user", 0o755, &user, "is not root's alone")?,
        start(place, "namespace", 0o755, &["unshare", "--user", "--map-root-user"], "is in another user namespace")?,
        start(place, "writable", 0o757, &["env"], "others than root may write its program")?,
        start(place, "pod", 0o755, &["env"], "belongs to a pod")?,
    ];
    let pod = PodRef::new("false").cgroup();
    cgroup::create(&pod)?;
    for dir in cgroup::directories(&pod)? {
        cgroup::join(&dir, i32::try_from(all[3].child.id())?)?;
    }

    let (report, text) = check(node)?;
    told(&report, &all).with_context(|| text.clone())?;
    let of_kubelet = report.node_findings.iter().any(|found| found.finding.cause.id == "KubeletNotRunning");
    ensure!(!of_kubelet, "whether a kubelet runs is unknown:\n{text}");
    ensure!(report.unknown.iter().any(|unknown| unknown.source == "/proc"), "that is not said:\n{text}");
    ensure!(!marker.exists(), "a program was run:\n{text}");

    node.restart_kubelet(Restart::default())?;
    let (report, text) = check(node)?;
    ensure!(report.unknown.is_empty(), "the API server was not asked with the kubelet's kubeconfig:\n{text}");
    ensure!(!marker.exists(), "a program was run:\n{text}");
    Ok(())
}

/// Each is named, with its reason.
fn told(report: &NodeReport, all: &[False]) -> anyhow::Result<()> {
    for False { child, why } in all {
        let begins = format!("pid {} is called kubelet, but ", child.id());
        let told = report.notes.iter().find(|note| note.starts_with(&begins));
        ensure!(told.is_some_and(|note| note.contains(why)), "{begins}{why}: {told:?}");
    }
    Ok(())
}

/// A shell that waits for a line, called `kubelet`, with a kubelet's flags; `through` gives it its rights.
fn start(place: &Path, name: &str, mode: u32, through: &[&str], why: &'static str) -> anyhow::Result<False> {
    let dir = place.join(name);
    fs::create_dir_all(&dir)?;
    let program = dir.join("kubelet");
    fs::copy("/bin/sh", &program)?;
    fs::set_permissions(&program, fs::Permissions::from_mode(mode))?;
    let (first, rest) = through.split_first().context("something that starts it")?;
    let child = Command::new(first)
        .args(rest)
        .arg(&program)
        .args(["-c", "read line", "kubelet"])
        .arg(format!("--kubeconfig={}", place.join("kubeconfig").display()))
        .stdin(Stdio::piped())
        .spawn()
        .with_context(|| format!("start {first}"))?;
    let comm = format!("/proc/{}/comm", child.id());
    let started = False { child, why };
    wait_for("the false kubelet has its name", Duration::from_secs(5), || {
        Ok((fs::read_to_string(&comm).unwrap_or_default() == "kubelet\n").then_some(()))
    })?;
    Ok(started)
}

fn kubeconfig(marker: &Path) -> String {
    let provider = json!({"name": "gcp", "config": {"cmd-path": "/usr/bin/touch", "cmd-args": marker}});
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {"auth-provider": provider}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]
    })
    .to_string()
}

/// `check` as it runs on a node without `--kubeconfig`: with the kubelet's.
fn check(node: &Node) -> anyhow::Result<(NodeReport, String)> {
    let flags = node.agent_args().into_iter().filter(|flag| !flag.starts_with("--kubeconfig"));
    let mut check = Command::new(ask::binary()?);
    let done = check.arg("check").args(flags).args(["-o", "json"]).env_remove("KUBECONFIG").output()?;
    let text = String::from_utf8(done.stdout)?;
    let report = serde_json::from_str(&text).with_context(|| String::from_utf8_lossy(&done.stderr).into_owned())?;
    Ok((report, text))
}
