//! Mounts under mounts, mounts in the wrong namespace, directories left behind.

use findings::FaultKind;

use super::block_device;
use super::kubelet_operations::{self, Tries};
use super::prelude::*;
use crate::file_system;

/// A mount lies below the volume: neither `umount` of the volume nor `rmdir` can succeed.
pub fn nested(view: &PodView, target: &HostPath, head: &[Link]) -> Vec<Finding> {
    let named = |mount: &Mount| nested_mount(view, mount, head, "mounted below the volume").finish();
    // The deepest comes first: that is the order in which they can be unmounted.
    view.mounts_below(target).into_iter().filter(|mount| !is_automount(view, mount)).map(named).collect()
}

/// Mounts below the volume that most likely go with it.
pub fn automounts(view: &PodView, target: &HostPath, head: &[Link]) -> Vec<Finding> {
    let state = "mounted below the volume; an automount goes with its parent, one that was made by hand does not";
    let named = |mount: &Mount| {
        nested_mount(view, mount, head, state).probable("whether it was mounted automatically or by hand").finish()
    };
    view.mounts_below(target).into_iter().filter(|mount| is_automount(view, mount)).map(named).collect()
}

fn is_automount(view: &PodView, mount: &Mount) -> bool {
    let parent = view.kubelet_mounts().iter().find(|parent| parent.id == mount.parent);
    parent.is_some_and(|parent| file_system::automounts(parent.fs_type.as_bytes(), mount.fs_type.as_bytes()))
}

fn nested_mount(view: &PodView, mount: &Mount, head: &[Link], state: &str) -> FindingBuilder {
    let draft = pod_finding(view, &cause::NESTED_MOUNT, VOLUMES, head)
        .blame(describe::mount(mount), state)
        .evidence("mountinfo of the kubelet", format!("{} on {}", mount.mount_point.show(), mount.dev))
        .mounted(view.seen, Placeholder::Path, &mount.mount_point)
        .root(mount.mount_point.show());
    // Who waits for the daemon goes through the directory, and so does each umount, also the lazy one.
    let draft = draft.probable_unless(
        mount.fs_type != "autofs",
        "whether its automounter answers: where it does not, umount waits until the automounter and all that wait for it \
            (wchan autofs_wait) have ended",
    );
    if is_only_in_kubelets(view, mount) {
        draft.evidence("/proc/1/mountinfo", "does not have it: it is in the kubelet's own mount namespace only")
    } else {
        draft
    }
}

/// Whether the mount table of the host lacks it.
fn is_only_in_kubelets(view: &PodView, mount: &Mount) -> bool {
    let is_it = |other: &Mount| other.mount_point == mount.mount_point;
    view.seen.mounts.init.get().is_some_and(|init| !init.mounts.iter().any(is_it))
}

/// A mount lies below a subPath.
pub fn nested_in_sub_path(view: &PodView, sub_path: &SubPath, head: &[Link]) -> Option<Finding> {
    let mount = view.mounts_below(&sub_path.path).into_iter().next()?;
    Some(nested_mount(view, mount, head, "mounted below the subPath").finish())
}

/// The volume's directory is no mount point and is still there.
pub fn directory_left(view: &PodView, volume: &VolumeDir, target: &HostPath, head: &[Link]) -> Option<Finding> {
    let tries = kubelet_operations::unmount(view, volume).filter(|_| view.is_overdue_by(UNMOUNT_RETRY_MS));
    let full = volume.entries.is_some_and(|entries| entries > 0);
    let cause = match (full, volume.is_made_for_the_pod()) {
        (false, _) | (_, false) => &cause::MOUNT_DIRECTORY_LEFT,
        // Its files are the volume: of many the removal takes long, and one of them may refuse it.
        (true, true) if tries.as_ref().is_some_and(Tries::proves_failure) => &cause::FILE_SYSTEM_READ_ONLY,
        (true, true) => &cause::VOLUME_FILES_NOT_REMOVED,
    };
    let says = match volume.entries {
        Some(100) => "100 entries or more".to_owned(),
        Some(entries) => format!("{entries} entries"),
        None => "could not be listed".to_owned(),
    };
    let draft = pod_finding(view, cause, VOLUMES, head)
        .probable("why the kubelet does not remove it: that is in its log only")
        .blame(describe::file(target), format!("not a mount point, {says}"))
        .evidence(target.show(), says)
        .name_if(Placeholder::Path, target.as_str())
        .root(target.show());
    let is_searched = |search: &ProtectedFiles| search.dir == *target && search.is_whole;
    let draft = match cause.id == cause::VOLUME_FILES_NOT_REMOVED.id {
        true if !view.seen.protected_files.iter().any(is_searched) => {
            draft.evidence("search for immutable and append-only files", "not all of its files could be read")
        }
        _ => draft,
    };
    if !view.is_overdue_by(UNMOUNT_RETRY_MS) {
        return Some(draft.finish());
    }
    Some(kubelet_operations::add_evidence(view, tries.as_ref(), draft).finish())
}

