use std::sync::Arc;

use aggregator_core::access::Reads;
use aggregator_core::report::{Counts, Held, Victim};
use aggregator_core::state::{Subject, known};
use findings::{CauseRef, Confidence, Evidence, Finding, Link, Remedy, RootId, Values};
use foldhash::HashSet;
use proptest::prelude::*;

use findings::cause::{FUSE_SERVER_NOT_RESPONDING as FUSE, VOLUME_HELD_BY_PROCESS as HELD};

use super::*;
use crate::incidents::file;

const START: i64 = 1_790_000_000;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(START + second).unwrap()
}

fn pod(name: &str) -> ObjectRef {
    ObjectRef::pod("shop", name)
}

/// Asked to go at second 0, with 30 seconds to do so.
fn terminating<'a>(names: &[&'a str], uids: &'a [String]) -> HashMap<&'a str, Terminating<'a>> {
    let one = |name: &'a str| Terminating {
        known: known::PODS,
        namespace: Some("shop"),
        name,
        deletion_timestamp: at(30),
        grace_seconds: 30,
    };
    uids.iter().zip(names).map(|(uid, name)| (uid.as_str(), one(name))).collect()
}

fn uids(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| format!("uid-{name}")).collect()
}

fn root(cause: &'static findings::Cause, verdict: Verdict, victims: &[&str]) -> Root {
    let mut last = Link::new("pid 7 s3fs".to_owned(), "sleeping");
    last.root = true;
    let finding = Finding {
        cause: CauseRef(cause),
        gate: None,
        confidence: Confidence::Proven,
        missing: None,
        root: format!("{}:7", cause.id),
        chain: vec![last.clone()],
        evidence: vec![Evidence { source: "x".to_owned(), says: "y".to_owned() }],
        remedy: Remedy::fill(cause, &Values::new()),
        values: Values::new(),
        must_end_too: None,
    };
    let victim = |name: &&str| {
        let (words, reads) = (String::new(), Reads::default());
        let held = Held { thing: pod(name), verdict, overdue_seconds: Some(1), words, keeps: None, reads };
        Victim { held, cause: CauseRef(cause), gate: None, chain: vec![Arc::new(last.clone())], nodes: Vec::new() }
    };
    Root {
        id: RootId::new(cause.id),
        kind: String::new(),
        namespace: None,
        finalizer: None,
        at_risk: Vec::new(),
        more_at_risk: 0,
        verdict,
        finding,
        also: vec![],
        claims: vec![],
        more_explanations: 0,
        told_by: None,
        look_on: None,
        victims: victims.iter().map(victim).collect(),
        on_the_way: vec![],
        behind: vec![],
        reads: Reads::default(),
    }
}

fn report(roots: Vec<Root>) -> ClusterReport {
    ClusterReport {
        schema: ClusterReport::SCHEMA,
        at: String::new(),
        subject: Subject::Everything { namespace: None, all_kinds: false },
        looked_at: vec![],
        not_scanned: vec![],
        complete: true,
        refused: None,
        is_missing: false,
        is_deleted_already: false,
        is_delete_refused: false,
        verdict: Verdict::Stuck,
        counts: Counts::default(),
        at_risk: Vec::new(),
        more_at_risk: 0,
        roots,
        terminating_normally: vec![],
        unexplained: vec![],
        unknown: vec![],
        notes: BTreeSet::new(),
    }
}

fn left(cause: &'static findings::Cause, second: i64) -> LeftBehind {
    LeftBehind {
        node: "node-a".to_owned(),
        cause: CauseRef(cause),
        root: Link::new("pid 7 s3fs".to_owned(), "sleeping"),
        seen: at(second),
    }
}

/// A recorder, shown one snapshot after the other.
struct Shown(Recorder);

impl Shown {
    fn new() -> Shown {
        let mut shown = Shown(Recorder::new(Limits::default(), vec![]));
        shown.show(-1, &[], vec![], &[]);
        shown
    }

    fn show(&mut self, second: i64, names: &[&str], roots: Vec<Root>, on_node: &[(&str, LeftBehind)]) -> bool {
        let uids = uids(names);
        let (going, report) = (terminating(names, &uids), report(roots));
        let mut on_nodes: BTreeMap<String, Vec<LeftBehind>> = BTreeMap::new();
        for (name, left) in on_node {
            on_nodes.entry(format!("uid-{name}")).or_default().push(left.clone());
        }
        self.0.observe(&Snapshot {
            at: at(second),
            going: &going,
            gone: &HashSet::default(),
            cut: &BTreeSet::new(),
            report: &report,
            on_nodes: &on_nodes,
        })
    }

