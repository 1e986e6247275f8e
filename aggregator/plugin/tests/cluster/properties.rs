//! No cluster makes the judgement loop or panic, and what was not seen is never "nothing is stuck".

use std::collections::BTreeSet;

use aggregator_core::judgement::judge;
use aggregator_core::report::ClusterReport;
use aggregator_core::state::{Answer, State};
use findings::FaultKind;
use findings::render::{Detail, Style};
use plugin::report::{dot, mermaid, name, screen, table, tree};
use proptest::prelude::*;

use crate::support::*;

/// Objects that refer to each other among a few names: owners, claims, volumes, nodes, in any order.
fn objects() -> impl Strategy<Value = Vec<Value>> {
    let name = || prop::sample::select(vec!["a", "b", "c", "\u{1b}[2J"]);
    let finalizer = prop::sample::select(vec![
        "foregroundDeletion",
        "orphan",
        "kubernetes.io/pvc-protection",
        "kubernetes.io/pv-protection",
        "external-attacher/x",
        "batch.kubernetes.io/job-tracking",
        "example.com/hold",
        "\u{1b}[31m",
    ]);
    let kind = prop::sample::select(vec![
        ("v1", "ConfigMap"),
        ("v1", "Pod"),
        ("v1", "PersistentVolumeClaim"),
        ("v1", "PersistentVolume"),
        ("v1", "Node"),
        ("v1", "Namespace"),
        ("storage.k8s.io/v1", "VolumeAttachment"),
    ]);
    let phase = prop::sample::select(vec!["Running", "Pending", "Failed", "Bound", "Terminating", ""]);
    let one = (kind, name(), name(), name(), prop::collection::vec(finalizer, 0..3), phase, any::<bool>(), ".{0,60}");
    let one = one.prop_map(|((version, kind), name, owner, other, finalizers, phase, going, message)| {
        let namespaced = !matches!(kind, "PersistentVolume" | "Node" | "Namespace" | "VolumeAttachment");
        let mut object = json!({
            "apiVersion": version, "kind": kind,
            "metadata": {
                "name": name, "uid": name, "finalizers": finalizers,
                "ownerReferences": [{"kind": "ConfigMap", "name": owner, "uid": owner, "blockOwnerDeletion": true}]
            },
            "spec": {
                "nodeName": other, "volumeName": other, "claimRef": {"namespace": "a", "name": other, "uid": other},
                "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": other}}],
                "source": {"persistentVolumeName": other}
            },
            "status": {
                "phase": phase, "message": message,
                "conditions": [{"type": "NamespaceDeletionContentFailure", "status": "True", "message": message}]
            }
        });
        if namespaced {
            object["metadata"]["namespace"] = "a".into();
        }
        if going {
            object["metadata"]["deletionTimestamp"] = "2026-11-20T20:00:00Z".into();
        }
        object
    });
    prop::collection::vec(one, 0..24)
}

fn subjects() -> impl Strategy<Value = aggregator_core::state::Subject> {
    let named = |word: &'static str| object(word, "a", "a");
    prop::sample::select(vec![everything(), named("pod"), named("cm"), named("pvc"), named("pv"), named("node")])
}

fn draw(report: &aggregator_core::report::ClusterReport) {
    let shown = [
        tree(report, Detail::Wide, 80, Style::Plain),
        table(report, true, Style::Plain),
        screen(report, 80, Style::Plain),
        dot(report),
        mermaid(report),
        name(report),
    ];
    for text in shown {
        assert!(!text.contains('\u{1b}'), "text from elsewhere steers the terminal: {text:?}");
    }
}

/// What an answer says of which object is held by what: its order and its examples are for the reader.
fn says(report: &ClusterReport) -> BTreeSet<String> {
    let of_root = |root: &aggregator_core::report::Root| {
        let victims: BTreeSet<String> = root.victims.iter().map(|victim| victim.held.thing.to_string()).collect();
        format!("{} {} holds {victims:?}", root.verdict, root.finding.root)
    };
    let unexplained = report.unexplained.iter().map(|held| format!("{} {}", held.verdict, held.thing));
    report.roots.iter().map(of_root).chain(unexplained).chain([report.verdict.to_string()]).collect()
}

