//! What a person sees with the real kubectl, by the commands that `docs/agent.md` names.

use std::{fs, os::unix::fs::symlink, path::PathBuf, process::Command, time::Duration};

use anyhow::{Context, ensure};
use lab::{Node, scenario};

use super::{ask, running::Agent};

const LIMIT: Duration = Duration::from_secs(30);
/// Named in the documents.
const CONTROLLER: &str = "why-terminating/agent";

/// kubectl shows the Events that the agent writes, while a pod is held and when it is released.
pub fn shows_our_events() -> anyhow::Result<()> {
    let kubectl = binary()?;
    let node = Node::up(&lab::default_dir()).context("bring the node up")?;
    let scenario = scenario::find("cwd").context("the lab has no scenario cwd")?;
    let staged = (scenario.stage)(&node).context("stage cwd")?;
    let (pod, expect) = staged.pods.first().zip(staged.expect.first()).context("cwd stages a pod")?;
    let dir = lab::default_dir().join("agent");
    // One look is enough, so that the test need not wait for more.
    let agent = Agent::start(&node, &dir, &node.layout().kubeconfig(), &["--scans=1"])?;
    let outcome = (|| {
        let ask = |args: &[&str]| type_in(&kubectl, &node, args);
        wait_reason(&node, "PodVolumeBusy")?;
        let held = ["Warning", "PodVolumeBusy", "lab/cwd is held at VolumesUnmounted"];
        shown(&ask(&["describe", "node", "lab-node"])?, &[held.as_slice(), &[CONTROLLER]].concat())?;
        shown(&ask(&["events", "-n", "default", "--for", "node/lab-node"])?, &held)?;
        selects(&ask)?;
        let answer = plugin(&kubectl, &node, &["pod/cwd", "-n", "lab"])?;
        shown(&answer, &["Node lab-node", "agent reports:"])?;
        shown(&answer, &["ROOT CAUSE VolumeHeldByProcess"])?;
        shown(&answer, &["kill "])?;
        offers(&kubectl, &node)?;

        let holder = expect.names.first().context("cwd names its holder")?;
        let killed = Command::new("kill").arg(holder).status().context("run kill")?;
        ensure!(killed.success(), "kill {holder}: {killed}");
        node.wait_gone(pod, LIMIT).context("after its holder has ended")?;
        wait_reason(&node, "PodNoLongerHeld")?;
        let over = ["Normal", "PodNoLongerHeld", CONTROLLER, "lab/cwd"];
        shown(&ask(&["describe", "node", "lab-node"])?, &over)
    })();
    outcome.with_context(|| agent.log())?;
    node.down().context("take the node down")
}

/// The field has another name in each API; the wrong one is refused.
fn selects(ask: &dyn Fn(&[&str]) -> anyhow::Result<String>) -> anyhow::Result<()> {
    for (resource, field, other) in [
        ("events", "reportingComponent", "reportingController"),
        ("events.events.k8s.io", "reportingController", "reportingComponent"),
    ] {
        let select = |field: &str, value: &str| {
            ask(&["get", resource, "-n", "default", "-o", "name", "--field-selector", &format!("{field}={value}")])
        };
        let ours = select(field, CONTROLLER)?;
        ensure!(ours.lines().count() == 1 && ours.contains("/lab-node."), "{resource} by {field}: {ours:?}");
        let others = select(field, "kubelet")?;
        ensure!(others.is_empty(), "{resource} of the kubelet: {others:?}");
        let refused = select(other, CONTROLLER).err().map(|error| format!("{error:#}")).unwrap_or_default();
        ensure!(refused.contains("field label not supported"), "{resource} by {other}: {refused:?}");
    }
    Ok(())
}

/// One line has all of these.
fn shown(text: &str, words: &[&str]) -> anyhow::Result<()> {
    let is_shown = text.lines().any(|line| words.iter().all(|word| line.contains(word)));
    ensure!(is_shown, "no line has {words:?}:\n{text}");
    Ok(())
}

fn wait_reason(node: &Node, reason: &str) -> anyhow::Result<()> {
    lab::wait_for(&format!("an Event {reason}"), LIMIT, || {
        Ok(node.store().events()?.iter().any(|event| event["reason"] == reason).then_some(()))
    })
}

