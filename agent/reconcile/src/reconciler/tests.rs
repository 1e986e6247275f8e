//! The agent through hours of trouble, in virtual time.

use agent_core::gates::judge;
use agent_core::observation::{
    ApiPod, Counter, CounterRead, Deletion, Fault, FaultKind, FuseConnection, KubeletCounters, Observation, Operation,
    Question, Seen, Source, sample,
};
use agent_core::plan;

use super::*;
use crate::event::{Draft, Identity};
use crate::index::NodeInfo;
use crate::instant::tests::moment;
use crate::tracker::ExistingEvent;

mod comes_again;
mod names;
mod soon;
mod unanswered;

/// A node, an API server and what goes wrong with them.
struct World {
    reconciler: Reconciler,
    now: u64,
    seen: Observation,
    api: Api,
    writes: Vec<(u64, Draft)>,
    stored: Vec<Draft>,
    scans: Vec<u64>,
    asked_for_node: Vec<u64>,
    transitions: Vec<Transition>,
    node_uid: String,
    wall_offset_ms: i64,
    /// The API server refuses the Event of the first pod, and only that.
    poison: bool,
    /// Under these names stand Events that another program has written.
    is_taken: fn(&str) -> bool,
    /// How often the CSI driver has failed by this second, as the kubelet counts.
    failures: Option<fn(u64) -> u64>,
    /// The first time that the counters were read.
    counted: Option<CounterRead>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Api {
    Up,
    Down,
    /// It does what is asked for, and its answers are lost.
    Mute,
    TooManyRequests(u64),
    Forbidden,
    Immutable,
}

fn fault(says: &str) -> Fault {
    Fault::new(Source::ApiServer, (FaultKind::Refused, says))
}

fn word(uid: &str) -> NodeInfo {
    NodeInfo { uid: uid.into(), kubelet_version: Some("v1.36.2".into()), ..NodeInfo::default() }
}

fn pods(seen: &Observation) -> Vec<ApiPod> {
    seen.api.get().unwrap().pods.clone()
}

/// Something that does not pass by itself, and a deadline at second 60.
fn held() -> Observation {
    let mut seen = sample::deleted();
    let api = seen.api.get_mut().unwrap();
    api.pods[0].finalizers.push("example.com/hold".into());
    api.pods[0].deletion = Some(Deletion { deadline_ms: moment(60).wall_ms, grace_s: 30 });
    seen
}

/// The pod is gone, from the node and from the API server.
fn end(world: &mut World) {
    world.seen = sample::node();
    world.answer(Input::Watch(WatchEvent::Delete(pods(&held())[0].uid.clone())));
}

impl World {
    fn new(seen: Observation, api: Api) -> Self {
        let reconciler = Reconciler::new("node-7", Settings::default(), true, 7, moment(0));
        let mut world = World {
            reconciler,
            now: 0,
            seen,
            api,
            writes: Vec::new(),
            stored: Vec::new(),
            scans: Vec::new(),
            asked_for_node: Vec::new(),
            transitions: Vec::new(),
            node_uid: "7b0c".into(),
            wall_offset_ms: 0,
            poison: false,
            is_taken: |_| false,
            failures: None,
            counted: None,
        };
        if api != Api::Down {
            world.tell_list();
        }
        world
    }

    fn instant(&self) -> Instant {
        let now = moment(self.now);
        Instant { wall_ms: now.wall_ms.saturating_add_signed(self.wall_offset_ms), ..now }
    }

    fn tell_list(&mut self) {
        self.answer(Input::Watch(WatchEvent::Init));
        pods(&self.seen).into_iter().for_each(|pod| self.answer(Input::Watch(WatchEvent::InitApply(pod))));
        self.answer(Input::Watch(WatchEvent::InitDone));
    }

    fn answer(&mut self, answer: Input) {
        let commands = self.reconciler.handle(answer, self.instant());
        self.transitions.extend(self.reconciler.transitions());
        commands.into_iter().for_each(|command| self.execute(command));
    }

