//! The plugin's judgement, kept up to date: what is watched changes the state in place, all else is asked for again,
//! the more rarely the longer it has stayed the same.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use aggregator_core::kept::Kept;
use aggregator_core::lister::{Changes, Rest};
use aggregator_core::report::ClusterReport;
use aggregator_core::roots::judge_again;
use aggregator_core::state::{
    AgentEvent, Answer, Answered, Detail, Facts, Fault, Kind as _, Known, Meta, ObjectRef, Pod, Question, Scope,
    Select, State, Subject, known,
};
use findings::FaultKind;
use findings::event::{CONTROLLER, NAMESPACE};
use jiff::Timestamp;

use crate::asked::{Asked, is_of_leases, later};
use crate::near::Near;
use crate::places::Places;

/// What no judgement has asked for during so long is dropped.
const FORGET: Duration = Duration::from_secs(120);
/// Objects of one list that are kept: what agents say of 5,000 nodes, twice.
pub const MOST_OBJECTS: usize = 12_000;
/// A watch that has failed for so long is not believed any more.
const BLIND: Duration = Duration::from_secs(60);

/// What is watched: the answers that thousands of objects' changes would make old at once.
pub fn watched() -> Vec<Question> {
    let all = |known, select| Question::Objects { resource: known, scope: Scope::All, select, detail: Detail::Full };
    let going = |known: Known| Question::terminating_metadata(known.into(), Scope::All);
    vec![
        all(known::NAMESPACES.into(), Select::Fields("status.phase=Terminating".to_owned())),
        all(known::PODS.into(), Select::Terminating),
        all(known::CLAIMS.into(), Select::Terminating),
        all(known::NODES.into(), Select::Terminating),
        Question::Objects {
            resource: known::AGENT_EVENTS.into(),
            scope: Scope::Namespace(NAMESPACE.to_owned()),
            select: Select::Fields(format!("reportingController={CONTROLLER}")),
            detail: Detail::Full,
        },
        going(known::VOLUMES),
        going(known::ATTACHMENTS),
        going(known::CRDS),
    ]
}

/// What has come of a watch.
#[derive(Clone, Debug)]
pub enum Change {
    /// All there is, and from now on what changes.
    Listed(Answered),
    /// Objects as they are now.
    Applied(Question, Facts),
    /// The object with this uid is gone.
    Deleted(Question, String),
    /// It could not be followed.
    Failed(Question, Fault),
}

/// The state of the cluster, and when each part of it was seen.
#[derive(Debug)]
pub struct Judge {
    state: State,
    asked: BTreeMap<Question, Asked>,
    /// Since when a watch has failed.
    failing: BTreeMap<Question, (Timestamp, Fault)>,
    /// Where what each watch has told stands: tens of thousands of Events may come at once.
    places: BTreeMap<Question, Places>,
    changed: Changed,
    /// What was judged before, and what is known otherwise since.
    kept: Kept,
    changes: Changes,
    /// What the last judgement would have liked to know.
    wanted: Vec<Question>,
}

/// What has changed since questions were last looked for.
#[derive(Debug, Default)]
struct Changed {
    /// Objects, those that are gone by the namespace they were in.
    objects: BTreeSet<ObjectRef>,
    /// Nodes of which an agent has said something.
    nodes: BTreeSet<String>,
}

impl Judge {
    /// Nothing is known yet.
    pub fn new(now: Timestamp) -> Self {
        let state = State::new(Subject::Everything { namespace: None, all_kinds: false }, now);
        Judge {
            state,
            asked: BTreeMap::new(),
            failing: BTreeMap::new(),
            places: BTreeMap::new(),
            changed: Changed::default(),
            kept: Kept::default(),
            changes: Changes::default(),
            wanted: Vec::new(),
        }
    }

    /// The state.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Whether each watch has listed what there is.
    pub fn is_synced(&self) -> bool {
        watched().iter().all(|question| self.state.answers.contains_key(question))
    }

    /// Whether something is asked for the first time and has not been answered.
    pub fn is_waiting(&self) -> bool {
        self.asked.iter().any(|(question, asked)| asked.pending && !self.state.answers.contains_key(question))
    }

    /// Whether every watch is believed and has listed all there is. Of Events too many may have been written to stop
    /// us: those of a node that holds something are asked for alone then.
    pub fn sees_all(&self) -> bool {
        let is_cut = |answered: &Answered| match &answered.question {
            Question::Objects { resource, .. } => answered.cut && *resource != known::AGENT_EVENTS.into(),
            _ => answered.cut,
        };
        let is_whole = |answered: &Answered| !is_cut(answered) && !matches!(answered.answer, Answer::Failed(_));
        watched().iter().all(|question| self.state.answers.get(question).is_some_and(is_whole))
    }

