//! A CSI driver that crashes on each call of the kubelet.

use super::*;

/// Its sockets are never older than the kubelet's longest pause.
#[test]
fn a_driver_that_has_always_just_come_back_is_told() {
    let mut seen = sample::mounted("ext4");
    sample::set_deadline(&mut seen, moment(60).wall_ms, 30);
    let mut world = World::new(seen, Api::Up);
    for second in (0..3_600).step_by(30) {
        if second % 120 == 0 {
            let made_ms = world.instant().wall_ms;
            world.seen.csi.get_mut().unwrap()[0].info.get_mut().unwrap().since_ms = Seen::Seen(made_ms);
        }
        world.run_until(second);
    }
    let reasons: Vec<&str> = world.stored.iter().map(|draft| draft.reason.as_str()).collect();
    assert_eq!(reasons.first(), Some(&"PodVolumeDriverFails"), "{reasons:?}");
    assert!(world.stored.iter().all(|draft| draft.warning), "it is not over between two crashes");
}
