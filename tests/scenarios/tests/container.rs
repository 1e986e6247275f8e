//! The agent's image, run as the deployment says.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use findings::NodeReport;
use lab::agent_pod::{AgentPod, Deployment, Ended, Settings};
use lab::scenario::{self, Staged};
use lab::{Container, Gate, Launch, Node, PodSpec, cgroup};

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
    let _reader = pod.start(&deployment.reader()?, None)?;
    let ended = pod.run(&deployment.talker()?, &["check", "-o", "json"])?;
    let inside = report(&ended)?;
    let outside = ask::check(&node)?;
    let text = serde_json::to_string_pretty(&inside)?;
    ensure!(found(&inside) == found(&outside.report), "in the container:\n{text}\non the host:\n{}", outside.text);
    ensure!(ended.code == outside.code, "the exit code is {}:\n{text}", ended.code);
    ensure!(inside.unknown.is_empty(), "in the container something could not be looked at:\n{text}");
    let causes: BTreeSet<&str> = found(&inside).iter().map(|(_, cause, _)| *cause).collect();
    let meant = BTreeSet::from(["FuseServerNotResponding", "VolumeHeldByProcess", "VolDataMissing"]);
    ensure!(causes == meant, "these causes were staged: {meant:?}; found were:\n{text}");
    node.down().context("take the node down")
}

/// The DaemonSet's containers at work: their rights are those of the manifest and no others. They report what holds three
/// pods, hold nothing themselves, and each works without the other.
pub fn runs_as_deployed() -> anyhow::Result<()> {
    let image = image()?;
    let node = Node::up(&lab::default_dir()).context("bring the node up")?;
    let staged = stage(&node, &STAGED)?;
    let deployment = Deployment::read()?;
    let pod = AgentPod::new(&node, &deployment, &image).context("make the agent's pod")?;
    let reader = pod.start(&deployment.reader()?, None)?;
    // Only so that the test need not wait for minutes.
    let talker = pod.start(&deployment.talker()?, Some(&RUN))?;
    let agent = Deployed { pod: &pod, deployment: &deployment, reader, talker };
    let outcome = watch_it(&node, &staged, &agent);
    outcome.with_context(|| {
        format!("the reader wrote:\n{}\nthe talker:\n{}", pod.log(&agent.reader), pod.log(&agent.talker))
    })?;
    node.down().context("take the node down")
}

const RUN: [&str; 6] = [
    "run", "--first-scan=1s", "--scan-interval=5s", "--scan-interval-max=5s", "--sweep-interval=5s",
    "--event-spread=0s",
];

/// The agent's pod with both of its containers.
struct Deployed<'a> {
    pod: &'a AgentPod<'a>,
    deployment: &'a Deployment,
    reader: Container,
    talker: Container,
}

fn watch_it(node: &Node, staged: &[Staged], agent: &Deployed<'_>) -> anyhow::Result<()> {
    let Deployed { pod, reader, talker, .. } = agent;
    wait_reasons(node, &["PodProcessUninterruptible", "PodVolumeBusy", "PodVolumeDataMissing"])?;
    confined(reader.pid, "0000000000080004", "0")?;
    let of_broker = std::fs::read_to_string(format!("/proc/{}/status", broker(reader.pid)?))?;
    ensure!(
        ["CapEff", "CapPrm"].iter().all(|set| of_broker.contains(&format!("{set}:\t0000000000000000\n"))),
        "the broker has capabilities:\n{of_broker}"
    );
    confined(talker.pid, "0000000000000000", "65532")?;
    ensure!(pod.ask(talker, "/healthz")?.starts_with("HTTP/1.1 200"), "/healthz does not say that it is well");
    ensure!(pod.ask(talker, "/readyz")?.starts_with("HTTP/1.1 200"), "/readyz does not say that it is ready");
    let metrics = pod.ask(talker, "/metrics")?;
    ensure!(metrics.contains("VolumeHeldByProcess"), "the metrics do not name the finding:\n{metrics}");
    ensure!(metrics.contains("process_open_fds"), "the talker may not look at itself:\n{metrics}");

    // Typed by a person into the pod that runs already.
    let typed = pod.exec(talker, &["/why-terminating-agent", "check", "-o", "json"])?;
    let outside = ask::check(node)?;
    ensure!(found(&report(&typed)?) == found(&outside.report), "by exec: {}{}", typed.stdout, typed.stderr);

    let cwd = staged.get(1).and_then(|staged| staged.pods.first()).context("cwd stages a pod")?;
    let volume = node.layout().pod_dir(&cwd.uid).join("volumes/kubernetes.io~empty-dir/scratch");
    holds_no_mount(reader.pid, &volume)?;
    holds_no_mount(talker.pid, &volume)?;
    let holder = &staged[1].expect[0].names[0];
    run("kill", &[holder])?;
    // The kubelet stand-in unmounts the volume with a plain umount.
    node.wait_gone(cwd, Duration::from_secs(20)).context("while the agent runs")?;
    wait_reasons(node, &["PodNoLongerHeld"])?;

    ensure!(pod.exit_code(reader)?.is_none() && pod.exit_code(talker)?.is_none(), "the agent has ended by itself");
    eprintln!("reader, broker and talker have {} KiB of memory (PSS)", memory(reader.pid, talker.pid)?);
    each_goes_on_alone(node, agent)
}

