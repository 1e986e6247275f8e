//! A parent outside of a pid namespace that does not reap its child inside.
//!
//! `runc exec`, `nsenter` and debuggers are such parents. When the namespace's init dies, the kernel kills the child and
//! then waits until its parent reaps it: only this process can.

use std::fs::File;
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::Context as _;
use nix::sched::{CloneFlags, setns};

/// Has a child in the pid namespace of another process, and never waits for it.
#[derive(Debug, clap::Args)]
pub struct ForeignParent {
    /// A process of that namespace.
    #[arg(long)]
    namespace_of: i32,
}

impl ForeignParent {
    /// Runs until it is killed.
    pub fn run(self) -> anyhow::Result<()> {
        let path = PathBuf::from(format!("/proc/{}/ns/pid", self.namespace_of));
        let namespace = File::open(&path).with_context(|| format!("open {}", path.display()))?;
        // Concerns only children that are made from now on.
        setns(namespace.as_fd(), CloneFlags::CLONE_NEWPID).context("enter the pid namespace")?;
        let _never_waited_for =
            Command::new("/bin/sleep").arg("2147483647").stdin(Stdio::null()).spawn().context("start sleep")?;
        super::wait_forever()
    }
}
