//! A volume is staged before it is mounted into a pod, and unstaged after: what is staged for nobody keeps its
//! device attached. While pods come and go, that is nothing to speak of.

use findings::{CauseRef, Finding, Placeholder, cause};

use super::{NotLookedFor, finding_builder::of_node, words};
use crate::observation::{Observation, PodDir, StagingMount, VolData};

/// Staging mounts that no pod on this node uses: their volumes cannot be detached.
pub fn find(seen: &Observation) -> Result<Vec<Finding>, NotLookedFor> {
    let cause = &cause::GLOBAL_MOUNT_LEFT;
    let volumes = seen.pod_dirs.get().into_iter().flatten().flat_map(|dir| dir.volumes.get().into_iter().flatten());
    let used: Vec<(&str, &str)> = volumes
        .filter_map(|volume| match &volume.vol_data {
            VolData::Read(data) => Some((data.driver.as_str(), data.handle.as_str())),
            _ => None,
        })
        .collect();
    // Pods that were not looked into may use it; their mounts tell.
    let is_left = |staging: &&StagingMount| {
        let by_data = match &staging.vol_data {
            VolData::Read(data) => used.contains(&(data.driver.as_str(), data.handle.as_str())),
            _ => false,
        };
        staging.used_by.is_empty() && !by_data
    };
    let is_quiet = |dir: &PodDir| cause.patience.has_passed(seen.at_ms.saturating_sub(dir.changed_ms));
    if !seen.pod_dirs.get().is_some_and(|dirs| dirs.iter().all(is_quiet)) {
        return Err(NotLookedFor(CauseRef(cause)));
    }
    let finding = |staging: &StagingMount| {
        of_node(seen, cause, None)
            .probable("that the kubelet does not still use it: its memory cannot be read")
            .blame(words::place(&staging.path), "staged for no pod of this node")
            .evidence(
                "mountinfo of the kubelet",
                format!("{} on {}, shown nowhere below pods/", staging.path.show(), staging.dev),
            )
            .name_if(Placeholder::Path, staging.path.as_str())
            .name(Placeholder::Driver, &staging.driver)
            .root(staging.path.show())
            .finish()
    };
    Ok(seen.staging.iter().filter(is_left).map(finding).collect())
}

#[cfg(test)]
mod tests {
    use crate::observation::{
        sample::{self, node_causes, pod_dir, volume},
        *,
    };

    #[test]
    fn what_no_pod_uses_is_left_once_the_pods_directories_are_quiet() {
        let mut seen = sample::mounted("ext4");
        let vol_data = volume(&mut seen).vol_data.clone();
        seen.staging.push(StagingMount {
            path: HostPath::from("/var/lib/kubelet/plugins/kubernetes.io/csi/exam.csi/d2e8/globalmount"),
            dev: Dev { major: 8, minor: 16 },
            driver: "exam.csi".into(),
            vol_data,
            used_by: Vec::new(),
        });
        assert_eq!(node_causes(&seen), [""; 0], "the pod's volume is the one that is staged");
        seen.staging[0].vol_data = VolData::Missing;
        assert_eq!(node_causes(&seen), ["GlobalMountLeft"]);
        pod_dir(&mut seen).changed_ms = seen.at_ms - 1_000;
        assert_eq!(node_causes(&seen), [""; 0], "pods come and go");
    }
}
