//! Gate `VolumesUnmounted`: why a volume of the pod is still there.

use findings::{Confidence, Entity, Subject};

use super::csi::{self, Presence};
use super::prelude::*;
use super::{
    block_volume, fuse, holder, immutable_file, in_flight_descriptor, kubelet_operations, mount_copy, mounts,
    multipath, orphan, socket_candidate, stray_file, unmounting,
};

/// What the kubelet sees of the pod's volumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// Volume targets that are mount points.
    pub mounted: usize,
    /// Volume directories that are no mount points: not torn down.
    pub directories: usize,
    /// Raw block volumes that are not unmapped.
    pub devices: usize,
    /// Entries that make the kubelet's own look fail, or its removal.
    pub obstacles: usize,
}

impl Left {
    pub fn count(view: &PodView) -> Left {
        let volumes = || counted(view);
        let mounted = volumes().filter(|volume| volume.mounted.get() == Some(&true)).count();
        let sub_paths =
            view.dir.into_iter().flat_map(|dir| &dir.sub_paths).filter(|s| s.mounted.get() == Some(&true)).count();
        Left {
            mounted: mounted + sub_paths,
            directories: volumes().count() - mounted,
            devices: view.dir.map_or(0, |dir| dir.devices.len()) + block_volume::unlinked(view).count(),
            obstacles: view.dir.map_or(0, |dir| dir.strays.len()) + usize::from(orphan::left_file(view).is_some()),
        }
    }

    /// Whether the kubelet still waits for volumes. A volume directory that is left has not been
    /// torn down; the kubelet's memory, which cannot be read, still holds it.
    pub fn anything(&self) -> bool {
        self.mounted + self.directories + self.devices + self.obstacles > 0
    }
}

/// The volumes' directories that the kubelet looks at.
fn counted<'a>(view: &PodView<'a>) -> impl Iterator<Item = &'a VolumeDir> {
    let volumes = view.dir.into_iter().flat_map(|dir| dir.volumes.get().into_iter().flatten());
    // Of an orphan the kubelet removes it at once, unless it remembers a volume.
    let is_orphan = view.why == DeletionReason::NotInApi;
    volumes.filter(move |volume| is_orphan || !volume.is_only_a_husk())
}

/// What holds the pod's volumes.
pub fn find(view: &PodView) -> Vec<Finding> {
    let Some(dir) = view.dir else { return Vec::new() };
    let mut findings = stray_file::find(view, dir);
    findings.extend(mounts::deleted_sub_paths(view));
    findings.extend(dir.sub_paths.iter().filter_map(|sub_path| mounts::stale_sub_path(view, sub_path)));
    let busy = dir.sub_paths.iter().filter(|sub_path| sub_path.mounted.get() == Some(&true));
    findings.extend(busy.filter_map(|sub_path| sub_path_busy(view, sub_path)));
    for volume in counted(view) {
        findings.extend(volume_findings(view, volume));
    }
    let is_its = |device: &&LoopDevice| device.file.as_path().ends_with(view.uid().as_str());
    let loops: Vec<&LoopDevice> = view.seen.loops.iter().filter(is_its).collect();
    findings.extend(loops.iter().map(|device| block_volume::loop_left(view.seen, device, VOLUMES)));
    if loops.is_empty() {
        // With a loop device the kubelet does not come to the driver.
        findings.extend(block_volume::published(view).filter_map(|volume| block_volume::not_unpublished(view, volume)));
    }
    if Left::count(view).mounted == 0 && view.has_passed_cgroup() {
        // The kubelet has not stopped at what is left.
        let missing = "that the kubelet still waits for it: it has removed the pod's cgroup already";
        findings.iter_mut().for_each(|finding| finding.doubt(missing));
    }
    let proven = findings.iter().any(|finding| finding.confidence == Confidence::Proven);
    if proven {
        // A guess beside a proof only distracts: it is most likely an effect of it.
        findings.retain(|finding| finding.confidence == Confidence::Proven);
    }
    let mut distinct: Vec<Finding> = Vec::new();
    for finding in findings {
        if distinct.iter().all(|known| known.root != finding.root) {
            distinct.push(finding);
        }
    }
    distinct
}

