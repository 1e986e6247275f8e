//! Thousands of agents in virtual time: each is the agent's own `Reconciler`, told what its watch, its looks
//! and the API server would tell it. Only writes are real.

use std::{collections::BTreeMap, time::Duration};

use anyhow::Context as _;
use findings::NodeReport;
use reconcile::{
    Instant, Settings,
    index::{NodeInfo, WatchEvent},
    reconciler::{Command, Input, Reconciler, Scan, WriteOutcome},
};
use tokio::task::JoinHandle;

use super::{
    failure::{self, GRACE},
    tally::{Asked, Tally},
    wire::Wire,
};

/// Agents start within this time, and each has looked at its node when the failure comes.
const STARTS: Duration = Duration::from_secs(600);
/// When the pods' deadlines pass.
const FAILURE: Duration = Duration::from_secs(1800);
/// From a request to its answer.
const ANSWER: Duration = Duration::from_millis(50);
/// From the begin of a look to its end.
const LOOK: Duration = Duration::from_millis(300);
/// The agent's loop does not turn faster.
const SHORTEST_SLEEP: Duration = Duration::from_millis(50);

/// Something that happens to one agent.
enum Happens {
    Starts,
    PodsAreDeleted,
    /// The time it asked to be woken at, unless it has asked for another since.
    Wakes(u64),
    Hears(Box<Input>),
    HearsOfWrite(JoinHandle<anyhow::Result<WriteOutcome>>),
}

struct Member {
    reconciler: Reconciler,
    asked_to_wake: u64,
}

/// All agents of a cluster.
pub struct Fleet<'a> {
    wire: &'a Wire,
    pods: usize,
    members: Vec<Member>,
    /// In the order of time; the number keeps those of one instant apart.
    agenda: BTreeMap<(Duration, u64), (usize, Happens)>,
    number: u64,
    tally: Tally,
}

impl<'a> Fleet<'a> {
    /// `agents` of them, on nodes with `pods` pods each.
    pub fn new(wire: &'a Wire, agents: usize, pods: usize, settings: Settings) -> Self {
        let mut random = fastrand::Rng::with_seed(7);
        let mut fleet =
            Self { wire, pods, members: Vec::new(), agenda: BTreeMap::new(), number: 0, tally: Tally::default() };
        for node in 0..agents {
            let start = STARTS.mul_f64(random.f64());
            let reconciler = Reconciler::new(&failure::node_name(node), settings, true, random.u64(..), instant(start));
            fleet.members.push(Member { reconciler, asked_to_wake: 0 });
            fleet.plan(start, node, Happens::Starts);
            fleet.plan(FAILURE - GRACE, node, Happens::PodsAreDeleted);
        }
        fleet
    }

    /// Lives until `after` the failure; returns what was asked of the API server since.
    pub async fn live(mut self, after: Duration) -> anyhow::Result<Tally> {
        while let Some(((at, _), (node, happens))) = self.agenda.pop_first() {
            if at > FAILURE + after {
                break;
            }
            match happens {
                Happens::Starts => {
                    let pods = failure::pods(node, self.pods, None)?;
                    self.tell(node, WatchEvent::Init, at)?;
                    pods.into_iter().try_for_each(|pod| self.tell(node, WatchEvent::InitApply(pod), at))?;
                    self.tell(node, WatchEvent::InitDone, at)?;
                }
                Happens::PodsAreDeleted => {
                    let pods = failure::pods(node, self.pods, Some(instant(FAILURE)))?;
                    pods.into_iter().try_for_each(|pod| self.tell(node, WatchEvent::Apply(pod), at))?;
                }
                Happens::Wakes(asked) if self.members[node].asked_to_wake == asked => {
                    self.take(node, Input::Tick, at)?;
                }
                Happens::Wakes(_) => {}
                Happens::Hears(answer) => self.take(node, *answer, at)?,
                Happens::HearsOfWrite(answer) => {
                    let wrote = answer.await.context("a write was lost")??;
                    anyhow::ensure!(
                        matches!(wrote, WriteOutcome::Done { .. }),
                        "the fake API server did not take an Event of {}: {wrote:?}",
                        failure::node_name(node)
                    );
                    self.take(node, Input::Wrote(wrote), at)?;
                }
            }
        }
        Ok(self.tally)
    }

