//! CSI: the file that remembers a volume, the driver that must unpublish it.

use super::kubelet_operations::{self, Tries};
use super::prelude::*;

/// Whether the kubelet does not even try to unmount this volume: then it needs no holder.
pub fn is_not_tried(view: &PodView, volume: &VolumeDir) -> bool {
    match &volume.vol_data {
        VolData::Missing | VolData::Unusable(_) => true,
        VolData::Read(data) => view.csi_drivers().is_some_and(|drivers| {
            let is_other = |driver: &CsiDriver| !is_silent(driver) && !is_called(driver, &data.driver);
            drivers.iter().all(is_other)
        }),
        VolData::NotCsi | VolData::Failed(_) => false,
    }
}

/// Whether its name is not known. A socket without a listener is left by a driver, and no driver.
fn is_silent(driver: &CsiDriver) -> bool {
    driver.info.fault().is_some_and(|fault| fault.kind != FaultKind::Refused)
}

fn is_called(driver: &CsiDriver, name: &str) -> bool {
    driver.info.get().is_some_and(|info| info.name == name)
}

/// `vol_data.json` is missing or of no use: the kubelet cannot even build the operation and fails
/// ten times a second without an event.
pub fn unusable(view: &PodView, volume: &VolumeDir, head: &[Link]) -> Option<Finding> {
    let says = match &volume.vol_data {
        VolData::Missing => "does not exist".to_owned(),
        VolData::Unusable(why) => why.clone(),
        VolData::NotCsi | VolData::Read(_) | VolData::Failed(_) => return None,
    };
    let file = volume.path.join("vol_data.json");
    let draft = pod_finding(view, &cause::VOL_DATA_MISSING, VOLUMES, head)
        .blame(describe::file(&file), &says)
        .evidence(file.show(), &says)
        .name_if(Placeholder::VolData, file.as_str())
        .name_if(Placeholder::Driver, known(view, volume).map(|known| known.driver.clone()))
        .name_if(Placeholder::Json, rewritten(view, volume))
        .root(file.show());
    Some(draft.finish())
}

/// The file's content, from what else remembers the volume.
fn rewritten(view: &PodView, volume: &VolumeDir) -> Option<String> {
    let known = known(view, volume)?;
    let json = serde_json::json!({
        "attachmentID": attachment_id(&known.handle, &known.driver, &view.seen.node.name),
        "driverName": known.driver,
        "nodeName": view.seen.node.name,
        "specVolID": volume.name,
        "volumeHandle": known.handle,
        "volumeLifecycleMode": "Persistent",
    });
    Some(json.to_string())
}

/// How the kubelet names the attachment of a volume (`pkg/volume/csi/csi_attacher.go`
/// `getAttachmentName`).
fn attachment_id(handle: &str, driver: &str, node: &str) -> String {
    use sha2::{Digest, Sha256};
    let digest = Sha256::digest(format!("{handle}{driver}{node}"));
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("csi-{hex}")
}

/// Driver and handle: of the PersistentVolume, else of the staging directory that shows the same
/// file system.
fn known(view: &PodView, volume: &VolumeDir) -> Option<PersistentVolume> {
    if let Some(of_api) = persistent_volume(view, volume) {
        return Some(of_api.clone());
    }
    let target = volume.path.join("mount");
    let staging = view.seen.staging.iter().find(|staging| staging.used_by.contains(&target))?;
    let VolData::Read(data) = &staging.vol_data else { return None };
    let (driver, handle) = (data.driver.clone(), data.handle.clone());
    Some(PersistentVolume { name: volume.name.clone(), driver, handle, claim: None, access_modes: Vec::new() })
}

/// The pod's own PersistentVolume of this name, of the API server.
pub fn persistent_volume<'a>(view: &PodView<'a>, volume: &VolumeDir) -> Option<&'a PersistentVolume> {
    let api = view.seen.api.get()?;
    view.seen.is_settled(Question::PersistentVolume(volume.name.clone()));
    api.volumes.iter().find(|known| known.name == volume.name).filter(|known| is_claimed(view, known))
}

