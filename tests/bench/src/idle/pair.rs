//! The agent as the DaemonSet runs it: the reader, its broker, and the talker.

use std::{fs, path::Path, time::Duration};

use anyhow::Context as _;
use lab::{Launch, Node};
use procfs::process::Process;

/// Milliseconds of CPU per second, of all of them.
pub const CPU_TARGET: f64 = 1.0;
/// MiB that are theirs, of all of them.
pub const PSS_TARGET: f64 = 16.0;

/// The reader, with its broker.
pub struct Reader {
    pid: i32,
}

/// What processes have cost so far, and what they hold.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// User and system time, that of ended children included.
    pub cpu: Duration,
    /// Their share of the memory, in KiB.
    pub pss: u64,
}

impl Reader {
    /// Starts it on the node; `socket` is where it listens.
    pub fn start(node: &Node, program: &Path, socket: &Path) -> anyhow::Result<Self> {
        let program = program.canonicalize().with_context(|| format!("find {}", program.display()))?;
        let place = node.agent_args().into_iter().filter(|flag| is_of_the_node(flag));
        let args = ["reader".to_owned(), format!("--socket={}", socket.display())].into_iter().chain(place);
        Ok(Self { pid: node.launch(Launch::program("reader", program).args(args))? })
    }

    /// What it, its broker and the talker have cost.
    pub fn cost_with(&self, talker: i32) -> anyhow::Result<Cost> {
        let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", self.pid))?;
        let broker = children.split_whitespace().next().context("the reader has no broker")?.parse()?;
        [self.pid, broker, talker].into_iter().try_fold(Cost::default(), |sum, pid| {
            let (process, one) = (Process::new(pid)?, pss(pid)?);
            let stat = process.stat()?;
            let ticks = stat.utime + stat.stime + u64::try_from(stat.cutime + stat.cstime)?;
            let cpu = Duration::from_millis(ticks * 1000 / procfs::ticks_per_second());
            eprintln!("bench: pid {pid}: {cpu:?}, {one} KiB");
            Ok(Cost { cpu: sum.cpu + cpu, pss: sum.pss + one })
        })
    }
}

/// What says where things are on the node: the reader's, where there is one, and else the agent's.
pub fn is_of_the_node(flag: &str) -> bool {
    flag.starts_with("--cri-endpoint") || flag.starts_with("--kubelet-root")
}

/// Of shared memory, the share.
fn pss(pid: i32) -> anyhow::Result<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:")).context("the kernel does not show it")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}
