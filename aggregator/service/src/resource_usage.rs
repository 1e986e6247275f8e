//! What the service itself costs, as the kernel counts it.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use nix::unistd::{SysconfVar, sysconf};

/// Processor time that all threads have used so far.
pub fn processor_time() -> Option<Duration> {
    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).ok().map(Duration::from)
}

/// Processor time of the thread that asks.
pub fn thread_processor_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

pub fn resident_memory() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split(' ').nth(1)?.parse().ok()?;
    let page = sysconf(SysconfVar::PAGE_SIZE).ok()??;
    pages.checked_mul(u64::try_from(page).ok()?)
}
