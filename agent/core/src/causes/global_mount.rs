//! A volume is staged before it is mounted into a pod, and unstaged after. One that is staged for no pod keeps its device
//! attached. While pods come and go, that is normal.

use findings::{CauseRef, Patience};

use super::NotLookedFor;
use super::prelude::*;

/// Staging mounts that no pod on this node uses: their volumes cannot be detached.
pub fn find(seen: &Facts<'_>) -> Result<Vec<Finding>, NotLookedFor> {
    let cause = &cause::GLOBAL_MOUNT_LEFT;
    let volumes = seen.pod_dirs.get().into_iter().flatten().flat_map(|dir| dir.volumes.get().into_iter().flatten());
    let used: Vec<(&str, &str)> = volumes
        .filter_map(|volume| match &volume.vol_data {
            VolData::Read(data) => Some((data.driver.as_str(), data.handle.as_str())),
            _ => None,
        })
        .collect();
    // Pods that were not examined may use it; their mounts show that.
    let is_left = |staging: &&StagingMount| {
        let by_data = match &staging.vol_data {
            VolData::Read(data) => used.contains(&(data.driver.as_str(), data.handle.as_str())),
            _ => false,
        };
        staging.used_by.is_empty() && !by_data
    };
    let left: Vec<&StagingMount> = seen.staging.iter().filter(is_left).collect();
    if seen.pod_dirs.get().is_none() || (!left.is_empty() && !is_quiet(seen, &left, cause.patience)) {
        return Err(NotLookedFor(CauseRef(cause)));
    }
    let finding = |staging: &StagingMount| {
        node_finding(seen, cause, None)
            .probable("that the kubelet does not still use it: its memory cannot be read")
            .blame(describe::file(&staging.path), "staged for no pod of this node")
            .evidence(
                "mountinfo of the kubelet",
                format!("{} on {}, shown nowhere below pods/", staging.path.show(), staging.dev),
            )
            .mounted(seen, Placeholder::Path, &staging.path)
            .name(Placeholder::Driver, &staging.driver)
            .root(staging.path.show())
            .finish()
    };
    Ok(left.into_iter().map(finding).collect())
}

/// Whether nothing shows that one of these has just been staged for a pod, or is just being unstaged after one: the kubelet
/// unstages a volume after its last pod, and the directory of that pod is often gone before the driver answers.
fn is_quiet(seen: &Facts<'_>, left: &[&StagingMount], patience: Patience) -> bool {
    let has_passed = |time_ms: u64| patience.has_passed(seen.at_ms.saturating_sub(time_ms));
    // Asked last, as it looks into the directories of all pods.
    let is_unchanged = || {
        !seen.is_settled(Question::VolumesChanged)
            || match &seen.volumes_changed_ms {
                Seen::Seen(changed_ms) => has_passed(*changed_ms),
                // An observation of an older agent.
                Seen::Missing => true,
                Seen::Failed(_) | Seen::NotAsked => false,
            }
    };
    let mut dirs = seen.pod_dirs.get().into_iter().flatten();
    dirs.all(|dir: &PodDir| has_passed(dir.changed_ms))
        && left.iter().all(|staging| staging.staged_ms.is_none_or(has_passed))
        && !seen.api.get().into_iter().flat_map(|api| &api.pods).any(|pod| is_in_the_making(seen, pod))
        && is_unchanged()
}

/// Whether a pod waits for its volumes: none of its containers starts before each of them is mounted.
fn is_in_the_making(seen: &Observation, pod: &ApiPod) -> bool {
    let volumes = seen.node.kubelet_root.join("pods").join(pod.uid.as_str()).join("volumes");
    let is_own = |plugin: &str| plugin.starts_with("kubernetes.io~csi") || !plugin.starts_with("kubernetes.io~");
    let mounts = seen.mounts.kubelet.get().into_iter().flat_map(|table| &table.mounts);
    let mounted = mounts.filter(|mount| mount.mount_point.relative_to(&volumes).is_some_and(|below| is_own(&below)));
    pod.phase == "Pending" && pod.deletion.is_none() && mounted.count() < pod.volume_claims.len()
}

