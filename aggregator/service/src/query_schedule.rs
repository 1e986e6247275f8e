//! When an answer is asked for again: the more rarely the longer it has stayed the same, and soon after a change nearby.

use std::time::Duration;

use aggregator_core::diagnosis::MIN_AGE_SECONDS;
use aggregator_core::state::{Answer, Answered, Facts, Question, Scope, known};
use findings::FaultKind;
use jiff::Timestamp;

/// An answer is asked for again after so long, and after twice that when it was the same.
pub const MIN_INTERVAL: Duration = Duration::from_secs(10);
/// At the latest.
const MAX_INTERVAL: Duration = Duration::from_secs(300);
/// Who renews a Lease is alive for less than a minute after.
const LEASE_INTERVAL: Duration = Duration::from_secs(15);
/// After a change nearby.
const CHANGE_DELAY: Duration = Duration::from_secs(2);
/// What takes many requests or much of the server's time is asked for again no sooner, whatever changes, and when it has
/// many objects, after so long for each of them.
pub const MIN_COSTLY_INTERVAL: Duration = Duration::from_secs(60);
const INTERVAL_PER_OBJECT: Duration = Duration::from_millis(10);
/// A kind of which nothing is being deleted is scanned again after so long.
const SCAN_INTERVAL: Duration = Duration::from_secs(600);
/// But after two minutes if one request reads the whole kind and one of its objects has a finalizer: only such an object gets
/// stuck. Of 150 kinds that is little more than a request a second.
const HELD_SCAN_INTERVAL: Duration = Duration::from_secs(120);
/// And after a minute if something of it was stuck so recently: what was released is often deleted again.
const RECENTLY_STUCK: Duration = Duration::from_secs(3600);

/// When an answer was asked for and when it will be again.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    /// When it was asked for, and once it is there, when it came.
    pub at: Timestamp,
    /// When it will be again.
    pub due: Timestamp,
    interval: Duration,
    /// Whether the question is on its way.
    pub pending: bool,
    /// When it was sent last.
    sent: Timestamp,
    /// When the question was sent whose answer is believed: it was so then or later.
    pub seen: Timestamp,
    /// Since when it could not be asked, while the answer of before is still believed.
    pub lost_since: Option<Timestamp>,
    /// When a scan found something stuck the last time.
    stuck_at: Option<Timestamp>,
}

impl Schedule {
    /// For the first time.
    pub fn first(now: Timestamp) -> Self {
        Schedule {
            at: now,
            due: now,
            interval: MIN_INTERVAL,
            pending: true,
            sent: now,
            seen: now,
            lost_since: None,
            stuck_at: None,
        }
    }

    /// It is answered, with the same as before or not.
    pub fn answered(
        before: Option<&Schedule>,
        answered: &Answered,
        is_same: bool,
        lost_since: Option<Timestamp>,
        now: Timestamp,
    ) -> Self {
        let interval_floor = min_interval(&answered.question, &answered.answer);
        let is_scan = answered.question.is_scan();
        let stuck_at = match &answered.answer {
            Answer::Seen(facts) if is_scan && has_stuck(facts, now) => Some(now),
            _ => before.and_then(|before| before.stuck_at).filter(|at| now < later(*at, RECENTLY_STUCK)),
        };
        let interval = match (&answered.question, &answered.answer) {
            (question, _) if is_lease_query(question) => LEASE_INTERVAL,
            (_, Answer::Seen(facts)) if is_scan && facts.count() == 0 && stuck_at.is_some() => MIN_COSTLY_INTERVAL,
            (_, Answer::Seen(facts)) if is_scan && facts.count() == 0 && answered.is_short_and_held => {
                HELD_SCAN_INTERVAL
            }
            // What is shown as stuck must not be long after its end.
            (_, Answer::Seen(_)) if is_scan => interval_floor,
            _ if is_same => {
                before.map_or(interval_floor, |before| (before.interval * 2).min(MAX_INTERVAL).max(interval_floor))
            }
            _ => interval_floor,
        };
        let sent = before.map_or(now, |before| before.sent);
        let seen = before.filter(|_| lost_since.is_some()).map_or(sent, |before| before.seen);
        Schedule { at: now, due: later(now, interval), interval, pending: false, sent, seen, lost_since, stuck_at }
    }

