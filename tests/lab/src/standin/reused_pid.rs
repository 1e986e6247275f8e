//! A process that has a file mapped, ends, and leaves its pid to one that holds nothing, again and again.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{fs, thread};

use anyhow::Context as _;

/// As long as a search of a node's processes takes, so that many a search meets both.
const LIFETIME: Duration = Duration::from_millis(20);

/// Has two processes of one pid in turn, of which only the first holds something.
#[derive(Debug, clap::Args)]
pub struct ReusedPid {
    /// What the first one maps.
    #[arg(long)]
    map: PathBuf,
}

impl ReusedPid {
    /// Runs until it is killed.
    pub fn run(self) -> anyhow::Result<()> {
        let own = std::env::args_os().next().context("this program has no name")?;
        let mut holder = Command::new(own);
        holder.args(["stand-in", "hold", "--map"]).arg(&self.map);
        let mut other = Command::new("/bin/cat");
        let mut pid = live_and_die(&mut holder)?;
        loop {
            for next in [&mut other, &mut holder] {
                // The next process gets the number after this one, unless another process of the machine was faster.
                fs::write("/proc/sys/kernel/ns_last_pid", (pid - 1).to_string()).context("choose the next pid")?;
                pid = live_and_die(next)?;
            }
        }
    }
}

fn live_and_die(program: &mut Command) -> anyhow::Result<u32> {
    let mut child = program.stdin(Stdio::piped()).spawn().context("start a process")?;
    thread::sleep(LIFETIME);
    child.kill().and_then(|()| child.wait()).context("end it")?;
    Ok(child.id())
}