/// Two mounts on the very same path: after one `umount` the other is still there.
pub fn twice(view: &PodView, volume: &VolumeDir, target: &HostPath, head: &[Link]) -> Option<Finding> {
    let mounts = stacked(view, target);
    let [first, .., last] = mounts.as_slice() else { return None };
    let publisher = match &volume.vol_data {
        VolData::Read(data) => describe::csi_driver(&data.driver),
        _ => "the kubelet".into(),
    };
    let same = (first.dev, &first.root) == (last.dev, &last.root);
    let what = if same { "the same thing, mounted" } else { "mounted" };
    let draft = pod_finding(view, &cause::VOLUME_MOUNTED_TWICE, VOLUMES, head)
        .link(publisher, "most likely published it again when the kubelet was restarted, without looking first")
        .blame(
            describe::mount(last),
            format!("{what} {} times on this one path; each unmount takes one away", mounts.len()),
        )
        .mounted(view.seen, Placeholder::Path, target)
        .name_if(Placeholder::VolData, volume.path.join("vol_data.json").as_str())
        .root(target.show());
    Some(mounts.iter().copied().fold(draft, as_evidence).finish())
}

fn as_evidence(draft: FindingBuilder, mount: &Mount) -> FindingBuilder {
    let line = format!(
        "{} of {} ({}, root {}) on {}, id {} on {}",
        mount.fs_type,
        mount.source.show(),
        mount.dev,
        mount.root.show(),
        mount.mount_point.show(),
        mount.id,
        mount.parent
    );
    draft.evidence("mountinfo of the kubelet", line)
}

/// The volume's mount is there and no path leads to it: over one of the directories above it something else was mounted
/// since. The kernel refuses to remove the directory, which is still a mount point, and `umount` does not find the mount.
///
/// A copy that is hidden beside a mount that is not holds nothing: it goes with that one, or after it.
pub fn hidden(view: &PodView, target: &HostPath, head: &[Link]) -> Option<Finding> {
    let mounts = mounts_at(view, target);
    let (mount, (below, cover)) = mounts.first().and_then(|mount| Some((*mount, hidden_by(view, mount)?)))?;
    if mounts.iter().any(|mount| hidden_by(view, mount).is_none()) {
        return None;
    }
    // Both stand on the same mount, the one at a path below the other's.
    let shown = [Some(mount), Some(below).filter(|below| below.id != mount.id), Some(cover)];
    let draft = pod_finding(view, &cause::KUBELET_ROOT_AMBIGUOUS, VOLUMES, head)
        .link(describe::mount(mount), "mounted, and no path leads to it")
        .blame(describe::mount(cover), "mounted over a directory above the volume")
        .mounted(view.seen, Placeholder::Path, Some(&cover.mount_point).filter(|_| is_same(view, cover)))
        .root(cover.mount_point.show());
    Some(shown.into_iter().flatten().fold(draft, as_evidence).finish())
}

/// Whether it shows the directory over which it stands once more: then nothing is lost with it.
fn is_same(view: &PodView, cover: &Mount) -> bool {
    let covered = view.kubelet_mounts().iter().find(|mount| mount.id == cover.parent);
    covered.is_some_and(|covered| {
        let inside = cover.mount_point.as_path().strip_prefix(covered.mount_point.as_path());
        covered.dev == cover.dev
            && inside.is_ok_and(|inside| covered.root.as_path().join(inside) == cover.root.as_path())
    })
}

