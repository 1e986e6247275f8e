//! Namespaces that become empty, slowly: two counts show it.

use aggregator_core::state::{Answer, Answered, Counts, Facts, Question, Resource, Subject};

use crate::support::*;

/// A namespace with so many ConfigMaps that are not deleted yet.
fn world(conditions: Value, config_maps: usize) -> World {
    let each = |n: usize| json!({"kind": "ConfigMap", "metadata": {"name": format!("c-{n}"), "namespace": "a", "uid": format!("c-{n}")}});
    healthy().going("a", conditions).with((0..config_maps).map(each).collect())
}

fn counted(world: World, first: usize, last: usize) -> Looked {
    look_with(world, everything(), |state| {
        let resource = Resource::new("", "v1", "configmaps");
        let question = Question::Counts { resource, namespace: "a".to_owned() };
        let counts = Counts { first, last, millis: 3000 };
        state.add(Answered::whole(question, Answer::Seen(Facts::Counts(counts))));
    })
}

#[test]
fn a_namespace_that_empties_is_slow_and_not_stuck() {
    let remain = |count: usize| {
        failing(
            "NamespaceContentRemaining",
            &format!("Some resources are remaining: configmaps. has {count} resource instances"),
        )
    };
    let looked = counted(world(remain(5000), 60), 4220, 4100);
    assert_eq!((looked.causes(), looked.report.verdict), (vec!["NamespaceStillEmptying"], Verdict::Progressing));
    let own = looked.chain(0).concat();
    assert!(own.contains("4,100 of 5,000 ConfigMaps left, about 40 a second, about 1m43s"), "{own}");
    // Before the namespace controller has ended its first try there is no condition, and no cause in that.
    let untouched = counted(world(json!([]), 60), 4220, 4100);
    assert_eq!(untouched.causes(), ["NamespaceStillEmptying"], "{:#?}", untouched.report);
    assert!(untouched.chain(0).concat().contains("4,100 ConfigMaps left"), "{:?}", untouched.chain(0));
    // What does not fall is not said to be emptied.
    let still = counted(world(json!([]), 60), 4100, 4100);
    assert_eq!(still.causes(), ["NamespaceControllerNotRunning"], "{:#?}", still.report);
}

/// The condition names a request that took too long, and no kind: who asks about the namespace wants the numbers too.
#[test]
fn beside_a_slow_webhook_it_is_said_how_much_is_left() {
    let slow = failing(
        "NamespaceDeletionContentFailure",
        "Failed to delete all resource types, 1 remaining: Delete \
        \"https://127.0.0.1:6443/api/v1/namespaces/a/configmaps\": stream error: stream ID 695; INTERNAL_ERROR; received from peer",
    );
    let slow = || world(slow.clone(), 60).webhook("DELETE", "", "configmaps").service("guard", "guard", Some("node-1"));
    let answer = |world: World, of: Subject| {
        let looked = look_with(world, of, |state| {
            let resource = Resource::new("", "v1", "configmaps");
            let question = Question::Counts { resource, namespace: "a".to_owned() };
            let counts = Counts { first: 1220, last: 1205, millis: 3000 };
            state.add(Answered::whole(question, Answer::Seen(Facts::Counts(counts))));
        });
        assert_eq!(looked.causes(), ["WebhookSlow"], "{:#?}", looked.report);
        looked.report.notes.into_iter().collect::<String>()
    };
    let said = answer(slow(), object("ns", "", "a"));
    assert!(said.contains("1,205 ConfigMaps left, about 5 a second, about 4m1s"), "{said}");
    assert!(
        !answer(slow(), everything()).contains("left, about"),
        "the whole cluster's answer sweeps no namespace for that"
    );
}

#[test]
fn few_objects_are_not_counted() {
    let looked = look(world(json!([]), 3), everything());
    assert!(looked.requests.iter().all(|path| !path.contains("limit=1")), "{:#?}", looked.requests);
    assert_eq!(looked.causes(), ["NamespaceControllerNotRunning"]);
}

/// The counts are those of the server: of a page with one object it says how many come after it.
#[test]
fn each_count_is_a_page_with_one_object() {
    let looked = look(world(json!([]), 60), everything());
    let counts = looked.requests.iter().filter(|path| path.ends_with("/namespaces/a/configmaps?limit=1")).count();
    assert_eq!(counts, 2, "{:#?}", looked.requests);
    let question = Question::Counts { resource: Resource::new("", "v1", "configmaps"), namespace: "a".to_owned() };
    let Answer::Seen(Facts::Counts(counts)) = &looked.state.answers[&question].answer else { panic!("not counted") };
    assert_eq!((counts.first, counts.last), (60, 60));
}

/// After pods the controller waits; without them it does not.
#[test]
fn the_wait_for_pods_is_said_where_pods_were() {
    let words = |seconds, conditions: Value| {
        let world = world(conditions, 1);
        let deleted = world.ago(seconds);
        let looked = look(
            world.change("/api/v1/namespaces", "a", |one| one["metadata"]["deletionTimestamp"] = deleted.into()),
            everything(),
        );
        assert_eq!(looked.causes(), ["NamespaceStillEmptying"], "{:#?}", looked.report);
        looked.chain(0).concat()
    };
    let remain = |kind: &str| {
        failing("NamespaceContentRemaining", &format!("Some resources are remaining: {kind}. has 1 resource instances"))
    };
    for (seconds, conditions, expected) in [
        (30, all_false(), ""),
        (30, remain("configmaps"), ""),
        (30, remain("pods"), "; the controller had found pods, and waits half of their grace period"),
        (200, all_false(), "; if it had pods, the controller waits half of their grace period"),
    ] {
        let words = words(seconds, conditions);
        assert!(words.ends_with(&format!("being emptied{expected}")), "{seconds} s: {words}");
    }
}
