//! A debugger that stays attached to a process and never looks at it again.

use anyhow::Context as _;

/// Traces a process, and never waits for it.
#[derive(Debug, clap::Args)]
pub struct Tracer {
    /// The process.
    #[arg(long)]
    of: i32,
}

impl Tracer {
    /// Runs until it is killed.
    pub fn run(self) -> anyhow::Result<()> {
        seize(self.of).with_context(|| format!("trace process {}", self.of))?;
        super::wait_forever()
    }
}

/// Does not stop it, as an attach would.
#[expect(unsafe_code, reason = "nix would need another feature for this one call")]
fn seize(pid: i32) -> std::io::Result<()> {
    // SAFETY: the call takes numbers only, and changes nothing in this process' memory.
    let result = unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid, 0_usize, 0_usize) };
    if result == -1 { Err(std::io::Error::last_os_error()) } else { Ok(()) }
}
