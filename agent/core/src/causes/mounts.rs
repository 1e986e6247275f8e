//! Mounts under mounts, mounts in the wrong namespace, directories left behind.

use findings::{FaultKind, Finding, Link, Placeholder, cause};

use super::{FindingBuilder, finding_builder::VOLUMES, words};
use crate::{
    observation::{HostPath, Mount, SubPath, VolumeDir},
    view::PodView,
};

/// A mount lies below the volume: neither `umount` of the volume nor `rmdir` can succeed.
pub fn nested(view: &PodView, target: &HostPath, head: &[Link]) -> Vec<Finding> {
    let named = |mount: &Mount| {
        if let Some(finding) = only_in_kubelets(view, mount, head) {
            return finding;
        }
        FindingBuilder::of_pod(view, &cause::NESTED_MOUNT, VOLUMES, head)
            .blame(words::mount(mount), "mounted below the volume")
            .evidence("mountinfo of the kubelet", format!("{} on {}", mount.mount_point.show(), mount.dev))
            .name_if(Placeholder::Path, mount.mount_point.as_str())
            .root(mount.mount_point.show())
            .finish()
    };
    // The deepest comes first: that is the order in which they can be unmounted.
    view.mounts_below(target).into_iter().map(named).collect()
}

/// The mount is in the kubelet's own mount namespace and not in pid 1's: whoever looks for it on the
/// host does not see it, and `umount` there does not reach it.
fn only_in_kubelets(view: &PodView, mount: &Mount, head: &[Link]) -> Option<Finding> {
    let init = view.seen.mounts.init.get()?;
    let kubelet = view.seen.node.kubelet.get()?;
    if init.mounts.iter().any(|other| other.mount_point == mount.mount_point) {
        return None;
    }
    let found = FindingBuilder::of_pod(view, &cause::MOUNT_HIDDEN_FROM_KUBELET, VOLUMES, head)
        .blame(words::mount(mount), "in the kubelet's mount namespace, not in pid 1's")
        .evidence(format!("/proc/{}/mountinfo", kubelet.pid), mount.mount_point.show())
        .evidence("/proc/1/mountinfo", "does not have it")
        .name(Placeholder::MountNamespacePid, kubelet.pid)
        .name_if(Placeholder::Path, mount.mount_point.as_str())
        .root(mount.mount_point.show());
    Some(found.finish())
}

/// A mount lies below a subPath.
pub fn nested_in_sub_path(view: &PodView, sub_path: &SubPath, head: &[Link]) -> Option<Finding> {
    let mount = view.mounts_below(&sub_path.path).into_iter().next()?;
    let found = FindingBuilder::of_pod(view, &cause::NESTED_MOUNT_UNDER_SUB_PATH, VOLUMES, head)
        .blame(words::mount(mount), "mounted below the subPath")
        .evidence("mountinfo of the kubelet", format!("{} on {}", mount.mount_point.show(), mount.dev))
        .name_if(Placeholder::Path, mount.mount_point.as_str())
        .root(mount.mount_point.show());
    Some(found.finish())
}

/// The mount is seen by pid 1 and not by the kubelet, or by the kubelet only.
pub fn hidden(view: &PodView, target: &HostPath, head: &[Link]) -> Option<Finding> {
    let init = view.seen.mounts.init.get()?;
    let by_init = init.mounts.iter().any(|mount| mount.mount_point == *target);
    let by_kubelet = view.mount_at(target).is_some();
    let state = match (by_kubelet, by_init) {
        (false, true) => "mounted in pid 1's mount namespace, not in the kubelet's",
        _ => return None,
    };
    let found = FindingBuilder::of_pod(view, &cause::MOUNT_HIDDEN_FROM_KUBELET, VOLUMES, head)
        .blame(words::place(target).called("mount "), state)
        .evidence("/proc/1/mountinfo and the kubelet's mountinfo", state)
        .name(Placeholder::MountNamespacePid, 1)
        .name_if(Placeholder::Path, target.as_str())
        .root(target.show());
    Some(found.finish())
}