    fn execute(&mut self, command: Command) {
        let down = self.api == Api::Down;
        if command == Command::GetNode {
            self.asked_for_node.push(self.now);
        }
        let refused = || fault("connection refused");
        let answer = match command {
            Command::Scan(facts) => {
                self.scans.push(self.now);
                let mut seen = self.seen.clone();
                seen.at_ms = self.instant().wall_ms;
                seen.api = facts.unwrap();
                self.count(&mut seen);
                let report = judge(&seen);
                let snapshot = Snapshot::new(self.instant(), &seen, &report);
                let known = |uid: &PodUid| {
                    seen.api.get().is_none_or(|api| api.stale.is_some() || api.pods.iter().any(|pod| pod.uid == *uid))
                };
                let forgotten = report.pods.iter().map(|pod| pod.pod.uid.clone()).filter(|uid| !known(uid)).collect();
                let (complete, took) = (snapshot.complete, Duration::from_millis(40));
                Input::Scanned(Box::new(Scan {
                    began: self.instant(),
                    at: self.instant(),
                    took,
                    complete,
                    forgotten,
                    report,
                }))
            }
            Command::List { .. } if down => Input::Listed(Err(refused())),
            Command::List { .. } => Input::Listed(Ok(pods(&self.seen))),
            Command::GetNode if down => Input::Node(Err(refused())),
            Command::GetNode => Input::Node(Ok(Some(word(&self.node_uid)))),
            Command::ReadOwn if down => Input::OwnEvents(Err(refused())),
            Command::ReadOwn => Input::OwnEvents(Ok(Vec::new())),
            Command::Write(draft) => Input::Wrote(self.write(*draft)),
            Command::ReadExisting(_) if down => Input::Existing(Err(refused())),
            Command::ReadExisting(name) => Input::Existing(Ok(self.standing(&name).map(|identity| {
                Box::new(ExistingEvent {
                    identity,
                    event_time: "2026-01-01T00:00:00.000000Z".into(),
                    note: "other words".into(),
                    count: 7,
                })
            }))),
        };
        self.answer(answer);
    }

    /// Reads the kubelet's counters, if the judgement asks for them.
    fn count(&mut self, seen: &mut Observation) {
        let Some(failures) = self.failures else { return };
        seen.kubelet_counters = Seen::NotAsked;
        loop {
            match plan(seen) {
                round if round.is_empty() => return,
                round if round.contains(&Question::KubeletCounters) => break,
                round => seen.asked.extend(round),
            }
        }
        let of = Operation::Csi { driver: "exam.csi".into(), method: "/csi.v1.Node/NodeUnpublishVolume".to_owned() };
        let counter = Counter { of, outcome: "Internal".into(), count: failures(self.now) };
        let last = CounterRead { at_ms: seen.at_ms, counters: vec![counter] };
        let earlier = self.counted.replace(self.counted.clone().unwrap_or_else(|| last.clone()));
        seen.kubelet_counters = Seen::Seen(KubeletCounters { last, earlier });
    }

    /// Who speaks of whom in the Event of this name.
    fn standing(&self, name: &findings::event::EventName) -> Option<Identity> {
        if (self.is_taken)(name.as_str()) {
            return Some(Identity::default());
        }
        let stored = self.stored.iter().rfind(|draft| draft.name == *name).map(Draft::identity);
        // What the test has put there before its beginning.
        let first = || self.writes.last().filter(|_| self.api == Api::Immutable).map(|(_, draft)| draft.identity());
        stored.or_else(first)
    }

    fn write(&mut self, draft: Draft) -> WriteOutcome {
        self.writes.push((self.now, draft.clone()));
        if self.poison && draft.related.as_ref().is_some_and(|pod| pod.name.as_deref() == Some("db-0")) {
            return WriteOutcome::Refused;
        }
        if (self.is_taken)(draft.name.as_str()) {
            return WriteOutcome::Differs;
        }
        match self.api {
            Api::Down => WriteOutcome::Unknown { after: None },
            Api::Mute => {
                self.stored.push(draft);
                WriteOutcome::Unknown { after: None }
            }
            Api::TooManyRequests(after) => WriteOutcome::Busy { after: Some(Duration::from_secs(after)) },
            Api::Forbidden => WriteOutcome::Refused,
            Api::Immutable if draft.note != "other words" => WriteOutcome::Differs,
            Api::Up | Api::Immutable => {
                let event_time = draft.event_time.clone();
                self.stored.push(draft);
                WriteOutcome::Done { event_time }
            }
        }
    }