    fn only(&self) -> &Incident {
        let all: Vec<&Incident> = self.0.incidents().map(Arc::as_ref).collect();
        assert_eq!(all.len(), 1, "{all:#?}");
        all[0]
    }
}

#[test]
fn from_the_question_to_the_end() {
    let mut shown = Shown::new();
    assert!(!shown.show(10, &["a"], vec![root(&FUSE, Verdict::Progressing, &["a"])], &[]));
    assert_eq!(shown.0.incidents().count(), 0, "what ends by itself is no incident");
    assert!(shown.show(100, &["a"], vec![root(&FUSE, Verdict::Stuck, &["a"])], &[]));
    assert!(!shown.show(110, &["a"], vec![root(&FUSE, Verdict::Stuck, &["a"])], &[]), "nothing new");
    assert!(shown.show(200, &["a"], vec![root(&HELD, Verdict::Stuck, &["a"])], &[]));
    assert!(shown.show(300, &[], vec![], &[]));
    let incident = shown.only();
    assert_eq!((incident.asked, incident.stuck_since, incident.seconds(at(999))), (at(0), at(100), 300));
    let holds: Vec<_> = incident.holds.iter().map(|hold| (hold.cause.id, hold.since, hold.until)).collect();
    assert_eq!(holds, [(FUSE.id, at(100), Some(at(200))), (HELD.id, at(200), None)]);
    assert_eq!(incident.end.as_ref().map(|end| (end.at, end.seen)), Some((at(300), true)));
    assert!(!incident.was_forced());
    let text = crate::incidents::markdown(incident, at(999));
    assert!(text.contains("Pod shop/a was Terminating for 5m"), "{text}");
    assert!(text.contains("when this ended or was removed: VolumeHeldByProcess"), "{text}");
}

#[test]
fn what_the_agent_still_sees_afterwards_was_left_behind() {
    let mut shown = Shown::new();
    shown.show(100, &["a"], vec![root(&FUSE, Verdict::Stuck, &["a"])], &[]);
    shown.show(200, &[], vec![], &[("a", left(&FUSE, 199))]);
    assert!(!shown.only().was_forced(), "the agent has not looked since");
    assert!(!shown.show(300, &[], vec![], &[("a", left(&FUSE, 210))]), "it may be about to report its end");
    assert!(shown.show(900, &[], vec![], &[("a", left(&FUSE, 800)), ("b", left(&FUSE, 800))]));
    assert!(!shown.show(950, &[], vec![], &[("a", left(&FUSE, 900))]), "it is said once");
    assert!(shown.only().was_forced());
    let text = crate::incidents::markdown(shown.only(), at(999));
    assert!(
        text.contains("it was force-deleted") && text.contains("node-a still saw FuseServerNotResponding"),
        "{text}"
    );
}

#[test]
fn a_judgement_that_could_not_look_ends_nothing() {
    let mut shown = Shown::new();
    shown.show(100, &["a"], vec![root(&FUSE, Verdict::Stuck, &["a"])], &[]);
    shown.show(110, &["a"], vec![], &[]);
    shown.show(120, &["a"], vec![root(&FUSE, Verdict::Stuck, &["a"])], &[]);
    assert_eq!(shown.only().holds.len(), 1, "{:#?}", shown.only());
    assert_eq!(shown.only().holds[0].until, None);
}

#[test]
fn what_holds_it_at_once_is_kept_in_the_order_of_the_report() {
    for causes in [[&FUSE, &HELD], [&HELD, &FUSE]] {
        let mut shown = Shown::new();
        let roots = causes.map(|cause| root(cause, Verdict::Stuck, &["a", "b"]));
        shown.show(100, &["a"], roots.into(), &[]);
        let kept: Vec<_> = shown.only().holds.iter().map(|hold| hold.cause.0.id).collect();
        assert_eq!(kept, causes.map(|cause| cause.id));
    }
}

