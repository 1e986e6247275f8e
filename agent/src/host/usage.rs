//! What the agent itself costs.

use procfs::{FromRead, process::Stat};

use crate::sys::{self, ProcDir};

/// Memory and processor time of this process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usage {
    pub resident: u64,
    /// User and system time, in seconds.
    pub cpu: f64,
    /// When it started, in seconds since the epoch.
    pub started: f64,
    pub descriptors: u64,
}

/// Reads it; none when `/proc` does not answer as expected.
pub fn usage() -> Option<Usage> {
    let dir = ProcDir::open(std::process::id()).ok()?;
    let stat = Stat::from_read(dir.read("stat", sys::limits::MAX_LINE_BYTES).ok()?.as_slice()).ok()?;
    let ticks = sys::ticks_per_second();
    let age_ms = sys::uptime_ms().saturating_sub(stat.starttime * 1000 / ticks);
    Some(Usage {
        resident: stat.rss * sys::page_size(),
        cpu: (stat.utime + stat.stime) as f64 / ticks as f64,
        started: sys::now_ms().saturating_sub(age_ms) as f64 / 1000.0,
        descriptors: u64::try_from(dir.list("fd").ok()?.len()).ok()?,
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_knows_itself() {
        let own = super::usage().unwrap();
        assert!(own.resident > 1 << 20 && own.descriptors >= 3 && own.started > 1.0e9, "{own:?}");
    }
}
