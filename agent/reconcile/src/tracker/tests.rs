//! Findings over time: seen, reported, reported again, over.

use std::collections::BTreeSet;

use findings::{Confidence, Finding, Gate, GateState, NodeReport, PodUid, TokenBucket, Unknown};

use agent_core::gates::judge;
use agent_core::observation::{Fault, Observation, Seen, sample};

use super::*;
use crate::{event::NodeRef, instant::tests::moment};

const RULES: Rules = Rules {
    fan_in: 5,
    scans: 2,
    d_state_scans: 3,
    renewal: Duration::from_secs(1800),
    update: Duration::from_secs(300),
    capacity: 1000,
};

fn node_ref() -> NodeRef {
    NodeRef { node: "node-7".into(), uid: "7b0c".into() }
}

/// Something that does not pass by itself: a finalizer.
fn stuck() -> Observation {
    let mut seen = sample::deleted();
    seen.api.get_mut().unwrap().pods[0].finalizers.push("example.com/hold".into());
    seen
}

fn uninterruptible() -> Observation {
    let mut seen = sample::running();
    sample::block(&mut seen, sample::INIT, "io_schedule");
    seen
}

fn take(tracker: &mut Tracker, seen: &Observation, seconds: u64) -> Vec<Transition> {
    let report = judge(seen);
    tracker.take(&Snapshot::new(moment(seconds), seen, &report))
}

/// Writes everything that is due; the kinds and the drafts.
fn write_all(tracker: &mut Tracker, seconds: u64) -> Vec<Write> {
    let mut writes = Vec::new();
    while let Some(write) = tracker.next_write(&node_ref(), moment(seconds)) {
        let time = write.draft.event_time.clone();
        tracker.was_written(&write, time, moment(seconds));
        writes.push(write);
        assert!(writes.len() < 10_000, "it never ends");
    }
    writes
}

fn kinds(writes: &[Write]) -> Vec<Kind> {
    writes.iter().map(|write| write.kind).collect()
}

/// The same finding for many pods behind one root.
fn shared(seen: &Observation, count: usize) -> NodeReport {
    let mut report = judge(seen);
    let first = report.pods[0].clone();
    report.pods = (0..count)
        .map(|number| {
            let mut pod = first.clone();
            pod.pod.uid = PodUid::parse(&format!("96fb425e-919e-44f9-8b42-{number:012x}")).unwrap();
            pod.pod.name = Some(format!("db-{number}"));
            pod
        })
        .collect();
    report
}

fn take_report(tracker: &mut Tracker, report: &NodeReport, seconds: u64) -> Vec<Transition> {
    tracker.take(&Snapshot { at: moment(seconds), report, complete: true })
}

fn written(at: Instant, event_time: &str, count: i32, note: &str) -> Written {
    let (event_time, note) = (event_time.to_owned(), note.to_owned());
    Written { at, event_time, count, pods: BTreeSet::new(), note, may_stand: true }
}

#[test]
fn what_lasts_is_told_at_once_renewed_and_ended() {
    let mut tracker = Tracker::new(RULES, 7);
    assert!(matches!(take(&mut tracker, &stuck(), 0)[..], [Transition::Opened(_)]));
    let opened = write_all(&mut tracker, 1);
    assert_eq!(kinds(&opened), [Kind::Open]);
    assert_eq!(opened[0].draft.series, None);
    take(&mut tracker, &stuck(), 600);
    assert!(write_all(&mut tracker, 600).is_empty(), "nothing new");
    let renewed = write_all(&mut tracker, 2300);
    assert_eq!(kinds(&renewed), [Kind::Renew]);
    assert_eq!(renewed[0].draft.series.as_ref().unwrap().0, 2);
    assert_eq!(renewed[0].draft.name, opened[0].draft.name);
    assert_eq!(renewed[0].draft.event_time, opened[0].draft.event_time, "it cannot be changed");
    assert!(
        matches!(&take(&mut tracker, &sample::node(), 2400)[..], [Transition::Over(_, why)] if why.contains("nothing"))
    );
    let over = write_all(&mut tracker, 2401);
    assert_eq!(kinds(&over), [Kind::Over]);
    assert!(!over[0].draft.warning && over[0].draft.name != opened[0].draft.name);
    let note = &over[0].draft.note;
    assert!(note.contains("It lasted 40m"), "{note}");
    assert!(tracker.next_due(moment(9999)).is_none());
}

