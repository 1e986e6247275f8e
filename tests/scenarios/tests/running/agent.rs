//! The real agent as a process.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use lab::{Node, cgroup, process, wait_for};
use nix::sys::signal::Signal;
use serde_json::Value;

use super::metrics::Metrics;
use crate::ask;

/// Scans as close together as the agent allows, and findings that are reported at once.
const QUICK: &[&str] =
    &["--first-scan=1s", "--scan-interval=2s", "--scan-interval-max=2s", "--sweep-interval=3s", "--event-spread=0s"];
/// How long it may take to begin or to end. The machine may be busy, so this is no measure.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running agent; it is killed when this goes out of scope.
pub struct Agent {
    child: RefCell<Child>,
    log: PathBuf,
    metrics: SocketAddr,
}

/// How an agent ended.
pub struct Ended {
    /// How long it took after the signal.
    pub took: Duration,
    /// Its last line.
    pub last: Value,
}

impl Agent {
    /// Starts `run` on the lab's node; it asks the API server of `kubeconfig` and writes to a log
    /// in `dir`.
    pub fn start(node: &Node, dir: &Path, kubeconfig: &Path, flags: &[&str]) -> anyhow::Result<Self> {
        Self::start_by(Command::new(ask::binary()?), node, dir, kubeconfig, flags)
    }

    /// The same, through a command that becomes the agent in the end.
    pub fn start_by(
        command: Command,
        node: &Node,
        dir: &Path,
        kubeconfig: &Path,
        flags: &[&str],
    ) -> anyhow::Result<Self> {
        fs::create_dir_all(dir).with_context(|| format!("create {}", dir.display()))?;
        let number = fs::read_dir(dir)?.count();
        let log = dir.join(format!("agent-{number}.log"));
        let place =
            node.agent_args().into_iter().filter(|flag| !flag.starts_with("--kubeconfig") && !is_given(flag, flags));
        // First into a cgroup of the lab: who takes down the node of a test that was killed ends the agent, too. The command
        // may move it on into another one.
        let tagged = cgroup::tagging().join(cgroup::HOST.trim_start_matches('/')).join("cgroup.procs");
        let child = Command::new("sh")
            .args(["-c", "echo $$ > \"$0\" && exec \"$@\""])
            .arg(tagged)
            .arg(command.get_program())
            .args(command.get_args())
            .arg("run")
            .args(place)
            .arg(format!("--kubeconfig={}", kubeconfig.display()))
            .args(["--log-format=json", "--listen=127.0.0.1:0"])
            .args(QUICK.iter().filter(|flag| !is_given(flag, flags)))
            .args(flags)
            .env_remove("RUST_LOG")
            .stdin(Stdio::null())
            .stderr(File::create(&log).with_context(|| format!("create {}", log.display()))?)
            .spawn()
            .context("start the agent")?;
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut agent = Agent { child: RefCell::new(child), log, metrics: nowhere };
        let address = agent.wait_line("metrics are served", |_| true)?;
        agent.metrics = address["address"].as_str().context("the address is logged")?.parse()?;
        Ok(agent)
    }

    /// Its pid.
    pub fn pid(&self) -> anyhow::Result<i32> {
        Ok(i32::try_from(self.child.borrow().id())?)
    }

    /// What it has logged.
    pub fn lines(&self) -> anyhow::Result<Vec<Value>> {
        let text = fs::read_to_string(&self.log).with_context(|| format!("read {}", self.log.display()))?;
        let complete = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        complete.map(|line| serde_json::from_str(line).with_context(|| format!("no line of a log: {line}"))).collect()
    }

    /// The same as text, for a person who wants to know why a test failed.
    pub fn log(&self) -> String {
        format!("the agent has logged:\n{}", fs::read_to_string(&self.log).unwrap_or_default())
    }

    /// The lines with this message.
    pub fn said(&self, message: &str) -> anyhow::Result<Vec<Value>> {
        Ok(self.lines()?.into_iter().filter(|line| line["message"] == message).collect())
    }

    /// Waits for a line.
    pub fn wait_line(&self, message: &str, is_it: impl Fn(&Value) -> bool) -> anyhow::Result<Value> {
        self.wait(&format!("the agent logs {message:?}"), || Ok(self.said(message)?.into_iter().find(&is_it)))
    }

    /// Waits until it is logged that this cause holds a pod.
    pub fn wait_held(&self, cause: &str) -> anyhow::Result<Value> {
        self.wait_line("a pod is held", |line| line["cause"] == cause)
    }

    /// Waits until it is logged that this cause holds no pod any more.
    pub fn wait_over(&self, cause: &str) -> anyhow::Result<Value> {
        self.wait_line("a pod is no longer held", |line| line["cause"] == cause)
    }

    /// Waits for something that the agent is to bring about; its death is not waited out.
    pub fn wait<T>(&self, what: &str, mut look: impl FnMut() -> anyhow::Result<Option<T>>) -> anyhow::Result<T> {
        let found = wait_for(what, super::LIMIT, || {
            let ended = self.child.borrow_mut().try_wait()?;
            ensure!(ended.is_none(), "the agent has ended: {ended:?}");
            look()
        });
        found.with_context(|| self.log())
    }

    /// What it has counted.
    pub fn metrics(&self) -> anyhow::Result<Metrics> {
        let mut stream = TcpStream::connect(self.metrics).context("connect to the agent's metrics")?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).context("read the agent's metrics")?;
        ensure!(answer.starts_with("HTTP/1.0 200"), "no metrics: {answer}");
        Ok(Metrics::new(answer))
    }

    /// Waits until it knows that an Event was written: one of which it has not heard by its end it writes again.
    pub fn wait_heard(&self) -> anyhow::Result<()> {
        let heard = || anyhow::Ok(self.metrics()?.sum_of("why_terminating_events_total", "result=\"written\""));
        self.wait("it hears that an Event was written", || Ok((heard()? >= 1.0).then_some(())))
    }

    /// Waits until it has looked so many times more.
    pub fn wait_scans(&self, more: u32) -> anyhow::Result<()> {
        let scans = || anyhow::Ok(self.metrics()?.sum("why_terminating_scan_duration_seconds_count"));
        let before = scans()?;
        // Each costs what the next waits for.
        (1..=more).try_for_each(|one| {
            self.wait(&format!("scan {one} of {more}"), || Ok((scans()? >= before + f64::from(one)).then_some(())))
        })
    }

    /// Ends it at once, as an OOM killer would.
    pub fn kill(self) -> anyhow::Result<()> {
        process::signal(self.pid()?, Signal::SIGKILL)?;
        self.child.borrow_mut().wait().context("wait for the agent")?;
        Ok(())
    }

    /// Asks it to end and waits until it has.
    pub fn terminate(self) -> anyhow::Result<Ended> {
        let before = Instant::now();
        process::signal(self.pid()?, Signal::SIGTERM)?;
        let status = wait_for("the agent ends", PATIENCE, || Ok(self.child.borrow_mut().try_wait()?))?;
        let took = before.elapsed();
        ensure!(status.success(), "the agent ended badly: {status}");
        let last = self.lines()?.pop().context("the agent says something at its end")?;
        Ok(Ended { took, last })
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let mut child = self.child.borrow_mut();
        if let Ok(None) = child.try_wait() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn is_given(flag: &str, flags: &[&str]) -> bool {
    let name = |flag: &str| flag.split('=').next().map(str::to_owned);
    flags.iter().any(|given| name(given) == name(flag))
}