/// What it prints, if it succeeds.
fn type_in(kubectl: &PathBuf, node: &Node, args: &[&str]) -> anyhow::Result<String> {
    let mut command = Command::new(kubectl);
    command.arg("--kubeconfig").arg(node.layout().kubeconfig()).args(["--request-timeout", "10s"]).args(args);
    // Its cache of what the API serves goes with the node.
    command.env("KUBECACHEDIR", lab::default_dir().join("kubectl-cache")).env("HOME", lab::default_dir());
    let done = command.output().with_context(|| format!("run {}", kubectl.display()))?;
    let (said, complaint) = (String::from_utf8(done.stdout)?, String::from_utf8_lossy(&done.stderr));
    ensure!(done.status.success(), "kubectl {}: {complaint}{said}", args.join(" "));
    Ok(said)
}

/// The answer of `kubectl why-terminating` about something that is stuck: kubectl finds the plugin in the path, the plugin
/// queries the API server and uses the agent's Events there.
fn plugin(kubectl: &PathBuf, node: &Node, args: &[&str]) -> anyhow::Result<String> {
    let agent = ask::binary()?;
    let built = agent.parent().context("the agent stands in a directory")?;
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new(kubectl);
    command.arg("why-terminating").args(args).arg("--kubeconfig").arg(node.layout().kubeconfig());
    command.env("PATH", format!("{}:{path}", built.display()));
    let done = command.output().context("run kubectl why-terminating")?;
    let (said, complaint) = (String::from_utf8(done.stdout)?, String::from_utf8_lossy(&done.stderr));
    ensure!(done.status.code() == Some(2), "kubectl why-terminating ended with {}: {complaint}{said}", done.status);
    Ok(said)
}

/// What kubectl's shell completion offers for the plugin: flags, and the names of what is being deleted.
fn offers(kubectl: &PathBuf, node: &Node) -> anyhow::Result<()> {
    let agent = ask::binary()?;
    let built = agent.parent().context("the agent stands in a directory")?;
    let dir = lab::default_dir().join("bin");
    fs::create_dir_all(&dir).with_context(|| format!("create {}", dir.display()))?;
    for name in ["kubectl-why_terminating", "kubectl_complete-why_terminating"] {
        let _ = fs::remove_file(dir.join(name));
        symlink(built.join("kubectl-why_terminating"), dir.join(name)).context("install the plugin")?;
    }
    let path = std::env::var("PATH").unwrap_or_default();
    let offered = |words: &[&str]| -> anyhow::Result<String> {
        let mut command = Command::new(kubectl);
        command.args(["__complete", "why-terminating"]).args(words).env("KUBECONFIG", node.layout().kubeconfig());
        let done = command.env("PATH", format!("{}:{path}", dir.display())).output().context("run kubectl")?;
        Ok(String::from_utf8(done.stdout)?)
    };
    for (words, expected) in [
        (&["-o", "js"][..], "json\t"),
        (&["--no-h"], "--no-headers\t"),
        (&["-n", "lab", "pod/c"], "pod/cwd\n"),
        (&["causes", "VolumeHeld"], "VolumeHeldByProcess\t"),
    ] {
        let text = offered(words)?;
        ensure!(text.contains(expected), "kubectl why-terminating {words:?} is completed with {text:?}");
    }
    let other = offered(&["-n", "elsewhere", "pod/c"])?;
    ensure!(!other.contains("pod/"), "pods of another namespace: {other:?}");
    Ok(())
}

/// `$KUBECTL`, or the one that was fetched for the tests.
pub fn binary() -> anyhow::Result<PathBuf> {
    if let Some(path) = std::env::var_os("KUBECTL") {
        return Ok(path.into());
    }
    let own = std::env::current_exe()?;
    // <target>/debug/deps/<this test>
    let target = own.ancestors().nth(3).context("the test stands in no target directory")?;
    let path = target.join("tools/kubectl");
    ensure!(
        path.exists(),
        "{} does not exist: run `make kubectl`, or name one of 1.26 or newer in $KUBECTL",
        path.display()
    );
    Ok(path)
}
