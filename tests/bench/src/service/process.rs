//! The service as a process: what it answers, and what it costs.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use procfs::process::Process;

use crate::cluster::Running;

/// Where the Lease of the replicas is.
const LEASE: &str = "why-terminating/why-terminating-aggregator";

/// It is killed when this is dropped.
pub struct Service {
    child: Child,
    address: String,
    begun: Instant,
}

/// What an answer cost the one who waited for it, the TLS handshake included.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    pub status: u16,
    pub bytes: usize,
    pub seconds: f64,
}

impl Service {
    /// Starts one that keeps incidents in `file`.
    pub fn start(program: &Path, cluster: &Running, file: &str) -> anyhow::Result<Self> {
        let begun = Instant::now();
        let mut child = Command::new(program)
            .args(["serve", "--listen", "127.0.0.1:0", "--lease", LEASE, "--request-timeout", "60", "--kubeconfig"])
            .arg(cluster.kubeconfig())
            .arg("--incidents")
            .arg(cluster.scratch(file))
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("start {}", program.display()))?;
        let mut log = BufReader::new(child.stderr.take().context("the service's log")?).lines();
        let address = log.by_ref().map_while(Result::ok).find_map(|line| {
            let address = line.contains("listening").then(|| line.rsplit("address=").next().map(str::trim))??;
            Some(address.to_owned())
        });
        // A log that is not read stops the service.
        std::thread::spawn(move || log.map_while(Result::ok).for_each(|line| eprintln!("service: {line}")));
        Ok(Self { child, address: address.context("the service does not listen")?, begun })
    }

    /// Waits until the first judgement; returns how long that took from the start.
    pub fn until_ready(&self) -> anyhow::Result<Duration> {
        while self.get("/readyz", false)?.0.status != 200 {
            ensure!(self.begun.elapsed() < Duration::from_secs(300), "the service is not ready after five minutes");
            std::thread::sleep(Duration::from_millis(200));
        }
        Ok(self.begun.elapsed())
    }

    /// An answer, packed where that is wanted.
    pub fn get(&self, path: &str, packed: bool) -> anyhow::Result<(Cost, String)> {
        let mut curl = Command::new("curl");
        curl.args(["-ks", "--max-time", "60", "-H", "Authorization: Bearer bench"]);
        curl.args(["-w", "\n%{http_code} %{size_download} %{time_total}"]);
        if packed {
            curl.arg("--compressed");
        }
        let output = curl.arg(format!("https://{}{path}", self.address)).output().context("start curl")?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let (body, cost) = text.rsplit_once('\n').context("curl says nothing")?;
        let cost: Vec<&str> = cost.split_whitespace().collect();
        let [status, bytes, seconds] = cost[..] else { anyhow::bail!("curl says {cost:?}") };
        Ok((Cost { status: status.parse()?, bytes: bytes.parse()?, seconds: seconds.parse()? }, body.to_owned()))
    }

    /// The sum of all series of a metric.
    pub fn metric(&self, name: &str) -> anyhow::Result<f64> {
        let (cost, text) = self.get("/metrics", false)?;
        ensure!(cost.status == 200, "/metrics answers {}", cost.status);
        let name = format!("why_terminating_cluster_{name}");
        let of_name = text.lines().filter_map(|line| line.strip_prefix(&name)?.rsplit_once(' '));
        Ok(of_name.filter_map(|(_, value)| value.parse::<f64>().ok()).sum())
    }

    /// User and system time so far.
    pub fn cpu(&self) -> anyhow::Result<Duration> {
        let stat = Process::new(self.pid()?)?.stat()?;
        Ok(Duration::from_millis((stat.utime + stat.stime) * 1000 / procfs::ticks_per_second()))
    }

    /// The most memory it has had, and what it has now, in MiB.
    pub fn memory(&self) -> anyhow::Result<(f64, f64)> {
        let status = Process::new(self.pid()?)?.status()?;
        let mebi = |kib: Option<u64>| kib.unwrap_or(0) as f64 / 1024.0;
        Ok((mebi(status.vmhwm), mebi(status.vmrss)))
    }

    fn pid(&self) -> anyhow::Result<i32> {
        Ok(self.child.id().try_into()?)
    }

    /// Ends it as the kubelet does, and waits.
    pub fn end(mut self) -> anyhow::Result<()> {
        kill(Pid::from_raw(self.pid()?), Signal::SIGTERM)?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
