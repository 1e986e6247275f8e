use aggregator_core::state::{Discovery, Page};
use serde_json::json;

use super::*;
use crate::query_schedule::{MIN_COSTLY_INTERVAL, is_costly};

fn listed(question: &Question, cut: bool) -> Change {
    let facts = Page::read(question, br#"{"metadata":{},"items":[]}"#).unwrap().facts;
    Change::Listed(Answered {
        question: question.clone(),
        answer: Answer::Seen(facts),
        cut,
        not_read: None,
        is_short_and_held: false,
    })
}

fn cut(judge: &Judge) -> usize {
    judge.cut_lists().len()
}

#[test]
fn what_a_failed_watch_does_not_show_has_not_gone() {
    let start = Timestamp::UNIX_EPOCH;
    let mut judge = Judge::new(start);
    watched().iter().for_each(|question| judge.changed(listed(question, false), start));
    assert!(judge.is_believed());
    let pods = watched()[1].clone();
    let fail = |judge: &mut Judge, at| {
        judge.changed(Change::Failed(pods.clone(), Fault::new(FaultKind::Refused, "")), at);
    };
    fail(&mut judge, start);
    assert!(judge.is_believed(), "one failure says nothing");
    fail(&mut judge, later(start, WATCH_TIMEOUT));
    assert!(!judge.is_believed());
    judge.changed(listed(&pods, true), later(start, WATCH_TIMEOUT));
    assert_eq!((judge.is_believed(), cut(&judge)), (true, 1), "some were left out");
    judge.changed(listed(&pods, false), later(start, WATCH_TIMEOUT));
    assert_eq!(cut(&judge), 0);
}

#[test]
fn what_is_watched_does_not_grow_without_end() {
    let start = Timestamp::UNIX_EPOCH;
    let mut judge = Judge::new(start);
    watched().iter().for_each(|question| judge.changed(listed(question, false), start));
    let pods = watched()[1].clone();
    let pod = |n: usize| format!(r#"{{"metadata":{{"name":"p{n}","namespace":"a","uid":"{n}"}}}}"#);
    let items: Vec<String> = (0..ROOM.max_objects).map(pod).collect();
    let list = format!(r#"{{"metadata":{{}},"items":[{}]}}"#, items.join(","));
    let answer = Answer::Seen(Page::read(&pods, list.as_bytes()).unwrap().facts);
    let known = answer.clone();
    judge.changed(Change::Listed(Answered::whole(pods.clone(), answer)), start);
    let apply = |judge: &mut Judge, n| {
        judge.changed(Change::Applied(pods.clone(), Facts::object(&pods, pod(n).as_bytes()).unwrap()), start);
    };
    apply(&mut judge, 0);
    assert_eq!(cut(&judge), 0, "it was known");
    apply(&mut judge, ROOM.max_objects);
    assert_eq!(cut(&judge), 1, "one was left out");
    judge.changed(listed(&pods, false), start);
    assert_eq!(cut(&judge), 0);
    judge.changed(Change::Listed(Answered::whole(pods.clone(), known)), start);
    apply(&mut judge, ROOM.max_objects);
    let Answer::Seen(facts) = &judge.state().answers[&pods].answer else { panic!() };
    assert_eq!(facts.metas().len(), ROOM.max_objects);
}

#[test]
fn a_flood_leaves_out_its_own_and_what_was_left_out_is_listed_again() {
    let start = Timestamp::UNIX_EPOCH;
    let mut judge = Judge::new(start);
    watched().iter().for_each(|question| judge.changed(listed(question, false), start));
    let pods = watched()[1].clone();
    let pod = |namespace: &str, n: usize| {
        let text = format!(r#"{{"metadata":{{"name":"p{n}","namespace":"{namespace}","uid":"{namespace}-{n}"}}}}"#);
        Facts::object(&pods, text.as_bytes()).unwrap()
    };
    (0..ROOM.max_objects + 10).for_each(|n| judge.changed(Change::Applied(pods.clone(), pod("flood", n)), start));
    judge.changed(Change::Applied(pods.clone(), pod("small", 0)), start);
    let has = |judge: &Judge, uid: &str| {
        let Answer::Seen(facts) = &judge.state().answers[&pods].answer else { panic!() };
        assert!(facts.count() <= ROOM.max_objects);
        facts.metas().iter().any(|meta| meta.uid == uid)
    };
    assert!(has(&judge, "small-0"), "the flood takes no room from another namespace");
    assert_eq!(cut(&judge), 1);
    let soon = later(start, RELIST_INTERVAL);
    assert_eq!(judge.relists(soon), [], "there is no room yet");
    (0..ROOM.max_objects).for_each(|n| judge.changed(Change::Deleted(pods.clone(), format!("flood-{n}")), soon));
    assert_eq!(judge.relists(soon), std::slice::from_ref(&pods));
    assert_eq!(judge.relists(soon), [], "once is enough");
    judge.changed(listed(&pods, false), soon);
    assert_eq!(cut(&judge), 0);
    assert_eq!(judge.relists(later(soon, FULL_RELIST_INTERVAL)), []);
}

/// Its server breaks it off each time, say.
#[test]
fn a_list_that_comes_cut_each_time_is_read_less_and_less_often() {
    let start = Timestamp::UNIX_EPOCH;
    let mut judge = Judge::new(start);
    watched().iter().for_each(|question| judge.changed(listed(question, false), start));
    let pods = watched()[1].clone();
    judge.changed(listed(&pods, true), start);
    let mut read = 0;
    for second in (0..3600).step_by(10) {
        let now = later(start, Duration::from_secs(second));
        if !judge.relists(now).is_empty() {
            read += 1;
            judge.changed(listed(&pods, true), now);
        }
    }
    assert!((6..=12).contains(&read), "read {read} times in an hour");
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
        judge.answered(Answered::whole(question, Answer::Missing), ahead);
    }
    look(&mut judge, ahead);
    let again = look(&mut judge, back);
    assert!(asked.iter().all(|question| again.contains(question)), "{again:?}");
    let fail = |judge: &mut Judge, at| {
        judge.changed(Change::Failed(watched()[1].clone(), Fault::new(FaultKind::Refused, "")), at);
    };
    fail(&mut judge, ahead);
    fail(&mut judge, back);
    fail(&mut judge, later(back, WATCH_TIMEOUT));
    assert!(!judge.is_believed());
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

/// Nothing is in any list, and of what has a name only namespaces are there.
fn nothing(question: Question) -> Answered {
    let answer = match &question {
        Question::Objects { resource, scope: Scope::Named(_, name), .. } if *resource == known::NAMESPACES.into() => {
            let namespace = format!(r#"{{"metadata":{{"name":"{name}"}}}}"#);
            Answer::Seen(Facts::object(&question, namespace.as_bytes()).unwrap())
        }
        Question::Objects { scope: Scope::Named(..), .. } | Question::Version => Answer::Missing,
        Question::Discovery => Answer::Seen(Facts::Discovery(Default::default())),
        _ => Answer::Seen(Page::read(&question, br#"{"metadata":{},"items":[]}"#).unwrap().facts),
    };
    Answered::whole(question, answer)
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
    let dependencies = judge.kept.dependencies([ObjectRef::pod("a", "held")]);
    let rests: BTreeSet<Question> =
        judge.asked.keys().filter(|question| dependencies.contains(&Dependency::answer(question))).cloned().collect();
    let of_all = rests.iter().filter(|question| is_costly(question)).count();
    assert!(of_all > 0 && of_all < rests.len(), "{rests:#?}");
    let asked_at: Vec<Timestamp> = rests.iter().map(|question| judge.asked[question].at).collect();
    let change = asked_at.iter().max().map(|at| later(*at, Duration::from_secs(1))).unwrap();
    judge.changed(Change::Applied(watched()[1].clone(), pod("held")), change);
    ask(&mut judge, change);
    let end = later(change, MIN_COSTLY_INTERVAL);
    let mut again = BTreeSet::new();
    for second in 0..=MIN_COSTLY_INTERVAL.as_secs() {
        again.extend(ask(&mut judge, later(change, Duration::from_secs(second))));
    }
    let late: Vec<_> = rests.iter().filter(|question| !again.contains(*question)).collect();
    assert!(late.is_empty(), "not asked again until {end}: {late:#?}");
}

/// As on a real cluster: a namespace was deleted while the list of all ClusterRoleBindings was a minute old, and the account
/// that was named had been replaced since.
#[test]
fn what_is_judged_by_an_answer_from_before_its_deletion_is_known_to_be_until_it_is_asked_again() {
    let (mut judge, held) = (settled(), ObjectRef::pod("a", "held"));
    let deleted = judge.asked.values().map(|asked| later(asked.at, Duration::from_secs(1))).max().unwrap();
    let is_older = |judge: &mut Judge, at, now| judge.judged_on_older([(&held, at)].into_iter(), now).contains(&held);
    assert!(!is_older(&mut judge, seconds(0), deleted), "all of it was asked since");
    assert!(is_older(&mut judge, deleted, deleted));
    for second in 0..=MIN_COSTLY_INTERVAL.as_secs() {
        ask(&mut judge, later(deleted, Duration::from_secs(second)));
    }
    assert!(!is_older(&mut judge, deleted, later(deleted, MIN_COSTLY_INTERVAL)), "and soon");
}

/// How long after each scan of a kind, in this order, the next one is due. Each has found something or nothing; what is found
/// was deleted at second 0.
fn waits_after_scans(scans: &[(u64, bool)]) -> Vec<u64> {
    let question = Question::terminating_metadata(known::DEPLOYMENTS, Scope::All);
    let found =
        br#"{"items":[{"metadata":{"name":"held","namespace":"a","deletionTimestamp":"1970-01-01T00:00:00Z"}}]}"#;
    let mut judge = Judge::new(seconds(0));
    let mut wait = |(at, is_found): &(u64, bool)| {
        let list: &[u8] = if *is_found { found } else { br#"{"items":[]}"# };
        let answer = Answer::Seen(Page::read(&question, list).unwrap().facts);
        judge.answered(Answered::whole(question.clone(), answer), seconds(*at));
        u64::try_from(judge.asked[&question].due.as_second()).unwrap() - at
    };
    scans.iter().map(&mut wait).collect()
}

/// The page shows it as stuck until then, and says that it may be so for a minute.
#[test]
fn the_end_of_what_a_scan_has_found_is_seen_after_a_minute() {
    assert_eq!(waits_after_scans(&[(0, true), (60, true), (120, true), (180, true)]), [60; 4]);
}

/// As on a real cluster: two objects were released, deleted again with the same names, and missing for ten minutes.
#[test]
fn a_kind_of_which_something_was_stuck_is_scanned_every_minute_for_an_hour() {
    let scans = [(60, true), (120, false), (180, false), (3600, false), (3660, false), (4260, false)];
    assert_eq!(waits_after_scans(&scans), [60, 60, 60, 60, 600, 600]);
    assert_eq!(waits_after_scans(&[(59, true), (119, false)]), [60, 600], "it was not stuck");
}

#[test]
fn the_oldest_scan_is_that_of_the_kind_that_was_scanned_longest_ago() {
    let scan = |kind, scope| Question::terminating_metadata(kind, scope);
    let kinds = [known::DEPLOYMENTS, known::JOBS, known::STATEFUL_SETS].map(|kind| scan(kind, Scope::All));
    let mut judge = Judge::new(seconds(0));
    assert_eq!(judge.oldest_scan(), None);
    judge.answered(nothing(scan(known::JOBS, Scope::Namespace("a".to_owned()))), seconds(10));
    let denied = Answer::Failed(Fault::new(FaultKind::Denied, ""));
    judge.answered(Answered::whole(kinds[2].clone(), denied), seconds(20));
    judge.answered(nothing(kinds[0].clone()), seconds(30));
    judge.answered(nothing(kinds[1].clone()), seconds(40));
    assert_eq!(judge.oldest_scan(), Some(seconds(30)));
    judge.asked.get_mut(&kinds[0]).unwrap().again(seconds(630));
    assert_eq!(judge.oldest_scan(), Some(seconds(30)), "it is not answered yet");
    judge.answered(nothing(kinds[0].clone()), seconds(700));
    assert_eq!(judge.oldest_scan(), Some(seconds(40)));
}

/// As on a real cluster: an object was let go and its namespace went, and the scan of its kind was a minute old.
#[test]
fn what_went_with_its_namespace_is_not_left_without_one() {
    let mut discovery = Discovery::default();
    discovery.add_legacy(
        "",
        "v1",
        Some(&json!({"resources": [
            {"name": "widgets", "kind": "Widget", "namespaced": true, "verbs": ["delete", "get", "list", "update", "watch"]}
        ]})),
    );
    let object = json!({"metadata": {
        "name": "w", "namespace": "a", "uid": "w", "finalizers": ["example.com/hold"],
        "creationTimestamp": "1970-01-01T00:00:00Z", "deletionTimestamp": "1970-01-01T00:00:00Z"
    }});
    let list = json!({"metadata": {}, "items": [object]}).to_string();
    let roots = |is_there: bool| {
        let mut judge = Judge::new(seconds(90));
        watched().iter().for_each(|question| judge.changed(listed(question, false), seconds(90)));
        for _ in 0..20 {
            for question in look(&mut judge, seconds(90)) {
                let answer = match &question {
                    Question::Discovery => Answer::Seen(Facts::Discovery(discovery.clone())),
                    Question::Objects { resource, scope, .. } if resource.plural == "widgets" => match scope {
                        Scope::Namespace(_) if !is_there => nothing(question.clone()).answer,
                        _ => Answer::Seen(Page::read(&question, list.as_bytes()).unwrap().facts),
                    },
                    Question::Objects { scope: Scope::Named(..), .. } => Answer::Missing,
                    _ => nothing(question.clone()).answer,
                };
                judge.answered(Answered::whole(question, answer), seconds(90));
            }
        }
        judge.judge(seconds(90)).roots.iter().map(|root| root.finding.cause.id).collect::<Vec<_>>()
    };
    assert_eq!(roots(true), ["ContentWithoutNamespace"]);
    assert_eq!(roots(false), [""; 0]);
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
        judge.answered(Answered::whole(question.clone(), answer), seconds(at));
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
            Answered::whole(question.clone(), answer)
        }
        _ => nothing(question.clone()),
    };
    // What else is asked about Leases is not answered again, and says nothing of this one.
    let other = Question::Objects {
        resource: known::LEASES.into(),
        scope: Scope::Namespace("a".to_owned()),
        select: Select::Every,
        detail: Detail::Full,
    };
    judge.answered(nothing(other.clone()), seconds(600));
    let is_silent = |judge: &mut Judge, now| {
        let report = judge.judge(seconds(now));
        let mut causes = report.roots.iter().map(|root| root.finding.cause.id);
        causes.any(|cause| cause == "ControllerManagerSilent")
    };
    let answer = |judge: &mut Judge, asked: Vec<Question>, renewed_at, now| {
        let asked = asked.iter().filter(|question| **question != other);
        asked.for_each(|question| judge.answered(renewed(question, renewed_at), seconds(now)));
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
    for question in judge.questions(seconds(706)).into_iter().filter(|question| *question != other) {
        judge.answered(Answered::whole(question, lost.clone()), seconds(706));
    }
    assert!(!is_silent(&mut judge, 707));
    let asked = judge.questions(seconds(770));
    answer(&mut judge, asked, 650, 770);
    assert!(is_silent(&mut judge, 770), "it was not renewed");
}

/// A pod in a namespace of its own, held by a finalizer of its own.
fn held(namespace: &str) -> Change {
    let pod = format!(
        r#"{{"metadata":{{"name":"held","namespace":"{namespace}","uid":"{namespace}","finalizers":["{namespace}.com/x"],
        "creationTimestamp":"1970-01-01T00:00:00Z","deletionTimestamp":"1970-01-01T00:00:00Z"}}}}"#
    );
    Change::Applied(watched()[1].clone(), Facts::object(&watched()[1], pod.as_bytes()).unwrap())
}

/// Thirty namespaces that get stuck at once have a thousand questions, which takes minutes.
#[test]
fn what_comes_up_does_not_wait_for_all_that_is_asked_again() {
    let mut judge = settled();
    for number in 0..3 * MAX_BATCH {
        judge.changed(held(&format!("n{number}")), seconds(3600));
    }
    let first = ask(&mut judge, seconds(3600));
    assert!(first.len() > 2 * MAX_BATCH, "{} are few", first.len());
    let again = look(&mut judge, seconds(7200));
    assert_eq!(again.len(), MAX_BATCH, "as much as that is due");
    judge.changed(held("comes-up"), seconds(7201));
    let next = look(&mut judge, seconds(7201));
    assert!(next.len() <= MAX_BATCH, "{} at once", next.len());
    let is_of_it = |question: &Question| format!("{question:?}").contains("comes-up");
    assert!(next.iter().any(is_of_it), "{next:#?}");
    let rest = ask(&mut judge, seconds(7202));
    assert!(rest.iter().all(|question| !again.contains(question)), "what has no answer yet is not queried twice");
    assert!(rest.len() > MAX_BATCH / 2, "all the others have their turn: {}", rest.len());
}

/// Each batch finds as many new ones as it may hold, and their names come before all that was there.
#[test]
fn what_comes_up_without_end_keeps_nothing_waiting() {
    let mut judge = settled();
    judge.changed(held("old"), seconds(3600));
    let mut old: BTreeSet<Question> = ask(&mut judge, seconds(3600)).into_iter().collect();
    judge.changed(held("new"), seconds(7200));
    judge.judge(seconds(7200));
    let mut new: BTreeSet<Question> = judge.wanted.iter().cloned().collect();
    assert!(!old.is_empty() && !new.is_empty());
    for batch in 0..20 {
        let now = seconds(7201 + batch);
        for number in 0..MAX_BATCH {
            judge.changed(held(&format!("a-{batch}-{number}")), now);
        }
        for question in look(&mut judge, now) {
            old.remove(&question);
            new.remove(&question);
            judge.answered(nothing(question), now);
        }
    }
    assert!(old.is_empty(), "never asked again: {old:#?}");
    assert!(new.is_empty(), "never asked: {new:#?}");
}

/// Each pod has a field manager of its own, about which a question comes up; all are in one namespace but one.
#[test]
fn a_flood_of_questions_does_not_put_off_those_of_another_namespace() {
    let pod = |namespace: &str, number: usize| {
        let text = format!(
            r#"{{"metadata":{{"name":"p{number}","namespace":"{namespace}","uid":"{namespace}-{number}",
            "finalizers":["a.example/hold"],"managedFields":[{{"manager":"program-{namespace}-{number}",
            "fieldsV1":{{"f:metadata":{{"f:finalizers":{{"v:\"a.example/hold\"":{{}}}}}}}}}}],
            "creationTimestamp":"1970-01-01T00:00:00Z","deletionTimestamp":"1970-01-01T00:00:00Z"}}}}"#
        );
        Facts::object(&watched()[1], text.as_bytes()).unwrap()
    };
    let mut judge = Judge::new(seconds(0));
    watched().iter().for_each(|question| judge.changed(listed(question, false), seconds(0)));
    let pods = watched()[1].clone();
    (0..1000).for_each(|number| judge.changed(Change::Applied(pods.clone(), pod("flood", number)), seconds(0)));
    let answer_all = |judge: &mut Judge, questions: Vec<Question>, at| {
        questions.into_iter().for_each(|question| judge.answered(nothing(question), at));
    };
    let mut batches = 0;
    let mut next = |judge: &mut Judge| {
        batches += 1;
        look(judge, seconds(3600 + batches))
    };
    for _ in 0..5 {
        let questions = next(&mut judge);
        answer_all(&mut judge, questions, seconds(3600));
    }
    judge.changed(Change::Applied(pods, pod("small", 0)), seconds(3600));
    let is_its_own = |question: &Question| question.to_string().contains("small");
    let mut count = 0;
    for _ in 0..4 {
        let questions = next(&mut judge);
        assert!(questions.len() <= MAX_BATCH);
        count += questions.iter().filter(|question| is_its_own(question)).count();
        answer_all(&mut judge, questions, seconds(3600));
    }
    let open = judge.wanted.iter().filter(|question| is_its_own(question)).count();
    assert!(count > 0 && open == 0, "{count} asked, {open} open; of all {}", judge.wanted.len());
}