/// What the pair has, its share of shared pages included, in KiB.
fn memory(reader: i32, talker: i32) -> anyhow::Result<u64> {
    let of = |pid: i32| -> anyhow::Result<u64> {
        let rollup = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
        let pss = rollup.lines().find_map(|line| line.strip_prefix("Pss:")).context("the kernel does not show it")?;
        eprintln!("pid {pid}: {pss}");
        Ok(pss.trim().trim_end_matches(" kB").parse()?)
    };
    Ok(of(reader)? + of(broker(reader)?)? + of(talker)?)
}

/// The reader's first child: others are disposable.
fn broker(reader: i32) -> anyhow::Result<i32> {
    let children = std::fs::read_to_string(format!("/proc/{reader}/task/{reader}/children"))?;
    let first = children.split_whitespace().next().context("the reader has no child")?;
    first.parse().context("a child has a pid")
}

/// The reader answers without its talker, and the talker without its reader; and both find each other again.
fn each_goes_on_alone(node: &Node, agent: &Deployed<'_>) -> anyhow::Result<()> {
    let Deployed { pod, deployment, reader, talker } = agent;
    run("kill", &["-9", &talker.pid.to_string()])?;
    let asked = pod.run(&deployment.talker()?, &["check", "-o", "json"])?;
    ensure!(found(&report(&asked)?) == found(&ask::check(node)?.report), "{}{}", asked.stdout, asked.stderr);

    let talker = pod.start(&deployment.talker()?, Some(&RUN))?;
    is_ready(pod, &talker, true)?;
    run("kill", &["-9", &reader.pid.to_string()])?;
    is_ready(pod, &talker, false)?;
    ensure!(pod.ask(&talker, "/healthz")?.starts_with("HTTP/1.1 200"), "the talker is not well without its reader");
    let metrics = pod.ask(&talker, "/metrics")?;
    ensure!(metrics.contains("source_failures_total{source=\"reader\"}"), "nothing is reported:\n{metrics}");
    ensure!(metrics.contains("FuseServerNotResponding"), "what could not be seen has ended:\n{metrics}");
    let reader = pod.start(&deployment.reader()?, None)?;
    is_ready(pod, &talker, true).with_context(|| format!("the new reader wrote:\n{}", pod.log(&reader)))?;

    for container in [&talker, &reader] {
        let before = Instant::now();
        pod.stop(container, Duration::from_secs(5))?;
        ensure!(before.elapsed() < Duration::from_secs(3), "it took {:?} to end", before.elapsed());
    }
    Ok(())
}

fn is_ready(pod: &AgentPod<'_>, talker: &Container, ready: bool) -> anyhow::Result<()> {
    let code = if ready { "HTTP/1.1 200" } else { "HTTP/1.1 503" };
    lab::wait_for(&format!("/readyz answers {code}"), Duration::from_secs(60), || {
        // It may not listen yet.
        let answer = pod.ask(talker, "/readyz").unwrap_or_default();
        Ok(answer.starts_with(code).then_some(()))
    })
    .with_context(|| format!("the talker wrote:\n{}", pod.log(talker)))
}