/// The mount over a directory through which the path to this one leads, and which it hides: this one, or one on which
/// it stands.
fn hidden_by<'a>(view: &PodView<'a>, mount: &'a Mount) -> Option<(&'a Mount, &'a Mount)> {
    let mounts = view.kubelet_mounts();
    let parent_of = |mount: &Mount| mounts.iter().find(|parent| parent.id == mount.parent && parent.id != mount.id);
    let covers =
        |below: &Mount, other: &Mount| other.parent == below.parent && below.mount_point.is_below(&other.mount_point);
    let mut on_the_way = mount;
    // More than these are no stack of mounts but a table that was read while it changed.
    for _ in 0..mounts.len() {
        if let Some(cover) = mounts.iter().find(|other| covers(on_the_way, other)) {
            return Some((on_the_way, cover));
        }
        on_the_way = parent_of(on_the_way)?;
    }
    None
}

fn mounts_at<'a>(view: &PodView<'a>, path: &HostPath) -> Vec<&'a Mount> {
    view.kubelet_mounts().iter().filter(|mount| mount.mount_point == *path).collect()
}

/// The mounts that stand on each other there, the lowest first. Others at the same path are hidden below what the path leads
/// through: copies, which go with these.
fn stacked<'a>(view: &PodView<'a>, path: &HostPath) -> Vec<&'a Mount> {
    let mut all = mounts_at(view, path);
    let mut stack = Vec::new();
    let mut next = view.mount_at(path);
    while let Some(mount) = next {
        all.retain(|other| other.id != mount.id);
        next = all.iter().copied().find(|below| below.id == mount.parent);
        stack.push(mount);
    }
    stack.reverse();
    stack
}

/// The volume's own file system takes no more calls, and nothing holds it: each look at it before the unmount fails.
pub fn failed(view: &PodView, volume: &VolumeDir, mount: &Mount, head: &[Link]) -> Option<Finding> {
    let fault = volume.failed.as_ref()?;
    let draft = pod_finding(view, &cause::VOLUME_FILE_SYSTEM_FAILED, VOLUMES, head)
        .probable("why it is not unmounted: most drivers look at it first, and fail")
        .blame(describe::mount(mount), "its file system has shut down: each look at it fails")
        .evidence(fault.source.to_string(), &fault.says)
        .mounted(view.seen, Placeholder::Path, &mount.mount_point)
        .root(mount.dev);
    Some(draft.finish())
}

/// The file system of the kubelet's own directories takes no more calls: nothing in the pod's can be looked at or removed.
pub fn failed_below(view: &PodView) -> Option<Finding> {
    let of_pod = || view.dir.into_iter().flat_map(|dir| dir.volumes.fault().into_iter().chain(&dir.faults));
    let fault =
        view.seen.pod_dirs.fault().into_iter().chain(of_pod()).find(|fault| fault.is_of_failed_file_system())?;
    let pods = view.seen.node.kubelet_root.join("pods");
    let mount = covering(view.kubelet_mounts(), &pods)?;
    let draft = pod_finding(view, &cause::FILE_SYSTEM_READ_ONLY, VOLUMES, &[])
        .blame(
            describe::mount(mount),
            "the file system has failed: the kubelet can neither read nor remove what is there",
        )
        .evidence(fault.source.to_string(), &fault.says)
        .root(mount.dev);
    Some(draft.finish())
}

/// The volume's files lie on a file system that has become read-only: they cannot be deleted.
pub fn read_only(view: &PodView, target: &HostPath, head: &[Link]) -> Option<Finding> {
    let mount = covering(view.kubelet_mounts(), target)?;
    if !mount.super_read_only || view.mount_at(target).is_some() {
        return None;
    }
    let options = match mount.read_only_options.as_slice() {
        // As an older agent kept it.
        [] => "ro, emergency_ro or shutdown".to_owned(),
        options => options.join(", "),
    };
    let draft = pod_finding(view, &cause::FILE_SYSTEM_READ_ONLY, VOLUMES, head)
        .blame(describe::mount(mount), "the file system is read-only")
        .evidence("mountinfo of the kubelet", format!("{options} in the super options of {}", mount.mount_point.show()))
        .root(mount.dev);
    Some(draft.finish())
}

