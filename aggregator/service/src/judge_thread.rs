//! The thread that judges: watches and answers come in, questions and what is published go out.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::incidents::{Incident, Recorder, Snapshot, Terminating};
use aggregator_core::report::{ClusterReport, Root};
use aggregator_core::state::{Answer, Answered, Question, known};
use aggregator_core::{MAX_AGE_SECONDS, MAX_RENEWAL_SECONDS};
use foldhash::{HashMap, HashMapExt as _, HashSet};
use jiff::Timestamp;
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};

use crate::judge::{Change, Judge, watched};
use crate::left_behind::{LeftBehindScan, OnNodes, believed};
use crate::published::{Findings, Published};
use crate::query_schedule::later;
use crate::resource_usage;
use crate::serve::Relists;

/// Between two judgements.
const MIN_JUDGE_INTERVAL: Duration = Duration::from_millis(500);
/// Judging may take this part of the time.
const INTERVAL_PER_COST: u32 = 67;
/// What so many judgements cost on average counts: an expensive one puts the next hardly further off.
const AVERAGED_JUDGEMENTS: u32 = 8;
/// However much there is to judge: a change is reported by then.
const MAX_JUDGE_INTERVAL: Duration = Duration::from_secs(30);
/// Without news a judgement is made all the same: deadlines pass.
const IDLE_INTERVAL: Duration = Duration::from_secs(10);
/// By so long after a deletion what it is judged by has been asked for again, or cannot be.
const CONFIRMATION_WINDOW: Duration = Duration::from_secs(600);

/// What the thread hears.
#[derive(Debug)]
pub enum Input {
    /// A watch, and its place in the queue.
    Change(Change, OwnedSemaphorePermit),
    Answered(Answered),
}

/// What the thread works with.
pub struct JudgeThread {
    pub inputs: Receiver<Input>,
    /// Questions for the API server.
    pub questions: mpsc::Sender<Vec<Question>>,
    pub published: watch::Sender<Published>,
    pub clock: Arc<crate::server_clock::ServerClock>,
    /// What an earlier run has kept.
    pub recorder: Recorder,
    /// Has the watches list anew.
    pub relists: Relists,
}