    /// Takes in what a watch tells.
    pub fn changed(&mut self, change: Change, now: Timestamp) {
        match change {
            Change::Listed(answered) => {
                self.failing.remove(&answered.question);
                let places = answered.answer.as_ref().seen().map(Places::of).unwrap_or_default();
                self.places.insert(answered.question.clone(), places);
                self.add(answered);
            }
            Change::Applied(question, facts) => {
                match AgentEvent::among(&facts) {
                    Some(events) if self.changed.nodes.len() < MOST_OBJECTS => {
                        self.changed.nodes.extend(events.iter().map(|event| event.regarding.name.clone()));
                    }
                    Some(_) => {}
                    None => facts.metas().into_iter().for_each(|meta| self.has_changed(&question, meta)),
                }
                self.applied(&question, facts);
            }
            Change::Deleted(question, uid) => {
                let taken = self.watched(&question).and_then(|(known, places)| places.take(known, &uid));
                if let Some(gone) = taken {
                    self.changes.objects(&question, &gone);
                    if AgentEvent::among(&gone).is_none() {
                        gone.metas().into_iter().for_each(|meta| self.has_changed(&question, meta));
                    }
                }
            }
            Change::Failed(question, fault) => {
                let (since, _) = self.failing.entry(question.clone()).or_insert((now, fault.clone()));
                *since = (*since).min(now);
                if later(*since, BLIND) <= now {
                    self.add(Answered { question, answer: Answer::Failed(fault), cut: false });
                }
            }
        }
    }

    /// Keeps an object as it is now. What finds no room is missed: the list is cut.
    fn applied(&mut self, question: &Question, facts: Facts) {
        self.changes.objects(question, &facts);
        let Some((known, places)) = self.watched(question) else { return };
        let Some(uid) = facts.uid_at(0) else { return };
        match places.find(known, uid) {
            Some(at) => {
                // An Event may have told of another node before.
                let before = known.replace(at, facts);
                self.changes.objects(question, &before);
            }
            None if places.len() < MOST_OBJECTS => places.append(known, facts),
            None => self.cut(question),
        }
    }

    fn cut(&mut self, question: &Question) {
        let Some(answered) = self.state.answers.get_mut(question) else { return };
        if !std::mem::replace(&mut answered.cut, true) {
            self.changes.answer(question);
        }
    }

    fn add(&mut self, answered: Answered) {
        self.changes.answer(&answered.question);
        self.state.add(answered);
    }

    /// What a watch has told, and where it stands. It tells again, so it has not failed.
    fn watched(&mut self, question: &Question) -> Option<(&mut Facts, &mut Places)> {
        self.failing.remove(question);
        let places = self.places.get_mut(question)?;
        match &mut self.state.answers.get_mut(question)?.answer {
            Answer::Seen(facts) => Some((facts, places)),
            _ => None,
        }
    }

    /// With the next questions what is near to it and what its judgement rests on is asked again.
    fn has_changed(&mut self, question: &Question, meta: &Meta) {
        let Question::Objects { resource, .. } = question else { return };
        let known = known::ALL.iter().find(|known| known.group == resource.group && known.plural == resource.plural);
        let namespace = meta.namespace.as_deref();
        if self.changed.objects.len() < MOST_OBJECTS {
            let within = namespace.map(|namespace| ObjectRef::cluster_wide(known::NAMESPACES, namespace));
            let object = known.map(|known| match namespace {
                Some(namespace) => ObjectRef::namespaced(*known, namespace, &meta.name),
                None => ObjectRef::cluster_wide(*known, &meta.name),
            });
            self.changed.objects.extend(within.into_iter().chain(object));
        }
    }

    /// What is near to all that has changed, and what its judgement rests on, is asked again soon.
    fn follow_changes(&mut self, now: Timestamp) {
        let Changed { mut objects, nodes } = std::mem::take(&mut self.changed);
        let near = Near::to(&objects);
        if !nodes.is_empty() {
            let seen = self.state.answers.values().filter_map(|answered| Pod::among(answered.answer.as_ref().seen()?));
            let said_of = seen.flatten().filter(|pod| nodes.contains(&pod.spec.node_name));
            objects.extend(
                said_of.filter_map(|pod| Some(ObjectRef::pod(pod.metadata.namespace.as_deref()?, &pod.metadata.name))),
            );
        }
        if objects.is_empty() {
            return;
        }
        let rests = self.kept.rests_on(objects);
        for (question, asked) in &mut self.asked {
            if near.has(question) || rests.contains(&Rest::of(question)) {
                asked.soon(question, self.state.answers.get(question), now);
            }
        }
    }

