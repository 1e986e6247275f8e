//! Raw block volumes: the loop device the kubelet locks them with, what is built on it, and the driver that must
//! unpublish them.

use findings::{CauseRef, Confidence, Entity, Evidence, PodUid, Subject, Values};

use super::csi::{self, Presence};
use super::prelude::*;
use super::{NotLookedFor, block_device};

/// Loop devices on block volumes of pods that are gone.
pub fn find(seen: &Observation) -> Result<Vec<Finding>, NotLookedFor> {
    // The kubelet names the bind mount after the pod: …/volumeDevices/<volume>/dev/<pod uid>. Only of a pod that neither the
    // API nor the runtime knows is it certain that the device is left.
    let (Some(api), Some(runtime)) = (seen.api.get().filter(|api| api.stale.is_none()), seen.runtime.get()) else {
        return Err(NotLookedFor(CauseRef(&cause::LOOP_DEVICE_LEFT)));
    };
    let is_known = |uid: &PodUid| {
        api.pods.iter().any(|pod| pod.uid == *uid)
            || runtime.sandboxes.iter().any(|sandbox| sandbox.pod.uid == *uid && sandbox.ready)
    };
    let is_left = |device: &&LoopDevice| {
        let uid = device.file.as_path().file_name().and_then(|name| name.to_str()).and_then(PodUid::parse);
        let is_volume = device.file.as_path().components().any(|part| part.as_os_str() == "volumeDevices");
        is_volume && uid.is_some_and(|uid| !runtime.is_static(&uid) && !is_known(&uid))
    };
    Ok(seen.loops.iter().filter(is_left).map(|device| loop_left(seen, device, None)).collect())
}

/// The block volumes that are published for the pod, as far as the kubelet may wait for them.
pub fn published<'a>(view: &PodView<'a>) -> impl Iterator<Item = &'a VolumeDir> {
    // Past this gate it has forgotten them, and their driver has left what is there.
    let dir = view.dir.filter(|_| !view.has_passed_cgroup());
    dir.into_iter().flat_map(|dir| &dir.published)
}

/// Those whose link in the pod's directory the kubelet has removed (`UnmapBlockVolume`): it asks the driver next.
pub fn unlinked<'a>(view: &PodView<'a>) -> impl Iterator<Item = &'a VolumeDir> {
    published(view).filter(move |volume| !is_linked(view, volume))
}

fn is_linked(view: &PodView, volume: &VolumeDir) -> bool {
    view.dir.is_some_and(|dir| dir.devices.iter().any(|link| link.as_path().ends_with(&volume.name)))
}

/// The driver has not unpublished it, because it is gone or fails (`UnmapPodDevice`).
pub fn not_unpublished(view: &PodView, volume: &VolumeDir) -> Option<Finding> {
    let target = volume.target.get()?;
    let subject = findings::clean(&format!("raw block volume {} ({})", volume.name, volume.plugin), 160);
    let head = [Link::new(Subject::new(subject, Entity::volume(&volume.name)), "still published for the pod")];
    let known = csi::unusable(view, volume, &head).or_else(|| csi::not_registered(view, volume, &head));
    let mut finding = known.or_else(|| match csi::presence(view, volume) {
        Presence::Recent(since_ms) => csi::is_back(view, volume, since_ms, &head),
        Presence::Lasting | Presence::Untold(_) => csi::unpublish_fails(view, volume, &head)
            .filter(|finding| finding.confidence == Confidence::Proven || has_come_to_the_driver(view, volume)),
    })?;
    let says = if volume.mounted.get() == Some(&true) { "a device is bound there" } else { "exists, and is no file" };
    finding.evidence.push(Evidence::new(target.show(), says));
    if may_be_forgotten(view, volume) {
        finding.doubt(
            "that the kubelet still remembers it: it was started after the pod should have ended, and looks for links",
        );
    }
    Some(finding)
}

/// Link and bind mount of the device are gone, which the kubelet removes before (`UnmapBlockVolume`, pkg/volume/util).
fn has_come_to_the_driver(view: &PodView, volume: &VolumeDir) -> bool {
    let bound = format!("volumeDevices/{}/dev/{}", volume.name, view.uid());
    let mounts = view.seen.mounts.kubelet.get().map_or(&[][..], |table| &table.mounts);
    !is_linked(view, volume) && !mounts.iter().any(|mount| mount.mount_point.as_path().ends_with(&bound))
}