/// Whether the pod itself uses the claim of this PersistentVolume. An inline volume may have the name of a stranger's,
/// and its directory is called like it.
fn is_claimed(view: &PodView, known: &PersistentVolume) -> bool {
    let claim = known.claim.as_deref().and_then(|claim| claim.split_once('/'));
    claim.zip(view.api).is_some_and(|((namespace, name), pod)| {
        pod.namespace == namespace && pod.volume_claims.iter().any(|claimed| claimed == name)
    })
}

/// The driver that must unpublish the volume is not registered with the kubelet.
pub fn not_registered(view: &PodView, volume: &VolumeDir, head: &[Link]) -> Option<Finding> {
    let VolData::Read(data) = &volume.vol_data else { return None };
    let drivers = view.csi_drivers()?;
    let this = drivers.iter().find(|driver| is_called(driver, &data.driver));
    let listens = this.and_then(|driver| driver.info.get()).and_then(|info| info.listens.get().copied());
    // A driver whose socket did not answer in time may be this one: then nothing is claimed.
    let silent = drivers.iter().filter(|driver| is_silent(driver)).count();
    let state = match (this, listens) {
        (None, _) if silent == 0 && drivers.iter().all(|driver| driver.info.fault().is_none()) => {
            "no registration socket of it in plugins_registry"
        }
        (None, _) if silent == 0 => "no driver that answers in plugins_registry has this name",
        (None, _) => "none of the registered drivers has this name; some registration sockets did not report theirs",
        (Some(_), Some(false)) => "registered, but no process listens on its socket",
        (Some(driver), None) if driver.info.get().is_some_and(|info| info.listens == Seen::Missing) => {
            "registered, but its socket does not exist"
        }
        _ => return None,
    };
    let mut draft = pod_finding(view, &cause::CSI_DRIVER_NOT_REGISTERED, VOLUMES, head)
        .blame(describe::csi_driver(&data.driver), state)
        .evidence(volume.path.join("vol_data.json").show(), format!("driverName {}", data.driver))
        .evidence(view.seen.node.kubelet_root.join("plugins_registry").show(), registered(view))
        .name(Placeholder::Driver, &data.driver)
        .name_if(Placeholder::PluginDir, view.seen.node.kubelet_root.join("plugins").join(&data.driver).as_str())
        .root(&data.driver);
    if silent > 0 {
        draft = draft.probable("the names of the drivers behind some registration sockets");
    }
    Some(draft.finish())
}

fn registered(view: &PodView) -> String {
    let drivers = view.csi_drivers().into_iter().flatten();
    let names: Vec<String> =
        drivers.clone().filter_map(|driver| driver.info.get()).map(|info| findings::clean(&info.name, 80)).collect();
    let left = drivers.filter(|driver| driver.info.fault().is_some() && !is_silent(driver));
    let left: Vec<String> = left.map(|driver| driver.socket.show()).collect();
    match (names.is_empty(), left.is_empty()) {
        (true, true) => "no driver is registered".to_owned(),
        (true, false) => format!("no driver answers; no process listens at {}", left.join(", ")),
        (false, true) => format!("registered: {}", names.join(", ")),
        (false, false) => format!("registered: {}; no process listens at {}", names.join(", "), left.join(", ")),
    }
}

/// For how long a volume's driver is there.
pub enum Presence {
    /// Long enough for the kubelet to have tried since. Also what an observation of an older agent leaves out.
    Lasting,
    /// Not so long: since then, in milliseconds since the epoch.
    Recent(u64),
    /// It is unknown, for this reason.
    Untold(String),
}

/// A clock is read before the sockets are looked at.
const AT_ONCE_MS: u64 = 10_000;

