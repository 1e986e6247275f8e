//! The agent in its two roles, as the `DaemonSet` runs it: killed at random, started again, and looked at meanwhile.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use lab::{Node, cgroup, process, wait_for};
use nix::sys::signal::Signal;

use crate::flat::{Course, Sample};
use crate::state::State;

/// As much memory as the DaemonSet allows.
pub const LIMIT: u64 = 64 << 20;
/// Scans as close together as the agent allows, and findings that are reported at once.
const QUICK: [&str; 9] = [
    "--log-format=json", "--listen=off", "--first-scan=1s", "--scan-interval=2s", "--scan-interval-max=2s",
    "--sweep-interval=3s", "--event-spread=0s", "--event-refill=1s", "--event-renewal=60s",
];
const STEP: Duration = Duration::from_secs(1);

/// What was seen of all its lives.
#[derive(Debug, Default)]
pub struct Lives {
    /// How often reader or talker were started.
    pub count: usize,
    /// The most that one process had resident, in KiB.
    pub most_resident: u64,
    /// The most descriptors of all together.
    pub most_descriptors: u64,
    /// How often the limit of its memory was met.
    pub times_limited: u64,
    /// Since the last of them was killed.
    pub last: Option<Course>,
}

/// Which of the two containers of its pod.
#[derive(Clone, Copy, Debug)]
enum Role {
    Reader,
    Talker,
}

/// Starts, kills and looks at both until the pods are done; from `unharmed` on none is killed.
pub fn live(node: &Node, state: &State, unharmed: Instant, mut random: fastrand::Rng) -> anyhow::Result<Lives> {
    let roles = [Role::Reader, Role::Talker];
    let mut lives = Lives { count: roles.len(), ..Lives::default() };
    let mut containers = Vec::new();
    for role in roles {
        containers.push(Container::start(role, node, state, containers.len())?);
    }
    let mut samples = Vec::new();
    let mut killed = next(&mut random);
    while !state.is_settled() {
        thread::sleep(STEP);
        let mut sample = Sample { resident: 0, descriptors: 0 };
        for container in &containers {
            let its = container.sample().with_context(|| container.last_words())?;
            sample.resident += its.resident;
            sample.descriptors += its.descriptors;
            lives.most_resident = lives.most_resident.max(container.most_resident()?);
        }
        lives.most_descriptors = lives.most_descriptors.max(sample.descriptors);
        samples.push(sample);
        if Instant::now() < killed || killed > unharmed {
            continue;
        }
        killed = next(&mut random);
        samples.clear();
        // One of them, or both, as a kubelet that restarts the pod.
        let which = random.usize(..=roles.len());
        for at in (0..roles.len()).filter(|at| which == roles.len() || which == *at) {
            containers[at].kill()?;
            containers[at] = Container::start(roles[at], node, state, lives.count)?;
            lives.count += 1;
        }
    }
    lives.last = Course::of(&samples);
    for container in containers.iter_mut().rev() {
        container.end()?;
        lives.times_limited += cgroup::times_limited(&container.group)?;
    }
    Ok(lives)
}

fn next(random: &mut fastrand::Rng) -> Instant {
    Instant::now() + Duration::from_secs(random.u64(10..90))
}

struct Container {
    role: Role,
    child: Child,
    group: PathBuf,
    log: PathBuf,
    binary: PathBuf,
}

