//! What one run of a command costs, as a whole process.
//!
//! A small process in between runs the command: the kernel accounts resources of ended children,
//! so CPU time and memory are those of this one command and of what it waited for itself.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use nix::sys::resource::{UsageWho, getrusage};
use serde::{Deserialize, Serialize};

/// How often a command with a limit is looked at.
const STEP: Duration = Duration::from_millis(5);

/// A command to be measured.
#[derive(Clone, Debug)]
pub struct Tool {
    program: PathBuf,
    args: Vec<OsString>,
}

/// The cost of one run.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Cost {
    /// User and system time, in microseconds.
    pub cpu_us: u64,
    /// Time on the clock, in microseconds.
    pub wall_us: u64,
    /// The largest resident set, in KiB.
    pub rss_kib: u64,
    /// The exit code; nothing when it had to be killed.
    pub code: Option<i32>,
}

/// A run and what it printed.
#[derive(Clone, Debug)]
pub struct Run {
    /// What it cost.
    pub cost: Cost,
    /// Its standard output.
    pub output: String,
}

impl Tool {
    /// `program` with `args`.
    pub fn new(program: impl Into<PathBuf>, args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        Self { program: program.into(), args: args.into_iter().map(Into::into).collect() }
    }

    /// The program.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Its arguments.
    pub fn args(&self) -> &[OsString] {
        &self.args
    }

    /// Runs it once to its end.
    pub fn run(&self) -> anyhow::Result<Run> {
        self.run_within(Duration::ZERO)
    }

    /// Runs it once and kills it after `limit`; zero is no limit.
    pub fn run_within(&self, limit: Duration) -> anyhow::Result<Run> {
        let own = std::env::current_exe().context("find the own binary")?;
        let output = std::env::temp_dir().join(format!("bench-output-{}", std::process::id()));
        let measured = Command::new(own)
            .arg("measure")
            .arg(limit.as_millis().to_string())
            .arg(&output)
            .arg("--")
            .arg(&self.program)
            .args(&self.args)
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .context("start a measurement")?;
        let text = std::fs::read(&output);
        let _ = std::fs::remove_file(&output);
        anyhow::ensure!(measured.status.success(), "{} could not be measured", self.program.display());
        let cost = serde_json::from_slice(&measured.stdout).context("read the measurement")?;
        Ok(Run { cost, output: String::from_utf8_lossy(&text?).into_owned() })
    }
}

/// The part of the process in between.
#[derive(Debug, clap::Args)]
pub struct Measure {
    /// After how many milliseconds the command is killed; 0 for never.
    limit: u64,
    /// Where its output goes.
    output: PathBuf,
    /// The command.
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

impl Measure {
    /// Runs the command and prints its cost.
    pub fn run(self) -> anyhow::Result<()> {
        let (program, args) = self.command.split_first().context("a command to measure")?;
        let cost = cost(program.as_ref(), args, &self.output, Duration::from_millis(self.limit))?;
        println!("{}", serde_json::to_string(&cost)?);
        Ok(())
    }
}

fn cost(program: &Path, args: &[OsString], output: &Path, limit: Duration) -> anyhow::Result<Cost> {
    let output = File::create(output).with_context(|| format!("create {}", output.display()))?;
    let start = Instant::now();
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("start {}", program.display()))?;
    let code = if limit.is_zero() {
        child.wait()?.code()
    } else {
        loop {
            match child.try_wait()? {
                Some(status) => break status.code(),
                None if start.elapsed() < limit => std::thread::sleep(STEP),
                None => {
                    // Not waited for: it may hang where no signal reaches it.
                    child.kill()?;
                    break None;
                }
            }
        }
    };
    let wall_us = micros(start.elapsed());
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let time = |time: nix::sys::time::TimeVal| micros(to_duration(time));
    Ok(Cost {
        cpu_us: time(usage.user_time()) + time(usage.system_time()),
        wall_us,
        rss_kib: u64::try_from(usage.max_rss())?,
        code,
    })
}

fn to_duration(time: nix::sys::time::TimeVal) -> Duration {
    let seconds = u64::try_from(time.tv_sec()).unwrap_or(0);
    Duration::from_secs(seconds) + Duration::from_micros(u64::try_from(time.tv_usec()).unwrap_or(0))
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
