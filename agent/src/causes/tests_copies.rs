//! Copies of volumes in other mount namespaces, from observations made after the reference.

use crate::observation::{
    sample::{self, UID, causes, mount, table},
    *,
};

fn volume(seen: &mut Observation) -> &mut VolumeDir {
    let Seen::Seen(dirs) = &mut seen.pod_dirs else { unreachable!() };
    let Seen::Seen(volumes) = &mut dirs[0].volumes else { unreachable!() };
    &mut volumes[0]
}

fn copy(dev: &str, path: &str) -> MountElsewhere {
    let mut mount = mount(90, dev, path, "ext4");
    mount.shared = None;
    MountElsewhere {
        mount,
        ns: 900,
        pid: 700,
        comm: "ntpd".into(),
        state: 'S',
        owner: Owner::Unit("ntpd.service".into()),
    }
}

/// Unmounted on the host, still mounted in the namespace of a service.
fn unmounted() -> Observation {
    let mut seen = sample::mounted("ext4");
    table(&mut seen).clear();
    volume(&mut seen).mounted = Seen::Seen(false);
    seen.node.kernel = "3.10.0-1160.el7.x86_64".into();
    let path = format!("/rootfs/var/lib/kubelet/pods/{UID}/volumes/kubernetes.io~csi/pv-1/mount");
    seen.elsewhere = vec![copy("8:16", &path)];
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
    assert!(!is_claimed(|seen| seen.elsewhere.clear()));
    assert!(!is_claimed(|seen| seen.elsewhere[0].mount.mount_point = HostPath::from("/rootfs/else/mount")));
    assert!(!is_claimed(|seen| volume(seen).mounted = Seen::Failed(Fault::new("statx", "?"))));
}
