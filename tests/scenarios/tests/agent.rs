//! The agent, running on the lab's node as a process of the host.

use std::{
    fs::File,
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use anyhow::Context;
use lab::Node;

use super::ask;

/// Is killed when it goes out of scope.
pub struct Agent {
    child: Child,
    log: PathBuf,
}

impl Agent {
    /// Starts it, quick, so that the test need not wait for minutes. Its log is taken away with the node.
    pub fn start(node: &Node) -> anyhow::Result<Self> {
        let log = lab::default_dir().join("agent-run.log");
        let to = File::create(&log).with_context(|| format!("create {}", log.display()))?;
        let quick = ["--first-look", "1s", "--look-interval", "1s", "--looks", "1", "--event-spread", "0s"];
        let mut command = Command::new(ask::binary()?);
        command.arg("run").args(node.agent_args()).args(["--listen", "off"]).args(quick);
        let child = command.stdin(Stdio::null()).stderr(to).spawn().context("start the agent")?;
        Ok(Agent { child, log })
    }

    /// What it has logged.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
