//! The agent's image, run as the deployment says.

use std::{collections::BTreeSet, path::PathBuf, process::Command, time::Duration};

use anyhow::{Context, ensure};
use findings::NodeReport;
use lab::{
    Gate, Launch, Node, PodSpec,
    agent_pod::{AgentPod, Deployment, Ended, Settings},
    scenario::{self, Staged},
};

use super::ask;

/// A task in D, a volume that is held, and a volume the kubelet cannot read: what they need differs.
const STAGED: [&str; 3] = ["dstate-fuse", "cwd", "vol-data-empty"];

/// In the container the agent finds what it finds on the host as root, without a flag.
pub fn sees_what_root_sees() -> anyhow::Result<()> {
    let image = image()?;
    let node = Node::up(&lab::default_dir()).context("bring the node up")?;
    stage(&node, &STAGED)?;
    let deployment = Deployment::read()?;
    let pod = AgentPod::new(&node, &deployment, &image).context("make the agent's pod")?;
    let ended = pod.run(&deployment.settings()?, &["check", "-o", "json"])?;
    let inside = report(&ended)?;
    let outside = ask::check(&node)?;
    let text = serde_json::to_string_pretty(&inside)?;
    ensure!(found(&inside) == found(&outside.report), "in the container:\n{text}\non the host:\n{}", outside.text);
    ensure!(ended.code == outside.code, "the exit code is {}:\n{text}", ended.code);
    ensure!(inside.unknown.is_empty(), "in the container something could not be looked at:\n{text}");
    let causes: BTreeSet<&str> = found(&inside).iter().map(|(_, cause, _)| *cause).collect();
    let meant = BTreeSet::from(["FuseServerNotResponding", "VolumeHeldByProcess", "VolDataUnusable"]);
    ensure!(causes == meant, "these causes were staged: {meant:?}; found were:\n{text}");
    node.down().context("take the node down")
}

/// What the agent sees with some rights.
struct Case {
    name: &'static str,
    settings: Settings,
    /// The causes it finds.
    finds: Vec<&'static str>,
    /// The rights it says that it lacks.
    lacks: Vec<&'static str>,
}

/// What each right is for, measured: the table in `docs/security.md`. With fewer rights it says less,
/// says why, once, and says nothing that is wrong.
pub fn rights() -> anyhow::Result<()> {
    let image = image()?;
    let node = Node::up(&lab::default_dir()).context("bring the node up")?;
    stage(&node, &["dstate-fuse", "mapped-file", "vol-data-empty"])?;
    held_by_another_user(&node)?;
    let deployment = Deployment::read()?;
    let pod = AgentPod::new(&node, &deployment, &image).context("make the agent's pod")?;
    for Case { name, settings, finds, lacks } in cases(&deployment.settings()?) {
        let ended = pod.run(&settings, &["check", "-o", "json"])?;
        let report = report(&ended).with_context(|| name.to_owned())?;
        let text = serde_json::to_string_pretty(&report)?;
        let causes: Vec<&str> = found(&report).iter().map(|(_, cause, _)| *cause).collect();
        ensure!(causes.iter().copied().collect::<BTreeSet<_>>() == finds.iter().copied().collect(), "{name}: {text}");
        let told: Vec<&str> = report.unknown.iter().map(|unknown| unknown.source.as_str()).collect();
        ensure!(told == lacks, "{name}: it says that it lacks {told:?}, not {lacks:?}:\n{text}");
        let code = if finds.is_empty() { 3 } else { 2 };
        ensure!(ended.code == code, "{name}: the exit code is {}:\n{text}", ended.code);
    }
    let user = pod.run(&deployment.settings()?.with_user(65534), &["check"])?;
    ensure!(user.code == 1 && user.stderr.contains("run it as root"), "as another user: {user:?}");
    node.down().context("take the node down")
}