/// Who outside of a pod that runs would hold its volumes.
pub fn would_be_busy(view: &PodView) -> Vec<Finding> {
    let volumes = mounted(view).flat_map(|(volume, mount)| holder::find(view, volume, mount, &head(volume, "mounted")));
    let of_sub_path = |(sub_path, mount)| holder::sub_path(view, mount, &sub_path_head(sub_path));
    volumes.chain(mounted_sub_paths(view).filter_map(of_sub_path)).collect()
}

/// The mounts whose search does not prove that there is no holder, and why.
pub fn not_searched(view: &PodView) -> Vec<(String, String)> {
    let all = mounted(view).map(|(_, mount)| mount).chain(mounted_sub_paths(view).map(|(_, mount)| mount));
    all.filter_map(|mount| Some((describe::mount(mount).text, holder::not_searched(view, mount)?))).collect()
}

fn mounted<'a>(view: &PodView<'a>) -> impl Iterator<Item = (&'a VolumeDir, &'a Mount)> {
    counted(view).filter_map(|volume| Some((volume, view.mount_at(volume.target.get().unwrap_or(&volume.path))?)))
}

fn mounted_sub_paths<'a>(view: &PodView<'a>) -> impl Iterator<Item = (&'a SubPath, &'a Mount)> {
    let all = view.dir.into_iter().flat_map(|dir| &dir.sub_paths);
    all.filter_map(|sub_path| Some((sub_path, view.mount_at(&sub_path.path)?)))
}

/// `volume data (kubernetes.io/empty-dir)`.
pub(super) fn head(volume: &VolumeDir, state: &str) -> Vec<Link> {
    let subject = findings::clean(&format!("volume {} ({})", volume.name, volume.plugin), 160);
    vec![Link::new(Subject::new(subject, Entity::volume(&volume.name)), state)]
}

fn volume_findings(view: &PodView, volume: &VolumeDir) -> Vec<Finding> {
    let target = volume.target.get().unwrap_or(&volume.path);
    let mount = view.mount_at(target);
    let head = head(volume, if mount.is_some() { "mounted" } else { "not a mount point, but not torn down" });
    let mut findings = mounts::nested(view, target, &head);
    findings.extend(mounts::hidden(view, target, &head));
    findings.extend(csi::unusable(view, volume, &head));
    findings.extend(mount_copy::find(view, volume, target, &head));
    if let Some(mount) = mount {
        findings.extend(fuse::gone(view, mount, &head, VOLUMES));
        findings.extend(fuse::silent_volume(view, mount, &head, VOLUMES));
        findings.extend(unmounting::nfs_server(view, mount, &head, VOLUMES));
        findings.extend(multipath::stale(view, mount, &head));
        findings.extend(holder::find(view, volume, mount, &head));
    }
    // Without its driver the kubelet does not even come to the mount.
    if findings.iter().all(|finding| finding.cause.is_outranked_by(&cause::CSI_DRIVER_NOT_REGISTERED)) {
        findings.extend(csi::not_registered(view, volume, &head));
        Finding::drop_outranked(&mut findings);
    }
    if findings.is_empty() {
        findings.extend(mounts::twice(view, volume, target, &head));
        findings.extend(mount.and_then(|mount| mounts::failed(view, volume, mount, &head)));
        findings.extend(mounts::read_only(view, target, &head));
        findings.extend(mount.and_then(|mount| plugin_removed(view, volume, mount, &head)));
    }
    if findings.is_empty() {
        findings.extend(match mount {
            Some(mount) => left_mounted(view, volume, mount, &head),
            None => not_removed(view, volume, target, &head),
        });
        findings.extend(mounts::automounts(view, target, &head));
    }
    findings
}

/// It is no mount point, and its directory is there.
fn not_removed(view: &PodView, volume: &VolumeDir, target: &HostPath, head: &[Link]) -> Option<Finding> {
    // Neither a driver nor the kubelet removes a directory with files in it, which shows; what the driver answers may not.
    let holds_files = !volume.is_made_for_the_pod() && volume.entries.is_some_and(|entries| entries > 0);
    let is_enough = |of_driver: &Finding| !holds_files || of_driver.confidence == Confidence::Proven;
    let known = back(view, volume, head)
        .filter(is_enough)
        .or_else(|| csi::unpublish_fails(view, volume, head).filter(is_enough))
        .or_else(|| immutable_file::find(view, volume, target, head))
        .or_else(|| mounts::after_errors(view, volume, target, head))
        .or_else(|| mounts::directory_left(view, volume, target, head));
    let waiting = if view.is_overdue_by(UNMOUNT_RETRY_MS) { unmounting::detached(view, volume, head) } else { None };
    match (known, waiting) {
        (Some(known), Some(_)) if known.confidence == Confidence::Proven => Some(unmounting::drop_removal(known)),
        (known, waiting) => waiting.or(known),
    }
}

