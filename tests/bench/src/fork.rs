//! Processes without `exec`: two thousand copies of one small process cost little memory.

use std::convert::Infallible;

use anyhow::Context as _;
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::unistd::{ForkResult, Pid, getpid, getppid};

/// Runs `life` in a new process, which the kernel kills when this one ends.
///
/// To be called by a process with one thread only.
pub fn fork(life: impl FnOnce() -> anyhow::Result<Infallible>) -> anyhow::Result<Pid> {
    let parent = getpid();
    // SAFETY: the caller has no other thread, so nothing is locked in the copy.
    #[allow(unsafe_code)]
    let side = unsafe { nix::unistd::fork() }.context("fork")?;
    match side {
        ForkResult::Parent { child } => Ok(child),
        ForkResult::Child => {
            let Err(error) = die_with(parent).and_then(|()| life());
            eprintln!("bench: a process of the crowd: {error:#}");
            std::process::exit(1);
        }
    }
}

/// Has the kernel kill this process when `parent` ends.
pub fn die_with(parent: Pid) -> anyhow::Result<()> {
    prctl::set_pdeathsig(Signal::SIGKILL).context("ask to be killed with the parent")?;
    // It may have ended before the question.
    anyhow::ensure!(getppid() == parent, "the parent has ended");
    Ok(())
}
