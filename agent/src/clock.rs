//! The clocks of the running agent.

use std::time::Duration;

use reconcile::Instant;

use crate::sys;

/// The steady clock begins so long before the machine did: what happened before a reboot lies in
/// its past too.
const CLOCK_OFFSET: Duration = Duration::from_secs(20 * 365 * 86_400);

/// Now, on both clocks.
pub fn now() -> Instant {
    Instant { steady: CLOCK_OFFSET + Duration::from_millis(sys::uptime_ms()), wall_ms: sys::now_ms() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_before_the_boot_is_in_the_past() {
        let now = now();
        let long_ago = now.convert_wall(now.wall_s() - 5 * 365 * 86_400);
        assert_eq!(now.duration_since(long_ago), Duration::from_secs(5 * 365 * 86_400));
    }
}