/// For how long the driver that must unpublish the volume is there, by the times of its sockets.
pub fn presence(view: &PodView, volume: &VolumeDir) -> Presence {
    let VolData::Read(data) = &volume.vol_data else { return Presence::Lasting };
    let this = view.csi_drivers().into_iter().flatten().find(|driver| is_called(driver, &data.driver));
    let at_ms = view.seen.at_ms;
    match this.and_then(|driver| driver.info.get()).map(|info| &info.since_ms) {
        Some(Seen::Seen(since_ms)) if *since_ms > at_ms.saturating_add(AT_ONCE_MS) => {
            Presence::Untold("the time of its socket lies in the future".to_owned())
        }
        Some(Seen::Seen(since_ms)) if at_ms.saturating_sub(*since_ms) < UNMOUNT_RETRY_MS => Presence::Recent(*since_ms),
        Some(Seen::Failed(fault)) => Presence::Untold(findings::clean(&fault.to_string(), 200)),
        Some(Seen::Seen(_) | Seen::Missing | Seen::NotAsked) | None => Presence::Lasting,
    }
}

/// The driver is there since a moment ago: whatever the kubelet tried before that, its next try is due. Not of one that
/// comes back again and again: a driver that crashes on each call has always just come back.
pub fn is_back(view: &PodView, volume: &VolumeDir, since_ms: u64, head: &[Link]) -> Option<Finding> {
    let VolData::Read(data) = &volume.vol_data else { return None };
    let tries = kubelet_operations::unpublish(view, &data.driver);
    let failing = tries.as_ref().filter(|tries| tries.fails_now());
    let known_ms = view.driver_back_ms().filter(|ms| view.seen.at_ms.saturating_sub(*ms) >= UNMOUNT_RETRY_MS);
    if failing.is_some() || known_ms.is_some() {
        return Some(comes_again(view, volume, tries.as_ref(), since_ms, known_ms, head));
    }
    let (since, next) =
        (describe::time_of_day(since_ms), describe::time_of_day(since_ms.saturating_add(UNMOUNT_RETRY_MS)));
    let draft = pod_finding(view, &cause::CSI_DRIVER_BACK, VOLUMES, head)
        .probable("whether the kubelet has asked it since: nothing shows when it tried last")
        .blame(describe::csi_driver(&data.driver), format!("there since {since}; the kubelet tries again by {next}"))
        .evidence(view.seen.node.kubelet_root.join("plugins_registry").show(), registered(view))
        .evidence("its sockets", format!("the younger one was made at {since}"))
        .name(Placeholder::Driver, &data.driver)
        .root(&data.driver);
    Some(draft.finish())
}

/// The kubelet has asked it, in this life or in an earlier one, and the volume is still there.
fn comes_again(
    view: &PodView,
    volume: &VolumeDir,
    tries: Option<&Tries<'_>>,
    since_ms: u64,
    known_ms: Option<u64>,
    head: &[Link],
) -> Finding {
    let draft = pod_finding(view, &cause::CSI_UNPUBLISH_FAILS, VOLUMES, head)
        .evidence("its sockets", format!("the younger one was made at {}", describe::time_of_day(since_ms)));
    let anew = format!("there anew since {}", describe::time_of_day(since_ms));
    match tries.filter(|tries| tries.fails_now()).and_then(|tries| tries.failure().zip(tries.earlier_ms)) {
        Some((code, from_ms)) if from_ms >= since_ms => fails(view, volume, tries, answers(code), draft),
        Some((code, _)) => {
            let draft = draft.probable("whether it has been asked since it is there anew");
            fails(view, volume, tries, format!("{}; {anew}", answers(code)), draft)
        }
        None => {
            let draft = draft.probable("how it answers a call to unpublish the volume: see its log");
            let known = describe::time_of_day(known_ms.unwrap_or(since_ms));
            fails(view, volume, tries, format!("was just back at {known} already; {anew}"), draft)
        }
    }
}

/// Whether nothing is found but drivers that have come back: then it goes on by itself.
pub fn is_awaited(findings: &[Finding]) -> bool {
    !findings.is_empty() && findings.iter().all(|finding| finding.cause.id == cause::CSI_DRIVER_BACK.id)
}

