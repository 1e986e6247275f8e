//! Copies of volumes in other mount namespaces, from observations made after the reference.

use crate::observation::{
    sample::{self, NOW, UID, causes, mount, table},
    *,
};

fn volume(seen: &mut Observation) -> &mut VolumeDir {
    let Seen::Seen(dirs) = &mut seen.pod_dirs else { unreachable!() };
    let Seen::Seen(volumes) = &mut dirs[0].volumes else { unreachable!() };
    &mut volumes[0]
}

fn copy(dev: &str, path: &str) -> MountCopy {
    let mut mount = mount(90, dev, path, "ext4");
    mount.shared = None;
    MountCopy { mount, ns: 900, pid: 700, comm: "ntpd".into(), state: 'S', owner: Owner::Unit("ntpd.service".into()) }
}

/// Unmounted on the host, still mounted in the namespace of a service.
fn unmounted() -> Observation {
    let mut seen = sample::mounted("ext4");
    table(&mut seen).clear();
    volume(&mut seen).mounted = Seen::Seen(false);
    seen.node.kernel = "3.10.0-1160.el7.x86_64".into();
    let path = format!("/rootfs/var/lib/kubelet/pods/{UID}/volumes/kubernetes.io~csi/pv-1/mount");
    seen.mount_copies = vec![copy("8:16", &path)];
    seen
}

#[test]
fn a_copy_keeps_a_directory_on_an_old_kernel() {
    assert_eq!(causes(&unmounted()), ["MountCopiedOnOldKernel"]);
}

#[test]
fn a_copy_is_no_cause_without_each_part_of_the_proof() {
    let is_claimed = |change: fn(&mut Observation)| {
        let mut seen = unmounted();
        change(&mut seen);
        causes(&seen).contains(&"MountCopiedOnOldKernel")
    };
    assert!(is_claimed(|_| ()));
    assert!(!is_claimed(|seen| seen.node.kernel = "6.1.0".into()));
    assert!(!is_claimed(|seen| seen.node.may_detach_mounts = Seen::Seen(true)));
    assert!(!is_claimed(|seen| seen.mount_copies.clear()));
    assert!(!is_claimed(|seen| seen.mount_copies[0].mount.mount_point = HostPath::from("/rootfs/else/mount")));
    assert!(!is_claimed(|seen| volume(seen).mounted = Seen::Failed(Fault::new("statx", (FaultKind::Failed, "?")))));
}

/// Unstaged an hour ago; a node exporter has kept the staged mount.
fn unstaged() -> Observation {
    let mut seen = sample::node();
    let dir = "plugins/kubernetes.io/csi/exam.csi/d2e8/globalmount";
    let path = HostPath::from(format!("/var/lib/kubelet/{dir}").as_str());
    seen.unstaged = vec![UnstagedVolume { driver: "exam.csi".into(), path, changed_ms: NOW - 3_600_000 }];
    seen.mount_copies = vec![copy("8:16", &format!("/host/var/lib/kubelet/{dir}"))];
    seen.unmounted_devices = vec![Dev { major: 8, minor: 16 }];
    seen
}

fn node_causes(seen: &Observation) -> Vec<&'static str> {
    crate::gates::judge(seen).node_findings.iter().map(|found| found.finding.cause.0.id).collect()
}

#[test]
fn a_private_copy_of_a_staged_mount_pins_the_device_and_no_pod() {
    let report = crate::gates::judge(&unstaged());
    assert_eq!(node_causes(&unstaged()), ["DevicePinnedByPrivateCopy"]);
    assert_eq!((report.node_findings[0].pods.len(), report.pods.len()), (0, 0));
    assert_eq!(report.node_findings[0].finding.confidence, findings::Confidence::Probable);
}

#[test]
fn a_device_is_not_pinned_without_each_part_of_the_proof() {
    let nothing = |change: fn(&mut Observation)| {
        let mut seen = unstaged();
        change(&mut seen);
        assert_eq!(node_causes(&seen), Vec::<&str>::new());
    };
    nothing(|seen| seen.unstaged.clear());
    nothing(|seen| seen.unstaged[0].changed_ms = NOW - 5_000);
    nothing(|seen| seen.mount_copies.clear());
    nothing(|seen| seen.mount_copies[0].mount.shared = Some(7));
    nothing(|seen| seen.mount_copies[0].mount.master = Some(7));
    nothing(|seen| seen.mount_copies[0].mount.mount_point = HostPath::from("/host/d2e8/globalmount"));
    nothing(|seen| seen.unmounted_devices.clear());
}
