//! Two thousand processes that live as processes of a node do: most of them in containers'
//! mount namespaces with many mounts, some on the host, all with open files.

mod master;
mod member;
mod namespace;

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use lab::{Node, PodRef};

pub use master::run;
pub use member::DESCRIPTORS;

/// The crowd's service on the node, for those of its processes that are in no pod.
const UNIT: &str = "crowd";

/// What the crowd shall be.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// A directory of the crowd's own.
    pub dir: std::path::PathBuf,
    /// One private mount namespace for each of these cgroups.
    pub cgroups: Vec<String>,
    /// How many processes live in each.
    pub in_each: usize,
    /// How many mounts each has.
    pub mounts: usize,
    /// How many processes live in the host's namespace.
    pub on_host: usize,
    /// How many files each process has open.
    pub descriptors: usize,
}

impl Plan {
    /// `processes` in all, a tenth of them on the host, the others spread over one mount namespace
    /// for each of `pods`.
    pub fn new(node: &Node, pods: &[PodRef], processes: usize, mounts: usize) -> Self {
        let in_each = (processes * 9 / 10).checked_div(pods.len()).unwrap_or(0);
        let container = |(number, pod): (usize, &PodRef)| format!("{}/{number:064x}", pod.cgroup());
        Self {
            dir: node.layout().dir().join("crowd"),
            cgroups: pods.iter().enumerate().map(container).collect(),
            in_each,
            mounts,
            on_host: processes - in_each * pods.len(),
            descriptors: DESCRIPTORS,
        }
    }

    /// How many processes that makes.
    pub fn processes(&self) -> usize {
        self.cgroups.len() * self.in_each + self.on_host
    }
}

/// The crowd; it dies when this value goes out of scope.
pub struct Crowd(Child);

impl Crowd {
    /// Starts it and waits until every process of it has opened its files.
    pub fn gather(node: &Node, plan: &Plan) -> anyhow::Result<Self> {
        fs::create_dir_all(&plan.dir).with_context(|| format!("create {}", plan.dir.display()))?;
        // The lab takes the cgroups of every service away that has a log.
        let log = node.layout().log(UNIT);
        let log = File::create(&log).with_context(|| format!("create {}", log.display()))?;
        let own = std::env::current_exe().context("find the own binary")?;
        let child = Command::new(own)
            .arg("crowd")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .context("start the crowd")?;
        let mut crowd = Self(child);
        let mut input = crowd.0.stdin.take().context("the crowd has an input")?;
        input.write_all(&serde_json::to_vec(plan)?).context("tell the crowd what to be")?;
        drop(input);
        let output = crowd.0.stdout.take().context("the crowd has an output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).context("wait for the crowd")?;
        let log = node.layout().log(UNIT);
        anyhow::ensure!(
            line.trim() == master::READY,
            "the crowd did not gather: {}",
            fs::read_to_string(log).unwrap_or_default()
        );
        Ok(crowd)
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        // Its children die with it.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
