//! A program that runs on as a service of the node, and what it has cost so far.

use std::net::TcpListener;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use lab::{Launch, Node};
use procfs::process::Process;

use super::scrape;

/// A service with metrics.
pub struct Service {
    name: &'static str,
    pid: i32,
    port: u16,
    started: Instant,
    log: std::path::PathBuf,
}

/// What a process has cost so far, and what it holds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// User and system time, that of ended children included.
    pub cpu: Duration,
    /// Since its start.
    pub age: Duration,
    /// `VmRSS`, in KiB.
    pub rss: u64,
    /// `RssAnon`, in KiB.
    pub anon: u64,
    /// `RssFile`, in KiB.
    pub file: u64,
    /// The largest resident set so far, in KiB: `VmHWM`, which the kernel keeps a little late.
    pub peak: u64,
}

impl Service {
    /// Starts `program` on the node; `args` are made from the port it is to listen on.
    pub fn start(
        node: &Node,
        name: &'static str,
        program: &Path,
        args: impl FnOnce(u16) -> Vec<String>,
    ) -> anyhow::Result<Self> {
        let port = TcpListener::bind("127.0.0.1:0").context("find a free port")?.local_addr()?.port();
        let program = program.canonicalize().with_context(|| format!("find {}", program.display()))?;
        let started = Instant::now();
        // The node ends its services when it is taken away, also after a crash of this program.
        let pid = node.launch(Launch::program(name, program).args(args(port)))?;
        Ok(Self { name, pid, port, started, log: node.layout().log(name) })
    }

    /// Asks for its metrics; returns them.
    pub fn scrape(&self) -> anyhow::Result<String> {
        scrape::get(self.port, "/metrics").with_context(|| self.words("cannot be scraped"))
    }

    /// Fails unless it says that it is ready.
    pub fn expect_ready(&self) -> anyhow::Result<()> {
        scrape::get(self.port, "/readyz").map(drop).with_context(|| self.words("is not ready"))
    }

    /// Its pid.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// What it has cost so far.
    pub fn cost(&self) -> anyhow::Result<Cost> {
        let read = || -> anyhow::Result<Cost> {
            let process = Process::new(self.pid)?;
            let (stat, status) = (process.stat()?, process.status()?);
            let of_children = u64::try_from(stat.cutime + stat.cstime)?;
            let ticks = stat.utime + stat.stime + of_children;
            let kib = |value: Option<u64>| value.context("the kernel does not show it");
            Ok(Cost {
                cpu: Duration::from_millis(ticks * 1000 / procfs::ticks_per_second()),
                age: self.started.elapsed(),
                rss: kib(status.vmrss)?,
                anon: kib(status.rssanon)?,
                file: kib(status.rssfile)?,
                peak: kib(status.vmhwm.max(status.vmrss))?,
            })
        };
        read().with_context(|| self.words("has ended"))
    }

    fn words(&self, what: &str) -> String {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        format!("{} {what}; it said last:\n{}", self.name, lines[lines.len().saturating_sub(10)..].join("\n"))
    }
}

impl Cost {
    /// Milliseconds of CPU per second since the start.
    pub fn cpu_per_second(&self) -> f64 {
        self.cpu.as_secs_f64() * 1000.0 / self.age.as_secs_f64()
    }
}