#[test]
fn a_task_in_d_is_told_when_it_persists() {
    let mut tracker = Tracker::new(RULES, 7);
    let seen = uninterruptible();
    for second in [0, 4, 30] {
        assert!(take(&mut tracker, &seen, second).is_empty(), "second {second}");
    }
    assert!(matches!(take(&mut tracker, &seen, 60)[..], [Transition::Opened(_)]));
    let mut tracker = Tracker::new(RULES, 7);
    for second in [0, 60, 120, 180] {
        assert!(take(&mut tracker, &seen, second).is_empty());
        assert!(take(&mut tracker, &sample::node(), second + 30).is_empty(), "it comes and goes");
    }
    assert!(write_all(&mut tracker, 300).is_empty());
}

#[test]
fn what_cannot_be_seen_is_not_over() {
    let mut tracker = Tracker::new(RULES, 7);
    take(&mut tracker, &stuck(), 0);
    write_all(&mut tracker, 0);
    let fault = || Fault::new("CRI", (findings::FaultKind::TimedOut, "did not answer"));
    let mut blind = sample::node();
    blind.runtime = Seen::Failed(fault());
    assert!(take(&mut tracker, &blind, 30).is_empty());
    let mut blind = stuck();
    blind.pod_dirs = Seen::Failed(fault());
    assert!(take(&mut tracker, &blind, 60).is_empty());
    let mut blind = sample::node();
    blind.mounts.kubelet = Seen::Failed(fault());
    assert!(take(&mut tracker, &blind, 90).is_empty());
    assert_eq!(tracker.holding().count(), 1);
}

#[test]
fn what_is_over_before_it_could_be_written_is_never_written() {
    let mut tracker = Tracker::new(RULES, 7);
    take(&mut tracker, &stuck(), 0);
    take(&mut tracker, &sample::node(), 3600);
    assert!(write_all(&mut tracker, 3600).is_empty());
}

#[test]
fn after_an_hour_without_the_api_server_the_last_state_is_written_once() {
    let mut tracker = Tracker::new(RULES, 7);
    for second in (0..3600).step_by(60) {
        take(&mut tracker, &stuck(), second);
    }
    assert_eq!(kinds(&write_all(&mut tracker, 3600)), [Kind::Open]);
}

#[test]
fn many_pods_behind_one_root_are_one_event() {
    let report = shared(&stuck(), 500);
    let mut tracker = Tracker::new(RULES, 7);
    take_report(&mut tracker, &report, 0);
    let writes = write_all(&mut tracker, 0);
    assert_eq!(kinds(&writes), [Kind::Open]);
    assert_eq!((writes[0].draft.annotation.pod_count, writes[0].draft.related.is_none()), (500, true));
    take_report(&mut tracker, &report, 1000);
    assert!(write_all(&mut tracker, 1000).is_empty(), "the same pods are no news");
}

#[test]
fn when_one_more_pod_comes_the_single_events_are_merged() {
    let mut tracker = Tracker::new(RULES, 7);
    take_report(&mut tracker, &shared(&stuck(), 5), 0);
    assert_eq!(write_all(&mut tracker, 0).len(), 5);
    let transitions = take_report(&mut tracker, &shared(&stuck(), 6), 60);
    assert_eq!(transitions.iter().filter(|turn| matches!(turn, Transition::Merged(_))).count(), 5);
    let writes = write_all(&mut tracker, 60);
    assert_eq!(writes.iter().filter(|write| write.kind == Kind::Merge).count(), 5);
    assert_eq!(writes.iter().filter(|write| write.kind == Kind::Open).count(), 1);
    // It stays the node's until the last pod is gone: no going back and forth.
    take_report(&mut tracker, &shared(&stuck(), 2), 120);
    assert_eq!(tracker.holding().count(), 1);
    assert_eq!(kinds(&write_all(&mut tracker, 400)), [Kind::Update]);
    take_report(&mut tracker, &shared(&stuck(), 0), 500);
    assert_eq!(kinds(&write_all(&mut tracker, 500)), [Kind::Over]);
}

