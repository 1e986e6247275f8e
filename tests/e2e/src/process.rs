//! Processes of this machine that are no part of the cluster.

use std::ffi::OsStr;
use std::process::{Child, Command};

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