/// What the kernel says of a container of the agent: the manifest's settings have arrived.
fn confined(pid: i32, capabilities: &str, user: &str) -> anyhow::Result<()> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let words: Vec<Vec<&str>> = status.lines().map(|line| line.split_whitespace().collect()).collect();
    let says = |line: &[&str]| words.iter().any(|words| words.starts_with(line));
    // DAC_READ_SEARCH is bit 2, SYS_PTRACE bit 19.
    for line in [
        ["CapEff:", capabilities],
        ["CapBnd:", capabilities],
        ["CapPrm:", capabilities],
        ["NoNewPrivs:", "1"],
        ["Seccomp:", "2"],
        ["Uid:", user],
    ] {
        ensure!(says(&line), "{line:?} is not so:\n{status}");
    }
    // The runtime's profile, and the two by which the agent gives up system calls itself (Linux 5.9 counts them).
    let filters = words.iter().find(|words| words.first() == Some(&"Seccomp_filters:"));
    let filters = filters.and_then(|words| words.get(1)?.parse().ok()).unwrap_or(3);
    ensure!(filters >= 3, "it has given up nothing by itself:\n{status}");
    let namespace = |pid: &str, kind: &str| std::fs::read_link(format!("/proc/{pid}/ns/{kind}"));
    let pid = pid.to_string();
    ensure!(namespace(&pid, "pid")? == namespace("self", "pid")?, "it has a pid namespace of its own");
    ensure!(namespace(&pid, "net")? != namespace("self", "net")?, "it is in the node's network");
    let mounts = std::fs::read_to_string(format!("/proc/{pid}/mountinfo"))?;
    let root = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>()).find(|fields| fields[4] == "/");
    let root = root.context("it has a root file system")?;
    ensure!(root[5].split(',').any(|option| option == "ro"), "its root file system can be written: {root:?}");
    let limit = cgroup::memory_limit_of(&pid)?;
    ensure!(limit == 64 << 20, "its memory limit is {limit}");
    Ok(())
}

/// No copy of the volume's file system stands in the agent's mount namespace.
fn holds_no_mount(pid: i32, volume: &Path) -> anyhow::Result<()> {
    let device = |table: &str, point: &Path| {
        let fields = table.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        fields.filter(|fields| Path::new(fields[4]) == point).map(|fields| fields[2].to_owned()).next_back()
    };
    let node = std::fs::read_to_string("/proc/self/mountinfo")?;
    let device = device(&node, volume).with_context(|| format!("{} is not mounted", volume.display()))?;
    let own = std::fs::read_to_string(format!("/proc/{pid}/mountinfo"))?;
    let copies: Vec<&str> = own.lines().filter(|line| line.split(' ').nth(2) == Some(&device)).collect();
    ensure!(copies.is_empty(), "the agent has the pod's volume: {copies:?}");
    Ok(())
}

/// Waits for Events of these reasons, about the Node.
fn wait_reasons(node: &Node, reasons: &[&str]) -> anyhow::Result<()> {
    let told = || -> anyhow::Result<BTreeSet<String>> {
        let events = node.store().events()?;
        let of_node = events.iter().filter(|event| event["regarding"]["kind"] == "Node");
        Ok(of_node.filter_map(|event| event["reason"].as_str().map(str::to_owned)).collect())
    };
    lab::wait_for(&format!("Events of the reasons {reasons:?}"), Duration::from_secs(90), || {
        let told = told()?;
        Ok(reasons.iter().all(|reason| told.contains(*reason)).then_some(()))
    })
    .with_context(|| format!("there are {:?}", told()))
}

fn run(program: &str, args: &[&str]) -> anyhow::Result<()> {
    let done = Command::new(program).args(args).output()?;
    ensure!(done.status.success(), "{program}: {}", String::from_utf8_lossy(&done.stderr));
    Ok(())
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
    for Case { name, settings, finds, lacks } in cases(&deployment.reader()?.as_one()) {
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
    let user = pod.run(&deployment.reader()?.with_user(65534), &["check"])?;
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
    let of_root = ["FuseServerNotResponding", "VolumeHeldByProcess", "VolDataMissing"];
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

/// As the scenario `open-fd`, but the holder is not root: only a process with the right capability sees its descriptors.
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
    // Not the target directory itself, where the release image is.
    let folder = target.join("static");
    let done = Command::new("sh")
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/image.sh"))
        .args(["agent", "dev"])
        .arg(&folder)
        .env("TARGET", target)
        .output()
        .context("start sh")?;
    ensure!(done.status.success(), "the image could not be made: {}", String::from_utf8_lossy(&done.stderr));
    Ok(folder.join("why-terminating-agent.oci.tar"))
}