#[test]
fn a_storm_is_bounded_by_the_bucket_and_by_the_capacity() {
    let mut tracker = Tracker::new(Rules { capacity: 300, ..RULES }, 7);
    let mut report = shared(&stuck(), 500);
    for (number, pod) in report.pods.iter_mut().enumerate() {
        pod.findings.iter_mut().for_each(|finding| finding.root = format!("{}:{number}", finding.cause.id));
    }
    take_report(&mut tracker, &report, 0);
    assert_eq!((tracker.holding().count(), tracker.dropped()), (300, 200));
    let mut bucket = TokenBucket::new(10, Duration::from_secs(30));
    let mut written = 0;
    for second in 0..3600 {
        while tracker.next_write(&node_ref(), moment(second)).is_some() && bucket.take(moment(second).steady) {
            let write = tracker.next_write(&node_ref(), moment(second)).unwrap();
            tracker.was_written(&write, write.draft.event_time.clone(), moment(second));
            written += 1;
        }
    }
    assert_eq!(written, 129);
}

#[test]
fn what_is_proven_is_told_before_what_is_probable() {
    let mut tracker = Tracker::new(RULES, 7);
    let mut report = shared(&stuck(), 3);
    for (number, pod) in report.pods.iter_mut().enumerate() {
        pod.findings.iter_mut().for_each(|finding| finding.root = format!("{}:{number}", finding.cause.id));
    }
    report.pods[0].findings[0].confidence = Confidence::Probable;
    report.pods[1].findings[0].confidence = Confidence::Probable;
    for scan in 0..4 {
        take_report(&mut tracker, &report, scan * 60);
    }
    let roots: Vec<_> = write_all(&mut tracker, 300).into_iter().map(|write| write.key.root).collect();
    assert!(roots.len() == 3 && roots[0].ends_with(":2"), "{roots:?}");
}

#[test]
fn a_restarted_agent_goes_on_with_its_own() {
    let mut tracker = Tracker::new(RULES, 7);
    take(&mut tracker, &stuck(), 0);
    let first = write_all(&mut tracker, 0).remove(0);
    let restored = |seconds: u64| {
        let mut tracker = Tracker::new(RULES, 7);
        let written = written(moment(0), &first.draft.event_time, 1, &first.draft.note);
        tracker.restore(
            first.draft.name.clone(),
            first.draft.annotation.clone(),
            true,
            written,
            moment(seconds).convert_wall(moment(0).wall_s()),
        );
        tracker
    };
    let mut same = restored(100);
    assert!(take(&mut same, &stuck(), 100).is_empty(), "it is known");
    assert!(write_all(&mut same, 100).is_empty(), "and reported");
    let renewed = write_all(&mut same, 2300).remove(0);
    assert_eq!((renewed.kind, &renewed.draft.name), (Kind::Renew, &first.draft.name));
    let mut over = restored(100);
    take(&mut over, &sample::node(), 100);
    assert_eq!(kinds(&write_all(&mut over, 100)), [Kind::Over]);
    // It was seen again before the API server answered.
    let mut late = Tracker::new(RULES, 7);
    take(&mut late, &stuck(), 50);
    let written = written(moment(0), "x", 4, "as it was said");
    late.restore(first.draft.name.clone(), first.draft.annotation.clone(), true, written, moment(0));
    assert!(write_all(&mut late, 60).is_empty());
    assert_eq!(write_all(&mut late, 2300)[0].draft.series.as_ref().unwrap().0, 5);
}

#[test]
fn what_was_told_before_the_restart_is_ended_although_it_is_only_suspected_now() {
    let mut tracker = Tracker::new(RULES, 7);
    for second in [0, 30, 60] {
        take(&mut tracker, &uninterruptible(), second);
    }
    let first = write_all(&mut tracker, 60).remove(0);
    let mut tracker = Tracker::new(RULES, 7);
    take(&mut tracker, &uninterruptible(), 100);
    let written = written(moment(60), "x", 1, "as it was said");
    tracker.restore(first.draft.name.clone(), first.draft.annotation.clone(), true, written, moment(0));
    take(&mut tracker, &sample::node(), 130);
    let over = write_all(&mut tracker, 130);
    assert_eq!(kinds(&over), [Kind::Over]);
    assert_eq!(over[0].draft.name, first.draft.name.end_name(moment(0).wall_s()));
}

