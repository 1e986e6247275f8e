//! A device that is to be detached, and that a private copy of its mount keeps in use. It holds no
//! pod: on today's kernels a copy never does.

use super::prelude::*;

/// The copies that keep the devices of unstaged volumes in use.
pub fn find(seen: &Facts<'_>) -> Vec<Finding> {
    let patience = cause::DEVICE_PINNED_BY_PRIVATE_COPY.patience;
    let is_lasting = |volume: &&UnstagedVolume| patience.has_passed(seen.at_ms.saturating_sub(volume.changed_ms));
    let lasting: Vec<&UnstagedVolume> = seen.unstaged.iter().filter(is_lasting).collect();
    // Only where a staging directory without a mount meets a file system that lives on without one are
    // the other namespaces searched.
    if !lasting.is_empty() && seen.is_settled(Question::UnmountedDevices) && !seen.unmounted_devices.is_empty() {
        let ends = lasting.iter().filter_map(|volume| volume.path.relative_to(&seen.node.kubelet_root));
        ends.for_each(|end| _ = seen.is_settled(Question::MountCopies(end)));
    }
    lasting.into_iter().filter_map(|volume| Some(finding(seen, volume, copy_of(seen, volume)?))).collect()
}

fn copy_of<'a>(seen: &'a Observation, volume: &UnstagedVolume) -> Option<&'a MountCopy> {
    let is_pinning = |copy: &&MountCopy| {
        let mount = &copy.mount;
        let is_private = mount.shared.is_none() && mount.master.is_none();
        is_private
            && seen.unmounted_devices.contains(&mount.dev)
            && copy.is_copy_of(&volume.path, &seen.node.kubelet_root)
    };
    seen.mount_copies.iter().find(is_pinning)
}

fn finding(seen: &Observation, volume: &UnstagedVolume, copy: &MountCopy) -> Finding {
    describe::name_copy_holder(node_finding(seen, &cause::DEVICE_PINNED_BY_PRIVATE_COPY, None), copy)
        // The driver may have another reason not to finish.
        .probable("whether the driver has another reason not to finish")
        .link(describe::file(&volume.path), format!("unmounted; its device {} is still in use", copy.mount.dev))
        .blame(describe::pid(copy.pid, &copy.comm, copy.state), describe::copy_state(copy))
        .evidence("mountinfo of the kubelet", format!("no mount of {}", copy.mount.dev))
        .evidence(
            format!("/proc/{}/mountinfo", copy.pid),
            format!("{} on {}, private", copy.mount.mount_point.show(), copy.mount.dev),
        )
        .evidence(format!("/sys/fs/{}", copy.mount.fs_type), format!("the file system of {} lives", copy.mount.dev))
        .name(Placeholder::Driver, &volume.driver)
        .name_if(Placeholder::Path, volume.path.as_str())
        .root(format!("{}:{}", copy.ns, copy.mount.dev))
        .finish()
}

#[cfg(test)]
mod tests {
    use crate::test_prelude::*;

    /// Unstaged an hour ago; a node exporter has kept the staged mount.
    fn unstaged() -> Observation {
        let mut seen = sample::node();
        let dir = "plugins/kubernetes.io/csi/exam.csi/d2e8/globalmount";
        let path = HostPath::from(format!("/var/lib/kubelet/{dir}").as_str());
        seen.unstaged = vec![UnstagedVolume { driver: "exam.csi".into(), path, changed_ms: NOW - 3_600_000 }];
        seen.mount_copies = vec![mount_copy("8:16", &format!("/host/var/lib/kubelet/{dir}"))];
        seen.unmounted_devices = vec![Dev { major: 8, minor: 16 }];
        seen
    }

    #[test]
    fn a_private_copy_of_a_staged_mount_pins_the_device_and_no_pod() {
        let report = judge(&unstaged());
        assert_eq!(node_causes(&unstaged()), ["DevicePinnedByPrivateCopy"]);
        assert_eq!((report.node_findings[0].pods.len(), report.pods.len()), (0, 0));
        assert_eq!(report.node_findings[0].finding.confidence, findings::Confidence::Probable);
    }

    /// The search is dear.
    #[test]
    fn mounts_are_searched_only_where_a_file_system_lives_without_one() {
        let searches = |seen: &Observation| {
            let asked = crate::plan::plan(seen);
            asked.iter().any(|question| matches!(question, Question::MountCopies(_)))
        };
        let mut seen = unstaged();
        assert!(searches(&seen));
        seen.unstaged.clear();
        assert!(!searches(&seen));
        let mut seen = unstaged();
        seen.unmounted_devices.clear();
        seen.asked.insert(Question::UnmountedDevices);
        assert!(!searches(&seen));
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
}