/// Its driver has just come back.
fn back(view: &PodView, volume: &VolumeDir, head: &[Link]) -> Option<Finding> {
    match csi::presence(view, volume) {
        Presence::Recent(since_ms) => csi::is_back(view, volume, since_ms, head),
        Presence::Lasting | Presence::Untold(_) => None,
    }
}

/// Nothing holds it. The driver says OK and leaves the mount, or the kubelet's next try will do.
fn left_mounted(view: &PodView, volume: &VolumeDir, mount: &Mount, head: &[Link]) -> Option<Finding> {
    let searched = view.holders(&mount.mount_point);
    let nobody = view.sees_every_holder()
        && searched.is_some_and(|search| search.holders.is_empty() && search.behind_unread_tables == 0);
    let is_late = view.is_overdue_by(UNMOUNT_RETRY_MS);
    let mut untold = None;
    if nobody && let Some(finding) = socket_candidate::find_linked(view, mount, head) {
        return Some(finding);
    }
    if !is_late
        && nobody
        && matches!(csi::presence(view, volume), Presence::Lasting)
        && let Some(failing) = csi::answers_errors(view, volume, mount, head)
    {
        return Some(failing);
    }
    if is_late && nobody {
        match csi::presence(view, volume) {
            Presence::Recent(since_ms) => return csi::is_back(view, volume, since_ms, head),
            Presence::Untold(why) => untold = Some(why),
            Presence::Lasting => {}
        }
        let unserved = fuse::not_found(view, mount, head, VOLUMES);
        if unserved.is_some() {
            return unserved;
        }
        let known =
            csi::left_mounted(view, volume, mount, head).or_else(|| not_reconstructed(view, volume, mount, head));
        // A driver that is just back may not have been asked yet.
        let known = known.filter(|_| untold.is_none());
        let is_proven = known.as_ref().is_some_and(|known| known.confidence == Confidence::Proven);
        let sent = if is_proven { None } else { in_flight_descriptor::find(view, mount, head) };
        let known = sent.or_else(|| known.map(|known| in_flight_descriptor::add_evidence(view, known)));
        let known = known.map(|known| socket_candidate::add_evidence(view, mount, known));
        // One such socket of the host is a candidate for each volume of the node, so whatever is known comes before.
        let known = known.or_else(|| socket_candidate::find(view, mount, head));
        if let Some(finding) = known.or_else(|| in_flight_descriptor::find_unseen(view, mount, head)) {
            return Some(finding);
        }
    }
    let says = match searched {
        Some(search) => describe::searched(search),
        None => "no search was made".to_owned(),
    };
    let answer = if nobody && !is_late { csi::answer(view, volume) } else { None };
    let (answer, tries) = match answer {
        Some(answer) => answer,
        // Until then the next try may do.
        None => (None, is_late.then(|| kubelet_operations::unmount(view, volume)).flatten()),
    };
    let state = match tries.as_ref().and_then(kubelet_operations::Tries::failure) {
        Some(_) => "its unmount fails, and nothing was found that holds it",
        None => "nothing was found that holds it",
    };
    let state = [state].into_iter().chain(answer.as_deref()).collect::<Vec<_>>().join("; ");
    let draft = pod_finding(view, &cause::VOLUME_MOUNTED_NO_HOLDER, VOLUMES, head)
        .probable("who holds it, or why its unmount fails")
        .blame(describe::mount(mount), state)
        .evidence("search for holders", says)
        .name_if(Placeholder::Path, mount.mount_point.as_str())
        .root(mount.mount_point.show());
    let draft = holder::add_unlisted(searched, draft);
    let draft = match untold {
        Some(why) => draft.evidence("CSI driver", format!("since when the driver has been there is unknown: {why}")),
        None => draft,
    };
    let is_counted = is_late || tries.is_some() || answer.is_some();
    let draft = if is_counted { kubelet_operations::add_evidence(view, tries.as_ref(), draft) } else { draft };
    Some(draft.finish())
}