impl Container {
    fn start(role: Role, node: &Node, state: &State, number: usize) -> anyhow::Result<Self> {
        let log = node.layout().dir().join("log").join(format!("agent-{number}.log"));
        let group = cgroup::with_memory_limit(&format!("{}/{role:?}", cgroup::PODS), LIMIT)?;
        // A program of its own, so that the leftovers of each can be distinguished.
        let binary = node.layout().dir().join("bin").join(format!("{role:?}"));
        if !binary.exists() {
            fs::copy(&state.agent, &binary).with_context(|| format!("copy {}", state.agent.display()))?;
        }
        let socket = node.layout().dir().join("reader.sock");
        let (of_talker, of_reader): (Vec<String>, Vec<String>) = node
            .agent_args()
            .into_iter()
            .partition(|arg| arg.starts_with("--kubeconfig") || arg.starts_with("--node-name"));
        let mut command = confined(&binary, &group);
        match role {
            Role::Reader => command.arg("reader").args(of_reader).arg("--log-format=json").arg("--socket").arg(socket),
            Role::Talker => command.arg("run").args(of_talker).args(QUICK).arg("--reader").arg(socket),
        };
        let child = command
            .env_remove("RUST_LOG")
            .stdin(Stdio::null())
            .stderr(File::create(&log).with_context(|| format!("create {}", log.display()))?)
            .spawn()
            .context("start the agent")?;
        let container = Self { role, child, group, log, binary };
        // Until then it is the shell.
        wait_for("the agent runs", Duration::from_secs(10), || {
            Ok((container.of_the_program().contains(&container.pid()?)).then_some(()))
        })?;
        Ok(container)
    }

    fn pid(&self) -> anyhow::Result<i32> {
        Ok(i32::try_from(self.child.id())?)
    }

    /// All of its processes together.
    fn sample(&self) -> anyhow::Result<Sample> {
        let pid = self.pid()?;
        ensure!(!matches!(process::state(pid), None | Some('Z' | 'X')), "the {:?} has ended by itself", self.role);
        let mut sample = Sample { resident: status(pid, "VmRSS:")?, descriptors: descriptors(pid)? };
        // Its children come and go.
        for child in self.of_the_program().into_iter().filter(|child| *child != pid) {
            sample.resident += status(child, "VmRSS:").unwrap_or(0);
            sample.descriptors += descriptors(child).unwrap_or(0);
        }
        Ok(sample)
    }

    fn most_resident(&self) -> anyhow::Result<u64> {
        status(self.pid()?, "VmHWM:")
    }

    /// Ends it at once, as an OOM killer would.
    fn kill(&mut self) -> anyhow::Result<()> {
        process::signal(self.pid()?, Signal::SIGKILL)?;
        self.child.wait().context("wait for the agent")?;
        self.leaves_nothing()
    }

    /// Ends it as the kubelet would.
    fn end(&mut self) -> anyhow::Result<()> {
        process::signal(self.pid()?, Signal::SIGTERM)?;
        let ended = wait_for("the agent ends", Duration::from_secs(30), || Ok(self.child.try_wait()?))?;
        // The reader has nothing to finish.
        let is_well = matches!(self.role, Role::Reader) || ended.success();
        ensure!(is_well, "the agent ended badly: {ended}: {}", self.last_words());
        self.leaves_nothing()
    }

    /// No process of its program is left.
    fn leaves_nothing(&self) -> anyhow::Result<()> {
        wait_for("the agent's own processes end with it", Duration::from_secs(10), || {
            Ok(self.of_the_program().is_empty().then_some(()))
        })
        .with_context(|| format!("left: {:?}", self.of_the_program()))
    }

    fn of_the_program(&self) -> Vec<i32> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter(|pid| fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|path| path == self.binary)).collect()
    }

    fn last_words(&self) -> String {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().rev().take(5).collect();
        format!("the agent's last lines, the newest first:\n{}", lines.join("\n"))
    }
}

fn descriptors(pid: i32) -> anyhow::Result<u64> {
    Ok(fs::read_dir(format!("/proc/{pid}/fd"))?.count() as u64)
}

fn status(pid: i32, field: &str) -> anyhow::Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let value = status.lines().find_map(|line| line.strip_prefix(field));
    let value = value.with_context(|| format!("a status has {field}"))?;
    Ok(value.trim().trim_end_matches(" kB").parse()?)
}

/// The agent's program in a cgroup.
pub fn confined(binary: &Path, group: &Path) -> Command {
    let mut enter = Command::new("sh");
    enter.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]).arg(group.join("cgroup.procs")).arg(binary);
    enter
}