    /// Takes in an answer.
    pub fn answered(&mut self, answered: Answered, now: Timestamp) {
        let before = self.state.answers.get(&answered.question);
        let is_same = before.is_some_and(|before| (&before.answer, before.cut) == (&answered.answer, answered.cut));
        let is_known = before.is_some_and(|before| matches!(before.answer, Answer::Seen(_)));
        let asked = self.asked.get(&answered.question);
        // What could be seen a moment ago is not unknown because one request was lost.
        let is_lost =
            |fault: &Fault| matches!(fault.kind, FaultKind::TimedOut | FaultKind::Refused | FaultKind::Failed);
        let lost_since = match &answered.answer {
            Answer::Failed(fault) if is_known && is_lost(fault) => {
                asked.and_then(|asked| asked.lost_since).filter(|since| *since <= now).or(Some(now))
            }
            _ => None,
        };
        let asked = Asked::answered(asked, &answered, is_same, lost_since, now);
        self.asked.insert(answered.question.clone(), asked);
        if !is_same && lost_since.is_none_or(|since| later(since, BLIND) <= now) {
            self.add(answered);
        }
    }

    /// What to ask after a judgement, what nobody has asked yet first. Each is to be answered before it comes up again.
    pub fn questions(&mut self, now: Timestamp) -> Vec<Question> {
        self.follow_changes(now);
        let new: Vec<Question> = std::mem::take(&mut self.wanted)
            .into_iter()
            .filter(|question| {
                !watched().contains(question) && !self.asked.get(question).is_some_and(|asked| asked.pending)
            })
            .collect();
        // What was asked in a time that has not come yet was asked before the clock was set back.
        let is_due = |asked: &Asked| asked.due <= now || asked.at > now;
        let due = self.asked.iter().filter(|(_, asked)| !asked.pending && is_due(asked));
        let mut due: Vec<(Timestamp, Question)> = due.map(|(question, asked)| (asked.due, question.clone())).collect();
        due.sort();
        let all: Vec<Question> = new.into_iter().chain(due.into_iter().map(|(_, question)| question)).collect();
        for question in &all {
            let asked = self.asked.entry(question.clone()).and_modify(|asked| asked.again(now));
            asked.or_insert_with(|| Asked::first(now));
        }
        all
    }

    /// Judges what is known.
    pub fn judge(&mut self, now: Timestamp) -> ClusterReport {
        self.state.at = now;
        let is_known = |question: &Question| is_of_leases(question) && self.state.answers.contains_key(question);
        let leases = self.asked.iter().filter(|(question, _)| is_known(question));
        self.state.leases_at = leases.map(|(_, asked)| asked.seen.min(now)).min();
        let changes = std::mem::take(&mut self.changes);
        let (report, wanted) = judge_again(&self.state, &mut self.kept, &changes);
        self.wanted = wanted;
        report
    }

    /// Whether the last judgement left for the next what has grown old.
    pub fn is_behind(&self) -> bool {
        self.kept.is_behind()
    }

    /// Drops what no judgement needs any more.
    pub fn prune(&mut self) {
        let used: BTreeSet<Question> = self.kept.used(&self.state).cloned().chain(watched()).collect();
        self.state.answers.retain(|question, _| used.contains(question));
        let answers = &self.state.answers;
        self.asked.retain(|question, asked| asked.pending || answers.contains_key(question));
    }

    /// How often to [`Judge::prune`].
    pub const PRUNE: Duration = FORGET;

    /// Since when no watch has told anything, once none is believed any more.
    pub fn silent_since(&self, now: Timestamp) -> Option<Timestamp> {
        let blind = self.failing.values().map(|(since, _)| *since).filter(|since| later(*since, BLIND) <= now);
        (blind.clone().count() == watched().len()).then(|| blind.max())?
    }
}

#[cfg(test)]
mod tests {
    use aggregator_core::state::Page;

    use super::*;
    use crate::asked::{SOONEST_OF_ALL, is_costly};