    /// It is asked again.
    pub fn again(&mut self, now: Timestamp) {
        (self.pending, self.sent) = (true, now);
    }

    /// It is asked again soon. One change after the other does not put that off.
    pub fn soon(&mut self, question: &Question, answered: Option<&Answered>, now: Timestamp) {
        self.interval = answered.map_or(MIN_INTERVAL, |answered| min_interval(question, &answered.answer));
        self.due = self.due.min(later(self.at, self.interval).max(later(now, CHANGE_DELAY)));
    }
}

/// Whether something that a scan has found is stuck.
fn has_stuck(scanned: &Facts, now: Timestamp) -> bool {
    let deleted = scanned.metas().into_iter().filter_map(|meta| meta.deletion_timestamp);
    deleted.min().is_some_and(|deleted| deleted.as_second().saturating_add(MIN_AGE_SECONDS) <= now.as_second())
}

/// How long after this answer it is asked for again at the soonest.
fn min_interval(question: &Question, answer: &Answer<Facts>) -> Duration {
    match answer {
        Answer::Failed(fault) if question.is_scan() && fault.kind == FaultKind::Denied => SCAN_INTERVAL,
        Answer::Missing if question.is_scan() => SCAN_INTERVAL,
        Answer::Failed(_) if question.is_scan() => MIN_COSTLY_INTERVAL,
        Answer::Seen(facts) if question.is_scan() && facts.count() == 0 => SCAN_INTERVAL,
        _ if !is_costly(question) => MIN_INTERVAL,
        Answer::Failed(_) => MIN_INTERVAL,
        Answer::Seen(facts) => {
            let objects = u32::try_from(facts.count()).unwrap_or(u32::MAX);
            INTERVAL_PER_OBJECT.saturating_mul(objects).clamp(MIN_COSTLY_INTERVAL, MAX_INTERVAL)
        }
        Answer::Missing | Answer::Unasked => MIN_COSTLY_INTERVAL,
    }
}

/// Whether a question is of the whole cluster. Of APIServices there are few everywhere, and one that is dead holds every
/// namespace.
pub fn is_costly(question: &Question) -> bool {
    match question {
        Question::Objects { resource, scope: Scope::All, .. } => *resource != known::API_SERVICES.into(),
        Question::Version | Question::Discovery => true,
        _ => false,
    }
}

/// Whether a question is about Leases, of which each is renewed all the time.
pub fn is_lease_query(question: &Question) -> bool {
    matches!(question, Question::Objects { resource, .. } if *resource == known::LEASES.into())
}

/// Some time after another.
pub fn later(at: Timestamp, by: Duration) -> Timestamp {
    jiff::SignedDuration::try_from(by).ok().and_then(|by| at.checked_add(by).ok()).unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use aggregator_core::state::Resource;

    use super::*;

    #[test]
    fn a_kind_that_can_get_stuck_is_scanned_sooner() {
        let now = Timestamp::UNIX_EPOCH;
        let due_after = |is_short_and_held: bool| {
            let question = Question::terminating_metadata(Resource::new("example.com", "v1", "gadgets"), Scope::All);
            let none = Answer::Seen(Facts::none(&question).unwrap());
            let answered = Answered { is_short_and_held, ..Answered::whole(question, none) };
            Schedule::answered(Some(&Schedule::first(now)), &answered, true, None, now).due
        };
        assert_eq!(due_after(true), later(now, HELD_SCAN_INTERVAL));
        assert_eq!(due_after(false), later(now, SCAN_INTERVAL));
    }
}
