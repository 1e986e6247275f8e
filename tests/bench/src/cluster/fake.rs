//! The cluster: the fake API server in a process of its own, with everything in memory.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::Context as _;
use apiserver::{FakeApiServer, Prepared, Request, Store};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use super::{Size, crowd::Crowd, discovery, findings, trouble};

/// Serves a large cluster until standard input ends.
#[derive(Debug, clap::Args)]
pub struct Serve {
    #[command(flatten)]
    size: Size,
    /// Where discovery, the kubeconfig and the log of requests are written; removed at the end
    dir: PathBuf,
}

/// What it holds.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Contents {
    /// Objects.
    pub objects: usize,
    /// Bytes of all of them as JSON.
    pub bytes: usize,
}

impl Serve {
    /// Says what it holds once it listens, and serves.
    pub fn run(self) -> anyhow::Result<()> {
        let objects = everything(self.size)?;
        let contents = Contents { objects: objects.len(), bytes: objects.iter().map(Prepared::size).sum() };
        discovery::write(&self.dir.join("recording"))?;
        let fake = FakeApiServer::start(Store::new(&self.dir).with_prepared(objects))?;
        fs::write(kubeconfig(&self.dir), fake.kubeconfig_json()?).context("write the kubeconfig")?;
        println!("{}", serde_json::to_string(&contents)?);
        std::io::stdin().read_to_end(&mut Vec::new())?;
        fake.stop()?;
        fs::remove_dir_all(&self.dir).with_context(|| format!("remove {}", self.dir.display()))
    }
}

fn kubeconfig(dir: &Path) -> PathBuf {
    dir.join("kubeconfig")
}

fn everything(size: Size) -> anyhow::Result<Vec<Prepared>> {
    let crowd = Crowd::new(size, Timestamp::now())?;
    let mut objects = Vec::new();
    let mut add = |object| objects.push(object);
    crowd.system(&mut add);
    crowd.custom(&mut add);
    crowd.nodes(&[trouble::LOST], &mut add);
    crowd.namespaces(trouble::LOST, &mut add)?;
    trouble::stage(&crowd, &mut add)?;
    findings::stage(&crowd, &mut add)?;
    Ok(objects)
}

/// The running process; it ends when this is dropped.
pub struct Cluster {
    child: Child,
    dir: TempDir,
    /// What it holds.
    pub contents: Contents,
}

impl Cluster {
    /// Starts it and waits until it listens.
    pub fn start(size: Size) -> anyhow::Result<Self> {
        let dir = tempfile::tempdir().context("make a directory for the fake API server")?;
        let own = std::env::current_exe().context("find the own binary")?;
        let mut child = Command::new(own)
            .arg("serve-cluster")
            .args(size.arguments())
            .arg(dir.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Ctrl-C ends the benchmark; this one then cleans up.
            .process_group(0)
            .spawn()
            .context("start the fake API server")?;
        let output = child.stdout.take().context("the output of the fake API server")?;
        let mut cluster = Self { child, dir, contents: Contents::default() };
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        cluster.contents = serde_json::from_str(&line).context("the fake API server did not start")?;
        Ok(cluster)
    }

    /// What leads to it.
    pub fn kubeconfig(&self) -> PathBuf {
        kubeconfig(self.dir.path())
    }

    /// A place for what a command keeps.
    pub fn scratch(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Its files.
    pub fn store(&self) -> Store {
        Store::new(self.dir.path())
    }

    /// Every request so far.
    pub fn requests(&self) -> anyhow::Result<Vec<Request>> {
        Store::new(self.dir.path()).requests()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Its input ends with it; the kernel takes the memory faster than it would free it itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