#[test]
fn an_event_that_says_something_else_is_gone_on_with() {
    let mut tracker = Tracker::new(RULES, 7);
    take(&mut tracker, &stuck(), 0);
    let write = tracker.next_write(&node_ref(), moment(0)).unwrap();
    let existing = ExistingEvent {
        identity: write.draft.identity(),
        event_time: "2026-01-01T00:00:00.000000Z".into(),
        note: "older words".into(),
        count: 3,
    };
    tracker.adopt(&write, existing, moment(0));
    let again = write_all(&mut tracker, 1).remove(0);
    assert_eq!(again.draft.note, "older words");
    assert_eq!(again.draft.event_time, "2026-01-01T00:00:00.000000Z");
    assert_eq!(again.draft.series.unwrap().0, 4);
    assert_eq!(write_all(&mut tracker, 2300)[0].draft.note, "older words", "and so it stays");
}

/// Its Warning stands, with the time of the first time; what has ended before must not be counted in.
#[test]
fn what_comes_back_holds_since_it_came_back() {
    let mut tracker = Tracker::new(RULES, 7);
    take(&mut tracker, &stuck(), 0);
    let first = write_all(&mut tracker, 0).remove(0).draft;
    take(&mut tracker, &sample::node(), 100);
    let over = write_all(&mut tracker, 100).remove(0).draft;
    take(&mut tracker, &stuck(), 1000);
    let again = tracker.next_write(&node_ref(), moment(1000)).unwrap();
    let existing = ExistingEvent {
        identity: first.identity(),
        event_time: first.event_time.clone(),
        note: first.note.clone(),
        count: 1,
    };
    tracker.adopt(&again, existing, moment(1000));
    let again = write_all(&mut tracker, 1001).remove(0).draft;
    assert_eq!((&again.name, again.annotation.since), (&first.name, moment(1000).stamp()));
    take(&mut tracker, &sample::node(), 1060);
    let over_again = write_all(&mut tracker, 1060).remove(0).draft;
    assert_eq!(over_again.annotation.since, moment(1000).stamp());
    assert_ne!(over_again.name, over.name);
}

#[test]
fn a_node_made_anew_gets_new_events() {
    let mut tracker = Tracker::new(RULES, 7);
    take(&mut tracker, &stuck(), 0);
    let first = write_all(&mut tracker, 0).remove(0);
    tracker.forget_written();
    let anew = tracker.next_write(&NodeRef { uid: "other".into(), ..node_ref() }, moment(5)).unwrap();
    assert_eq!(anew.kind, Kind::Open);
    assert_ne!(anew.draft.name, first.draft.name);
}

#[test]
fn what_was_not_looked_for_is_not_over() {
    let mut report = judge(&sample::node());
    let finding = judge(&stuck()).pods[0].findings[0].clone();
    let cause = findings::CauseRef(&findings::cause::GLOBAL_MOUNT_LEFT);
    let finding = findings::Finding { cause, gate: None, chain: Vec::new(), ..finding };
    report.node_findings = vec![findings::NodeFinding { finding, pods: Vec::new() }];
    let mut tracker = Tracker::new(RULES, 7);
    take_report(&mut tracker, &report, 0);
    take_report(&mut tracker, &report, 30);
    let opened = write_all(&mut tracker, 30);
    let note = &opened[0].draft.note;
    assert!(note.starts_with("This node: "), "{note}");
    report.node_findings.clear();
    report.not_looked_for = vec![cause];
    assert!(take_report(&mut tracker, &report, 60).is_empty(), "pods come and go just now");
    report.not_looked_for.clear();
    take_report(&mut tracker, &report, 90);
    assert_eq!(write_all(&mut tracker, 90)[0].draft.reason, "NodeFindingOver");
}

fn unknown() -> Unknown {
    Unknown { source: "CRI".into(), kind: None, why: "did not answer".into(), hides: "containers".into() }
}