#[test]
fn a_root_whose_cause_is_known_better_stays_one_hold() {
    let mut shown = Shown::new();
    let of_the_node = |cause| Root { id: RootId::new("node-a"), ..root(cause, Verdict::Stuck, &["a"]) };
    shown.show(100, &["a"], vec![of_the_node(&FUSE)], &[]);
    assert!(shown.show(200, &["a"], vec![of_the_node(&HELD)], &[]), "the better cause is kept");
    let holds: Vec<_> = shown.only().holds.iter().map(|hold| (&*hold.root, hold.cause.id, hold.until)).collect();
    assert_eq!(holds, [(&*RootId::new("node-a").to_string(), HELD.id, None)]);
}

#[test]
fn another_object_of_the_same_name_is_another_incident() {
    let mut shown = Shown::new();
    shown.show(100, &["a"], vec![root(&FUSE, Verdict::Stuck, &["a"])], &[]);
    let other = ["uid-2".to_owned()];
    let other = terminating(&["a"], &other);
    let report = report(vec![root(&FUSE, Verdict::Stuck, &["a"])]);
    shown.0.observe(&Snapshot {
        at: at(200),
        going: &other,
        gone: &HashSet::default(),
        cut: &BTreeSet::new(),
        report: &report,
        on_nodes: &BTreeMap::new(),
    });
    let ids: BTreeSet<&str> = shown.0.incidents().map(|incident| incident.id.as_str()).collect();
    assert_eq!(ids.len(), 2);
}

/// A list had more than there is room for: what is new in it is recorded, what was seen to go has gone, and what else is not in
/// it may still be there.
#[test]
fn of_a_list_that_was_cut_only_what_was_seen_to_go_has_gone() {
    let mut shown = Shown::new();
    shown.show(100, &["a", "c"], vec![root(&FUSE, Verdict::Stuck, &["a", "c"])], &[]);
    let uids = uids(&["b"]);
    let (going, report) = (terminating(&["b"], &uids), report(vec![root(&FUSE, Verdict::Stuck, &["b"])]));
    let (gone, on_nodes) = (HashSet::from_iter(["uid-c".to_owned()]), BTreeMap::new());
    let (cut, whole, none) = (BTreeSet::from([known::PODS.into()]), BTreeSet::new(), HashSet::default());
    let snapshot =
        Snapshot { at: at(200), going: &going, gone: &gone, cut: &cut, report: &report, on_nodes: &on_nodes };
    assert!(shown.0.observe(&snapshot));
    let open = |recorder: &Recorder| recorder.incidents().filter(|incident| incident.end.is_none()).count();
    assert_eq!(open(&shown.0), 2, "of another pod it is not known");
    shown.0.observe(&Snapshot { gone: &none, cut: &BTreeSet::from([known::CLAIMS.into()]), ..snapshot.clone() });
    assert_eq!(open(&shown.0), 1, "of all pods it is known now");
    shown.0.observe(&Snapshot { gone: &none, cut: &whole, ..snapshot });
    let seen: Vec<bool> =
        shown.0.incidents().filter_map(|incident| incident.end.as_ref()).map(|end| end.seen).collect();
    assert_eq!(seen, [false, true], "when the one went is not known");
}

fn written(recorder: &Recorder) -> Vec<u8> {
    let mut bytes = Vec::new();
    file::encode(&mut bytes, recorder.incidents().map(Arc::as_ref)).unwrap();
    bytes
}

/// Of too many the last are left out, which are the oldest that have ended.
#[test]
fn a_file_has_its_limit() {
    let mut shown = Shown::new();
    shown.show(100, &["a"], vec![root(&FUSE, Verdict::Stuck, &["a"])], &[]);
    let one = shown.only();
    let fits = file::MAX_FILE_BYTES / (serde_json::to_vec(one).unwrap().len() + 1);
    let mut bytes = Vec::new();
    file::encode(&mut bytes, std::iter::repeat_n(one, fits + 9)).unwrap();
    assert!(bytes.len() <= file::MAX_FILE_BYTES);
    let read = file::decode(&bytes).unwrap().len();
    assert!((fits - 9..=fits).contains(&read), "{read} of {fits}");
}

#[test]
fn what_went_while_nobody_looked_is_said_to_be_unknown() {
    let mut shown = Shown::new();
    shown.show(100, &["a"], vec![root(&FUSE, Verdict::Stuck, &["a"])], &[]);
    let bytes = written(&shown.0);
    let mut again = Shown(Recorder::new(Limits::default(), file::decode(&bytes).unwrap()));
    again.show(4000, &[], vec![], &[]);
    assert_eq!(again.only().end.as_ref().map(|end| end.seen), Some(false));
    assert!(crate::incidents::markdown(again.only(), at(5000)).contains("what released it is unknown"));
}