/// Nothing holds the mount, and all that its driver is known to answer are errors.
pub fn answers_errors(view: &PodView, volume: &VolumeDir, mount: &Mount, head: &[Link]) -> Option<Finding> {
    let VolData::Read(data) = &volume.vol_data else { return None };
    let tries = kubelet_operations::unpublish(view, &data.driver).filter(|tries| tries.failure().is_some())?;
    let (held, _) = describe::missing_holder(view.holders(&mount.mount_point));
    let draft = pod_finding(view, &cause::CSI_UNPUBLISH_FAILS, VOLUMES, head).link(describe::mount(mount), held);
    Some(fails(view, volume, Some(&tries), failure_state(volume, Some(&tries)), draft))
}

/// What is known of the driver's answer as long as nothing shows that it fails, and how its calls end.
///
/// A connection that stays open shows no call without an answer. `/proc/<kubelet>/net/unix` lists what the driver has accepted
/// from the host's network, but not who connected: sidecars keep such connections, and most calls begin before the deadline.
pub fn answer<'a>(view: &PodView<'a>, volume: &VolumeDir) -> Option<(Option<String>, Option<Tries<'a>>)> {
    let VolData::Read(data) = &volume.vol_data else { return None };
    let driver = describe::csi_driver(&data.driver).text;
    let tries = kubelet_operations::unpublish(view, &data.driver);
    let says = match &tries {
        None => Some(format!("which answer {driver} gives is not visible")),
        Some(tries) => tries.unanswered_ms().map(|ms| {
            format!("{driver} has answered no NodeUnpublishVolume in the last {}", findings::duration(ms / 1000))
        }),
    };
    Some((says, tries))
}

/// Registered and alive, nothing holds the mount, and it is still there: the driver answered OK and left it (then the
/// kubelet never tries again), or it keeps failing, which only the kubelet's counters show.
pub fn left_mounted(view: &PodView, volume: &VolumeDir, mount: &Mount, head: &[Link]) -> Option<Finding> {
    let VolData::Read(data) = &volume.vol_data else { return None };
    let failing = answers_errors(view, volume, mount, head);
    if failing.is_some() {
        return failing;
    }
    let tries = kubelet_operations::unpublish(view, &data.driver);
    let (held, searched) = describe::missing_holder(view.holders(&mount.mount_point));
    let (state, lacks) = match tries.as_ref().is_some_and(Tries::only_succeeds) {
        true => (
            "answered OK to NodeUnpublishVolume, and the target is still mounted",
            "whether that answer was about this volume: the kubelet's counters name none",
        ),
        false => (
            "registered, and it has not unmounted this target",
            "whether the driver answered OK or fails: the kubelet's counters do not show it",
        ),
    };
    let vol_data = volume.path.join("vol_data.json");
    let draft = pod_finding(view, &cause::CSI_UNPUBLISH_LEFT_MOUNT, VOLUMES, head)
        .probable(lacks)
        .link(describe::mount(mount), held)
        .blame(describe::csi_driver(&data.driver), state)
        .evidence("search for holders", searched)
        .evidence(view.seen.node.kubelet_root.join("plugins_registry").show(), registered(view))
        .name(Placeholder::Driver, &data.driver)
        // Where a server is needed, umount waits for it as the driver may have done.
        .mounted(
            view.seen,
            if mount.needs_server() { Placeholder::Mount } else { Placeholder::Path },
            &mount.mount_point,
        )
        // Of a pod that is gone already the kubelet may remember the volume.
        .name_if(Placeholder::VolData, vol_data.as_str().filter(|_| view.why != DeletionReason::NotInApi))
        .root(mount.mount_point.show());
    Some(kubelet_operations::add_evidence(view, tries.as_ref(), draft).finish())
}

/// A raw block volume is published elsewhere than its `vol_data.json` is, and to a file.
fn is_block(volume: &VolumeDir) -> bool {
    volume.target.get().is_some_and(|target| !target.is_within(&volume.path))
}