/// A kubelet that starts finds a block volume again by its link in the pod's directory (`getVolumesFromPodDir`).
fn may_be_forgotten(view: &PodView, volume: &VolumeDir) -> bool {
    let grace_ms = match view.why {
        DeletionReason::DeletionRequested(deletion) => {
            i64::try_from(deletion.grace_s).unwrap_or(0).saturating_mul(1000)
        }
        _ => 0,
    };
    let age_ms = view.seen.node.kubelet.get().and_then(|kubelet| i64::try_from(kubelet.age_ms).ok());
    let asked_ms = view.overdue_ms().map(|overdue| overdue.saturating_add(grace_ms));
    let is_younger = asked_ms.is_some_and(|asked| age_ms.is_none_or(|age| age < asked));
    is_younger && !is_linked(view, volume) && view.has_lowered_cpu() != Some(true)
}

/// A loop device on a published block volume is still attached.
pub fn loop_left(seen: &Observation, device: &LoopDevice, gate: Option<Gate>) -> Finding {
    let cause = if device.holders.is_empty() { &cause::LOOP_DEVICE_LEFT } else { &cause::BLOCK_DEVICE_HELD };
    let layers = device.layers.iter().map(|layer| block_device::layer(&layer.name, &layer.kind)).collect::<Vec<_>>();
    let holders = match (layers.as_slice(), device.holders.as_slice()) {
        ([], []) => String::new(),
        ([], holders) => format!("; used by {}", holders.join(", ")),
        (layers, _) => format!("; used by {}", layers.join(", ")),
    };
    let finding = node_finding(seen, cause, gate)
        .blame(
            describe::loop_device(&device.device),
            format!("its backing file is {}{holders}", describe::path(&device.file)),
        )
        .evidence(
            format!("/sys/block/{}/loop/backing_file", device.device.trim_start_matches("/dev/")),
            device.file.show(),
        )
        .name(Placeholder::Device, &device.device)
        .name_if(Placeholder::Path, device.file.as_str())
        .root(&device.device)
        .finish();
    take_off(finding, &device.layers)
}

/// The finding with the steps that take these layers off, the topmost first.
fn take_off(mut finding: Finding, layers: &[BlockLayer]) -> Finding {
    let with = |layer: &BlockLayer| match &layer.kind {
        BlockKind::Mapper { name, .. } => Some(finding.values.clone().with(Placeholder::Map, name)),
        BlockKind::Raid { .. } => Some(finding.values.clone().with(Placeholder::Raid, format!("/dev/{}", layer.name))),
        BlockKind::Loop { .. } | BlockKind::Disk { .. } => None,
    };
    let each: Vec<Values> = layers.iter().filter_map(with).collect();
    if !each.is_empty() {
        finding.take_steps_for(&each);
    }
    finding
}

#[cfg(test)]
mod tests {
    use crate::test_prelude::*;

    /// On the device that the pod's raw block volume is.
    fn loop_device(volume: &str) -> LoopDevice {
        let file = format!("/var/lib/kubelet/plugins/kubernetes.io/csi/volumeDevices/{volume}/dev/{UID}");
        let (dev, file) = (Dev { major: 7, minor: 0 }, HostPath::from(file.as_str()));
        LoopDevice { device: "/dev/loop0".into(), dev, file, deleted: false, holders: Vec::new(), layers: Vec::new() }
    }

    #[test]
    fn a_loop_device_of_a_pod_that_runs_is_not_left() {
        let mut seen = sample::running();
        seen.loops = vec![loop_device("pv")];
        assert_eq!(judge(&seen).node_findings, []);
        // Of one that was deleted by force the runtime may know yet.
        let is_left = |seen: &Observation| node_causes(seen).contains(&"LoopDeviceLeft");
        let mut forgotten = seen.clone();
        forgotten.api.get_mut().unwrap().pods.clear();
        assert!(!is_left(&forgotten));
        for (seen, left) in [(&mut forgotten, true), (&mut seen, false)] {
            sample::runtime(seen).sandboxes[0].ready = false;
            assert_eq!(is_left(seen), left);
        }
        let mut gone = sample::node();
        gone.loops = seen.loops;
        assert_eq!(judge(&gone).node_findings[0].finding.cause.id, "LoopDeviceLeft");
        gone.loops[0].file = HostPath::from(format!("/srv/disks/{UID}").as_str());
        assert_eq!(judge(&gone).node_findings, [], "it is no volume's");
    }

