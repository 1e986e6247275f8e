//! What fails around the agent: its API server and the container runtime.

use std::{fs, thread, time::Duration};

use anyhow::Context as _;
use apiserver::{Fault, Faults, Rule};
use lab::{Launch, Node, process};
use nix::sys::signal::Signal;

use crate::state::{State, lock};

/// Every few seconds the API server fails in another way. Returns how often.
pub fn flap(state: &State, mut random: fastrand::Rng) -> anyhow::Result<usize> {
    let store = Node::open(&lab::default_dir())?.store();
    let ways = [
        Rule::new(Fault::Status { status: 503, retry_after: None }),
        Rule::new(Fault::Status { status: 429, retry_after: Some(2) }),
        Rule::new(Fault::Cut),
        Rule::new(Fault::Nonsense),
        Rule::new(Fault::Gone).watch(true),
        Rule::new(Fault::Gone),
        Rule::new(Fault::Silent),
        Rule::new(Fault::Unauthorized),
        Rule::new(Fault::Slow { slow_ms: 3000 }),
    ];
    let mut times = 0;
    while !state.is_over() {
        {
            let _failing = lock(&state.api);
            store.set_faults(&ways[random.usize(..ways.len())].clone().into())?;
            thread::sleep(Duration::from_secs(random.u64(1..8)));
            store.set_faults(&Faults::none())?;
        }
        times += 1;
        thread::sleep(Duration::from_secs(random.u64(3..15)));
    }
    Ok(times)
}

/// containerd is killed and started again, at times after it has not answered for a while. Returns how often.
pub fn restart_runtime(state: &State, mut random: fastrand::Rng) -> anyhow::Result<usize> {
    let node = Node::open(&lab::default_dir())?;
    let mut times = 0;
    loop {
        for _ in 0..random.u32(20..80) {
            if state.is_over() {
                return Ok(times);
            }
            thread::sleep(Duration::from_secs(1));
        }
        let _nobody_needs_it = state.without_runtime();
        let pid = node.containerd_pid()?;
        if random.bool() {
            process::signal(pid, Signal::SIGSTOP)?;
            thread::sleep(Duration::from_secs(random.u64(1..15)));
        }
        process::signal(pid, Signal::SIGKILL)?;
        process::wait_end(pid)?;
        thread::sleep(Duration::from_secs(random.u64(..10)));
        start_containerd(&node)?;
        times += 1;
    }
}

/// As its service manager would.
fn start_containerd(node: &Node) -> anyhow::Result<()> {
    let dir = node.layout().containerd();
    let pid = node.launch(Launch::program("containerd", "containerd").arg("--config").arg(dir.join("config.toml")))?;
    fs::write(dir.join("pid"), pid.to_string()).context("note containerd's pid")
}
