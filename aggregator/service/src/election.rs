//! Which of several replicas writes: the one that holds the Lease, decided as client-go decides it. A holder is
//! believed for as long as its Lease says since *we* saw it renewed, so no two clocks are compared.
//!
//! Of the crates that do this, `kube-leader-election` compares the holder's clock with ours, and neither it nor
//! `kubert` says until when a holder that was paused may go on, which is what a write rests on here.

use std::time::Duration;

/// A holder that does not renew its Lease loses it after so long.
pub const LEASE_DURATION: Duration = Duration::from_secs(10);
/// Who could not renew it for so long writes no more, well before another may.
const WRITE_DURATION: Duration = Duration::from_secs(7);
/// How often it is renewed, and how often others look.
pub const RETRY_INTERVAL: Duration = Duration::from_secs(2);

/// The Lease as it stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// The replica that holds it; empty when it was released.
    pub holder: String,
    /// How long it holds.
    pub lease: Duration,
    /// How often it went over.
    pub transitions: i32,
    /// When the holder says that it renewed it. It is compared with what stood there before, and with nothing else.
    pub renewed: String,
}

/// What to do about the Lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It is another's.
    Wait,
    /// Write ourselves into it. It may be ours already.
    Take {
        /// How often it has gone over then.
        transitions: i32,
    },
}

/// One replica's view. Times are since the machine was started, pauses included.
#[derive(Debug)]
pub struct Election {
    identity: String,
    /// What was seen last, and when it was first seen so.
    seen: Option<(Record, Duration)>,
    writes_until: Duration,
}

impl Election {
    /// Without a known holder.
    pub fn new(identity: String) -> Self {
        Election { identity, seen: None, writes_until: Duration::ZERO }
    }

    /// What stands in the Lease now.
    pub fn observe(&mut self, record: Record, now: Duration) -> Step {
        let since = match &self.seen {
            Some((before, since)) if *before == record => *since,
            _ => now,
        };
        let (is_ours, is_free) = (record.holder == self.identity, record.holder.is_empty());
        let is_over = now.saturating_sub(since) >= record.lease.clamp(Duration::from_secs(1), Duration::from_secs(60));
        let transitions = record.transitions.saturating_add(i32::from(!is_ours));
        self.seen = Some((record, since));
        if is_ours || is_free || is_over { Step::Take { transitions } } else { Step::Wait }
    }

    /// The API server has taken what we began to write at `began`.
    pub fn taken(&mut self, began: Duration) {
        self.writes_until = began + WRITE_DURATION;
    }

    /// Another holds it.
    pub fn lost(&mut self) {
        self.writes_until = Duration::ZERO;
    }

    /// Until when we may write.
    pub fn writes_until(&self) -> Duration {
        self.writes_until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(holder: &str, renewed: u32) -> Record {
        Record { holder: holder.to_owned(), lease: LEASE_DURATION, transitions: 3, renewed: renewed.to_string() }
    }

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_lease_that_is_renewed_is_not_taken() {
        let mut election = Election::new("b".to_owned());
        for second in 0..100 {
            assert_eq!(election.observe(of("a", second), s(u64::from(second))), Step::Wait);
        }
    }

    #[test]
    fn a_lease_that_is_not_renewed_is_taken_by_our_own_clock() {
        let mut election = Election::new("b".to_owned());
        // The holder's clock says 1970: that is nothing.
        assert_eq!(election.observe(of("a", 0), s(100)), Step::Wait);
        assert_eq!(election.observe(of("a", 0), s(109)), Step::Wait);
        assert_eq!(election.observe(of("a", 0), s(110)), Step::Take { transitions: 4 });
    }

    #[test]
    fn a_lease_that_was_given_back_or_never_was_is_taken_at_once() {
        let mut election = Election::new("b".to_owned());
        assert_eq!(election.observe(Record::default(), s(0)), Step::Take { transitions: 1 });
        assert_eq!(election.observe(of("", 0), s(0)), Step::Take { transitions: 4 });
        assert_eq!(election.observe(of("b", 0), s(0)), Step::Take { transitions: 3 });
    }

    #[test]
    fn who_was_paused_writes_no_more_before_another_may() {
        let mut election = Election::new("a".to_owned());
        assert!(election.writes_until() == Duration::ZERO);
        election.taken(s(50));
        assert!(election.writes_until() < s(50) + LEASE_DURATION);
        election.lost();
        assert_eq!(election.writes_until(), Duration::ZERO);
    }

    #[test]
    fn a_lease_that_would_hold_for_ever_does_not() {
        let mut election = Election::new("b".to_owned());
        let record = |lease| Record { lease, ..of("a", 0) };
        assert_eq!(election.observe(record(Duration::MAX), s(0)), Step::Wait);
        assert_eq!(election.observe(record(Duration::MAX), s(60)), Step::Take { transitions: 4 });
    }
}