    fn unregistered() -> Observation {
        let mut seen = sample::published();
        seen.csi = Seen::Seen(Vec::new());
        seen
    }

    fn finding(seen: &Observation) -> findings::Finding {
        judge(seen).pods.remove(0).findings.remove(0)
    }

    /// Nothing is left below the pod's directory: systemd was blamed for the empty cgroup, and its slice to be stopped.
    #[test]
    fn a_block_volume_whose_driver_is_gone_holds_the_pod() {
        let seen = unregistered();
        assert_eq!(causes(&seen), ["CsiDriverNotRegistered"]);
        let report = judge(&seen);
        let pod = &report.pods[0];
        assert_eq!((pod.gate, pod.verdict), (Some(findings::Gate::VolumesUnmounted), findings::Verdict::Stuck));
        assert_eq!(pod.findings[0].confidence, Confidence::Proven, "{pod:#?}");
        let at = pod.gates.iter().find(|gate| gate.gate == findings::Gate::VolumesUnmounted).unwrap();
        assert_eq!(at.detail, "1 raw block volume");
        let json = serde_json::to_string(&pod.findings).unwrap();
        for word in [
            format!("volumeDevices/publish/pv-1/{UID}"),
            "volumeDevices/pv-1/data/vol_data.json".to_owned(),
            "driverName exam.csi".to_owned(),
            "no driver is registered".to_owned(),
        ] {
            assert!(json.contains(&word), "{word}: {json}");
        }
        assert!(!json.contains("systemctl"), "{json}");
        // Its socket is there, and it is not.
        let mut seen = sample::published();
        seen.csi.get_mut().unwrap()[0].info.get_mut().unwrap().listens = Seen::Missing;
        assert_eq!(causes(&seen), ["CsiDriverNotRegistered"]);
    }

    #[test]
    fn a_driver_that_is_there_is_not_said_to_be_gone() {
        let mut seen = sample::published();
        assert_eq!((causes(&seen), finding(&seen).confidence), (vec!["CsiUnpublishFails"], Confidence::Probable));
        let text = serde_json::to_string(&finding(&seen)).unwrap();
        assert!(text.contains("registered; the volume is still published"), "{text}");
        assert!(!text.contains("rmdir"), "{text}");
        let counted = |at_ms: u64, outcome: &str, count: u64| {
            let of = Operation::Csi { driver: "exam.csi".into(), method: "/csi.v1.Node/NodeUnpublishVolume".into() };
            CounterRead { at_ms, counters: vec![Counter { of, outcome: outcome.into(), count }] }
        };
        let read = |outcome: &str| {
            let earlier = Some(counted(sample::NOW - 200_000, outcome, 12));
            Seen::Seen(KubeletCounters { last: counted(sample::NOW, outcome, 14), earlier })
        };
        seen.kubelet_counters = read("Internal");
        assert_eq!((causes(&seen), finding(&seen).confidence), (vec!["CsiUnpublishFails"], Confidence::Proven));
        // It may be this one of which it said OK: then the kubelet waits for something else.
        seen.kubelet_counters = read("OK");
        assert_eq!((causes(&seen), sample::verdict(&seen)), (vec![], findings::Verdict::CannotTell));
        seen.csi.get_mut().unwrap()[0].info.get_mut().unwrap().since_ms = Seen::Seen(sample::NOW - 5_000);
        assert_eq!(causes(&seen), ["CsiDriverBack"]);
    }

    /// The kubelet removes the pod's link, then the bind mount of the device, and only then asks the driver.
    #[test]
    fn a_driver_that_was_not_asked_is_not_blamed() {
        let at = format!("/var/lib/kubelet/plugins/kubernetes.io/csi/volumeDevices/pv-1/dev/{UID}");
        let mut bound = sample::published();
        let mount = Mount { mount_point: HostPath::from(at.as_str()), ..sample::table(&mut bound)[0].clone() };
        sample::table(&mut bound).push(mount);
        let mut linked = sample::published();
        let link = format!("/var/lib/kubelet/pods/{UID}/volumeDevices/kubernetes.io~csi/pv-1");
        pod_dir(&mut linked).devices.push(HostPath::from(link.as_str()));
        for seen in [bound, linked] {
            assert!(!causes(&seen).contains(&"CsiUnpublishFails"), "{:?}", causes(&seen));
        }
    }