    /// Lets time pass, waking only when the reconciler wants to be woken.
    fn run_until(&mut self, second: u64) {
        let mut rounds = 0;
        while self.now < second {
            let wake = self.reconciler.next_wake(self.instant()).as_secs_f64().ceil() as u64;
            self.now = (self.now + wake.max(1)).min(second);
            self.answer(Input::Tick);
            rounds += 1;
            assert!(rounds < 20_000, "it is woken all the time");
        }
    }
}

#[test]
fn a_pod_held_for_an_hour_is_told_twice_and_its_end_once() {
    let mut world = World::new(held(), Api::Up);
    world.run_until(74);
    assert!(world.stored.is_empty(), "its time is not up");
    world.run_until(3600);
    let kinds: Vec<(bool, Option<i32>)> =
        world.stored.iter().map(|draft| (draft.warning, draft.series.as_ref().map(|series| series.0))).collect();
    assert_eq!(kinds, [(true, None), (true, Some(2))], "{:?}", world.writes);
    world.seen = sample::node();
    world.answer(Input::Watch(WatchEvent::Delete(held().api.get().unwrap().pods[0].uid.clone())));
    world.run_until(3650);
    assert!(!world.stored.last().unwrap().warning, "it is scanned at once when the object is gone");
    assert_eq!(world.stored.len(), 3);
}

/// The kubelet may yet succeed for two minutes, and meanwhile the looks grow apart.
#[test]
fn what_is_only_suspected_is_looked_at_again_before_its_turn() {
    let mut seen = sample::running();
    sample::block(&mut seen, sample::INIT, "request_wait_answer");
    sample::container_table(&mut seen, vec![sample::mount(9, "0:40", "/mnt/media", "fuse.s3fs")]);
    // Without fusectl the waiting requests cannot be counted.
    let connection = sample::fuse_connection(40, 1, vec![sample::fuse_server(4111, 'S')]);
    let fault = Fault::new("/sys/fs/fuse/connections", (FaultKind::Gone, "the fusectl file system is not mounted"));
    seen.fuse = vec![FuseConnection { waiting: Seen::Failed(fault), ..connection }];
    sample::set_deadline(&mut seen, moment(60).wall_ms, 30);
    let mut world = World::new(seen, Api::Up);
    world.run_until(182);
    assert!(world.stored.is_empty(), "it is reported only after the slowest try");
    world.run_until(182 + 50 + 60 + 30);
    assert_eq!(world.stored.len(), 1, "{:?}", world.scans);
    let before = world.scans.len();
    world.run_until(1200);
    assert!(world.scans.len() < before + 6, "{:?}", world.scans);
}

#[test]
fn nothing_terminating_costs_no_write_and_few_scans() {
    let mut world = World::new(sample::node(), Api::Up);
    world.run_until(86_400);
    assert!(world.writes.is_empty());
    assert!(world.scans.len() < 180, "{}", world.scans.len());
}

#[test]
fn an_hour_without_the_api_server_loses_nothing_and_makes_no_storm() {
    let mut world = World::new(held(), Api::Up);
    world.run_until(50);
    world.api = Api::Down;
    world.answer(Input::Watch(WatchEvent::Failed(fault("refused"))));
    world.run_until(3700);
    assert!(world.stored.is_empty());
    // The finding rests on the API server's word, which has grown old: nothing is claimed by it.
    assert!(world.transitions.is_empty());
    world.api = Api::Up;
    world.run_until(4800);
    assert_eq!(world.stored.len(), 1);
    assert!(world.writes.len() < 5, "{}", world.writes.len());
}

#[test]
fn writes_that_fail_are_tried_less_and_less_often() {
    let mut world = World::new(held(), Api::Up);
    world.run_until(70);
    world.api = Api::Forbidden;
    world.run_until(3670);
    assert!((3..=12).contains(&world.writes.len()), "{}", world.writes.len());
    let mut world = World::new(held(), Api::Up);
    world.run_until(70);
    world.api = Api::TooManyRequests(120);
    world.run_until(1270);
    assert!((5..=10).contains(&world.writes.len()), "{}", world.writes.len());
    world.api = Api::Up;
    world.run_until(1900);
    assert_eq!(world.stored.len(), 1, "the latest state, once");
}

#[test]
fn an_api_server_that_flaps_sees_each_state_once() {
    let mut world = World::new(held(), Api::Up);
    for round in 0..60 {
        world.api = if round % 2 == 0 { Api::Down } else { Api::Up };
        if world.api == Api::Down {
            world.answer(Input::Watch(WatchEvent::Failed(fault("reset"))));
        }
        world.run_until(60 + round * 60);
    }
    assert!(world.stored.len() <= 3 && !world.stored.is_empty(), "{:?}", world.stored);
    assert!(world.stored.iter().all(|draft| draft.warning), "nothing has ended");
}

#[test]
fn a_clock_that_jumps_makes_nothing_stuck_and_nothing_over() {
    let mut world = World::new(held(), Api::Up);
    world.run_until(30);
    world.wall_offset_ms = 86_400_000;
    world.run_until(70);
    assert!(world.stored.is_empty() && world.transitions.is_empty(), "its time is not up by the steady clock");
    world.run_until(300);
    assert_eq!(world.stored.len(), 1);
    world.wall_offset_ms = -86_400_000;
    world.run_until(1500);
    assert!(world.transitions.len() == 1 && world.stored.len() == 1, "{:?}", world.transitions);
}

#[test]
fn a_pod_the_watch_has_missed_is_not_called_forgotten() {
    let mut world = World::new(sample::node(), Api::Up);
    world.run_until(10);
    // It runs, and the watch is half open: it sends nothing and does not break.
    world.seen = sample::running();
    world.seen.api.get_mut().unwrap().pods[0].deletion = None;
    world.run_until(3000);
    assert!(world.transitions.is_empty() && world.writes.is_empty(), "{:?}", world.transitions);
    // Now it is deleted by force.
    let api = world.seen.api.get_mut().unwrap();
    let uid = api.pods[0].uid.clone();
    api.pods.clear();
    world.answer(Input::Watch(WatchEvent::Delete(uid)));
    world.run_until(6000);
    let causes: Vec<&str> = world.stored.iter().map(|draft| draft.annotation.finding.cause.id).collect();
    assert!(causes.contains(&"ForceDeletedStillRunning"), "{causes:?}");
}

#[test]
fn an_event_of_the_same_name_with_other_words_is_renewed_as_it_is() {
    let mut world = World::new(held(), Api::Up);
    world.run_until(70);
    world.api = Api::Immutable;
    world.run_until(400);
    assert_eq!(world.writes.len(), 2, "{:?}", world.writes);
    let json = world.stored[0].to_json();
    assert_eq!((&json["note"], &json["series"]["count"]), (&"other words".into(), &8.into()));
    world.run_until(3600);
    assert!(world.writes.len() <= 4);
}

#[test]
fn what_was_sent_and_never_answered_is_the_same_event_again_and_is_ended() {
    let mut world = World::new(held(), Api::Up);
    world.run_until(70);
    world.api = Api::Mute;
    world.run_until(150);
    assert!(world.stored.len() > 1, "it tries again");
    let immutable = |draft: &Draft| {
        let json = draft.to_json();
        (json["eventTime"].clone(), json["note"].clone(), json["series"].clone())
    };
    assert!(world.stored.iter().all(|draft| immutable(draft) == immutable(&world.stored[0])), "{:?}", world.stored);
    world.seen = sample::node();
    world.answer(Input::Watch(WatchEvent::Delete(held().api.get().unwrap().pods[0].uid.clone())));
    world.run_until(160);
    world.api = Api::Up;
    world.run_until(500);
    // The end too may be sent again, as the same Event.
    let ends = world.stored.iter().filter(|draft| !draft.warning).map(|draft| draft.name.clone());
    assert_eq!(ends.collect::<BTreeSet<_>>().len(), 1);
}

#[test]
fn what_was_not_taken_needs_no_end() {
    let mut world = World::new(held(), Api::Up);
    world.run_until(70);
    world.api = Api::TooManyRequests(10);
    world.run_until(150);
    world.seen = sample::node();
    world.answer(Input::Watch(WatchEvent::Delete(held().api.get().unwrap().pods[0].uid.clone())));
    world.run_until(160);
    world.api = Api::Up;
    world.run_until(500);
    assert!(world.stored.is_empty() && world.writes.len() > 1, "{:?}", world.stored);
}

#[test]
fn a_node_made_anew_is_noticed_before_the_next_write() {
    let mut world = World::new(held(), Api::Up);
    world.run_until(300);
    world.node_uid = "other".into();
    world.run_until(2400);
    let uids: Vec<&str> = world.stored.iter().map(|draft| draft.of.uid.as_str()).collect();
    assert_eq!(uids, ["7b0c", "other"]);
}

#[test]
fn the_node_is_asked_for_when_its_news_are_written_and_not_before() {
    let mut delays = Vec::new();
    for seed in 0..20 {
        let mut seen = held();
        sample::set_deadline(&mut seen, moment(3600).wall_ms, 30);
        let mut world = World::new(sample::deleted(), Api::Up);
        world.reconciler = Reconciler::new("node-7", Settings::default(), true, seed, moment(0));
        world.seen = seen;
        world.tell_list();
        world.run_until(3700);
        let (scanned, asked) = (world.scans.iter().find(|&&scan| scan > 3600), world.asked_for_node.last());
        assert_eq!(asked, Some(&world.writes[0].0), "seed {seed}");
        delays.push(asked.unwrap() - scanned.unwrap());
    }
    assert!(delays.iter().any(|&delay| delay > 15), "spread over half a minute: {delays:?}");
}

/// Each is held by a root of its own.
fn five_hundred_pods() -> World {
    let mut world = World::new(held(), Api::Up);
    let first = pods(&world.seen)[0].clone();
    let api = world.seen.api.get_mut().unwrap();
    api.pods = (0..500)
        .map(|number| ApiPod {
            uid: PodUid::parse(&format!("96fb425e-919e-44f9-8b42-{number:012x}")).unwrap(),
            name: format!("db-{number}"),
            ..first.clone()
        })
        .collect();
    world.seen.looked_into = api.pods.iter().map(|pod| pod.uid.clone()).collect();
    world.tell_list();
    world
}

#[test]
fn five_hundred_pods_in_one_second_are_one_look_at_a_time_and_few_writes() {
    let mut world = five_hundred_pods();
    world.run_until(3660);
    assert!(world.scans.len() < 60, "{} scans", world.scans.len());
    // Each has a root of its own, so each is reported by itself, as fast as the bucket allows.
    assert!((100..=135).contains(&world.stored.len()), "{}", world.stored.len());
    let mut names: Vec<&str> = world.stored.iter().map(|draft| draft.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert!(names.len() > 100, "no pod is reported twice before others are reported once: {}", names.len());
}

#[test]
fn the_last_writes_are_no_storm() {
    let mut world = five_hundred_pods();
    world.run_until(90);
    let mut written = 0;
    while world.reconciler.last_write(world.instant()).is_some() {
        world.answer(Input::Wrote(WriteOutcome::Done { event_time: String::new() }));
        written += 1;
    }
    assert_eq!(written, 10);
    assert!(world.reconciler.unwritten() > 470);
}

#[test]
fn a_silent_runtime_ends_no_finding() {
    let mut world = World::new(held(), Api::Up);
    world.run_until(300);
    world.seen.runtime = Seen::failed("CRI", (findings::FaultKind::TimedOut, "did not answer within 1.5s"));
    world.run_until(1500);
    assert!(world.transitions.iter().all(|turn| matches!(turn, Transition::Opened(_))), "{:?}", world.transitions);
}

/// A pod that runs on although the API server does not know it.
fn forgotten() -> Observation {
    let mut seen = sample::running();
    seen.api.get_mut().unwrap().pods.clear();
    seen
}

#[test]
fn a_forgotten_pod_is_not_over_while_the_api_server_is_away() {
    let mut world = World::new(forgotten(), Api::Up);
    world.run_until(2000);
    assert!(!world.stored.is_empty(), "it is reported");
    let before = world.transitions.len();
    world.api = Api::Down;
    world.answer(Input::Watch(WatchEvent::Failed(fault("refused"))));
    world.run_until(6000);
    world.api = Api::Up;
    world.run_until(8000);
    assert_eq!(world.transitions.len(), before, "{:?}", &world.transitions[before..]);
    assert!(world.stored.iter().all(|draft| draft.warning));
}

#[test]
fn a_list_that_is_older_than_the_watch_takes_nothing_back() {
    let pod = pods(&held())[0].clone();
    let mut reconciler = Reconciler::new("node-7", Settings::default(), true, 7, moment(0));
    reconciler.handle(Input::Watch(WatchEvent::Failed(fault("reset"))), moment(0));
    let commands = (0..200).flat_map(|second| reconciler.handle(Input::Tick, moment(second))).collect::<Vec<_>>();
    assert!(commands.iter().any(|command| matches!(command, Command::List { .. })), "{commands:?}");
    reconciler.handle(Input::Watch(WatchEvent::Apply(pod.clone())), moment(200));
    reconciler.handle(Input::Listed(Ok(vec![ApiPod { deletion: None, ..pod.clone() }])), moment(201));
    assert_eq!(reconciler.index().terminating(), 1);
}

#[test]
fn one_event_that_is_refused_does_not_keep_the_others_back() {
    let mut world = five_hundred_pods();
    world.poison = true;
    world.run_until(1200);
    assert!(world.stored.len() > 20, "{} of {}", world.stored.len(), world.writes.len());
}

#[test]
fn findings_that_are_too_many_are_renewed_in_turn() {
    let mut world = five_hundred_pods();
    world.seen.api.get_mut().unwrap().pods.truncate(100);
    world.tell_list();
    world.run_until(4 * 3600);
    let mut last: std::collections::BTreeMap<String, u64> = Default::default();
    let mut longest = 0;
    for (second, draft) in &world.writes {
        if let Some(before) = last.insert(draft.name.to_string(), *second) {
            longest = longest.max(second - before);
        }
    }
    assert_eq!(last.len(), 100);
    assert!(longest < 3600, "one was not renewed for {longest} s");
}

#[test]
fn an_end_that_is_refused_is_not_lost() {
    let mut world = World::new(held(), Api::Up);
    world.run_until(300);
    assert_eq!(world.stored.len(), 1);
    world.api = Api::Forbidden;
    end(&mut world);
    world.run_until(1000);
    assert_eq!(world.stored.len(), 1);
    world.api = Api::Up;
    world.run_until(3000);
    assert_eq!(world.stored.iter().filter(|draft| !draft.warning).count(), 1);
}

#[test]
fn a_watch_that_only_begins_again_does_not_make_a_list_old() {
    let mut reconciler = Reconciler::new("node-7", Settings::default(), true, 7, moment(0));
    reconciler.handle(Input::Watch(WatchEvent::Failed(fault("reset"))), moment(0));
    let asked = (0..200).any(|second| {
        reconciler.handle(Input::Tick, moment(second)).iter().any(|command| matches!(command, Command::List { .. }))
    });
    assert!(asked);
    reconciler.handle(Input::Watch(WatchEvent::Init), moment(200));
    reconciler.handle(Input::Listed(Ok(pods(&held()))), moment(201));
    assert!(reconciler.index().is_fresh(moment(201)) && reconciler.index().terminating() == 1);
}