/// The files of a volume that the kubelet makes itself lie on an ext4 that has had an error since the node was started. After
/// one it may take no more writes, and Linux 6.12 to 6.14, and long-term kernels that have the same change, show `rw` then.
pub fn after_errors(view: &PodView, volume: &VolumeDir, target: &HostPath, head: &[Link]) -> Option<Finding> {
    let has_files = volume.is_made_for_the_pod() && volume.entries.is_some_and(|entries| entries > 0);
    let mount = covering(view.kubelet_mounts(), target).filter(|mount| mount.fs_type == "ext4")?;
    if !has_files || !view.is_overdue_by(UNMOUNT_RETRY_MS) {
        return None;
    }
    let stack = block_device::stack(view, mount)?;
    let boot_ms = view.seen.at_ms.saturating_sub(view.seen.uptime_ms);
    let errors = stack.errors.filter(|errors| errors.count > 0 && errors.last_ms >= boot_ms)?;
    let device = stack.top().map_or_else(|| mount.dev.to_string(), |device| device.name.clone());
    let counted = describe::count(errors.count.try_into().unwrap_or(usize::MAX), "error", "errors");
    let ago = findings::duration(view.seen.at_ms.saturating_sub(errors.last_ms) / 1000);
    let draft = pod_finding(view, &cause::FILE_SYSTEM_READ_ONLY, VOLUMES, head)
        .probable(
            "whether it still takes writes: after an error the mount table may show rw, and the kernel refuse them",
        )
        .blame(describe::mount(mount), "its ext4 has had errors, and the files are not removed")
        .evidence(
            format!("/sys/fs/ext4/{device}/{{errors_count,last_error_time}}"),
            format!("{counted}, the last {ago} ago"),
        )
        .root(mount.dev);
    Some(draft.finish())
}

/// What a subPath shows was deleted while it was mounted. Where the kubelet's `stat` then says "no such file", it
/// skips the unmount and can never remove the directory above.
pub fn deleted_sub_paths(view: &PodView) -> Vec<Finding> {
    let sub_paths = view.seen.node.kubelet_root.join("pods").join(view.uid().as_str()).join("volume-subpaths");
    let finding = |mount: &Mount| {
        pod_finding(view, &cause::SUB_PATH_TARGET_MISSING, VOLUMES, &[])
            .probable("what the kubelet's own look at it says")
            .blame(describe::mount(mount), "mounted, and what was bound there does not exist any more")
            .evidence("mountinfo of the kubelet", format!("{}, root {}", mount.mount_point.show(), mount.root.show()))
            .mounted(view.seen, Placeholder::Path, &mount.mount_point)
            .root(mount.mount_point.show())
            .finish()
    };
    // What was unlinked stands in the root: the file that was bound here.
    let is_deleted =
        |mount: &&Mount| mount.root.as_bytes().ends_with(b"//deleted") && mount.mount_point.is_below(&sub_paths);
    view.kubelet_mounts().iter().filter(is_deleted).map(finding).collect()
}

/// A subPath on NFS whose file handle the server has forgotten (`ESTALE`).
pub fn stale_sub_path(view: &PodView, sub_path: &SubPath) -> Option<Finding> {
    let fault = sub_path.mounted.fault().filter(|fault| fault.kind == FaultKind::Stale)?;
    let draft = pod_finding(view, &cause::SUB_PATH_TARGET_MISSING, VOLUMES, &[])
        .blame(describe::file(&sub_path.path), "its file handle is stale")
        .evidence(fault.source.to_string(), &fault.says)
        .mounted(view.seen, Placeholder::Mount, &sub_path.path)
        .root(sub_path.path.show());
    Some(draft.finish())
}

#[cfg(test)]
mod tests {
    use crate::test_prelude::*;

    #[test]
    fn what_an_automounter_has_below_the_volume_may_not_let_go() {
        let mut seen = sample::mounted("ext4");
        let path = table(&mut seen)[0].mount_point.join("inner");
        for (fs_type, confidence) in [("tmpfs", Confidence::Proven), ("autofs", Confidence::Probable)] {
            table(&mut seen).push(mount(51, "0:60", path.as_str().unwrap(), fs_type));
            assert_eq!(causes(&seen), ["NestedMount"]);
            assert_eq!(judge(&seen).pods[0].findings[0].confidence, confidence, "{fs_type}");
            table(&mut seen).pop();
        }
    }