    fn plan(&mut self, at: Duration, node: usize, happens: Happens) {
        self.number += 1;
        self.agenda.insert((at, self.number), (node, happens));
    }

    fn tell(&mut self, node: usize, told: WatchEvent, at: Duration) -> anyhow::Result<()> {
        self.take(node, Input::Watch(told), at)
    }

    fn take(&mut self, node: usize, answer: Input, at: Duration) -> anyhow::Result<()> {
        let now = instant(at);
        let reconciler = &mut self.members[node].reconciler;
        let commands = reconciler.handle(answer, now);
        let writing = reconciler.writing();
        let _ = reconciler.transitions();
        for command in commands {
            let (asked, answer) = match command {
                Command::Scan(_) => (None, self.look(node, at + LOOK)?),
                Command::List { .. } => {
                    (Some(Asked::List), Input::Listed(Ok(failure::pods(node, self.pods, deadline(at))?)))
                }
                Command::GetNode => (Some(Asked::Node), Input::Node(Ok(Some(node_word(node))))),
                Command::ReadOwn => (Some(Asked::List), Input::OwnEvents(Ok(Vec::new()))),
                Command::ReadExisting(name) => anyhow::bail!("{name} differs from what was written"),
                Command::Write(draft) => {
                    self.count(Asked::Write(writing.context("a write without a reason")?), at);
                    let answer = self.wire.write(*draft);
                    self.plan(at + ANSWER, node, Happens::HearsOfWrite(answer));
                    continue;
                }
            };
            let delay = if asked.is_some() { ANSWER } else { LOOK };
            asked.into_iter().for_each(|asked| self.count(asked, at));
            self.plan(at + delay, node, Happens::Hears(Box::new(answer)));
        }
        let member = &mut self.members[node];
        member.asked_to_wake += 1;
        let (asked, wake) = (member.asked_to_wake, member.reconciler.next_wake(now).max(SHORTEST_SLEEP));
        self.plan(at + wake, node, Happens::Wakes(asked));
        Ok(())
    }

    fn look(&self, node: usize, end: Duration) -> anyhow::Result<Input> {
        let stuck = if end > FAILURE { failure::pods(node, self.pods, deadline(end))? } else { Vec::new() };
        let report: NodeReport = failure::report(node, &stuck, instant(end));
        let looked = Scan {
            began: instant(end - LOOK),
            at: instant(end),
            took: LOOK,
            report,
            complete: true,
            forgotten: std::collections::BTreeSet::new(),
        };
        Ok(Input::Scanned(Box::new(looked)))
    }

    fn count(&mut self, asked: Asked, at: Duration) {
        if let Some(since) = at.checked_sub(FAILURE) {
            self.tally.count(asked, since);
        }
    }
}

fn deadline(at: Duration) -> Option<Instant> {
    (at + GRACE >= FAILURE).then(|| instant(FAILURE))
}

fn node_word(node: usize) -> NodeInfo {
    NodeInfo { uid: failure::node_uid(node), kubelet_version: Some("v1.36.2".to_owned()), ..NodeInfo::default() }
}

/// A point in virtual time, on machines that have been up for a while.
fn instant(at: Duration) -> Instant {
    const UP: Duration = Duration::from_secs(1_000_000);
    const WALL_MS: u64 = 1_785_578_400_000;
    Instant { steady: UP + at, wall_ms: WALL_MS + u64::try_from(at.as_millis()).unwrap_or(u64::MAX - WALL_MS) }
}
