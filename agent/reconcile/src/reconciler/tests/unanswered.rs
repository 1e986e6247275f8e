//! Writes whose outcome is unknown: the API server may have stored them.

use super::*;

#[test]
fn a_sent_write_without_an_answer_may_stand_whatever_is_answered_later() {
    let mut world = World::new(held(), Api::Up);
    world.run_until(70);
    world.api = Api::Mute;
    world.run_until(150);
    assert!(!world.stored.is_empty());
    world.api = Api::TooManyRequests(5);
    world.run_until(200);
    end(&mut world);
    world.run_until(240);
    world.api = Api::Up;
    world.run_until(700);
    assert_eq!(world.stored.iter().filter(|draft| !draft.warning).count(), 1);
}

/// The API server went away while a Warning was sent, and the finding ended before the server came back.
fn ended_unanswered() -> World {
    let mut world = World::new(held(), Api::Up);
    world.run_until(70);
    world.api = Api::Down;
    world.run_until(150);
    assert!(!world.writes.is_empty());
    end(&mut world);
    world.run_until(160);
    world.api = Api::Up;
    world
}

/// It is unknown whether the Warning was stored. An end without a beginning would report something that no Event announced.
#[test]
fn a_warning_that_never_came_is_not_ended() {
    let mut world = ended_unanswered();
    world.run_until(900);
    assert_eq!(world.stored, []);
    assert_eq!(world.reconciler.unwritten(), 0);
}

/// The API server may work at a request for a minute after the client has stopped waiting.
#[test]
fn a_warning_that_came_late_is_ended() {
    let mut world = ended_unanswered();
    let sent = world.writes[0].1.clone();
    world.run_until(190);
    world.stored.push(sent.clone());
    world.run_until(900);
    let [_, over] = &world.stored[..] else { panic!("{:?}", world.stored) };
    assert!(!over.warning && over.annotation.since == sent.annotation.since, "{over:?}");
}