    #[test]
    fn a_file_system_that_has_failed_is_named_below_the_volume_and_as_the_volume() {
        let fault = |path: &str| Fault::new(path, std::io::Error::from_raw_os_error(5));
        let mut seen = sample::mounted("xfs");
        volume(&mut seen).failed = Some(fault("/mount"));
        assert_eq!(causes(&seen), ["VolumeFileSystemFailed"]);
        assert_eq!(judge(&seen).pods[0].verdict, Verdict::Stuck);
        let steps = serde_json::to_string(&judge(&seen).pods[0].findings[0].remedy.steps).unwrap();
        assert!(steps.contains("umount "), "{steps}");
        seen.holders[0].holders.push(sample::holder());
        assert_eq!(causes(&seen), ["VolumeHeldByProcess"]);
        table(&mut seen).push(mount(1, "8:1", "/var/lib/kubelet", "xfs"));
        seen.pod_dirs = Seen::Failed(fault("/var/lib/kubelet/pods"));
        assert_eq!(causes(&seen), ["FileSystemReadOnly"]);
        let finding = judge(&seen).pods[0].findings[0].clone();
        assert_eq!(finding.confidence, Confidence::Proven);
        assert!(finding.roots().all(|root| root.subject.contains("mount /var/lib/kubelet (8:1, xfs)")), "{finding:?}");
        // That it may not be looked at says nothing of it.
        seen.pod_dirs = Seen::failed("/var/lib/kubelet/pods", std::io::Error::from_raw_os_error(13));
        assert_ne!(causes(&seen), ["FileSystemReadOnly"]);
    }

    /// A driver or a person that unmounts on the host does not reach it.
    #[test]
    fn a_nested_mount_in_the_kubelets_own_namespace() {
        let mut seen = sample::mounted("ext4");
        let path = table(&mut seen)[0].mount_point.join("inner");
        table(&mut seen).push(mount(51, "0:60", path.as_str().unwrap(), "tmpfs"));
        let steps = |seen: &Observation| {
            assert_eq!(causes(seen), ["NestedMount"]);
            serde_json::to_string(&crate::gates::judge(seen).pods[0].findings[0].remedy.steps).unwrap()
        };
        let is_for_host = |seen: &Observation| steps(seen).contains("umount '/var") && !steps(seen).contains("-N 77");
        let is_for_kubelets = |seen: &Observation| {
            !steps(seen).contains("umount '/var") && steps(seen).contains("umount -i -n -c -N 77 '/var")
        };
        assert!(is_for_host(&seen));
        seen.node.init_mount_ns = None;
        assert!(is_for_kubelets(&seen), "it is not known to be the same, and this helps in both cases");
        seen.node.init_mount_ns = Some(2);
        let in_init = |seen: &mut Observation, mounts| {
            seen.mounts.init = Seen::Seen(MountTable { ns: 2, through_pid: 1, total: 1, mounts });
        };
        in_init(&mut seen, Vec::new());
        assert!(is_for_kubelets(&seen));
        in_init(&mut seen, vec![mount(7, "0:60", "/elsewhere", "tmpfs")]);
        assert!(is_for_kubelets(&seen));
        // What stands on the same is tied by that, and not by its own peer group.
        let on = |id, shared, master| Mount { parent: 0, shared, master, ..mount(id, "8:1", "/", "ext4") };
        let there =
            |id, on| Mount { parent: on, shared: Some(9), ..mount(id, "0:60", path.as_str().unwrap(), "tmpfs") };
        *table(&mut seen).last_mut().unwrap() = there(51, 50);
        table(&mut seen).insert(0, on(50, None, None));
        in_init(&mut seen, vec![there(7, 6), on(6, Some(5), None)]);
        assert!(is_for_kubelets(&seen), "a copy, and nothing ties the kubelet's to it");
        for (shared, master) in [(None, Some(5)), (Some(5), None), (Some(6), Some(5))] {
            table(&mut seen)[0] = on(50, shared, master);
            assert!(is_for_host(&seen), "{shared:?} {master:?}");
        }
        in_init(&mut seen, vec![there(7, 6), on(6, None, None)]);
        assert!(is_for_kubelets(&seen), "what is done on the host goes nowhere");
    }

