//! The real agent, running.

use std::{
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use lab::Node;

/// Is killed when it goes out of scope.
pub struct Running {
    child: Child,
    log: PathBuf,
}

impl Running {
    /// Starts it with these variables besides ours. What it logs goes to a file in the node's directory.
    pub fn start(node: &Node, variables: &[(&str, &str)]) -> anyhow::Result<Self> {
        let log = Path::new(&lab::default_dir()).join("otel-agent.log");
        let to = std::fs::File::create(&log).with_context(|| format!("create {}", log.display()))?;
        let mut command = Command::new(env!("CARGO_BIN_EXE_why-terminating-agent"));
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("OTEL_")) {
            command.env_remove(name);
        }
        // Only so that the test need not wait for minutes.
        let quick = ["--first-look", "1s", "--look-interval", "1s", "--looks", "1", "--event-spread", "0s"];
        command.arg("run").args(node.agent_args()).args(["--listen", "off"]).args(quick);
        let child = command.envs(variables.iter().copied()).stdin(Stdio::null()).stderr(to).spawn();
        Ok(Running { child: child.context("start the agent")?, log })
    }

    /// What it has logged.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Sends SIGTERM and says how it ended. It has two seconds.
    pub fn end(&mut self) -> anyhow::Result<ExitStatus> {
        let before = Instant::now();
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            ensure!(before.elapsed() < Duration::from_secs(2), "it runs two seconds after SIGTERM:\n{}", self.log());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