fn cases(deployed: &Settings) -> Vec<Case> {
    let case = |name, capabilities: &[&str], finds: &[&'static str], lacks: &[&'static str]| Case {
        name,
        settings: deployed.clone().with_capabilities(capabilities),
        finds: finds.to_vec(),
        lacks: lacks.to_vec(),
    };
    let of_root = ["FuseServerNotResponding", "VolumeHeldByMapping", "VolDataUnusable"];
    let all = [of_root.as_slice(), &["VolumeHeldByProcess"]].concat();
    let nobody_found = [of_root.as_slice(), &["VolumeMountedNoHolder"]].concat();
    let (ptrace, search) = ("CAP_SYS_PTRACE", "CAP_DAC_READ_SEARCH");
    vec![
        case("no capability", &[], &[], &[ptrace, search]),
        case("SYS_PTRACE", &["SYS_PTRACE"], &nobody_found, &[search]),
        case("DAC_READ_SEARCH", &["DAC_READ_SEARCH"], &[], &[ptrace]),
        case("as deployed", &["SYS_PTRACE", "DAC_READ_SEARCH"], &all, &[]),
        case("with SYS_ADMIN", &["SYS_PTRACE", "DAC_READ_SEARCH", "SYS_ADMIN"], &all, &[]),
        Case {
            name: "without hostPID",
            settings: deployed.clone().without_host_pid(),
            finds: Vec::new(),
            lacks: vec!["hostPID"],
        },
    ]
}

/// As the scenario `open-fd`, but the holder is not root: its descriptors are not shown to everybody.
fn held_by_another_user(node: &Node) -> anyhow::Result<()> {
    let mut spec = PodSpec::sleeping("held-by-another-user");
    let file = node.empty_dir(&mut spec, "scratch", true)?.join("data");
    node.run(&spec)?;
    let launch = Launch::program("backup", "setpriv").args(["--reuid", "65534", "--clear-groups"]);
    let launch = launch.arg(node.layout().binary()).args(["stand-in", "hold", "--open"]).arg(&file);
    let holder = node.launch(launch)?;
    lab::wait_for("the holder has the file open", Duration::from_secs(10), || {
        let descriptors = std::fs::read_dir(format!("/proc/{holder}/fd")).into_iter().flatten().flatten();
        let mut targets = descriptors.filter_map(|descriptor| std::fs::read_link(descriptor.path()).ok());
        Ok(targets.any(|target| target == file).then_some(()))
    })?;
    node.delete_until(&spec, Gate::VolumesUnmounted)
}

fn stage(node: &Node, names: &[&str]) -> anyhow::Result<Vec<Staged>> {
    let stage = |name: &&str| {
        let scenario = scenario::find(name).with_context(|| format!("the lab has no scenario {name}"))?;
        (scenario.stage)(node).with_context(|| format!("stage {name}"))
    };
    names.iter().map(stage).collect()
}

fn report(ended: &Ended) -> anyhow::Result<NodeReport> {
    serde_json::from_str(&ended.stdout)
        .with_context(|| format!("the answer ({}) is no report: {}{}", ended.code, ended.stdout, ended.stderr))
}

/// Which cause holds which pod.
fn found(report: &NodeReport) -> BTreeSet<(String, &'static str, String)> {
    let of_pods = report.pods.iter().flat_map(|pod| {
        pod.findings.iter().map(|finding| (pod.pod.to_string(), finding.cause.0.id, finding.root.clone()))
    });
    let of_node = report
        .node_findings
        .iter()
        .map(|found| ("the node".to_owned(), found.finding.cause.0.id, found.finding.root.clone()));
    of_pods.chain(of_node).collect()
}

/// Builds the image, so that never an old one is tested. After the first time it takes seconds.
fn image() -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe()?;
    // <target>/debug/deps/<this test>
    let target = own.ancestors().nth(3).context("the test stands in no target directory")?;
    let archive = target.join("static/agent-for-tests.oci.tar");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let done = Command::new(cargo)
        .args(["run", "--quiet", "--package", "xtask", "--", "image", "--profile", "dev", "--output"])
        .arg(&archive)
        .env("CARGO_TARGET_DIR", target)
        .output()
        .context("start cargo")?;
    ensure!(done.status.success(), "the image could not be made: {}", String::from_utf8_lossy(&done.stderr));
    Ok(archive)
}
