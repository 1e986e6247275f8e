//! Whose Event stands under a name.

use findings::event::EventName;

use super::*;

#[test]
fn only_events_that_bear_our_name_are_gone_on_with() {
    let mut world = World::new(held(), Api::Up);
    world.run_until(300);
    let draft = world.stored[0].clone();
    let own = |name: &EventName, identity: Identity| OwnEvent {
        name: name.clone(),
        existing: ExistingEvent { identity, event_time: draft.event_time.clone(), note: "n".into(), count: 1 },
        written_s: moment(100).wall_s(),
        annotation: draft.annotation.clone(),
        since_s: moment(90).wall_s(),
    };
    let ours = draft.identity();
    let (name, salted) = (&draft.name, &draft.name.salted(1, 1));
    let over =
        own(&salted.end_name(moment(90).wall_s()).salted(2, 1), Identity { kind: "Normal".into(), ..ours.clone() });
    let other = EventName::read("node-7.0123456789abcdef");
    for (case, events, kept) in [
        ("ours", vec![own(name, ours.clone())], 1),
        ("of another finding", vec![own(&other, ours.clone())], 0),
        ("salted by an earlier process", vec![own(salted, ours.clone())], 1),
        ("ended by it", vec![own(salted, ours.clone()), over], 0),
        ("cannot be renewed", vec![own(name, Identity { reason: "Other".into(), ..ours.clone() })], 0),
        ("of another instance", vec![own(name, Identity { reporting_instance: "node-8".into(), ..ours })], 0),
    ] {
        let restored = events[0].name.clone();
        let mut reconciler = Reconciler::new("node-7", Settings::default(), true, 7, moment(300));
        reconciler.handle(Input::Node(Ok(Some(word("7b0c")))), moment(300));
        reconciler.handle(Input::OwnEvents(Ok(events)), moment(300));
        assert_eq!(reconciler.tracker().holding().count(), kept, "{case}");
        assert!(reconciler.tracker().holding().all(|entry| entry.name.salted.as_ref() == Some(&restored)), "{case}");
    }
}

/// Whether anybody can reckon this name: the node's, the hash and since when, without a salt.
fn is_first(name: &str) -> bool {
    !name.trim_start_matches("node-7").contains('-')
}

#[test]
fn a_name_that_somebody_else_has_taken_silences_nobody() {
    let mut world = World::new(held(), Api::Up);
    world.is_taken = is_first;
    world.run_until(400);
    let names: Vec<&str> = world.writes.iter().map(|(_, draft)| draft.name.as_str()).collect();
    assert!(matches!(names[..], [first, other] if is_first(first) && !is_first(other)), "{names:?}");
    let other = world.stored[0].name.clone();
    world.run_until(3600);
    end(&mut world);
    world.run_until(4000);
    let stored: Vec<_> = world.stored.iter().map(|draft| (draft.warning, draft.name.clone())).collect();
    assert_eq!(stored[..2], [(true, other.clone()), (true, other.clone())], "it is renewed under the same name");
    assert!(!stored[2].0 && stored[2].1.as_str().starts_with(&format!("{other}.")), "{stored:?}");
}

#[test]
fn an_end_whose_name_is_taken_is_told_under_another() {
    let mut world = World::new(held(), Api::Up);
    world.is_taken = |name| is_first(name) && name.matches('.').count() == 2;
    world.run_until(400);
    end(&mut world);
    world.run_until(1000);
    let [first, over] = &world.stored[..] else { panic!("{:?}", world.stored) };
    assert!(is_first(first.name.as_str()) && !over.warning, "{over:?}");
    let since: jiff::Timestamp = first.annotation.since.parse().unwrap();
    assert!(first.name.end_name(since.as_second()).is_base_of(&over.name));
    assert_eq!(world.writes.len(), 3);
}

#[test]
fn an_event_that_somebody_replaced_is_told_anew() {
    let mut world = World::new(held(), Api::Up);
    world.run_until(400);
    world.is_taken = is_first;
    world.run_until(3600);
    let counts: Vec<_> = world.stored.iter().map(|draft| draft.series.as_ref().map(|series| series.0)).collect();
    assert_eq!(counts, [None, None], "a new Event, not the second of the old");
    assert_eq!(world.stored[0].annotation.since, world.stored[1].annotation.since);
}

#[test]
fn who_takes_every_name_makes_no_storm() {
    let mut world = World::new(held(), Api::Up);
    world.is_taken = |_| true;
    world.run_until(3600);
    end(&mut world);
    world.run_until(7200);
    assert!((8..=12).contains(&world.writes.len()), "{}", world.writes.len());
    assert_eq!(world.reconciler.unwritten(), 0);
}
