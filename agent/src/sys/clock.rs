//! The clocks that facts are dated with.

use rustix::time::{ClockId, clock_gettime};

/// Milliseconds since the epoch.
pub fn now_ms() -> u64 {
    millis(ClockId::Realtime)
}

/// Milliseconds since boot, suspend included: the clock of a process's start time.
pub fn uptime_ms() -> u64 {
    millis(ClockId::Boottime)
}

fn millis(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    u64::try_from(time.tv_sec).unwrap_or(0) * 1000 + u64::try_from(time.tv_nsec).unwrap_or(0) / 1_000_000
}

/// Processor time this thread has used, in milliseconds.
pub fn thread_cpu_ms() -> u64 {
    millis(ClockId::ThreadCPUTime)
}

/// In which unit `/proc/<pid>/stat` counts a start time: ticks per second.
pub fn ticks_per_second() -> u64 {
    rustix::param::clock_ticks_per_second().max(1)
}