/// The kubelet was started after the pod's deadline, and a volume it makes itself is still mounted
/// though nothing holds it: it has not found the volume again on disk.
fn not_reconstructed(view: &PodView, volume: &VolumeDir, mount: &Mount, head: &[Link]) -> Option<Finding> {
    let kubelet = view.seen.node.kubelet.get()?;
    let restarted = i64::try_from(kubelet.age_ms).ok()? < view.overdue_ms()?;
    let is_own = mount.fs_type == "tmpfs" && volume.plugin.starts_with("kubernetes.io/");
    if !restarted || !is_own {
        return None;
    }
    let draft = pod_finding(view, &cause::VOLUME_NOT_RECONSTRUCTED, VOLUMES, head)
        .probable("the kubelet's memory of its volumes, which nothing shows from outside")
        .blame(describe::mount(mount), "the kubelet was started later and does not unmount it")
        .evidence(format!("/proc/{}/stat", kubelet.pid), format!("the kubelet runs {}", describe::age(kubelet.age_ms)))
        .evidence("search for holders", describe::missing_holder(view.holders(&mount.mount_point)).1)
        .mounted(view.seen, Placeholder::Path, &mount.mount_point)
        .root(mount.mount_point.show());
    Some(draft.finish())
}

/// In-tree plugins a current kubelet may still have (`pkg/volume` of 1.24 to 1.36).
const IN_TREE: [&str; 15] = [
    "configmap", "csi", "downward-api", "empty-dir", "fc", "flexvolume", "git-repo", "host-path", "image", "iscsi",
    "local-volume", "nfs", "portworx-volume", "projected", "secret",
];

/// The volume was mounted by a plugin that this kubelet no longer has.
fn plugin_removed(view: &PodView, volume: &VolumeDir, mount: &Mount, head: &[Link]) -> Option<Finding> {
    // From 1.31 on the last cloud and Ceph plugins are gone; before that the list differs by release.
    let plugin = volume.plugin.strip_prefix("kubernetes.io/").filter(|_| view.kubelet.0 >= 31)?;
    if IN_TREE.contains(&plugin) {
        return None;
    }
    let draft = pod_finding(view, &cause::VOLUME_PLUGIN_REMOVED, VOLUMES, head)
        .blame(format!("plugin {}", volume.plugin), format!("kubelet 1.{} has no plugin of this name", view.kubelet.0))
        .evidence(volume.path.show(), "the directory is named after its plugin")
        .mounted(
            view.seen,
            if mount.needs_server() { Placeholder::Mount } else { Placeholder::Path },
            &mount.mount_point,
        )
        .root(&volume.plugin);
    Some(draft.finish())
}

/// The kubelet cleans subPaths before the volume; one that is busy stops it there.
fn sub_path_busy(view: &PodView, sub_path: &SubPath) -> Option<Finding> {
    let head = sub_path_head(sub_path);
    let mount = view.mount_at(&sub_path.path)?;
    holder::sub_path(view, mount, &head).or_else(|| mounts::nested_in_sub_path(view, sub_path, &head))
}

fn sub_path_head(sub_path: &SubPath) -> [Link; 1] {
    let subject =
        findings::clean(&format!("subPath of volume {} in container {}", sub_path.volume, sub_path.container), 160);
    [Link::new(Subject::new(subject, Entity::path(&sub_path.path.show())), "mounted")]
}

#[cfg(test)]
mod tests {
    use crate::test_prelude::*;

    #[test]
    fn a_volume_nobody_holds_is_at_first_only_on_its_way() {
        let mut seen = sample::mounted("ext4");
        sample::set_deadline(&mut seen, sample::NOW - 60_000, 30);
        assert_eq!(causes(&seen), ["VolumeMountedNoHolder"]);
        assert_eq!(verdict(&seen), Verdict::Progressing);
    }

    #[test]
    fn a_plugin_that_the_kubelet_no_longer_has() {
        let mut seen = sample::mounted("ext4");
        volume(&mut seen).plugin = "kubernetes.io/rbd".into();
        volume(&mut seen).vol_data = VolData::NotCsi;
        assert_eq!(causes(&seen), ["VolumePluginRemoved"]);
        seen.api.get_mut().unwrap().kubelet_version = Some("v1.29.0".into());
        assert_eq!(causes(&seen), ["VolumeMountedNoHolder"]);
    }

