//! How long it takes until somebody knows.

use agent_core::observation::VolData;

use super::*;

/// Its deadline is at second 60.
fn due(mut seen: Observation) -> Observation {
    sample::set_deadline(&mut seen, moment(60).wall_ms, 30);
    seen
}

/// The second of the first Event, and how many were written in an hour.
fn report_time(seen: &Observation, seed: u64) -> (u64, usize) {
    let mut world = World::new(seen.clone(), Api::Down);
    world.reconciler = Reconciler::new("node-7", Settings::default(), true, seed, moment(0));
    world.api = Api::Up;
    world.tell_list();
    world.run_until(3_600);
    (world.writes.first().map_or(u64::MAX, |(second, _)| *second), world.writes.len())
}

fn held_by_a_process() -> Observation {
    let mut seen = sample::mounted("ext4");
    seen.holders[0].holders.push(sample::holder());
    seen
}

fn empty_file() -> Observation {
    let mut seen = sample::mounted("ext4");
    sample::volume(&mut seen).vol_data = VolData::Unusable("it is empty".into());
    seen
}

fn driver_gone() -> Observation {
    let mut seen = sample::mounted("ext4");
    seen.csi = Seen::Seen(Vec::new());
    seen
}

fn stopped_shim() -> Observation {
    let mut seen = sample::running();
    seen.processes[1].state = 'T';
    seen.processes[1].threads[0].state = 'T';
    seen
}

#[test]
fn what_is_proven_is_known_within_25_seconds_of_the_deadline_at_the_same_cost() {
    for (what, seen) in [
        ("a holder", held_by_a_process()),
        ("an empty file", empty_file()),
        ("a dead driver", driver_gone()),
        ("a stopped shim", stopped_shim()),
    ] {
        for seed in 0..20 {
            let (second, writes) = report_time(&due(seen.clone()), seed);
            assert!(second <= 60 + 25, "{what}, seed {seed}: {second}");
            assert!(second >= 60 + 15, "{what}: the kubelet gets the time for its own try");
            assert_eq!(writes, 2, "{what}");
        }
    }
}

#[test]
fn what_may_pass_is_waited_for_as_before() {
    let mut seen = sample::running();
    sample::block(&mut seen, sample::INIT, "folio_wait_bit_common");
    for seed in 0..20 {
        let (second, _) = report_time(&due(seen.clone()), seed);
        assert!(second >= 60 + 60, "a task in D, seed {seed}: {second}");
    }
}
