//! When to scan the node.

use std::{collections::BTreeMap, time::Duration};

use findings::PodUid;

use super::Instant;

/// A scan may take at most this share of the time: one part in so many.
const SHARE: u32 = 20;
/// Scans that would follow one another more closely are made one.
const NEVER_CLOSER: Duration = Duration::from_secs(2);

/// What is proven and may pass is looked at again so soon.
const CONFIRMED_AFTER: Duration = Duration::from_secs(4);

/// The intervals; all of them are flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Intervals {
    /// After a pod's deadline.
    pub first: Duration,
    /// Then, growing by half each time.
    pub next: Duration,
    /// At most.
    pub longest: Duration,
    /// Interval between scans of a node without pods in deletion.
    pub sweep: Duration,
}

/// What is planned for one pod.
#[derive(Clone, Copy, Debug)]
struct Plan {
    /// When the kubelet's counters are read for the first time: what grows from then on is of this pod.
    baseline: Option<Duration>,
    at: Duration,
    then: Duration,
    /// Whether a scan has seen it since its deadline.
    scanned: bool,
    /// The last scan that counted.
    seen: Duration,
    /// When a scan was asked for because something changed.
    asked: Option<Duration>,
}

/// Decides when the next scan is due. Every scan sees all pods; a pod only says when it wants one.
#[derive(Debug)]
pub struct Schedule {
    intervals: Intervals,
    pods: BTreeMap<PodUid, Plan>,
    sweep: Duration,
    /// When a sweep was asked for because something changed.
    asked: Option<Duration>,
    /// Not before.
    rest_until: Duration,
    random: fastrand::Rng,
}

