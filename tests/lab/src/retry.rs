//! Waiting for the machine to get somewhere.

use std::{
    thread,
    time::{Duration, Instant},
};

/// How often a condition is looked at.
const STEP: Duration = Duration::from_millis(50);

/// Asks `look` until it has an answer; after `limit`, says that `what` did not come.
pub fn wait_for<T>(
    what: &str,
    limit: Duration,
    mut look: impl FnMut() -> anyhow::Result<Option<T>>,
) -> anyhow::Result<T> {
    let end = Instant::now() + limit;
    loop {
        if let Some(answer) = look()? {
            return Ok(answer);
        }
        anyhow::ensure!(Instant::now() < end, "waited {limit:?} in vain for this: {what}");
        thread::sleep(STEP);
    }
}
