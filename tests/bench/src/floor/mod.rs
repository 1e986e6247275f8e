//! The floor: what the calls to the kernel by which `check` reads the node cost when a bare loop makes them.
//!
//! They are recorded once with `strace`, those of copies of the agent too, and made again one after the other. What starts the
//! program, talks to the runtime and the API server, judges and prints is not in it.

mod call;
mod replay;

use std::process::Stdio;

use anyhow::Context as _;
use call::{Call, recorded};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;

use crate::measure::Tool;

/// What one loop cost.
pub struct Floor {
    /// How many calls it made.
    pub calls: usize,
    /// User and system time of each loop, in µs.
    pub cpu_us: Vec<u64>,
}

/// The calls that read files of the node, and those that show which process made them.
const TRACED: &str =
    "trace=openat,openat2,readlinkat,readlink,read,getdents64,newfstatat,fstat,statx,close,clone,clone3";

/// Records one run of `tool` and makes its calls `runs` times, after one time that does not count.
pub fn measure(tool: &Tool, runs: usize) -> anyhow::Result<Floor> {
    let log = tempfile::NamedTempFile::new().context("make a file for the calls")?;
    // Names and numbers as the kernel gets them.
    let mut strace = std::process::Command::new("strace");
    strace.args(["-f", "-qq", "-X", "raw", "-xx", "-s", "4096", "-e", TRACED, "-o"]).arg(log.path());
    let ended = strace.arg(tool.program()).args(tool.args()).stdin(Stdio::null()).stdout(Stdio::null()).status();
    anyhow::ensure!(ended.context("start strace")?.code() == Some(2), "under strace the answer is another");
    let text = std::fs::read_to_string(log.path()).context("read the calls")?;
    let calls = recorded(&text);
    anyhow::ensure!(calls.len() > 100, "strace wrote down {} calls only", calls.len());
    again(&calls)?;
    let cpu_us = (0..runs).map(|_| again(&calls)).collect::<anyhow::Result<_>>()?;
    Ok(Floor { calls: calls.len(), cpu_us })
}

/// One loop.
fn again(calls: &[Call]) -> anyhow::Result<u64> {
    let before = own_cpu()?;
    let failed = replay::all(calls);
    let after = own_cpu()?;
    // A process or two may have gone since; more, and it is another work.
    anyhow::ensure!(failed * 50 <= calls.len(), "{failed} of {} calls fail that did not", calls.len());
    Ok(after - before)
}

fn own_cpu() -> anyhow::Result<u64> {
    let usage = getrusage(UsageWho::RUSAGE_SELF).context("ask for the own CPU time")?;
    Ok(u64::try_from(usage.user_time().num_microseconds() + usage.system_time().num_microseconds())?)
}
