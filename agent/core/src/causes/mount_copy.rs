//! A volume that is unmounted here, and of which another mount namespace has a copy.

use super::prelude::*;

/// On kernels of old the directory cannot be removed while the copy is there. On today's kernels a
/// copy holds no pod, and nothing is said of it here.
pub fn find(view: &PodView, volume: &VolumeDir, target: &HostPath, head: &[Link]) -> Option<Finding> {
    let is_unmounted = volume.mounted.get() == Some(&false) && view.mount_at(target).is_none();
    if !is_unmounted || !copies_block(view.seen) {
        return None;
    }
    let root = &view.seen.node.kubelet_root;
    target.relative_to(root).map(|end| view.seen.is_settled(Question::MountCopies(end)));
    let copy = view.seen.mount_copies.iter().find(|copy| copy.is_copy_of(target, root))?;
    let cause = &cause::MOUNT_COPIED_ON_OLD_KERNEL;
    let draft = describe::name_copy_holder(pod_finding(view, cause, VOLUMES, head), copy)
        .link(describe::file(target), "cannot be removed: mounted elsewhere")
        .blame(describe::pid(copy.pid, &copy.comm, copy.state), describe::copy_state(copy))
        .evidence("mountinfo of the kubelet", format!("{} is not mounted", target.show()))
        .evidence(format!("/proc/{}/mountinfo", copy.pid), copy.mount.mount_point.show())
        .evidence("uname -r", &view.seen.node.kernel)
        .name_if(Placeholder::Path, target.as_str())
        .root(format!("{}:{}", copy.ns, target.show()));
    Some(draft.finish())
}

#[cfg(test)]
mod tests {
    use crate::test_prelude::*;

    /// Unmounted on the host, still mounted in the namespace of a service.
    fn unmounted() -> Observation {
        let mut seen = sample::mounted("ext4");
        table(&mut seen).clear();
        volume(&mut seen).mounted = Seen::Seen(false);
        seen.node.kernel = "3.10.0-1160.el7.x86_64".into();
        let path = format!("/rootfs/var/lib/kubelet/pods/{UID}/volumes/kubernetes.io~csi/pv-1/mount");
        seen.mount_copies = vec![mount_copy("8:16", &path)];
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
        assert!(!is_claimed(|seen| volume(seen).mounted = Seen::failed("statx", (FaultKind::Failed, "?"))));
    }
}