/// Each victim of a root reaches it by its chain, and is held by nothing that is milder than the whole.
fn holds_together(report: &ClusterReport) -> Result<(), TestCaseError> {
    for root in &report.roots {
        prop_assert!(!root.victims.is_empty() && root.verdict <= report.verdict, "{report:#?}");
        let things: BTreeSet<_> = root.victims.iter().map(|victim| &victim.held.thing).collect();
        prop_assert_eq!(things.len(), root.victims.len(), "a victim is shown twice: {:#?}", root);
        prop_assert!(root.on_the_way.iter().all(|one| !things.contains(one)), "{root:#?}");
        for victim in &root.victims {
            let (first, last) = (victim.chain.first().unwrap(), victim.chain.last().unwrap());
            prop_assert_eq!(&first.subject, &victim.held.thing.to_string());
            prop_assert!(last.root && victim.chain.iter().filter(|link| link.root).count() == 1, "{victim:#?}");
            prop_assert!(victim.held.verdict <= report.verdict, "{victim:#?}");
        }
    }
    for held in &report.unexplained {
        prop_assert!(held.verdict <= report.verdict, "{held:#?}");
        let is_explained = report.roots.iter().flat_map(|root| &root.victims).any(|one| one.held.thing == held.thing);
        prop_assert!(!is_explained, "explained, and shown as unexplained: {held:#?}");
    }
    Ok(())
}

/// Of several objects of one kind and name a server keeps one, and the namespace that the others are in is there.
fn each_once(objects: Vec<Value>) -> Vec<Value> {
    let key = |object: &Value| (object["kind"].to_string(), object["metadata"]["name"].to_string());
    let mut known = BTreeSet::from([key(&json!({"kind": "Namespace", "metadata": {"name": "a"}}))]);
    objects.into_iter().filter(|object| known.insert(key(object))).collect()
}

fn cluster_of(objects: Vec<Value>) -> World {
    healthy().with(json!([{"kind": "Namespace", "metadata": {"name": "a", "uid": "n"}}])).with(objects.into())
}

/// The answers of a recording, a while later: nothing in it is young.
fn answered(name: &str) -> State {
    let mut world = recording(name);
    world.at = world.ago(-90).parse().unwrap();
    look_at_anything(world, everything()).state
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_cluster_makes_it_loop_or_panic(objects in objects(), subject in subjects()) {
        let looked = look_at_anything(cluster_of(objects), subject);
        draw(&looked.report);
        holds_together(&looked.report)?;
        prop_assert!(looked.requests.len() < 200, "{} requests", looked.requests.len());
    }

    #[test]
    fn what_was_not_seen_is_never_nothing(
        name in prop::sample::select(vec!["discovery-failure", "finalizer-and-webhook", "dstate-fuse"]),
        lost in prop::collection::vec((any::<prop::sample::Index>(), any::<bool>()), 1..6),
    ) {
        let mut state = answered(name);
        let questions: Vec<_> = state.answers.keys().cloned().collect();
        for (index, forget) in lost {
            let question = index.get(&questions);
            if forget {
                state.answers.remove(question);
            } else if let Some(answered) = state.answers.get_mut(question) {
                answered.answer = Answer::failed(FaultKind::TimedOut, "no answer");
            }
        }
        let report = judge(&state);
        prop_assert!(report.verdict >= Verdict::CannotTell, "{:#?}", report);
        draw(&report);
    }
}

/// What real servers answered: lists of many kinds, some refused, one root behind many objects.
#[test]
fn recordings_give_one_answer_in_whatever_order_they_come() {
    for name in
        ["discovery-failure", "finalizer-and-webhook", "dstate-fuse", "csi-unmount", "unreachable-node-pvc-chain"]
    {
        let report = look_at_anything(recording(name), everything()).report;
        for seed in 0..3 {
            assert_eq!(look_in_order(recording(name), everything(), seed), report, "{name}: answers, seed {seed}");
            let reordered = look_at_anything(recording(name).reordered(seed), everything()).report;
            assert_eq!(reordered, report, "{name}: lists, seed {seed}");
        }
    }
}

proptest! {
    // Each asks three clusters.
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_order_of_answers_and_of_lists_changes_nothing(
        objects in objects().prop_map(each_once), subject in subjects(), seed in any::<u64>(),
    ) {
        let report = look_at_anything(cluster_of(objects.clone()), subject.clone()).report;
        prop_assert_eq!(&look_in_order(cluster_of(objects.clone()), subject.clone(), seed), &report);
        prop_assert_eq!(&look_at_anything(cluster_of(objects).reordered(seed), subject).report, &report);
    }

    #[test]
    fn neither_order_nor_neighbours_change_what_holds_what(
        (objects, shuffled) in objects().prop_map(each_once).prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle())),
        subject in subjects(),
    ) {
        let said = says(&look_at_anything(cluster_of(objects.clone()), subject.clone()).report);
        prop_assert_eq!(&says(&look_at_anything(cluster_of(shuffled), subject.clone()).report), &said);
        let neighbour = json!({
            "kind": "ConfigMap", "metadata": {"name": "z", "namespace": "z", "uid": "z", "finalizers": ["example.com/z"]}
        });
        let world = cluster_of(objects).with(json!([{"kind": "Namespace", "metadata": {"name": "z", "uid": "zn"}}, neighbour]));
        prop_assert_eq!(&says(&look_at_anything(world, subject).report), &said);
    }
}