    /// An umount of CephFS waits for its server, as the old kubelet's own would.
    #[test]
    fn what_a_removed_plugin_left_is_unmounted_when_its_server_answers() {
        let commands = |fs_type: &str, plugin: &str| {
            let mut seen = sample::mounted(fs_type);
            volume(&mut seen).plugin = plugin.into();
            volume(&mut seen).vol_data = VolData::NotCsi;
            assert_eq!(causes(&seen), ["VolumePluginRemoved"]);
            let mut report = crate::gates::judge(&seen);
            let steps = report.pods.remove(0).findings.remove(0).remedy.steps;
            steps.into_iter().map(|step| step.command.unwrap_or(step.text)).collect::<Vec<_>>()
        };
        let is_umount = |step: &String| step.starts_with("umount ");
        assert!(commands("ext4", "kubernetes.io/rbd").iter().any(is_umount));
        for fs_type in ["ceph", "fuse.ceph-fuse"] {
            let steps = commands(fs_type, "kubernetes.io/cephfs");
            assert!(!steps.iter().any(is_umount), "{steps:#?}");
            assert!(steps[0].starts_with("See first that the server of /var/lib/kubelet/"), "{steps:#?}");
        }
    }

    #[test]
    fn what_a_removed_plugin_has_unmounted_holds_nothing() {
        let mut seen = sample::mounted("ext4");
        volume(&mut seen).plugin = "kubernetes.io/rbd".into();
        volume(&mut seen).vol_data = VolData::NotCsi;
        volume(&mut seen).mounted = Seen::Seen(false);
        sample::table(&mut seen).clear();
        assert!(!causes(&seen).contains(&"VolumePluginRemoved"), "{:?}", causes(&seen));
    }

    #[test]
    fn a_secret_that_a_restarted_kubelet_forgot() {
        let mut seen = sample::mounted("tmpfs");
        volume(&mut seen).plugin = "kubernetes.io/secret".into();
        volume(&mut seen).vol_data = VolData::NotCsi;
        assert_eq!(causes(&seen), ["VolumeMountedNoHolder"]);
        seen.node.kubelet.get_mut().unwrap().age_ms = 600_000;
        assert_eq!(causes(&seen), ["VolumeNotReconstructed"]);
    }

    /// Who looks from a namespace whose mounts could not be read may hold it.
    #[test]
    fn a_search_that_did_not_see_everybody_finds_nobody_only() {
        let mut seen = sample::mounted("ext4");
        assert_eq!(causes(&seen), ["CsiUnpublishLeftMount"]);
        let says = |seen: &Observation| serde_json::to_string(&crate::gates::judge(seen).pods[0].findings).unwrap();
        assert!(says(&seen).contains("no process holds the mount"));
        seen.holders[0].unreadable = 2;
        assert_eq!(causes(&seen), ["CsiUnpublishLeftMount"]);
        assert!(
            says(&seen).contains("none holds it; 2 could not be looked at")
                && !says(&seen).contains("nothing holds it")
        );
        seen.holders[0].behind_unread_tables = 1;
        assert_eq!(causes(&seen), ["VolumeMountedNoHolder"]);
    }

    /// It may be held in there.
    #[test]
    fn a_namespace_without_a_process_is_said_to_be_not_searched() {
        let mut seen = sample::mounted("ext4");
        volume(&mut seen).vol_data = VolData::NotCsi;
        seen.holders[0].unsearched_namespaces = 1;
        assert_eq!(causes(&seen), ["VolumeMountedNoHolder"]);
        let text = serde_json::to_string(&judge(&seen).pods[0].findings[0].evidence).unwrap();
        assert!(text.contains("not searched: 1 mount namespace without a process, kept by a bind mount"), "{text}");
        let how = HeldBy::Fd { fd: 5, path: HostPath::from("/data/journal") };
        seen.holders[0].holders = vec![Holder { copy: CopyKind::Detached, how, ..sample::holder() }];
        assert_eq!(causes(&seen), ["VolumeMountedNoHolder"]);
        let evidence = judge(&seen).pods[0].findings[0].evidence.clone();
        let unlisted = evidence.iter().find(|one| one.source == "/proc/700/fdinfo/5").unwrap();
        assert!(unlisted.says.ends_with("on a mount that is in no mount table"), "{}", unlisted.says);
    }
}