/// How it is known that it fails.
fn failure_state(volume: &VolumeDir, tries: Option<&Tries<'_>>) -> String {
    match tries.and_then(Tries::failure) {
        Some(code) => answers(code),
        None if is_block(volume) => "registered; the volume is still published".to_owned(),
        None => "registered; its target is not mounted, and the volume is still not cleaned up".to_owned(),
    }
}

fn answers(code: &str) -> String {
    format!("answers {} to NodeUnpublishVolume", findings::clean(code, 40))
}

/// The driver answers with an error, each time as far as is known.
fn fails(
    view: &PodView,
    volume: &VolumeDir,
    tries: Option<&Tries<'_>>,
    state: String,
    draft: FindingBuilder,
) -> Finding {
    let VolData::Read(data) = &volume.vol_data else { return draft.finish() };
    let target = volume.target.get().cloned().unwrap_or_else(|| volume.path.join("mount"));
    let draft = draft
        .blame(describe::csi_driver(&data.driver), state)
        .evidence(view.seen.node.kubelet_root.join("plugins_registry").show(), registered(view))
        .name(Placeholder::Driver, &data.driver)
        .name_if(Placeholder::Path, target.as_str().filter(|_| !is_block(volume)))
        .root(target.show())
        .probable_unless(
            tries.is_some_and(Tries::proves_failure),
            "the driver's answers: the kubelet's counters do not show each of them",
        );
    kubelet_operations::add_evidence(view, tries, draft).finish()
}