    #[test]
    fn a_directory_that_is_not_empty() {
        let mut seen = sample::mounted("ext4");
        table(&mut seen).clear();
        volume(&mut seen).mounted = Seen::Seen(false);
        volume(&mut seen).vol_data = VolData::NotCsi;
        volume(&mut seen).plugin = "kubernetes.io/nfs".into();
        volume(&mut seen).entries = Some(3);
        assert_eq!(causes(&seen), ["MountDirectoryLeft"]);
        table(&mut seen).push(mount(1, "8:1", "/var/lib/kubelet", "ext4"));
        assert_eq!(causes(&seen), ["MountDirectoryLeft"]);
        table(&mut seen)[0].super_read_only = true;
        assert_eq!(causes(&seen), ["FileSystemReadOnly"]);
    }

    /// Its driver has unmounted it, or fails at the files as the kubelet does.
    #[test]
    fn files_in_the_directory_of_a_csi_volume_are_named_before_what_its_driver_may_have_answered() {
        let mut seen = sample::mounted("ext4");
        table(&mut seen).clear();
        volume(&mut seen).mounted = Seen::Seen(false);
        assert_eq!(causes(&seen), ["CsiUnpublishFails"]);
        volume(&mut seen).entries = Some(3);
        assert_eq!(causes(&seen), ["MountDirectoryLeft"]);
    }

    /// Its files are the volume, and the kubelet removes them itself.
    #[test]
    fn the_files_of_an_empty_dir_are_not_moved_away() {
        let mut seen = sample::mounted("ext4");
        *table(&mut seen) = vec![mount(1, "8:1", "/var/lib/kubelet", "ext4")];
        (volume(&mut seen).mounted, volume(&mut seen).entries) = (Seen::Seen(false), Some(100));
        (volume(&mut seen).vol_data, volume(&mut seen).plugin) = (VolData::NotCsi, "kubernetes.io/empty-dir".into());
        let steps = |seen: &Observation| {
            let pod = crate::gates::judge(seen).pods.remove(0);
            let steps = serde_json::to_string(&pod.findings[0].remedy.steps).unwrap();
            assert!(!steps.contains("rmdir") && !steps.contains("Move"), "{steps}");
            assert!(steps.contains("lsattr"), "{steps}");
            (causes(seen).remove(0), pod.verdict)
        };
        assert_eq!(steps(&seen), ("VolumeFilesNotRemoved", findings::Verdict::CannotTell));
        let of = Operation::Storage { plugin: "kubernetes.io/empty-dir".into(), name: "volume_unmount".into() };
        seen.kubelet_counters = sample::failing(of, "fail-unknown");
        assert_eq!(steps(&seen), ("FileSystemReadOnly", findings::Verdict::Stuck));
    }

    /// The mount table shows `rw`.
    #[test]
    fn an_ext4_that_has_counted_errors_since_the_boot_may_take_no_writes() {
        let mut seen = sample::mounted("ext4");
        *table(&mut seen) = vec![mount(1, "8:1", "/var/lib/kubelet", "ext4")];
        (volume(&mut seen).mounted, volume(&mut seen).entries) = (Seen::Seen(false), Some(1));
        (volume(&mut seen).vol_data, volume(&mut seen).plugin) = (VolData::NotCsi, "kubernetes.io/empty-dir".into());
        let with = |errors| vec![BlockStack { mounted: Dev { major: 8, minor: 1 }, devices: Vec::new(), errors }];
        seen.uptime_ms = 7_200_000;
        let boot_ms = seen.at_ms - seen.uptime_ms;
        for (errors, cause) in [
            (None, "VolumeFilesNotRemoved"),
            (Some(FileSystemErrors { count: 0, last_ms: 0 }), "VolumeFilesNotRemoved"),
            (Some(FileSystemErrors { count: 3, last_ms: boot_ms - 1000 }), "VolumeFilesNotRemoved"),
            (Some(FileSystemErrors { count: 3, last_ms: boot_ms + 1000 }), "FileSystemReadOnly"),
        ] {
            seen.block_stacks = with(errors);
            assert_eq!(causes(&seen), [cause], "{errors:?}");
        }
        let pod = judge(&seen).pods.remove(0);
        assert_eq!((pod.verdict, pod.findings[0].confidence), (findings::Verdict::Stuck, Confidence::Probable));
        assert_eq!(pod.findings[0].root, "FileSystemReadOnly:8:1");
        assert!(pod.findings[0].evidence.iter().any(|one| one.says.starts_with("3 errors, the last ")), "{pod:?}");
        // A pod that has just ended may have many files.
        seen.at_ms -= 3_600_000 - 30_000;
        assert_ne!(causes(&seen), ["FileSystemReadOnly"]);
    }