/// The volume's directory is no mount point and is still there.
pub fn directory_left(view: &PodView, volume: &VolumeDir, target: &HostPath, head: &[Link]) -> Option<Finding> {
    let full = volume.entries.is_some_and(|entries| entries > 0);
    let cause = if full { &cause::VOLUME_DIRECTORY_NOT_EMPTY } else { &cause::MOUNT_DIRECTORY_LEFT };
    let says = match volume.entries {
        Some(100) => "100 entries or more".to_owned(),
        Some(entries) => format!("{entries} entries"),
        None => "could not be listed".to_owned(),
    };
    let found = FindingBuilder::of_pod(view, cause, VOLUMES, head)
        .probable()
        .blame(words::place(target), format!("not a mount point, {says}"))
        .evidence(target.show(), says)
        .name_if(Placeholder::Path, target.as_str())
        .root(target.show());
    Some(found.finish())
}

/// Two mounts on the very same path: the kubelet unmounts one and meets the other.
pub fn twice(view: &PodView, target: &HostPath, head: &[Link]) -> Option<Finding> {
    let mounts: Vec<&Mount> = view.kubelet_mounts().iter().filter(|mount| mount.mount_point == *target).collect();
    if mounts.len() < 2 {
        return None;
    }
    let root = &view.seen.node.kubelet_root;
    let mut found = FindingBuilder::of_pod(view, &cause::KUBELET_ROOT_AMBIGUOUS, VOLUMES, head).probable();
    for mount in &mounts {
        found = found.evidence(
            "mountinfo of the kubelet",
            format!("{} on {} ({})", mount.mount_point.show(), mount.dev, mount.id),
        );
    }
    let found = found
        .blame(words::place(target), format!("{} mounts on this one path", mounts.len()))
        .name_if(Placeholder::Path, root.as_str())
        .root(root.show());
    Some(found.finish())
}

/// The volume's files lie on a file system that has become read-only: they cannot be deleted.
pub fn read_only(view: &PodView, target: &HostPath, head: &[Link]) -> Option<Finding> {
    let covering = view.kubelet_mounts().iter().filter(|mount| target.is_within(&mount.mount_point));
    let mount = covering.max_by_key(|mount| mount.mount_point.as_bytes().len())?;
    if !mount.super_read_only || view.mount_at(target).is_some() {
        return None;
    }
    let found = FindingBuilder::of_pod(view, &cause::FILE_SYSTEM_READ_ONLY, VOLUMES, head)
        .blame(words::mount(mount), "the file system is read-only")
        .evidence("mountinfo of the kubelet", format!("ro in the super options of {}", mount.mount_point.show()))
        .name_if(Placeholder::Path, target.as_str())
        .root(mount.dev);
    Some(found.finish())
}

/// The target of a subPath was deleted while it was mounted; the kubelet's `stat` says "no such
/// file", so it skips the unmount and can never remove the directory above.
pub fn deleted_sub_paths(view: &PodView) -> Vec<Finding> {
    let sub_paths = view.seen.node.kubelet_root.join("pods").join(view.uid().as_str()).join("volume-subpaths");
    let finding = |mount: &Mount| {
        FindingBuilder::of_pod(view, &cause::SUB_PATH_TARGET_MISSING, VOLUMES, &[])
            .blame(words::mount(mount), "mounted, and its path does not exist any more")
            .evidence("mountinfo of the kubelet", mount.mount_point.show())
            .name_if(
                Placeholder::Path,
                mount.mount_point.as_str().map(|path| path.trim_end_matches("//deleted").to_owned()),
            )
            .root(mount.mount_point.show())
            .finish()
    };
    let is_deleted =
        |mount: &&Mount| mount.mount_point.as_bytes().ends_with(b"//deleted") && mount.mount_point.is_below(&sub_paths);
    view.kubelet_mounts().iter().filter(is_deleted).map(finding).collect()
}