    #[test]
    fn what_remembers_a_block_volume_lies_beside_its_device() {
        let mut seen = unregistered();
        pod_dir(&mut seen).published[0].vol_data = VolData::Missing;
        assert_eq!(causes(&seen), ["VolDataMissing"]);
        let text = serde_json::to_string(&finding(&seen)).unwrap();
        assert!(text.contains("/csi/volumeDevices/pv-1/data/vol_data.json"), "{text}");
    }

    #[test]
    fn a_kubelet_that_was_started_later_may_have_forgotten_a_block_volume() {
        let mut seen = unregistered();
        seen.node.kubelet.get_mut().unwrap().age_ms = 3_620_000;
        let missing = |seen: &Observation| finding(seen).missing.unwrap_or_default();
        assert!(missing(&seen).starts_with("that the kubelet still remembers it"), "{}", missing(&seen));
        assert_eq!(causes(&seen), ["CsiDriverNotRegistered"]);
        // It has lowered the pod's share of the processors: it waits for volumes.
        seen.cgroups.get_mut().unwrap()[0].dirs[0].cpu_at_minimum = Some(true);
        assert_eq!(missing(&seen), "");
        seen.cgroups.get_mut().unwrap()[0].dirs[0].cpu_at_minimum = None;
        let link = format!("/var/lib/kubelet/pods/{UID}/volumeDevices/kubernetes.io~csi/pv-1");
        pod_dir(&mut seen).devices.push(HostPath::from(link.as_str()));
        assert_eq!(missing(&seen), "", "it found the link");
        let gates = judge(&seen).pods.remove(0).gates;
        assert!(gates.iter().any(|gate| gate.detail == "1 raw block volume"), "{gates:#?}");
    }

    /// The kubelet has not stopped at what the driver left.
    #[test]
    fn what_is_published_holds_nothing_once_the_cgroup_is_gone() {
        let mut seen = unregistered();
        seen.cgroups = Seen::Seen(Vec::new());
        assert_eq!(judge(&seen).pods[0].gate, Some(findings::Gate::ObjectRemoved));
        assert_eq!(causes(&seen), ["ObjectNotDeleted"]);
    }

    #[test]
    fn a_loop_device_is_detached_before_the_driver_is_asked() {
        let mut seen = unregistered();
        seen.loops.push(loop_device("pv-1"));
        assert_eq!(causes(&seen), ["LoopDeviceLeft"]);
    }

    #[test]
    fn a_block_device_with_something_built_on_it() {
        let mut seen = sample::mounted("ext4");
        let device = LoopDevice { holders: vec!["dm-3".into()], ..loop_device("pv") };
        seen.loops.push(device.clone());
        assert!(causes(&seen).contains(&"BlockDeviceHeld"));
        // What is built on what: the topmost goes first.
        let mapper = |name: &str| BlockKind::Mapper { name: name.into(), user: Some("LVM".into()), suspended: None };
        let layer = |name: &str, kind: BlockKind| BlockLayer { name: name.into(), kind };
        let layers = vec![
            layer("dm-5", mapper("vg-b")),
            layer("dm-4", mapper("vg-a")),
            layer("md127", BlockKind::Raid { state: "active".into() }),
        ];
        *seen.loops.last_mut().unwrap() = LoopDevice { holders: vec!["md127".into()], layers, ..device };
        let finding = finding(&seen);
        let root = finding.roots().next().unwrap();
        assert!(root.state.ends_with("used by dm-5 (LVM, vg-b), dm-4 (LVM, vg-a), RAID md127"), "{}", root.state);
        let commands: Vec<&str> = finding.remedy.steps.iter().filter_map(|step| step.command.as_deref()).collect();
        assert_eq!(
            commands,
            ["lsblk /dev/loop0", "dmsetup remove vg-b", "dmsetup remove vg-a", "mdadm --stop /dev/md127"]
        );
    }
}