    #[test]
    fn the_option_that_was_seen_is_named() {
        let mut seen = sample::mounted("ext4");
        volume(&mut seen).mounted = Seen::Seen(false);
        (volume(&mut seen).vol_data, volume(&mut seen).plugin) = (VolData::NotCsi, "kubernetes.io/empty-dir".into());
        *table(&mut seen) = vec![mount(1, "8:1", "/var/lib/kubelet", "ext4")];
        table(&mut seen)[0].super_read_only = true;
        let says = |seen: &Observation| {
            let finding = crate::gates::judge(seen).pods.remove(0).findings.remove(0);
            assert_eq!(finding.cause.id, "FileSystemReadOnly");
            finding.evidence[0].says.clone()
        };
        assert_eq!(says(&seen), "ro, emergency_ro or shutdown in the super options of /var/lib/kubelet");
        table(&mut seen)[0].read_only_options = vec!["emergency_ro".into()];
        assert_eq!(says(&seen), "emergency_ro in the super options of /var/lib/kubelet");
    }

    /// A kubelet that was started again, and a driver that mounts without looking.
    #[test]
    fn two_mounts_on_one_path() {
        let mut seen = sample::mounted("ext4");
        let mut again = table(&mut seen)[0].clone();
        (again.id, again.parent) = (47, 46);
        table(&mut seen).push(again);
        assert_eq!(causes(&seen), ["VolumeMountedTwice"]);
        let text = serde_json::to_string(&crate::gates::judge(&seen).pods[0].findings).unwrap();
        assert!(text.contains("CSI driver exam.csi") && !text.contains("--root-dir"), "{text}");
    }

    /// It was propagated to below the bind, where it is hidden: `umount` takes both away.
    #[test]
    fn a_directory_that_is_bound_over_itself_is_no_second_mount() {
        let mut seen = sample::mounted("tmpfs");
        let of_one = causes(&seen);
        let mut copy = table(&mut seen)[0].clone();
        (table(&mut seen)[0].parent, copy.id, copy.parent) = (31, 47, 30);
        let (root, mut over) = (mount(30, "8:1", "/", "ext4"), mount(31, "8:1", "/var/lib/kubelet", "ext4"));
        over.parent = 30;
        table(&mut seen).extend([copy, root, over]);
        assert_eq!(causes(&seen), of_one);
    }

    /// What is mounted before is below the one, what is mounted after below both or the other alone.
    #[test]
    fn a_root_that_is_mounted_over_itself() {
        let mut seen = sample::mounted("tmpfs");
        volume(&mut seen).vol_data = VolData::NotCsi;
        let of_one = causes(&seen);
        let (mut root, mut over) =
            (mount(30, "8:1", "/var/lib/kubelet", "ext4"), mount(31, "8:1", "/var/lib/kubelet", "ext4"));
        (root.parent, over.parent) = (1, 30);
        table(&mut seen)[0].parent = 30;
        table(&mut seen).extend([root, over]);
        assert_eq!(causes(&seen), ["KubeletRootAmbiguous"]);
        let finding = crate::gates::judge(&seen).pods.remove(0).findings.remove(0);
        assert_eq!(finding.confidence, findings::Confidence::Proven);
        let evidence = |seen: &Observation| {
            let finding = crate::gates::judge(seen).pods.remove(0).findings.remove(0);
            finding.evidence.into_iter().map(|one| one.says).collect::<Vec<String>>()
        };
        let ends = |told: &[String], ends: &[&str]| {
            assert!(
                told.len() == ends.len() && told.iter().zip(ends).all(|(told, end)| told.ends_with(end)),
                "{told:?}"
            );
        };
        ends(&evidence(&seen), &["id 46 on 30", "id 31 on 30"]);
        // It stands on a mount that is hidden.
        let mut on_another = seen.clone();
        table(&mut on_another).push(mount(32, "0:50", "/var/lib/kubelet/pods", "tmpfs"));
        (table(&mut on_another)[0].parent, table(&mut on_another)[3].parent) = (32, 30);
        ends(&evidence(&on_another), &["id 46 on 32", "id 32 on 30", "id 31 on 30"]);
        let steps = |seen: &Observation| {
            serde_json::to_string(&crate::gates::judge(seen).pods[0].findings[0].remedy.steps).unwrap()
        };
        assert!(steps(&seen).contains("umount /var/lib/kubelet"), "{}", steps(&seen));
        let mut disk = seen.clone();
        table(&mut disk)[2].dev = Dev { major: 8, minor: 16 };
        assert!(!steps(&disk).contains("umount /"), "what was written since lies there: {}", steps(&disk));
        // Both are under `umount` of the path that leads to one of them.
        let mut again = table(&mut seen)[0].clone();
        (again.id, again.parent) = (47, 31);
        table(&mut seen).insert(1, again);
        assert_eq!(causes(&seen), of_one);
        // A root that is mounted over itself before anything is mounted below does no harm.
        table(&mut seen)[0].parent = 31;
        table(&mut seen)[1].parent = 46;
        assert_eq!(causes(&seen), ["VolumeMountedTwice"]);
        let root = |seen: &Observation| {
            let finding = crate::gates::judge(seen).pods.remove(0).findings.remove(0);
            finding.roots().next().unwrap().state.clone()
        };
        assert!(root(&seen).starts_with("the same thing, mounted 2 times"), "{}", root(&seen));
        table(&mut seen)[0].root = HostPath::from("/other");
        assert!(root(&seen).starts_with("mounted 2 times"), "{}", root(&seen));
    }