#[cfg(test)]
mod tests {
    use crate::test_prelude::*;

    #[test]
    fn what_no_pod_uses_is_left_once_the_pods_directories_are_quiet() {
        let mut seen = sample::mounted("ext4");
        let vol_data = volume(&mut seen).vol_data.clone();
        seen.staging.push(StagingMount { vol_data, ..sample::staging_mount() });
        assert_eq!(node_causes(&seen), [""; 0], "the pod's volume is the one that is staged");
        seen.staging[0].vol_data = VolData::Missing;
        assert_eq!(node_causes(&seen), ["GlobalMountLeft"]);
        pod_dir(&mut seen).changed_ms = seen.at_ms - 1_000;
        assert_eq!(node_causes(&seen), [""; 0], "pods come and go");
    }

    /// Staged a day ago, by all that is visible, for no pod.
    fn left() -> Observation {
        let mut seen = sample::node();
        seen.staging.push(StagingMount { staged_ms: Some(NOW - 86_400_000), ..sample::staging_mount() });
        seen.volumes_changed_ms = Seen::Seen(sample::NOW - 86_400_000);
        seen
    }

    fn is_told(seen: &Observation) -> bool {
        let report = crate::gates::judge(seen);
        let not_looked_for = report.not_looked_for.iter().any(|cause| cause.0.id == "GlobalMountLeft");
        let is_reported = !report.node_findings.is_empty();
        assert_ne!(is_reported, not_looked_for, "it is reported, or reported as not looked for");
        is_reported
    }

    /// Its pod's directory is gone, or its own volume is gone from it, and the driver has not answered yet.
    #[test]
    fn what_is_just_being_unstaged_is_not_left() {
        let mut seen = left();
        assert!(is_told(&seen));
        seen.volumes_changed_ms = Seen::Seen(sample::NOW - 5_000);
        assert!(!is_told(&seen));
        // A clock that was set back.
        seen.volumes_changed_ms = Seen::Seen(sample::NOW + 86_400_000);
        assert!(!is_told(&seen));
        seen.volumes_changed_ms = Seen::failed("/pods", (FaultKind::Denied, "no"));
        assert!(!is_told(&seen));
    }

    /// The driver has staged it, and the pod's own mount comes next.
    #[test]
    fn what_has_just_been_staged_is_not_left() {
        let mut seen = left();
        seen.staging[0].staged_ms = Some(sample::NOW - 5_000);
        assert!(!is_told(&seen));
        // It took the driver long, and only the pod that waits shows that.
        let mut seen = left();
        let Seen::Seen(other) = sample::deleted().api else { unreachable!() };
        let pod = ApiPod {
            deletion: None,
            phase: "Pending".into(),
            volume_claims: vec!["data".into()],
            ..other.pods[0].clone()
        };
        seen.api.get_mut().unwrap().pods.push(pod);
        assert!(!is_told(&seen));
        // It has all its volumes, and waits for its image.
        let at = format!("/var/lib/kubelet/pods/{}/volumes/", sample::UID);
        for (dir, told) in [("kubernetes.io~secret/token", false), ("kubernetes.io~csi/pv-2/mount", true)] {
            sample::table(&mut seen).push(sample::mount(50, "8:32", &format!("{at}{dir}"), "ext4"));
            assert_eq!(is_told(&seen), told, "{dir}");
        }
    }

    #[test]
    fn nobody_looks_at_all_volumes_where_nothing_is_left() {
        let asks = |seen: &Observation| crate::plan::plan(seen).contains(&Question::VolumesChanged);
        let mut seen = left();
        seen.volumes_changed_ms = Seen::NotAsked;
        assert!(asks(&seen));
        seen.staging.clear();
        assert!(!asks(&seen));
    }
}
