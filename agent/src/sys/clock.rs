//! The clocks that facts are dated with.

use nix::time::{ClockId, clock_gettime};
use nix::unistd::{SysconfVar, sysconf};

/// Milliseconds since the epoch.
pub fn now_ms() -> u64 {
    millis(ClockId::CLOCK_REALTIME)
}

/// Milliseconds since boot, suspend included: the clock of a process's start time.
pub fn uptime_ms() -> u64 {
    millis(ClockId::CLOCK_BOOTTIME)
}

fn millis(clock: ClockId) -> u64 {
    // Every Linux has these clocks.
    let Ok(time) = clock_gettime(clock) else { return 0 };
    u64::try_from(time.tv_sec()).unwrap_or(0) * 1000 + u64::try_from(time.tv_nsec()).unwrap_or(0) / 1_000_000
}

/// Processor time this thread has used, in milliseconds.
pub fn thread_cpu_ms() -> u64 {
    millis(ClockId::CLOCK_THREAD_CPUTIME_ID)
}

/// In which unit `/proc/<pid>/stat` counts a start time: ticks per second.
pub fn ticks_per_second() -> u64 {
    number(SysconfVar::CLK_TCK).max(1)
}

/// The size of a page of memory.
pub fn page_size() -> u64 {
    number(SysconfVar::PAGE_SIZE)
}

fn number(variable: SysconfVar) -> u64 {
    sysconf(variable).ok().flatten().and_then(|number| u64::try_from(number).ok()).unwrap_or(0)
}
