//! Two kubelets on one machine, each with its own directory, runtime and API server.

use std::{fs, path::PathBuf, process::Command, time::Duration};

use anyhow::{Context, ensure};
use findings::{Finding, NodeReport, Verdict};
use lab::{Gate, Launch, Node, PodRef, PodSpec, cgroup, process, wait_for};
use nix::sys::signal::Signal;

use super::ask;

/// What is stuck of one kubelet.
struct Stuck {
    pod: PodRef,
    kubelet: i32,
    root: PathBuf,
    /// Who stands in the pod's volume.
    holder: i32,
    volume: PathBuf,
}

/// Each pod is reported for its own kubelet, with what holds it there; what ails one kubelet is not the other's.
pub fn each_has_its_own_pods() -> anyhow::Result<()> {
    let node = Node::up(&lab::default_dir()).context("bring the node up")?;
    let second = node.second().context("start a second kubelet")?;
    let one = stage(&node, PodRef::new("of-first"))?;
    let other = stage(&second, PodRef::of_second("of-second"))?;
    // What a kubelet starts is called like it until it becomes another program, so a young one is not asked.
    let reports = wait_for("both kubelets are asked", Duration::from_secs(20), || {
        let (reports, code) = check(&[])?;
        ensure!(code == 2, "the exit code is {code}");
        Ok((reports.len() == 2).then_some(reports))
    })?;
    told(&reports, &one, &other)?;
    told(&reports, &other, &one)?;
    one_alone(&one)?;
    one_alone(&other)?;

    // One in the unit where kubelets are looked for first, and one in none: no flag names it, and it is found all the same.
    cgroup::leave_unit(other.kubelet)?;
    let (reports, code) = check(&[])?;
    ensure!(reports.len() == 2 && code == 2, "both are found, in a unit or not: {code}, {reports:#?}");
    told(&reports, &one, &other)?;
    told(&reports, &other, &one)?;
    one_alone(&other)?;

    process::signal(other.kubelet, Signal::SIGSTOP)?;
    let (reports, _) = check(&[])?;
    let of_node = |stuck: &Stuck| -> anyhow::Result<Vec<&str>> {
        Ok(of(&reports, stuck)?.node_findings.iter().map(|found| found.finding.cause.id).collect())
    };
    ensure!(of_node(&one)?.is_empty(), "the first kubelet is well: {:?}", of_node(&one)?);
    ensure!(of_node(&other)? == ["KubeletStopped"], "the second is stopped: {:?}", of_node(&other)?);
    process::signal(other.kubelet, Signal::SIGCONT)?;

    process::signal(one.holder, Signal::SIGKILL)?;
    node.wait_gone(&one.pod, Duration::from_secs(20))?;
    let (reports, code) = check(&[])?;
    ensure!(of(&reports, &one)?.verdict == Verdict::Clear && code == 2, "only the second's is left: {reports:#?}");
    process::signal(other.holder, Signal::SIGKILL)?;
    second.wait_gone(&other.pod, Duration::from_secs(20))?;
    let (reports, code) = check(&[])?;
    ensure!(reports.len() == 2 && code == 0, "nothing is left: {reports:#?}");
    node.down().context("take the node down")
}

/// A pod that is being deleted, and whose volume is a process's working directory.
fn stage(node: &Node, pod: PodRef) -> anyhow::Result<Stuck> {
    let mut spec = PodSpec::sleeping(&pod.name);
    spec.pod = pod;
    let volume = node.empty_dir(&mut spec, "scratch", true)?;
    node.run(&spec)?;
    let holder = node.launch(Launch::stand_in("backup").args(["stand-in", "hold", "--cwd"]).arg(&volume))?;
    let cwd = format!("/proc/{holder}/cwd");
    wait_for("a process stands in the volume", Duration::from_secs(5), || {
        Ok((fs::read_link(&cwd).ok().as_ref() == Some(&volume)).then_some(()))
    })?;
    node.delete_until(&spec, Gate::VolumesUnmounted)?;
    Ok(Stuck { pod: spec.pod, kubelet: node.kubelet_pid()?, root: node.layout().kubelet_root(), holder, volume })
}

/// The answer for the kubelet of `stuck` has its pod, what holds it, and nothing of the other's.
fn told(reports: &[NodeReport], stuck: &Stuck, other: &Stuck) -> anyhow::Result<()> {
    let report = of(reports, stuck)?;
    let text = serde_json::to_string_pretty(report)?;
    holds(report, stuck).with_context(|| text.clone())?;
    for foreign in [other.pod.uid.clone(), other.volume.display().to_string(), format!("pid {} ", other.holder)] {
        ensure!(!text.contains(&foreign), "{foreign} is the other kubelet's:\n{text}");
    }
    ensure!(report.unknown.is_empty(), "something is not known:\n{text}");
    ensure!(!text.contains("is called kubelet, but"), "both are believed:\n{text}");
    ensure!(!text.contains("is a kubelet too"), "each was judged:\n{text}");
    Ok(())
}

fn holds(report: &NodeReport, stuck: &Stuck) -> anyhow::Result<()> {
    let [pod] = report.pods.as_slice() else { anyhow::bail!("{} pods are reported", report.pods.len()) };
    ensure!(pod.pod.uid.as_str() == stuck.pod.uid && pod.verdict == Verdict::Stuck, "it is not this pod that is stuck");
    let names = |finding: &Finding| {
        let text = serde_json::to_string(finding).unwrap_or_default();
        text.contains(&format!("kill {}", stuck.holder)) || text.contains(&format!("pid {}", stuck.holder))
    };
    let found = pod.findings.iter().find(|finding| finding.cause.id == "VolumeHeldByProcess");
    ensure!(found.is_some_and(names), "its holder is not named");
    Ok(())
}

/// The answer that says it is of this kubelet.
fn of<'a>(reports: &'a [NodeReport], stuck: &Stuck) -> anyhow::Result<&'a NodeReport> {
    let says = format!("this is of pid {} (kubelet), whose pods are below {}", stuck.kubelet, stuck.root.display());
    let is =
        |report: &&NodeReport| report.notes.iter().any(|note| note.contains("2 kubelets") && note.ends_with(&says));
    reports.iter().find(is).with_context(|| format!("no answer says {says:?}: {reports:#?}"))
}

/// Who asks for one pod, or one kubelet, gets one answer: that of the kubelet that has it.
fn one_alone(stuck: &Stuck) -> anyhow::Result<()> {
    let (pod, pid) = (format!("{}/{}", stuck.pod.namespace, stuck.pod.name), stuck.kubelet.to_string());
    for flags in [["--pod", &pod], ["--kubelet-pid", &pid]] {
        let (reports, code) = check(&flags)?;
        let [report] = reports.as_slice() else { anyhow::bail!("{flags:?}: {} answers", reports.len()) };
        holds(report, stuck).with_context(|| format!("{flags:?}: {report:#?}"))?;
        ensure!(code == 2, "{flags:?}: the exit code is {code}");
    }
    Ok(())
}

/// `check` without flags: each kubelet's settings are found through its process. One answer for each.
fn check(flags: &[&str]) -> anyhow::Result<(Vec<NodeReport>, i32)> {
    let mut check = Command::new(ask::binary()?);
    let done = check.arg("check").args(flags).args(["-o", "json"]).env_remove("KUBECONFIG").output()?;
    let reports = serde_json::Deserializer::from_slice(&done.stdout).into_iter().collect::<Result<_, _>>();
    let reports = reports.with_context(|| String::from_utf8_lossy(&done.stderr).into_owned())?;
    Ok((reports, done.status.code().context("check died")?))
}
