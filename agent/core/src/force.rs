//! What a forced deletion would cost: what of the pod would go on when its object is gone.

use std::collections::BTreeSet;

use findings::{ForceCost, ForcedVolume};

use crate::{
    causes::{container, csi, words},
    observation::{Process, VolumeDir},
    view::{PodView, RETRY_WINDOW_MS, Why},
};

/// More of them are told by their number.
const MOST: usize = 5;

/// Of a pod whose deletion was requested. None when nothing of it would go on.
pub fn cost(view: &PodView) -> Option<ForceCost> {
    if !matches!(view.why, Why::DeletionRequested(_)) {
        return None;
    }
    // A zombie writes nothing any more; one of its threads may.
    let writes = |process: &&Process| process.state != 'Z' || process.threads.iter().any(|thread| thread.state != 'Z');
    let in_cgroups = view.cgroup_nodes().flat_map(|(_, node)| node.procs.iter().copied());
    let inits = container::running(view).into_iter().filter_map(|container| container.pid.get().copied());
    let pids: BTreeSet<u32> = in_cgroups.chain(inits).collect();
    let living: Vec<&Process> = pids.into_iter().filter_map(|pid| view.process(pid)).filter(writes).collect();
    let volumes: Vec<ForcedVolume> = view
        .dir
        .into_iter()
        .flat_map(|dir| dir.volumes.get().into_iter().flatten())
        .filter_map(|one| volume(view, one))
        .collect();
    let unsaved = view.cgroup.and_then(|cgroup| cgroup.dirs.iter().find_map(|dir| dir.dirty_bytes));
    let names = living.iter().take(MOST).map(|process| words::process(process).text);
    let cost = ForceCost {
        processes: names.collect(),
        process_count: living.len(),
        volumes,
        unsaved_bytes: unsaved.filter(|bytes| *bytes > 0),
    };
    (cost.process_count > 0 || !cost.volumes.is_empty() || cost.unsaved_bytes.is_some()).then_some(cost)
}

fn volume(view: &PodView, volume: &VolumeDir) -> Option<ForcedVolume> {
    let mount = view.mount_at(volume.target.get().unwrap_or(&volume.path))?;
    let is_writable = !mount.read_only && !mount.super_read_only;
    // What is made for the pod alone, nobody else writes.
    let is_persistent = !matches!(
        volume.plugin.trim_start_matches("kubernetes.io/"),
        "configmap" | "secret" | "projected" | "downward-api" | "empty-dir" | "git-repo" | "image"
    );
    (is_writable && is_persistent).then(|| ForcedVolume {
        name: findings::clean(&volume.name, 253),
        path: mount.mount_point.show(),
        // Only what is attached to a node is detached from it.
        may_be_detached: volume.plugin == "kubernetes.io/csi" && mount.dev.major != 0,
        access_modes: access_modes(view, volume),
    })
}

/// Of one that a claim of the pod is bound to. Nobody is asked before it is late.
fn access_modes(view: &PodView, volume: &VolumeDir) -> Vec<String> {
    let is_claimed = view.api.is_some_and(|pod| !pod.volume_claims.is_empty()) && view.is_overdue_by(RETRY_WINDOW_MS);
    let known = is_claimed.then(|| csi::persistent_volume(view, volume)).flatten();
    known.map(|known| known.access_modes.iter().map(|mode| findings::clean(mode, 40)).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use crate::{
        gates::judge,
        observation::{
            Dev, PersistentVolume, Seen,
            sample::{self, INIT, table},
        },
    };

    #[test]
    fn processes_and_volumes_that_would_go_on_are_named() {
        let mut seen = sample::mounted("ext4");
        table(&mut seen)[0].dev = Dev { major: 8, minor: 16 };
        seen.processes = sample::running().processes;
        seen.cgroups = sample::cgroup(&[INIT]);
        let cost = judge(&seen).pods[0].force.clone().unwrap();
        assert_eq!((cost.processes.as_slice(), cost.process_count), (["pid 326 sh".to_owned()].as_slice(), 1));
        assert_eq!((cost.volumes[0].name.as_str(), cost.volumes[0].may_be_detached), ("pv-1", true));
        table(&mut seen)[0].read_only = true;
        assert!(judge(&seen).pods[0].force.clone().unwrap().volumes.is_empty());
    }

    #[test]
    fn how_a_volume_may_be_used_is_told_of_the_pods_own() {
        let mut seen = sample::mounted("ext4");
        let Seen::Seen(api) = &mut seen.api else { unreachable!() };
        api.pods[0].volume_claims = vec!["data-db-0".into()];
        api.volumes = vec![PersistentVolume {
            name: "pv-1".into(),
            driver: "exam.csi".into(),
            handle: "vol-1".into(),
            claim: Some("shop/data-db-0".into()),
            access_modes: vec!["ReadWriteOnce".into()],
        }];
        let modes = |seen: &crate::observation::Observation| {
            judge(seen).pods[0].force.clone().unwrap().volumes[0].access_modes.clone()
        };
        assert_eq!(modes(&seen), ["ReadWriteOnce"]);
        let Seen::Seen(api) = &mut seen.api else { unreachable!() };
        api.volumes[0].claim = Some("till/data-db-0".into());
        assert!(modes(&seen).is_empty(), "a stranger's of the same name");
    }

    #[test]
    fn what_is_not_on_disk_is_told_and_nothing_costs_nothing() {
        let mut seen = sample::mounted("ext4");
        table(&mut seen)[0].read_only = true;
        assert_eq!(judge(&seen).pods[0].force, None);
        seen.cgroups = sample::cgroup(&[]);
        let Seen::Seen(cgroups) = &mut seen.cgroups else { unreachable!() };
        cgroups[0].dirs[0].dirty_bytes = Some(4 << 20);
        assert_eq!(judge(&seen).pods[0].force.clone().unwrap().unsaved_bytes, Some(4 << 20));
    }
}