    #[test]
    fn a_sub_path_whose_target_was_deleted() {
        let mut seen = sample::mounted("tmpfs");
        let path = format!("/var/lib/kubelet/pods/{UID}/volume-subpaths/pv-1/app/0");
        let root = HostPath::from("/config/app.conf//deleted");
        table(&mut seen).push(Mount { root, ..mount(50, "0:41", &path, "tmpfs") });
        assert!(causes(&seen).contains(&"SubPathTargetMissing"));
        // It is there; and what was deleted elsewhere is no subPath.
        table(&mut seen)[1].root = HostPath::from("/config/app.conf");
        table(&mut seen)
            .push(Mount { root: HostPath::from("/config//deleted"), ..mount(51, "0:41", "/mnt/config", "tmpfs") });
        assert!(!causes(&seen).contains(&"SubPathTargetMissing"), "{:?}", causes(&seen));
    }

    /// Walking into a directory of the server that is a file system of its own mounts it there.
    #[test]
    fn what_an_unmount_takes_along_is_no_proof() {
        let mut seen = sample::mounted("nfs4");
        let path = table(&mut seen)[0].mount_point.join("projects");
        let mut below = mount(51, "0:60", path.as_str().unwrap(), "nfs4");
        below.parent = 46;
        table(&mut seen).push(below);
        let findings = crate::gates::judge(&seen).pods[0].findings.clone();
        let ids: Vec<_> = findings.iter().map(|finding| finding.cause.id).collect();
        assert_eq!(ids, ["CsiUnpublishLeftMount", "NestedMount"]);
        assert!(findings.iter().all(|finding| finding.confidence == findings::Confidence::Probable));
        table(&mut seen)[1].fs_type = "tmpfs".into();
        assert_eq!(causes(&seen), ["NestedMount"]);
    }

    #[test]
    fn a_mount_below_a_sub_path() {
        let mut seen = sample::mounted("ext4");
        pod_dir(&mut seen).sub_paths.push(sub_path(Seen::Seen(true), false));
        let path = sub_path(Seen::Missing, false).path;
        table(&mut seen).push(mount(50, "0:41", path.as_str().unwrap(), "ext4"));
        table(&mut seen).push(mount(51, "0:60", path.join("inner").as_str().unwrap(), "tmpfs"));
        assert!(causes(&seen).contains(&"NestedMount"));
    }

    #[test]
    fn a_sub_path_with_a_stale_handle() {
        let mut seen = sample::mounted("ext4");
        let fault = Fault::new("statx", (FaultKind::Stale, "/x: Stale file handle (os error 116)"));
        pod_dir(&mut seen).sub_paths.push(sub_path(Seen::Failed(fault), false));
        assert!(causes(&seen).contains(&"SubPathTargetMissing"));
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