/// A subPath on NFS whose file handle the server has forgotten (`ESTALE`).
pub fn stale_sub_path(view: &PodView, sub_path: &SubPath) -> Option<Finding> {
    let fault = sub_path.mounted.fault().filter(|fault| fault.kind == FaultKind::Stale)?;
    let found = FindingBuilder::of_pod(view, &cause::SUB_PATH_STALE_HANDLE, VOLUMES, &[])
        .blame(words::place(&sub_path.path), "its file handle is stale")
        .told_by(fault)
        .name_if(Placeholder::Path, sub_path.path.as_str())
        .root(sub_path.path.show());
    Some(found.finish())
}

#[cfg(test)]
mod tests {
    use crate::observation::{
        sample::{self, UID, causes, mount, pod_dir, sub_path, table, volume},
        *,
    };

    #[test]
    fn a_mount_that_the_kubelet_cannot_see() {
        let mut seen = sample::mounted("ext4");
        let hidden = table(&mut seen).remove(0);
        seen.mounts.init = Seen::Seen(MountTable { ns: 2, through_pid: 1, total: 1, mounts: vec![hidden] });
        assert_eq!(causes(&seen), ["MountHiddenFromKubelet"]);
    }

    #[test]
    fn a_directory_that_is_not_empty() {
        let mut seen = sample::mounted("ext4");
        table(&mut seen).clear();
        volume(&mut seen).mounted = Seen::Seen(false);
        volume(&mut seen).vol_data = VolData::NotCsi;
        volume(&mut seen).plugin = "kubernetes.io/empty-dir".into();
        volume(&mut seen).entries = Some(3);
        assert_eq!(causes(&seen), ["VolumeDirectoryNotEmpty"]);
        let mut root = mount(1, "8:1", "/var/lib/kubelet", "ext4");
        root.super_read_only = true;
        table(&mut seen).push(root);
        assert_eq!(causes(&seen), ["FileSystemReadOnly"]);
    }

    #[test]
    fn two_mounts_on_one_path() {
        let mut seen = sample::mounted("tmpfs");
        volume(&mut seen).vol_data = VolData::NotCsi;
        let again = table(&mut seen)[0].clone();
        table(&mut seen).push(again);
        assert_eq!(causes(&seen), ["KubeletRootAmbiguous"]);
    }

    #[test]
    fn a_sub_path_whose_target_was_deleted() {
        let mut seen = sample::mounted("tmpfs");
        let path = format!("/var/lib/kubelet/pods/{UID}/volume-subpaths/pv-1/app/0//deleted");
        table(&mut seen).push(mount(50, "0:41", &path, "tmpfs"));
        assert_eq!(causes(&seen), ["SubPathTargetMissing"]);
    }

    #[test]
    fn a_mount_below_a_sub_path() {
        let mut seen = sample::mounted("ext4");
        pod_dir(&mut seen).sub_paths.push(sub_path(Seen::Seen(true), false));
        let path = sub_path(Seen::Missing, false).path;
        table(&mut seen).push(mount(50, "0:41", path.as_str().unwrap(), "ext4"));
        table(&mut seen).push(mount(51, "0:60", path.join("inner").as_str().unwrap(), "tmpfs"));
        assert!(causes(&seen).contains(&"NestedMountUnderSubPath"));
    }

    #[test]
    fn a_sub_path_with_a_stale_handle() {
        let mut seen = sample::mounted("ext4");
        let fault = Fault::new("statx", (FaultKind::Stale, "/x: Stale file handle (os error 116)"));
        pod_dir(&mut seen).sub_paths.push(sub_path(Seen::Failed(fault), false));
        assert!(causes(&seen).contains(&"SubPathStaleHandle"));
    }

    #[test]
    fn an_empty_directory_that_is_left() {
        let mut seen = sample::mounted("ext4");
        table(&mut seen).clear();
        volume(&mut seen).mounted = Seen::Seen(false);
        volume(&mut seen).vol_data = VolData::NotCsi;
        volume(&mut seen).plugin = "kubernetes.io/nfs".into();
        volume(&mut seen).entries = Some(0);
        assert_eq!(causes(&seen), ["MountDirectoryLeft"]);
    }
}