#[test]
fn it_stays_within_its_limits() {
    let limits = Limits { ended: 3, open: 2, age: SignedDuration::from_hours(1), holds: 1, links: 1 };
    let mut shown = Shown(Recorder::new(limits, vec![]));
    shown.show(0, &[], vec![], &[]);
    for round in 0..5 {
        let names = [format!("{round}a"), format!("{round}b"), format!("{round}c")];
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        shown.show(100 + round * 10, &names, vec![root(&FUSE, Verdict::Stuck, &names)], &[]);
        shown.show(105 + round * 10, &names, vec![root(&HELD, Verdict::Stuck, &names)], &[]);
        let open: Vec<&Incident> =
            shown.0.incidents().map(Arc::as_ref).filter(|incident| incident.end.is_none()).collect();
        assert!(open.len() == 2 && open.iter().all(|one| one.holds.len() == 1 && one.has_more_holds), "{open:#?}");
    }
    shown.show(200, &[], vec![], &[]);
    assert_eq!(shown.0.incidents().count(), 3);
    shown.show(200 + 3601, &[], vec![], &[]);
    assert_eq!(shown.0.incidents().count(), 0);
}

#[test]
fn a_damaged_file_is_told_and_no_more() {
    let mut shown = Shown::new();
    shown.show(100, &["a"], vec![root(&FUSE, Verdict::Stuck, &["a"])], &[]);
    let whole = written(&shown.0);
    let read = file::decode(&whole).unwrap();
    assert!(read.iter().eq(shown.0.incidents().map(Arc::as_ref)), "{read:#?}");
    for cut in 0..whole.len() {
        assert!(file::decode(&whole[..cut]).is_err(), "{cut}");
    }
    let newer = String::from_utf8(whole.clone()).unwrap().replacen(" 1\n", " 2\n", 1);
    assert!(matches!(file::decode(newer.as_bytes()), Err(file::FileError::Version(2))));
    assert!(matches!(file::decode(&vec![0; file::MAX_FILE_BYTES + 1]), Err(file::FileError::TooLong(_))));
}

#[test]
fn words_of_the_cluster_are_no_markdown() {
    let mut shown = Shown::new();
    let mut hostile = root(&FUSE, Verdict::Stuck, &["a"]);
    let evil = "<script>alert(1)</script> | [x](javascript:1) `\u{202e}";
    hostile.victims[0].chain[0] = Arc::new(Link::new(evil.to_owned(), evil));
    shown.show(100, &["a"], vec![hostile], &[]);
    let text = crate::incidents::markdown(shown.only(), at(200));
    assert!(!text.contains('\u{202e}') && !text.contains("<script"), "{text}");
    assert!(!text.contains("[x](") && text.contains("\\[x\\]\\("), "{text}");
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = file::decode(&bytes);
    }
}

/// However many pods of one namespace are stuck, that of another one is remembered.
#[test]
fn a_flood_of_incidents_takes_no_room_from_another_namespace() {
    let limits = Limits { open: 4, ..Limits::default() };
    let mut recorder = Recorder::new(limits, Vec::new());
    let names = ["p0", "p1", "p2", "p3", "p4", "other"];
    let uids = uids(&names);
    let show = |second: i64, names: &[&str], recorder: &mut Recorder| {
        let mut going = terminating(names, &uids);
        let of_other = going.get_mut("uid-other");
        of_other.into_iter().for_each(|one| one.namespace = Some("small"));
        let mut root = root(&HELD, Verdict::Stuck, names);
        for victim in root.victims.iter_mut().filter(|victim| victim.held.thing.name == "other") {
            victim.held.thing = ObjectRef::pod("small", "other");
        }
        let report = report(vec![root]);
        let on_nodes = BTreeMap::new();
        recorder.observe(&Snapshot {
            at: at(second),
            going: &going,
            gone: &HashSet::default(),
            cut: &BTreeSet::new(),
            report: &report,
            on_nodes: &on_nodes,
        });
    };
    show(0, &names[..5], &mut recorder);
    assert_eq!(recorder.incidents().count(), 4);
    for second in 1..4 {
        show(second, &names, &mut recorder);
        let small = recorder.incidents().filter(|one| one.object.namespace.as_deref() == Some("small")).count();
        assert_eq!((recorder.incidents().count(), small), (4, 1));
    }
}
