//! Copies in other namespaces and places, and which of them the kernel minds.

use super::*;

#[test]
fn copies_that_propagation_ties() {
    for (propagation, prepare) in [
        ("unchanged", ":"),
        ("slave", ":"),
        ("slave", "mount --make-rshared /"),
        ("slave", "mount --make-private {volume}"),
        ("slave", "mount --rbind {base} {base}/else && mount --make-rprivate {base}/else"),
        ("slave", "mount -t tmpfs top {volume}; umount {volume}"),
    ] {
        let mut stage = Stage::new();
        let mut copy = stage.ns.copy(propagation);
        copy.run(&prepare.replace("{volume}", &stage.volume).replace("{base}", &stage.base));
        let pid = copy.spawn(&holding(&format!("{}/file", stage.volume)));
        let outcome = stage.judged();
        assert_eq!((only(&outcome).pid, only(&outcome).copy), (pid, CopyKind::Propagated), "{propagation} {prepare}");
    }
}

#[test]
fn a_slave_of_a_slave_is_tied_too() {
    let mut stage = Stage::new();
    let mut middle = stage.ns.copy("slave");
    middle.run("mount --make-rshared /");
    let mut far = middle.copy("slave");
    let pid = far.spawn(&format!("env -C {} sleep 1000", stage.volume));
    let outcome = stage.judged();
    assert_eq!((only(&outcome).pid, only(&outcome).copy), (pid, CopyKind::Propagated));
}

/// So a node is set up whose kubelet's directory was bound over itself to make it shared.
#[test]
fn a_volume_in_a_directory_that_is_bound_over_itself() {
    let mut stage = Stage::new();
    let (base, volume) = (stage.base.clone(), stage.volume.clone());
    stage.ns.run(&format!(
        "umount {volume} && mount --bind {base}/pods {base}/pods && mount -t tmpfs vol {volume} && echo x > {volume}/file"
    ));
    let at_volume = stage.ns.run(&format!("grep -c ' {volume} ' /proc/self/mountinfo"));
    assert_eq!(at_volume, "2\n", "the other one is below the bind, out of reach");
    let stands = stage.ns.spawn(&format!("env -C {volume} sleep 1000"));
    let reads = stage.ns.spawn(&holding(&format!("{volume}/file")));
    let outcome = stage.judged();
    let held: Vec<_> = outcome.holders.iter().map(|holder| (holder.pid, holder.copy)).collect();
    assert_eq!(held, [(stands, CopyKind::Original), (reads, CopyKind::Original)]);
}

#[test]
fn copies_that_nothing_ties() {
    for (propagation, prepare, hold) in [
        ("private", ":", "{volume}/file"),
        ("slave", "mount --make-private {base}", "{volume}/file"),
        ("slave", "mount --bind {volume} /mnt", "/mnt/file"),
        // The kernel passes over a copy that something else is mounted in.
        ("slave", "mount -t tmpfs inner {volume}/sub", "{volume}/file"),
    ] {
        let mut stage = Stage::new();
        let fill = |text: &str| text.replace("{volume}", &stage.volume).replace("{base}", &stage.base);
        let (prepare, hold) = (fill(prepare), fill(hold));
        let mut copy = stage.ns.copy(propagation);
        copy.run(&prepare);
        copy.spawn(&holding(&hold));
        let outcome = stage.judged();
        assert_eq!(only(&outcome).copy, CopyKind::Private, "{propagation} {prepare}");
    }
}

#[test]
fn another_place_of_the_same_namespace_that_propagation_reaches() {
    let mut stage = Stage::new();
    let (base, pid) = (stage.base.clone(), stage.ns.pid());
    stage.ns.run(&format!("mount --rbind {base} /mnt"));
    let holder = stage.ns.spawn("env -C /mnt/pods/vol sleep 1000");
    let outcome = stage.judged();
    assert_eq!((only(&outcome).pid, only(&outcome).copy), (holder, CopyKind::Propagated), "{pid}");
}

#[test]
fn another_file_system_in_the_same_place_of_a_slave() {
    let mut stage = Stage::new();
    let mut copy = stage.ns.copy("slave");
    copy.run(&format!("umount {0} && mount -t tmpfs other {0}", stage.volume));
    copy.spawn(&format!("env -C {} sleep 1000", stage.volume));
    let outcome = stage.judged();
    assert_eq!(only(&outcome).copy, CopyKind::Propagated);
}

#[test]
fn a_descriptor_stays_where_it_was_opened() {
    let mut stage = Stage::new();
    let opened = holding(&format!("{}/file", stage.volume));
    let pid = stage.ns.spawn(&format!("unshare -m --propagation private {opened}"));
    let outcome = stage.judged();
    assert_eq!((only(&outcome).pid, only(&outcome).copy), (pid, CopyKind::Original));
}