/// Not mounted, remembered, its driver registered: the driver keeps failing on a target it has
/// already unpublished. Or a raw block volume that it has not.
pub fn unpublish_fails(view: &PodView, volume: &VolumeDir, head: &[Link]) -> Option<Finding> {
    let VolData::Read(data) = &volume.vol_data else { return None };
    view.csi_drivers()?;
    let tries = kubelet_operations::unpublish(view, &data.driver);
    let draft = pod_finding(view, &cause::CSI_UNPUBLISH_FAILS, VOLUMES, head);
    let draft = match is_block(volume) {
        // Whatever it has left: the kubelet has forgotten the volume.
        true if tries.as_ref().is_some_and(Tries::only_succeeds) => return None,
        true => draft,
        false => draft.evidence(volume.path.join("mount").show(), "not a mount point"),
    };
    Some(fails(view, volume, tries.as_ref(), failure_state(volume, tries.as_ref()), draft))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_prelude::*;

    #[test]
    fn an_attachment_is_named_as_a_recorded_kubelet_named_it() {
        let recorded = "csi-9e1bf7a6e123347ecfca9697c5dd0605d5cbc657125d53026f4f8f578106763b";
        assert_eq!(attachment_id("vol-1", "exam.csi.example.com", "node-a"), recorded);
    }

    #[test]
    fn a_driver_that_is_not_registered_is_named() {
        let mut seen = sample::mounted("ext4");
        seen.csi = Seen::Seen(Vec::new());
        assert_eq!(causes(&seen), ["CsiDriverNotRegistered"]);
        let text = |seen: &Observation| serde_json::to_string(&crate::gates::judge(seen).pods[0].findings).unwrap();
        assert!(text(&seen).contains("no driver is registered"));
        // Its socket is there, and it is not.
        seen.csi = sample::mounted("ext4").csi;
        assert!(text(&seen).contains("\"registered: exam.csi\""), "and nothing of sockets that were left behind");
        let drivers = seen.csi.get_mut().unwrap();
        drivers[0].info.get_mut().unwrap().listens = Seen::Seen(false);
        assert_eq!(causes(&seen), ["CsiDriverNotRegistered"]);
        assert!(text(&seen).contains("registered, but no process listens on its socket"));
        // It could not be asked which drivers there are: nothing is said of them.
        seen.csi = Seen::failed("/var/lib/kubelet/plugins_registry", (FaultKind::Denied, "Permission denied"));
        assert_eq!(causes(&seen), ["CsiUnpublishLeftMount"]);
    }

    /// What a driver that has died leaves.
    #[test]
    fn a_registration_socket_at_which_nobody_listens_is_no_driver() {
        let mut seen = sample::mounted("ext4");
        let refuse = |seen: &mut Observation, kind: FaultKind| {
            let drivers = seen.csi.get_mut().unwrap();
            drivers[0].info = Seen::failed(&drivers[0].socket, (kind, "Connection refused"));
        };
        refuse(&mut seen, FaultKind::Refused);
        assert_eq!(causes(&seen), ["CsiDriverNotRegistered"]);
        let finding = crate::gates::judge(&seen).pods.remove(0).findings.remove(0);
        assert_eq!(finding.confidence, findings::Confidence::Proven);
        let text = serde_json::to_string(&finding).unwrap();
        assert!(text.contains("no driver answers; no process listens at /reg.sock"), "{text}");
        assert!(text.contains("no driver that answers in plugins_registry has this name"), "{text}");
        refuse(&mut seen, FaultKind::TimedOut);
        let finding = crate::gates::judge(&seen).pods.remove(0).findings.remove(0);
        assert_eq!((finding.cause.id, finding.confidence), ("CsiDriverNotRegistered", findings::Confidence::Probable));
    }

    /// The directory of an inline volume is called like the volume, and so may be a stranger's PersistentVolume.
    #[test]
    fn only_the_pods_own_volume_is_written_down_again() {
        let mut seen = sample::mounted("ext4");
        volume(&mut seen).vol_data = VolData::Missing;
        seen.api.get_mut().unwrap().volumes = vec![sample::persistent_volume()];
        let writes = |seen: &Observation| {
            assert_eq!(causes(seen), ["VolDataMissing"]);
            let finding = crate::gates::judge(seen).pods.remove(0).findings.remove(0);
            finding.remedy.steps.iter().any(|step| step.command.as_ref().is_some_and(|run| run.contains("printf")))
        };
        assert!(!writes(&seen), "the pod uses no claim");
        let set = |seen: &mut Observation, namespace: &str, claim: &str| {
            let api = seen.api.get_mut().unwrap();
            (api.pods[0].namespace, api.pods[0].volume_claims) = (namespace.into(), vec![claim.into()]);
        };
        set(&mut seen, "till", "data-db-0");
        assert!(!writes(&seen), "it is another namespace's");
        set(&mut seen, "shop", "data-db-1");
        assert!(!writes(&seen));
        set(&mut seen, "shop", "data-db-0");
        assert!(writes(&seen));
    }

    /// The API server does not show its PersistentVolume; where the volume is staged, its type is recorded.
    #[test]
    fn a_volume_is_written_down_again_from_what_its_staging_directory_says() {
        let mut seen = sample::mounted("ext4");
        let target = volume(&mut seen).path.join("mount");
        volume(&mut seen).vol_data = VolData::Missing;
        let staged = CsiVolume { driver: "exam.csi".into(), handle: "vol-of-the-staging".into(), ..Default::default() };
        seen.staging = vec![StagingMount {
            dev: Dev { major: 0, minor: 41 },
            vol_data: VolData::Read(staged),
            used_by: vec![target],
            ..sample::staging_mount()
        }];
        let json = |seen: &Observation| {
            assert_eq!(causes(seen), ["VolDataMissing"]);
            serde_json::to_string(&crate::gates::judge(seen).pods[0].findings).unwrap()
        };
        assert!(json(&seen).contains("vol-of-the-staging"), "{}", json(&seen));
        seen.staging[0].used_by.clear();
        assert!(!json(&seen).contains("vol-of-the-staging"), "it is staged for another volume");
    }

    fn set_since(seen: &mut Observation, since_ms: Seen<u64>) {
        seen.csi.get_mut().unwrap()[0].info.get_mut().unwrap().since_ms = since_ms;
    }

    /// As on a real node: the driver was gone for a while, and the answer was `umount` although the kubelet's next try did
    /// it.
    #[test]
    fn a_driver_that_is_just_back_is_waited_for() {
        let mut seen = sample::mounted("ext4");
        set_since(&mut seen, Seen::Seen(sample::NOW - 72_000));
        assert_eq!(causes(&seen), ["CsiDriverBack"]);
        assert_eq!(sample::verdict(&seen), findings::Verdict::Progressing);
        let finding = crate::gates::judge(&seen).pods.remove(0).findings.remove(0);
        let root = finding.roots().next().unwrap();
        assert_eq!(root.state, "there since 14:12:08Z; the kubelet tries again by 14:14:10Z");
        let commands: Vec<&String> = finding.remedy.steps.iter().filter_map(|step| step.command.as_ref()).collect();
        assert!(commands.iter().all(|command| !command.contains("umount")), "{commands:?}");
        // It has not unmounted it either: then it was asked, and did not.
        set_since(&mut seen, Seen::Seen(sample::NOW - 122_000));
        assert_eq!(causes(&seen), ["CsiUnpublishLeftMount"]);
        set_since(&mut seen, Seen::Missing);
        assert_eq!(causes(&seen), ["CsiUnpublishLeftMount"], "an older agent did not look");
        // What it answered before it went says nothing of what it will.
        set_since(&mut seen, Seen::Seen(sample::NOW - 5_000));
        table(&mut seen).clear();
        volume(&mut seen).mounted = Seen::Seen(false);
        assert_eq!(causes(&seen), ["CsiDriverBack"]);
        // Its next try removes no directory that holds files.
        volume(&mut seen).entries = Some(2);
        assert_eq!(causes(&seen), ["MountDirectoryLeft"]);
        assert_eq!(sample::verdict(&seen), findings::Verdict::Stuck);
    }

    /// One that crashes on each call, or touches its socket, always has a young one.
    #[test]
    fn a_driver_that_comes_back_again_and_again_is_not_waited_for() {
        let counted = |at_ms: u64, count: u64| {
            let of =
                Operation::Csi { driver: "exam.csi".into(), method: "/csi.v1.Node/NodeUnpublishVolume".to_owned() };
            CounterRead { at_ms, counters: vec![Counter { of, outcome: "Unavailable".into(), count }] }
        };
        let failing = |seen: &mut Observation, earlier_ms: u64, before: u64| {
            let earlier = Some(counted(earlier_ms, before));
            seen.kubelet_counters = Seen::Seen(KubeletCounters { last: counted(sample::NOW, 14), earlier });
        };
        for is_mounted in [true, false] {
            let mut seen = sample::mounted("ext4");
            if !is_mounted {
                table(&mut seen).clear();
                volume(&mut seen).mounted = Seen::Seen(false);
                seen.cgroups = sample::cgroup(&[]);
            }
            set_since(&mut seen, Seen::Seen(sample::NOW - 72_000));
            assert_eq!(causes(&seen), ["CsiDriverBack"]);
            failing(&mut seen, sample::NOW - 200_000, 12);
            assert_eq!(causes(&seen), ["CsiUnpublishFails"], "mounted: {is_mounted}");
            assert_eq!(sample::verdict(&seen), findings::Verdict::Stuck);
            let finding = crate::gates::judge(&seen).pods.remove(0).findings.remove(0);
            assert_eq!(finding.confidence, findings::Confidence::Probable);
            let root = finding.roots().next().unwrap();
            assert_eq!(root.state, "answers Unavailable to NodeUnpublishVolume; there anew since 14:12:08Z");
            // Since it is back it has been asked already.
            failing(&mut seen, sample::NOW - 60_000, 12);
            assert_eq!(causes(&seen), ["CsiUnpublishFails"]);
            let finding = crate::gates::judge(&seen).pods.remove(0).findings.remove(0);
            assert_eq!(finding.confidence, findings::Confidence::Proven);
            failing(&mut seen, sample::NOW - 200_000, 14);
            assert_eq!(causes(&seen), ["CsiDriverBack"], "none has failed meanwhile");
            // Without the counters, who looks again and again remembers.
            seen.kubelet_counters = Seen::Missing;
            let waited = |seen: &mut Observation, ms: u64| {
                seen.api.get_mut().unwrap().heard.driver_back.insert(sample::pod().uid, sample::NOW - ms);
            };
            waited(&mut seen, 121_000);
            assert_eq!(causes(&seen), ["CsiDriverBack"]);
            waited(&mut seen, 600_000);
            assert_eq!(causes(&seen), ["CsiUnpublishFails"], "mounted: {is_mounted}");
            assert_eq!(sample::verdict(&seen), findings::Verdict::Stuck);
            let finding = crate::gates::judge(&seen).pods.remove(0).findings.remove(0);
            let root = finding.roots().next().unwrap();
            assert_eq!(root.state, "was just back at 14:03:20Z already; there anew since 14:12:08Z");
        }
    }

    #[test]
    fn a_holder_is_named_beside_a_driver_that_is_back() {
        let mut seen = sample::mounted("ext4");
        set_since(&mut seen, Seen::Seen(sample::NOW - 5_000));
        seen.holders[0].holders.push(Holder { comm: "du".into(), mount_ns: 9, ..sample::holder() });
        assert_eq!(causes(&seen), ["VolumeHeldByProcess"]);
    }

    /// A clock that was set back, or a driver that plays with it; and one whose socket has gone meanwhile.
    #[test]
    fn a_driver_of_an_odd_age_is_blamed_for_nothing() {
        let gone = Seen::failed("/reg.sock", (FaultKind::Gone, "has gone while it was looked at"));
        for odd in [Seen::Seen(sample::NOW + 86_400_000), Seen::Seen(u64::MAX), gone] {
            let mut seen = sample::mounted("ext4");
            set_since(&mut seen, odd.clone());
            assert_eq!(causes(&seen), ["VolumeMountedNoHolder"], "{odd:?}");
            assert_eq!(sample::verdict(&seen), findings::Verdict::CannotTell);
            let text = serde_json::to_string(&crate::gates::judge(&seen).pods[0].findings).unwrap();
            assert!(text.contains("since when the driver has been there is unknown"), "{text}");
            assert!(!text.contains("umount /"), "{text}");
        }
        // Made between two looks at the clock.
        let mut seen = sample::mounted("ext4");
        set_since(&mut seen, Seen::Seen(sample::NOW + 900));
        assert_eq!(causes(&seen), ["CsiDriverBack"]);
    }

    #[test]
    fn nobody_is_told_to_unmount_what_may_wait_for_its_server() {
        let steps = |fs_type: &str| {
            let seen = sample::mounted(fs_type);
            assert_eq!(causes(&seen), ["CsiUnpublishLeftMount"]);
            let remedy = crate::gates::judge(&seen).pods.remove(0).findings.remove(0).remedy;
            let is_umount = |run: &String| run.starts_with("umount ");
            let unmounts = remedy.steps.iter().filter_map(|step| step.command.as_ref()).any(is_umount);
            (unmounts, remedy.steps.iter().any(|step| step.text.contains("waits for its server")))
        };
        assert_eq!(steps("ext4"), (true, false));
        for served in ["nfs4", "cifs", "ceph", "9p"] {
            assert_eq!(steps(served), (false, true), "{served}");
        }
    }

    /// Its registrar runs on, and it has gone with its socket.
    #[test]
    fn a_driver_whose_socket_does_not_exist_is_not_there() {
        let mut seen = sample::mounted("ext4");
        seen.csi.get_mut().unwrap()[0].info.get_mut().unwrap().listens = Seen::Missing;
        assert_eq!(causes(&seen), ["CsiDriverNotRegistered"]);
        let text = serde_json::to_string(&crate::gates::judge(&seen).pods[0].findings).unwrap();
        assert!(text.contains("registered, but its socket does not exist"), "{text}");
    }

    #[test]
    fn a_target_that_is_not_mounted_and_not_cleaned_up() {
        let mut seen = sample::mounted("ext4");
        table(&mut seen).clear();
        volume(&mut seen).mounted = Seen::Seen(false);
        assert_eq!(causes(&seen), ["CsiUnpublishFails"]);
    }
}