/// The pod is still stuck, and the reported finding is not seen any more.
#[test]
fn a_finding_is_over_when_its_gate_is_met_or_something_else_holds_it() {
    let first = judge(&stuck());
    let held = first.pods[0].findings[0].clone();
    let gate = held.gate.unwrap();
    let end = |first: &NodeReport, change: &dyn Fn(&mut NodeReport)| {
        let mut tracker = Tracker::new(RULES, 7);
        assert!(matches!(take_report(&mut tracker, first, 0)[..], [Transition::Opened(_)]));
        let mut report = first.clone();
        report.pods[0].findings.clear();
        change(&mut report);
        take_report(&mut tracker, &report, 60).into_iter().find_map(|transition| match transition {
            Transition::Over(_, why) => Some(why),
            _ => None,
        })
    };
    let set = |report: &mut NodeReport, gate: Gate, state: GateState| {
        report.pods[0].gates.iter_mut().find(|view| view.gate == gate).unwrap().state = state;
    };
    assert_eq!(end(&first, &|_| {}), None, "what holds it is unknown");
    assert_eq!(end(&first, &|report| set(report, gate, GateState::Unknown)), None);
    assert_eq!(end(&first, &|report| report.pods[0].gates.clear()), Some(format!("{gate} is met")));
    assert_eq!(end(&first, &|report| set(report, gate, GateState::Met)), Some(format!("{gate} is met")));
    let moved_on = |report: &mut NodeReport| {
        set(report, gate, GateState::Met);
        set(report, Gate::VolumesUnmounted, GateState::Blocked);
    };
    let next = Gate::VolumesUnmounted;
    assert_eq!(end(&first, &moved_on), Some(format!("{gate} is met, the kubelet waits at {next} now")));
    let other = |report: &mut NodeReport| {
        let cause = findings::CauseRef(&findings::cause::KUBELET_NOT_RUNNING);
        report.pods[0].findings = vec![Finding { cause, root: "other".into(), ..held.clone() }];
    };
    assert_eq!(end(&first, &other), Some("it is held by KubeletNotRunning now".to_owned()));
    let unseen = |report: &mut NodeReport| {
        other(report);
        report.pods[0].unknown = vec![unknown()];
    };
    assert_eq!(end(&first, &unseen), None, "both may hold it");

    let mut of_no_gate = first.clone();
    of_no_gate.pods[0].findings[0].gate = None;
    assert_eq!(end(&of_no_gate, &|_| {}), Some("it was not found any more".to_owned()));
    let unseen = |report: &mut NodeReport| report.unknown = vec![unknown()];
    assert_eq!(end(&of_no_gate, &unseen), None);
}

/// As on a real node: a dead FUSE mount was unmounted, and until the kubelet tried again its CSI driver was blamed.
#[test]
fn while_the_kubelet_has_not_tried_again_nobody_else_is_blamed_on_suspicion() {
    let gate = Gate::VolumesUnmounted;
    let mut first = judge(&stuck());
    first.pods[0].gates.iter_mut().find(|view| view.gate == gate).unwrap().state = GateState::Blocked;
    first.pods[0].findings[0].gate = Some(gate);
    let held = first.pods[0].findings[0].clone();
    let other = |confidence| {
        let mut report = first.clone();
        let cause = findings::CauseRef(&findings::cause::CSI_UNPUBLISH_FAILS);
        report.pods[0].findings = vec![Finding { cause, root: "other".into(), confidence, ..held.clone() }];
        report
    };
    let opened = |transitions: &[Transition]| transitions.iter().any(|it| matches!(it, Transition::Opened(_)));

    let mut tracker = Tracker::new(RULES, 7);
    take_report(&mut tracker, &first, 0);
    let suspected = other(Confidence::Probable);
    let ended = take_report(&mut tracker, &suspected, 10);
    assert!(matches!(&ended[..], [Transition::Over(_, why)] if why == "it was not found any more"), "{ended:?}");
    for second in (20..=130).step_by(10) {
        assert!(!opened(&take_report(&mut tracker, &suspected, second)), "second {second}");
    }
    assert!(opened(&take_report(&mut tracker, &suspected, 140)), "it has tried since");

    let mut tracker = Tracker::new(RULES, 7);
    take_report(&mut tracker, &first, 0);
    assert!(opened(&take_report(&mut tracker, &other(Confidence::Proven), 10)), "what is proven is reported at once");
}

#[test]
fn nodes_that_told_together_do_not_renew_together() {
    let renewed = |seed: u64| {
        let mut tracker = Tracker::new(RULES, seed);
        take(&mut tracker, &stuck(), 0);
        write_all(&mut tracker, 0);
        take(&mut tracker, &stuck(), 1800);
        assert!(tracker.next_write(&node_ref(), moment(1799)).is_none(), "never sooner");
        (1800..2200).find(|second| tracker.next_write(&node_ref(), moment(*second)).is_some()).unwrap()
    };
    let times: BTreeSet<u64> = (0..1000u64).map(|n| renewed(n.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    assert!(times.len() > 250, "{} different seconds for 1000 nodes", times.len());
}