impl Schedule {
    /// The first sweep comes within a minute: agents that start together must not scan together,
    /// and what was stuck before is not to wait for long.
    pub fn new(intervals: Intervals, seed: u64, now: Instant) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let first = intervals.sweep.min(Duration::from_secs(60)).mul_f64(random.f64());
        Schedule {
            sweep: now.steady + first,
            intervals,
            pods: BTreeMap::new(),
            asked: None,
            rest_until: now.steady,
            random,
        }
    }

    /// A pod must be gone by `deadline`. One that needs drivers is also scanned at its deadline.
    pub fn terminating(&mut self, uid: PodUid, deadline: Instant, needs_drivers: bool, now: Instant) {
        let first = self.intervals.first.mul_f64(1.0 + 0.1 * self.random.f64());
        // One whose deadline passed long ago is scanned with the next scan.
        let at = (deadline.steady + first).max(now.steady);
        let baseline = Some(deadline.steady).filter(|at| needs_drivers && *at >= now.steady);
        self.pods.insert(
            uid,
            Plan { baseline, at, then: self.intervals.next, scanned: false, seen: Duration::ZERO, asked: None },
        );
    }

    /// Something about a pod that is to go has changed.
    pub fn changed(&mut self, uid: &PodUid, now: Instant) {
        // Before its first scan a pod only does what all pods do on their way.
        if let Some(plan) = self.pods.get_mut(uid).filter(|plan| plan.scanned) {
            plan.at = plan.at.min(now.steady);
            plan.asked = Some(now.steady);
        }
    }

    /// A pod is gone. If it was reported, the node is scanned at once, so that the end is written soon.
    pub fn deleted(&mut self, uid: &PodUid, was_reported: bool, now: Instant) {
        self.pods.remove(uid);
        if was_reported {
            // The kubelet clears away the pod's directory within seconds of the object's end.
            self.sweep = self.sweep.min(now.steady + NEVER_CLOSER);
            self.asked = Some(now.steady);
        }
    }

    /// Pods that hold something here and that the API server does not name.
    pub fn follow(&mut self, uid: &PodUid, now: Instant) {
        let at = now.steady + self.around(self.intervals.next);
        let plan = Plan { baseline: None, at, then: self.intervals.next, scanned: true, seen: now.steady, asked: None };
        self.pods.entry(uid.clone()).or_insert(plan);
    }

    /// Something was found that has to be seen again, once more where it is proven.
    pub fn confirm(&mut self, uid: &PodUid, is_proven: bool, now: Instant) {
        let Some(plan) = self.pods.get_mut(uid) else { return };
        if is_proven {
            plan.at = plan.at.min(now.steady + CONFIRMED_AFTER);
        } else if plan.then < self.intervals.longest {
            // What comes and goes is not run after any longer.
            plan.at = plan.at.min(now.steady + self.intervals.next);
        }
    }

    /// Forgets pods that nothing is known of any more.
    pub fn retain(&mut self, wanted: impl Fn(&PodUid) -> bool) {
        self.pods.retain(|uid, _| wanted(uid));
    }

    /// When the next scan is due.
    pub fn next(&self) -> Duration {
        let pods = self.pods.values().map(|plan| plan.baseline.unwrap_or(plan.at).min(plan.at)).min();
        pods.map_or(self.sweep, |pods| pods.min(self.sweep)).max(self.rest_until)
    }

    /// A scan of the whole node, begun then, took `took` and ended now. What was asked for after it
    /// had begun is still to be done.
    pub fn scanned(&mut self, took: Duration, began: Instant, now: Instant) {
        self.rest_until = now.steady + (took * SHARE).max(NEVER_CLOSER);
        if self.asked.take_if(|asked| *asked <= began.steady).is_some() || self.asked.is_none() {
            self.sweep = now.steady + self.around(self.intervals.sweep);
        }
        self.asked = None;
        let longest = self.intervals.longest;
        self.pods.values_mut().for_each(|plan| _ = plan.baseline.take_if(|at| *at <= began.steady));
        for plan in self.pods.values_mut().filter(|plan| plan.scanned || plan.at <= began.steady) {
            if plan.asked.take().is_some_and(|asked| asked > began.steady) {
                continue;
            }
            // Each scan sees all pods, so it counts for all; but one that follows another closely
            // does not make a pod seem to be waiting for longer.
            if now.steady.saturating_sub(plan.seen) >= plan.then / 2 {
                if plan.scanned {
                    plan.then = plan.then.mul_f64(1.5).min(longest);
                }
                plan.seen = now.steady;
            }
            plan.scanned = true;
            plan.at = now.steady + plan.then.mul_f64(0.85 + 0.3 * self.random.f64());
        }
    }

    fn around(&mut self, interval: Duration) -> Duration {
        interval.mul_f64(0.85 + 0.3 * self.random.f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instant::tests::moment;

    const INTERVALS: Intervals = Intervals {
        first: Duration::from_secs(15),
        next: Duration::from_secs(30),
        longest: Duration::from_secs(300),
        sweep: Duration::from_secs(600),
    };

    fn uid(number: u64) -> PodUid {
        PodUid::parse(&format!("96fb425e-919e-44f9-8b42-{number:012x}")).unwrap()
    }

    /// Scans whenever one is due, each of 50 ms; the seconds at which it did.
    fn run(schedule: &mut Schedule, from: u64, until: u64) -> Vec<u64> {
        let mut scans = Vec::new();
        for second in from..until {
            if schedule.next() <= moment(second).steady {
                schedule.scanned(Duration::from_millis(50), moment(second), moment(second));
                scans.push(second);
            }
        }
        scans
    }

    #[test]
    fn the_first_look_comes_after_the_deadline_and_the_rest_grow_apart() {
        let mut schedule = Schedule::new(INTERVALS, 7, moment(0));
        run(&mut schedule, 0, 62);
        schedule.terminating(uid(1), moment(100), false, moment(62));
        let scans = run(&mut schedule, 62, 3_600);
        assert!((115..=120).contains(&scans[0]), "{scans:?}");
        let gaps: Vec<u64> = scans.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!((25..=35).contains(&gaps[0]) && gaps.iter().all(|gap| *gap <= 346), "{gaps:?}");
        assert!(gaps.len() < 25, "{gaps:?}");
    }

    #[test]
    fn one_that_needs_drivers_is_scanned_at_its_deadline_too() {
        let mut schedule = Schedule::new(INTERVALS, 7, moment(0));
        run(&mut schedule, 0, 62);
        schedule.terminating(uid(1), moment(100), true, moment(62));
        let scans = run(&mut schedule, 62, 140);
        assert!(matches!(scans[..], [100, 115..=117]), "{scans:?}");
        // It was due before the agent was there.
        schedule.terminating(uid(1), moment(100), true, moment(140));
        assert_eq!(run(&mut schedule, 140, 150), [140]);
    }

    #[test]
    fn nothing_terminating_means_only_the_sweep() {
        let mut schedule = Schedule::new(INTERVALS, 7, moment(0));
        let scans = run(&mut schedule, 0, 86_400);
        assert!((120..=170).contains(&scans.len()), "{}", scans.len());
    }

    #[test]
    fn many_pods_at_once_are_one_scan() {
        let mut schedule = Schedule::new(INTERVALS, 7, moment(0));
        run(&mut schedule, 0, 20);
        (0..500).for_each(|number| schedule.terminating(uid(number), moment(20), false, moment(20)));
        let scans = run(&mut schedule, 20, 60);
        assert!(scans.len() <= 4, "{scans:?}");
    }

    #[test]
    fn a_slow_look_is_not_repeated_at_once() {
        let mut schedule = Schedule::new(INTERVALS, 7, moment(0));
        schedule.terminating(uid(1), moment(0), false, moment(0));
        schedule.scanned(Duration::from_secs(3), moment(97), moment(100));
        schedule.changed(&uid(1), moment(101));
        assert_eq!(schedule.next(), moment(160).steady);
    }

    #[test]
    fn a_change_is_looked_at_once_and_an_end_too() {
        let mut schedule = Schedule::new(INTERVALS, 7, moment(0));
        schedule.terminating(uid(1), moment(0), false, moment(0));
        schedule.changed(&uid(1), moment(1));
        assert!(schedule.next() >= moment(15).steady.min(schedule.sweep), "it is on its way");
        schedule.scanned(Duration::ZERO, moment(100), moment(100));
        schedule.changed(&uid(1), moment(110));
        assert_eq!(schedule.next(), moment(110).steady);
        schedule.deleted(&uid(1), true, moment(110));
        assert_eq!(schedule.next(), moment(112).steady);
    }

    #[test]
    fn agents_that_start_together_do_not_look_together() {
        let firsts: std::collections::BTreeSet<u128> =
            (0..100).map(|seed| Schedule::new(INTERVALS, seed, moment(0)).next().as_millis()).collect();
        assert!(firsts.len() > 90, "{}", firsts.len());
    }
}
