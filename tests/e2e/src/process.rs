//! Processes of this machine that are no part of the cluster.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use lab::wait_for;

/// Ends with what holds it.
pub struct Killed(pub Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Killed {
    /// Its pid.
    pub fn pid(&self) -> i32 {
        self.0.id().cast_signed()
    }
}

/// This program in another part.
pub fn stand_in<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> anyhow::Result<Killed> {
    Ok(Killed(Command::new(std::env::current_exe()?).arg("stand-in").args(args).spawn()?))
}

/// A process that holds this in the way of `flags`, until the end.
pub fn holder(path: &Path, flags: &[&str]) -> anyhow::Result<Killed> {
    let hold = [OsStr::new("hold")].into_iter().chain(flags.iter().map(OsStr::new));
    let holder = stand_in(hold.chain([path.as_os_str()]))?;
    // It parks then.
    wait_for(&format!("{} is held", path.display()), Duration::from_secs(10), || {
        Ok((lab::process::wait_channel(holder.pid()).contains("futex")).then_some(()))
    })?;
    Ok(holder)
}
