//! The agent: killed at random, started again, and looked at meanwhile.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use lab::{Node, cgroup, process, wait_for};
use nix::sys::signal::Signal;

use crate::{
    flat::{Course, Sample},
    state::State,
};

/// As much memory as the DaemonSet allows.
pub const LIMIT: u64 = 64 << 20;
/// Looks that follow one another as closely as the agent allows, and news that are told at once.
const QUICK: [&str; 9] = [
    "--log-format=json",
    "--listen=off",
    "--first-scan=1s",
    "--scan-interval=2s",
    "--scan-interval-max=2s",
    "--sweep-interval=3s",
    "--event-spread=0s",
    "--event-refill=1s",
    "--event-renewal=60s",
];
const STEP: Duration = Duration::from_secs(1);

/// What was seen of all its lives.
#[derive(Debug, Default)]
pub struct Lives {
    /// How many there were.
    pub count: usize,
    /// The most that one had resident, in KiB.
    pub most_resident: u64,
    /// The most descriptors of one.
    pub most_descriptors: u64,
    /// How often the limit of its memory was met.
    pub times_limited: u64,
    /// The last one, which was not killed.
    pub last: Option<Course>,
}

/// Starts, kills and looks at agents until the pods are done; from `unharmed` on none is killed.
pub fn live(node: &Node, state: &State, unharmed: Instant, mut random: fastrand::Rng) -> anyhow::Result<Lives> {
    let group = cgroup::with_memory_limit(&format!("{}/agent", cgroup::PODS), LIMIT)?;
    let mut lives = Lives::default();
    while !state.is_settled() {
        let agent = Agent::start(node, state, &group, lives.count)?;
        lives.count += 1;
        let left = unharmed.saturating_duration_since(Instant::now());
        // A life that would reach beyond is the last one.
        let killed = Duration::from_secs(random.u64(10..90));
        let end = (killed < left).then(|| Instant::now() + killed);
        let mut samples = Vec::new();
        while end.map_or(!state.is_settled(), |end| Instant::now() < end) {
            thread::sleep(STEP);
            let sample = agent.sample().with_context(|| agent.last_words())?;
            lives.most_descriptors = lives.most_descriptors.max(sample.descriptors);
            lives.most_resident = lives.most_resident.max(agent.status("VmHWM:")?);
            samples.push(sample);
        }
        match end {
            Some(_) => agent.kill()?,
            None => agent.terminate()?,
        }
        lives.last = Course::of(&samples);
    }
    lives.times_limited = cgroup::times_limited(&group)?;
    Ok(lives)
}

struct Agent {
    child: Child,
    log: PathBuf,
    binary: PathBuf,
}

impl Agent {
    fn start(node: &Node, state: &State, group: &Path, number: usize) -> anyhow::Result<Self> {
        let log = node.layout().dir().join("log").join(format!("agent-{number}.log"));
        let child = confined(&state.agent, group)
            .arg("run")
            .args(node.agent_args())
            .args(QUICK)
            .env_remove("RUST_LOG")
            .stdin(Stdio::null())
            .stderr(File::create(&log).with_context(|| format!("create {}", log.display()))?)
            .spawn()
            .context("start the agent")?;
        let agent = Self { child, log, binary: state.agent.clone() };
        // Until then it is the shell.
        wait_for("the agent runs", Duration::from_secs(10), || {
            Ok((agent.of_the_program().contains(&agent.pid()?)).then_some(()))
        })?;
        Ok(agent)
    }

    fn pid(&self) -> anyhow::Result<i32> {
        Ok(i32::try_from(self.child.id())?)
    }

    fn sample(&self) -> anyhow::Result<Sample> {
        let pid = self.pid()?;
        ensure!(!matches!(process::state(pid), None | Some('Z' | 'X')), "the agent has ended by itself");
        let descriptors = fs::read_dir(format!("/proc/{pid}/fd"))?.count();
        Ok(Sample { resident: self.status("VmRSS:")?, descriptors: descriptors as u64 })
    }

    fn status(&self, field: &str) -> anyhow::Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid()?))?;
        let value = status.lines().find_map(|line| line.strip_prefix(field));
        let value = value.with_context(|| format!("a status has {field}"))?;
        Ok(value.trim().trim_end_matches(" kB").parse()?)
    }

    /// Ends it at once, as an OOM killer would.
    fn kill(mut self) -> anyhow::Result<()> {
        process::signal(self.pid()?, Signal::SIGKILL)?;
        self.child.wait().context("wait for the agent")?;
        self.leaves_nothing()
    }

    fn terminate(mut self) -> anyhow::Result<()> {
        process::signal(self.pid()?, Signal::SIGTERM)?;
        let ended = wait_for("the agent ends", Duration::from_secs(30), || Ok(self.child.try_wait()?))?;
        ensure!(ended.success(), "the agent ended badly: {ended}: {}", self.last_words());
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

/// The agent's program in a cgroup.
pub fn confined(binary: &Path, group: &Path) -> Command {
    let mut enter = Command::new("sh");
    enter.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]).arg(group.join("cgroup.procs")).arg(binary);
    enter
}
