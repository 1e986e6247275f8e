//! Requests over virtual time.

use std::{collections::BTreeMap, time::Duration};

use reconcile::tracker::Kind;

/// What is asked of the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Asked {
    /// An Event is written.
    Write(Kind),
    /// The Node is read.
    Node,
    /// Pods or Events are listed.
    List,
}

impl Asked {
    /// Whether it changes something.
    pub fn is_write(self) -> bool {
        matches!(self, Asked::Write(_))
    }
}

/// How many requests of each kind went out in each second since the failure.
#[derive(Clone, Debug, Default)]
pub struct Tally(BTreeMap<(Asked, u64), usize>);

/// Requests of a span of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Span {
    /// All of them.
    pub total: usize,
    /// Those of the second with the most.
    pub peak: usize,
    /// The last second that had one.
    pub last: Option<u64>,
}

impl Tally {
    /// Counts one.
    pub fn count(&mut self, asked: Asked, since_failure: Duration) {
        *self.0.entry((asked, since_failure.as_secs())).or_default() += 1;
    }

    /// Those of these seconds that are `wanted`.
    pub fn span(&self, seconds: std::ops::Range<u64>, wanted: impl Fn(Asked) -> bool) -> Span {
        let mut by_second: BTreeMap<u64, usize> = BTreeMap::new();
        for (&(asked, second), &count) in &self.0 {
            if seconds.contains(&second) && wanted(asked) {
                *by_second.entry(second).or_default() += count;
            }
        }
        Span {
            total: by_second.values().sum(),
            peak: by_second.values().copied().max().unwrap_or(0),
            last: by_second.keys().next_back().copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_has_a_total_a_peak_and_an_end() {
        let mut tally = Tally::default();
        let at = Duration::from_millis;
        for ms in [100, 900, 1_000, 5_500, 60_000] {
            tally.count(Asked::Write(Kind::Open), at(ms));
        }
        tally.count(Asked::Write(Kind::Renew), at(999));
        tally.count(Asked::Node, at(100));
        let all = tally.span(0..60, Asked::is_write);
        assert_eq!(all, Span { total: 5, peak: 3, last: Some(5) });
        assert_eq!(tally.span(0..60, |asked| asked == Asked::Write(Kind::Renew)).total, 1);
        assert_eq!(tally.span(6..60, Asked::is_write), Span::default());
    }
}