impl JudgeThread {
    /// Judges until every sender of changes has ended.
    pub fn run(mut self) {
        let mut judge = Judge::new(self.clock.now());
        let mut left_behind = LeftBehindScan::default();
        let (mut judged, mut cost, mut pruned, mut news) = (Instant::now(), Duration::ZERO, Instant::now(), true);
        loop {
            // The first judgements are the dearest, and there is no report yet.
            let is_ready = self.published.borrow().report.is_some();
            let pause = if is_ready {
                (cost * INTERVAL_PER_COST).clamp(MIN_JUDGE_INTERVAL, MAX_JUDGE_INTERVAL)
            } else {
                MIN_JUDGE_INTERVAL
            };
            let wait = if news { pause } else { IDLE_INTERVAL };
            match self.inputs.recv_timeout(wait.saturating_sub(judged.elapsed()).max(Duration::from_millis(1))) {
                Ok(input) => {
                    news = true;
                    self.take(&mut judge, input);
                    // What came together is judged together.
                    while let Ok(input) = self.inputs.try_recv() {
                        self.take(&mut judge, input);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if judged.elapsed() < if news { pause } else { IDLE_INTERVAL } {
                continue;
            }
            // What is done seldom puts no judgement off.
            if pruned.elapsed() >= Judge::PRUNE_INTERVAL {
                judge.prune();
                pruned = Instant::now();
            }
            left_behind.scan(judge.state(), &self.recorder);
            let begin = resource_usage::thread_processor_time();
            self.judge(&mut judge, left_behind.results());
            let this = resource_usage::thread_processor_time().saturating_sub(begin);
            cost = (cost * (AVERAGED_JUDGEMENTS - 1) + this) / AVERAGED_JUDGEMENTS;
            (judged, news) = (Instant::now(), judge.is_behind());
            tracing::debug!(cost = ?this, "judged");
        }
    }

    fn take(&self, judge: &mut Judge, input: Input) {
        let now = self.clock.now();
        match input {
            Input::Change(change, place) => {
                judge.changed(change, now);
                drop(place);
            }
            Input::Answered(answered) => judge.answered(answered, now),
        }
    }

    fn judge(&mut self, judge: &mut Judge, on_nodes: &OnNodes) {
        let now = self.clock.now();
        let report = judge.judge(now);
        // Else more was asked already than the API server answers.
        if let Ok(place) = self.questions.try_reserve() {
            let questions = judge.questions(now);
            if !questions.is_empty() {
                place.send(questions);
            }
        }
        for question in judge.relists(now) {
            tracing::info!(%question, "something was left out; it is listed anew");
            self.relists.request(&question);
        }
        if !judge.is_synced() || (self.published.borrow().report.is_none() && judge.is_too_early(now)) {
            return;
        }
        if let since @ Some(_) = judge.silent_since(now) {
            // The last judgement stays published, with the time since when the cluster cannot be watched.
            self.published.send_modify(|published| published.silent_since = since);
            return;
        }
        let gone = if judge.is_believed() { judge.take_gone() } else { HashSet::default() };
        let (going, findings) = (terminating(judge), findings(judge, &report, now));
        let cut_lists = judge.cut_lists();
        let snapshot = Snapshot { at: now, going: &going, gone: &gone, cut: &cut_lists, report: &report, on_nodes };
        // What cannot be seen has not gone.
        let changed = judge.is_believed() && self.recorder.observe(&snapshot);
        let unconfirmed = unconfirmed(judge, &self.recorder, now);
        self.published.send_modify(|published| {
            let is_same = published.report.as_ref().is_some_and(|before| before.outline().eq(report.outline()));
            published.version += u64::from(!is_same || changed);
            if changed || published.report.is_none() {
                published.incidents = Arc::new(self.recorder.incidents().cloned().collect());
            }
            published.report = Some(Arc::new(report));
            published.findings = findings;
            published.unconfirmed = unconfirmed;
            published.answers_left_out = judge.answers_left_out();
            published.cut_lists = cut_lists;
            published.oldest_scan = judge.oldest_scan();
            published.silent_since = None;
        });
    }
}

/// The uids of stuck namespaces that are judged by something older than their deletion.
fn unconfirmed(judge: &mut Judge, recorder: &Recorder, now: Timestamp) -> BTreeSet<String> {
    let is_recent = |incident: &&Arc<Incident>| {
        incident.end.is_none()
            && incident.object.resource == known::NAMESPACES.into()
            && now < later(incident.asked, CONFIRMATION_WINDOW)
    };
    let recent = || recorder.incidents().filter(is_recent);
    // A deletion is dated by the second in which it was asked for.
    let deleted = recent().map(|incident| (&incident.object, later(incident.asked, Duration::from_secs(1))));
    let older = judge.judged_on_older(deleted, now);
    recent().filter(|incident| older.contains(&incident.object)).map(|incident| incident.uid.clone()).collect()
}

/// All of the watched kinds that goes, by uid. Of other kinds only what a rule looks at is known, so that one that is
/// not seen any more need not have gone.
fn terminating(judge: &Judge) -> HashMap<&str, Terminating<'_>> {
    let mut going = HashMap::new();
    for question in watched() {
        let Some(Answer::Seen(facts)) = judge.state().answers.get(&question).map(|answered| &answered.answer) else {
            continue;
        };
        let Question::Objects { resource, .. } = question else { continue };
        // Reports of agents expire by themselves, and there is most of it.
        if resource == known::AGENT_EVENTS.into() {
            continue;
        }
        let known = known::find(&resource);
        for meta in facts.metas() {
            let (Some(deletion_timestamp), Some(known)) = (meta.deletion_timestamp, known) else { continue };
            let (namespace, name) = (meta.namespace.as_deref(), meta.name.as_str());
            let grace_seconds = meta.deletion_grace_period_seconds.unwrap_or(0);
            let one = Terminating { known, namespace, name, deletion_timestamp, grace_seconds };
            going.insert(meta.uid.as_str(), one);
        }
    }
    going
}

/// What agents say. That nothing more is heard of the agent of a lost node is no news beside the alert of that node.
fn findings(judge: &Judge, report: &ClusterReport, now: Timestamp) -> Findings {
    let lost = report.roots.iter().filter(|root| root.finding.cause.node_is_lost);
    let lost: BTreeSet<&str> = lost.filter_map(Root::node).collect();
    let mut findings = Findings::default();
    for event in believed(judge.state()) {
        match event.written().map_or(i64::MAX, |written| now.as_second() - written.as_second()) {
            ..=MAX_RENEWAL_SECONDS => findings.fresh += 1,
            ..=MAX_AGE_SECONDS if !lost.contains(event.regarding.name.as_str()) => findings.late += 1,
            _ => {}
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use crate::incidents::Limits;
    use aggregator_core::state::{Facts, Fault};
    use findings::FaultKind;

    use super::*;

    #[test]
    fn ten_minutes_without_the_api_server_change_nothing_but_the_time() {
        let (questions, mut asked) = mpsc::channel(1);
        let (_inputs, heard) = std::sync::mpsc::channel();
        let (publish, published) = watch::channel(Published::default());
        let recorder = Recorder::new(Limits::default(), Vec::new());
        let clock = Arc::<crate::server_clock::ServerClock>::default();
        let mut judging = JudgeThread {
            inputs: heard,
            questions,
            published: publish,
            clock: Arc::clone(&clock),
            recorder,
            relists: Relists::default(),
        };
        let minute = |minute: i64| Timestamp::from_second(minute * 60).unwrap();
        let list = |judge: &mut Judge, at| {
            for question in watched() {
                let answer = Answer::Seen(Facts::none(&question).unwrap());
                judge.changed(Change::Listed(Answered::whole(question, answer)), at);
            }
        };
        let mut judge = Judge::new(minute(0));
        clock.synchronize(minute(0));
        list(&mut judge, minute(0));
        while published.borrow().report.is_none() {
            judging.judge(&mut judge, &OnNodes::new());
            for question in asked.try_recv().into_iter().flatten() {
                judge.answered(Answered::whole(question, Answer::Missing), minute(0));
            }
        }
        let mut before = published.borrow().report.clone().unwrap();
        for passed in 0..10 {
            clock.synchronize(minute(passed));
            let fault = || Fault::new(FaultKind::Refused, "");
            watched().into_iter().for_each(|one| judge.changed(Change::Failed(one, fault()), minute(passed)));
            judging.judge(&mut judge, &OnNodes::new());
            let now = published.borrow();
            let report = now.report.clone().unwrap();
            if passed == 0 {
                before = report;
                assert_eq!(now.silent_since, None, "one failure says nothing");
            } else {
                assert!(Arc::ptr_eq(&before, &report), "minute {passed}");
                assert_eq!(now.silent_since, Some(minute(0)), "minute {passed}");
            }
        }
        list(&mut judge, minute(10));
        clock.synchronize(minute(10));
        judging.judge(&mut judge, &OnNodes::new());
        assert_eq!(published.borrow().silent_since, None);
    }

    #[test]
    fn what_found_no_place_in_the_queue_is_asked_before_anything_is_told() {
        let (questions, mut asked) = mpsc::channel(1);
        let (_inputs, heard) = std::sync::mpsc::channel();
        let (publish, published) = watch::channel(Published::default());
        let mut judging = JudgeThread {
            inputs: heard,
            questions,
            published: publish,
            clock: Arc::default(),
            recorder: Recorder::new(Limits::default(), Vec::new()),
            relists: Relists::default(),
        };
        let mut judge = Judge::new(Timestamp::UNIX_EPOCH);
        for question in watched() {
            let answer = Answer::Seen(Facts::none(&question).unwrap());
            judge.changed(Change::Listed(Answered::whole(question, answer)), Timestamp::UNIX_EPOCH);
        }
        let pod = br#"{"metadata":{"name":"p","namespace":"a","uid":"u","finalizers":["example.com/x"],
            "creationTimestamp":"1970-01-01T00:00:00Z","deletionTimestamp":"1970-01-01T00:00:00Z"}}"#;
        let held = Facts::object(&watched()[1], pod).unwrap();
        judge.changed(Change::Applied(watched()[1].clone(), held), Timestamp::UNIX_EPOCH);
        judging.questions.try_send(Vec::new()).unwrap();
        judging.judge(&mut judge, &OnNodes::new());
        assert!(judge.is_waiting() && published.borrow().report.is_none());
        assert_eq!(asked.try_recv().unwrap(), []);
        judging.judge(&mut judge, &OnNodes::new());
        assert!(!asked.try_recv().unwrap().is_empty(), "what found no place is asked when there is one");
        assert!(judge.is_waiting() && published.borrow().report.is_none());
        let delay = jiff::SignedDuration::try_from(crate::judge::MAX_FIRST_REPORT_DELAY).unwrap();
        judging.clock.synchronize(Timestamp::now() + delay + delay);
        judging.judge(&mut judge, &OnNodes::new());
        assert!(judge.is_waiting() && published.borrow().report.is_some(), "unanswered questions put it off for ever");
    }
}
