//! Waiting for the machine to get somewhere.

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How often a condition is looked at.
const STEP: Duration = Duration::from_millis(50);
/// So many times longer than elsewhere everything may take here.
static PATIENCE: AtomicU32 = AtomicU32::new(1);

/// Waits so many times longer from now on: beside a pod that does its worst all takes its time.
pub fn be_patient(times: u32) {
    PATIENCE.store(times, Ordering::Relaxed);
}

/// So long may this take here.
pub fn patient(limit: Duration) -> Duration {
    limit * PATIENCE.load(Ordering::Relaxed)
}

/// Asks `look` until it has an answer; after `limit`, says that `what` did not come.
pub fn wait_for<T>(
    what: &str,
    limit: Duration,
    mut look: impl FnMut() -> anyhow::Result<Option<T>>,
) -> anyhow::Result<T> {
    let limit = patient(limit);
    let end = Instant::now() + limit;
    loop {
        if let Some(answer) = look()? {
            return Ok(answer);
        }
        anyhow::ensure!(Instant::now() < end, "waited {limit:?} in vain for this: {what}");
        thread::sleep(STEP);
    }
}