    fn listed(question: &Question, cut: bool) -> Change {
        let facts = Page::read(question, br#"{"metadata":{},"items":[]}"#).unwrap().facts;
        Change::Listed(Answered { question: question.clone(), answer: Answer::Seen(facts), cut })
    }

    #[test]
    fn what_a_failed_watch_does_not_show_has_not_gone() {
        let start = Timestamp::UNIX_EPOCH;
        let mut judge = Judge::new(start);
        watched().iter().for_each(|question| judge.changed(listed(question, false), start));
        assert!(judge.sees_all());
        let pods = watched()[1].clone();
        let fail = |judge: &mut Judge, at| {
            judge.changed(Change::Failed(pods.clone(), Fault::new(FaultKind::Refused, "")), at);
        };
        fail(&mut judge, start);
        assert!(judge.sees_all(), "one failure says nothing");
        fail(&mut judge, later(start, BLIND));
        assert!(!judge.sees_all());
        judge.changed(listed(&pods, true), later(start, BLIND));
        assert!(!judge.sees_all(), "some were left out");
        judge.changed(listed(&pods, false), later(start, BLIND));
        assert!(judge.sees_all());
    }

    #[test]
    fn what_is_watched_does_not_grow_without_end() {
        let start = Timestamp::UNIX_EPOCH;
        let mut judge = Judge::new(start);
        watched().iter().for_each(|question| judge.changed(listed(question, false), start));
        let pods = watched()[1].clone();
        let pod = |n: usize| format!(r#"{{"metadata":{{"name":"p{n}","namespace":"a","uid":"{n}"}}}}"#);
        let items: Vec<String> = (0..MOST_OBJECTS).map(pod).collect();
        let list = format!(r#"{{"metadata":{{}},"items":[{}]}}"#, items.join(","));
        let answer = Answer::Seen(Page::read(&pods, list.as_bytes()).unwrap().facts);
        let known = answer.clone();
        judge.changed(Change::Listed(Answered { question: pods.clone(), answer, cut: false }), start);
        let apply = |judge: &mut Judge, n| {
            judge.changed(Change::Applied(pods.clone(), Facts::object(&pods, pod(n).as_bytes()).unwrap()), start);
        };
        apply(&mut judge, 0);
        assert!(judge.sees_all(), "it was known");
        apply(&mut judge, MOST_OBJECTS);
        assert!(!judge.sees_all(), "one was left out");
        judge.changed(listed(&pods, false), start);
        judge.changed(listed(&watched()[4], true), start);
        assert!(judge.sees_all(), "whoever writes Events by the thousand stops no recording");
        judge.changed(Change::Listed(Answered { question: pods.clone(), answer: known, cut: false }), start);
        apply(&mut judge, MOST_OBJECTS);
        let Answer::Seen(facts) = &judge.state().answers[&pods].answer else { panic!() };
        assert_eq!(facts.metas().len(), MOST_OBJECTS);
    }

    /// A clock that was an hour ahead is set back: nothing waits for that hour to come again.
    #[test]
    fn a_clock_that_jumps_back_stops_nothing() {
        let ahead = later(Timestamp::UNIX_EPOCH, Duration::from_secs(3600));
        let back = later(Timestamp::UNIX_EPOCH, Duration::from_secs(10));
        let mut judge = Judge::new(ahead);
        watched().iter().for_each(|question| judge.changed(listed(question, false), ahead));
        let asked = look(&mut judge, ahead);
        for question in asked.clone() {
            judge.answered(Answered { question, answer: Answer::Missing, cut: false }, ahead);
        }
        look(&mut judge, ahead);
        let again = look(&mut judge, back);
        assert!(asked.iter().all(|question| again.contains(question)), "{again:?}");
        let fail = |judge: &mut Judge, at| {
            judge.changed(Change::Failed(watched()[1].clone(), Fault::new(FaultKind::Refused, "")), at);
        };
        fail(&mut judge, ahead);
        fail(&mut judge, back);
        fail(&mut judge, later(back, BLIND));
        assert!(!judge.sees_all());
    }

    fn seconds(seconds: u64) -> Timestamp {
        later(Timestamp::UNIX_EPOCH, Duration::from_secs(seconds))
    }

    fn pod(name: &str) -> Facts {
        let pod = format!(
            r#"{{"metadata":{{"name":"{name}","namespace":"a","uid":"{name}","finalizers":["example.com/never"],
            "creationTimestamp":"1970-01-01T00:00:00Z","deletionTimestamp":"1970-01-01T00:00:00Z"}}}}"#
        );
        Facts::object(&watched()[1], pod.as_bytes()).unwrap()
    }

    /// Nothing is in any list, and nothing that has a name is there.
    fn nothing(question: Question) -> Answered {
        let answer = match &question {
            Question::Objects { scope: Scope::Named(..), .. } | Question::Version => Answer::Missing,
            Question::Discovery => Answer::Seen(Facts::Discovery(Default::default())),
            _ => Answer::Seen(Page::read(&question, br#"{"metadata":{},"items":[]}"#).unwrap().facts),
        };
        Answered { question, answer, cut: false }
    }

    /// Judges, and says what to ask then.
    fn look(judge: &mut Judge, now: Timestamp) -> Vec<Question> {
        judge.judge(now);
        judge.questions(now)
    }

    /// Asks and answers what is due at this time.
    fn ask(judge: &mut Judge, now: Timestamp) -> Vec<Question> {
        let mut asked = Vec::new();
        loop {
            let questions = look(judge, now);
            if questions.is_empty() {
                return asked;
            }
            questions.iter().for_each(|question| judge.answered(nothing(question.clone()), now));
            asked.extend(questions);
        }
    }

    /// A pod that a finalizer holds, and every answer the same for an hour.
    fn settled() -> Judge {
        let mut judge = Judge::new(seconds(0));
        watched().iter().for_each(|question| judge.changed(listed(question, false), seconds(0)));
        judge.changed(Change::Applied(watched()[1].clone(), pod("held")), seconds(0));
        (0..3600).step_by(10).for_each(|second| drop(ask(&mut judge, seconds(second))));
        judge
    }

    #[test]
    fn after_a_change_all_that_its_judgement_rests_on_is_asked_again() {
        let mut judge = settled();
        let rests = judge.kept.rests_on([ObjectRef::pod("a", "held")]);
        let rests: BTreeSet<Question> =
            judge.asked.keys().filter(|question| rests.contains(&Rest::of(question))).cloned().collect();
        let of_all = rests.iter().filter(|question| is_costly(question)).count();
        assert!(of_all > 0 && of_all < rests.len(), "{rests:#?}");
        let asked_at: Vec<Timestamp> = rests.iter().map(|question| judge.asked[question].at).collect();
        let change = asked_at.iter().max().map(|at| later(*at, Duration::from_secs(1))).unwrap();
        judge.changed(Change::Applied(watched()[1].clone(), pod("held")), change);
        ask(&mut judge, change);
        let end = later(change, SOONEST_OF_ALL);
        let mut again = BTreeSet::new();
        for second in 0..=SOONEST_OF_ALL.as_secs() {
            again.extend(ask(&mut judge, later(change, Duration::from_secs(second))));
        }
        let late: Vec<_> = rests.iter().filter(|question| !again.contains(*question)).collect();
        assert!(late.is_empty(), "not asked again until {end}: {late:#?}");
    }

    #[test]
    fn changes_without_end_put_nothing_off_and_cost_no_more() {
        let mut judge = settled();
        let (mut asked, begin) = (BTreeMap::<Question, u64>::new(), 4000);
        ask(&mut judge, seconds(begin));
        let minutes = 5;
        for tick in 0..minutes * 60 * 10 {
            let now = later(seconds(begin), Duration::from_millis(tick * 100));
            judge.changed(Change::Applied(watched()[1].clone(), pod("held")), now);
            ask(&mut judge, now).into_iter().for_each(|question| *asked.entry(question).or_default() += 1);
        }
        assert!(asked.keys().any(is_costly) && !asked.keys().all(is_costly), "{asked:#?}");
        for (question, times) in &asked {
            let a_minute = if is_costly(question) { 1..=1 } else { 5..=7 };
            assert!(a_minute.contains(&times.div_ceil(minutes)), "{question}: {times} times in {minutes} minutes");
        }
    }

    #[test]
    fn a_list_of_the_whole_cluster_that_is_never_the_same_is_asked_for_rarely() {
        let question = Question::Objects {
            resource: known::VOLUMES.into(),
            scope: Scope::All,
            select: Select::Every,
            detail: Detail::Full,
        };
        let list = |objects: usize, round: u8| {
            let one = |n: usize| format!(r#"{{"metadata":{{"name":"{round}-{n}"}}}}"#);
            let list = format!(r#"{{"items":[{}]}}"#, (0..objects).map(one).collect::<Vec<_>>().join(","));
            Answer::Seen(Page::read(&question, list.as_bytes()).unwrap().facts)
        };
        let mut judge = Judge::new(seconds(0));
        let mut due = |answer, at| {
            judge.answered(Answered { question: question.clone(), answer, cut: false }, seconds(at));
            judge.asked[&question].due.as_second() - at as i64
        };
        assert_eq!(due(list(10, 0), 0), 60);
        assert_eq!(due(list(10, 1), 60), 60);
        assert_eq!(due(list(9000, 0), 120), 90);
        assert_eq!(due(list(9000, 1), 210), 90);
        assert_eq!(due(Answer::Failed(Fault::new(FaultKind::Refused, "")), 300), 10);
    }

    #[test]
    fn what_is_pruned_is_what_no_judgement_asks_for() {
        let mut judge = settled();
        let (now, needed) = (seconds(3600), judge.state.answers.clone());
        let other = Question::Objects {
            resource: known::JOBS.into(),
            scope: Scope::Namespace("b".to_owned()),
            select: Select::Every,
            detail: Detail::Full,
        };
        judge.answered(nothing(other.clone()), now);
        assert!(judge.state.answers.contains_key(&other));
        judge.prune();
        let lost: Vec<_> = needed.keys().filter(|question| !judge.state.answers.contains_key(question)).collect();
        assert!(lost.is_empty(), "{lost:#?}");
        assert!(!judge.state.answers.contains_key(&other));
        judge.judge(now);
        assert_eq!(judge.wanted, [], "nothing is to be asked again");
    }

    #[test]
    fn what_is_on_its_way_is_waited_for() {
        let start = Timestamp::UNIX_EPOCH;
        let mut judge = Judge::new(start);
        let asked = look(&mut judge, start);
        assert!(!asked.is_empty() && judge.is_waiting());
        assert_eq!(look(&mut judge, start), [], "nothing is asked twice");
    }

    /// A judgement may be half a minute after the one before, and what it asks is answered after it.
    #[test]
    fn nobody_is_silent_because_nobody_has_asked() {
        let mut judge = Judge::new(seconds(0));
        watched().iter().for_each(|question| judge.changed(listed(question, false), seconds(0)));
        let namespace = br#"{"metadata":{"name":"a","uid":"a","deletionTimestamp":"1970-01-01T00:00:00Z"},
            "spec":{"finalizers":["kubernetes"]},"status":{"phase":"Terminating"}}"#;
        let applied = Facts::object(&watched()[0], namespace).unwrap();
        judge.changed(Change::Applied(watched()[0].clone(), applied), seconds(0));
        let renewed = |question: &Question, at: u64| match question {
            Question::Objects { resource, scope: Scope::Named(..), .. } if *resource == known::LEASES.into() => {
                let (manager, at) = ("kube-controller-manager", seconds(at));
                let lease = format!(
                    r#"{{"metadata":{{"namespace":"kube-system","name":"{manager}"}},
                    "spec":{{"holderIdentity":"it","leaseDurationSeconds":15,"renewTime":"{at}"}}}}"#
                );
                let answer = Answer::Seen(Facts::object(question, lease.as_bytes()).unwrap());
                Answered { question: question.clone(), answer, cut: false }
            }
            _ => nothing(question.clone()),
        };
        let is_silent = |judge: &mut Judge, now| {
            let report = judge.judge(seconds(now));
            let mut causes = report.roots.iter().map(|root| root.finding.cause.id);
            causes.any(|cause| cause == "ControllerManagerSilent")
        };
        let answer = |judge: &mut Judge, asked: Vec<Question>, renewed_at, now| {
            asked.iter().for_each(|question| judge.answered(renewed(question, renewed_at), seconds(now)));
        };
        for now in [600, 600, 600, 600, 600, 630] {
            assert!(!is_silent(&mut judge, now), "{now}");
            let asked = judge.questions(seconds(now));
            answer(&mut judge, asked, now, now);
        }
        assert!(!is_silent(&mut judge, 663), "it was renewed when it was asked last");
        // One answer is late and the next is lost: neither shows anything of the time since.
        let asked = judge.questions(seconds(663));
        answer(&mut judge, asked, 650, 690);
        assert!(!is_silent(&mut judge, 700));
        let lost = Answer::Failed(Fault::new(FaultKind::TimedOut, ""));
        for question in judge.questions(seconds(706)) {
            judge.answered(Answered { question, answer: lost.clone(), cut: false }, seconds(706));
        }
        assert!(!is_silent(&mut judge, 707));
        let asked = judge.questions(seconds(770));
        answer(&mut judge, asked, 650, 770);
        assert!(is_silent(&mut judge, 770), "it was not renewed");
    }
}
