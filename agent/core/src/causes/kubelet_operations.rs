//! What the kubelet's own counters show of its tries to get rid of a volume: what no file shows.
//!
//! They name a driver or a plugin and no pod. So one that grows proves something of a volume only while no other
//! volume of that driver is to be unmounted on the node.

use std::{collections::BTreeSet, path::Path};

use findings::{PodUid, duration};

use super::prelude::*;

const METRICS: &str = "/metrics of the kubelet";
/// Between two scans that show whether it still tries: more than its longest pause.
pub const WINDOW_MS: u64 = UNMOUNT_RETRY_MS + 28_000;

/// How the kubelet's tries of one kind ended, by its counters.
pub struct Tries<'a> {
    what: String,
    outcomes: Vec<Outcome<'a>>,
    /// Between the two looks.
    window_ms: Option<u64>,
    /// When the earlier one was: since then, in milliseconds since the epoch, what is counted is known to be new.
    pub earlier_ms: Option<u64>,
    is_only: bool,
    /// Since when it counts.
    age_ms: Option<u64>,
}

struct Outcome<'a> {
    name: &'a str,
    count: u64,
    /// How often since the earlier look.
    more: u64,
}

impl Outcome<'_> {
    fn is_failure(&self) -> bool {
        !matches!(self.name, "OK" | "success")
    }
}

/// The driver's answers to `NodeUnpublishVolume`. None where the counters are not known.
pub fn unpublish<'a>(view: &PodView<'a>, driver: &str) -> Option<Tries<'a>> {
    let is_its = |volume: &VolumeDir| match &volume.vol_data {
        VolData::Read(data) => data.driver == driver,
        VolData::NotCsi => false,
        // It may be.
        VolData::Missing | VolData::Unusable(_) | VolData::Failed(_) => true,
    };
    let is_its_call = |of: &Operation| matches!(of, Operation::Csi { driver: of, method } if of == driver && method.ends_with("/NodeUnpublishVolume"));
    // `UnmapPodDevice` makes the same call.
    let blocks = |dir: &PodDir| {
        // The link of a raw block volume does not show its driver.
        let is_published = |link: &HostPath| dir.published.iter().any(|one| link.as_path().ends_with(&one.name));
        let linked = dir.devices.iter().filter(|link| is_block_of_csi(link) && !is_published(link));
        linked.count() + dir.published.iter().filter(|one| is_its(one)).count()
    };
    let what = format!("NodeUnpublishVolume of {}", findings::clean(driver, 80));
    tries(view, what, is_its_call, is_only(view, is_its, blocks))
}

/// The kubelet's unmounts of volumes like this one.
pub fn unmount<'a>(view: &PodView<'a>, volume: &VolumeDir) -> Option<Tries<'a>> {
    let plugin = match &volume.vol_data {
        VolData::Read(data) => format!("{}:{}", volume.plugin, data.driver),
        _ => volume.plugin.clone(),
    };
    let is_its = |other: &VolumeDir| other.plugin == volume.plugin;
    let is_unmount = |of: &Operation| matches!(of, Operation::Storage { plugin: of, name } if *of == plugin && name == "volume_unmount");
    // A raw block volume is unmapped, which is counted apart.
    let what = format!("volume_unmount of {}", findings::clean(&plugin, 120));
    tries(view, what, is_unmount, is_only(view, is_its, |_| 0))
}

/// The answers of this DRA driver to `NodeUnprepareResources`.
pub fn unprepare<'a>(view: &PodView<'a>, driver: &str) -> Option<Tries<'a>> {
    let is_its = |of: &Operation| matches!(of, Operation::Dra { driver: of, method } if of == driver && method.ends_with("/NodeUnprepareResources"));
    let what = format!("NodeUnprepareResources of {}", findings::clean(driver, 80));
    tries(view, what, is_its, is_only_with_devices(view))
}

/// How the release of a pod's devices has ended, of all pods of the node.
pub fn release_of_devices<'a>(view: &PodView<'a>) -> Option<Tries<'a>> {
    let is_release = |of: &Operation| matches!(of, Operation::Devices { name } if name == "UnprepareResources");
    tries(view, "UnprepareResources of all pods".to_owned(), is_release, is_only_with_devices(view))
}

/// Whether no other pod whose devices are to be released has any.
fn is_only_with_devices(view: &PodView) -> bool {
    let pods = view.seen.node.dra_claims.iter().flat_map(|claim| &claim.pods);
    let ending: BTreeSet<&PodUid> = pods.filter(|uid| is_ending(view.seen, uid)).collect();
    ending.len() == 1 && ending.contains(view.uid())
}

/// `volumeDevices/kubernetes.io~csi/<name>`.
fn is_block_of_csi(device: &HostPath) -> bool {
    device.as_path().parent().and_then(Path::file_name).is_some_and(|plugin| plugin == "kubernetes.io~csi")
}

fn tries<'a>(
    view: &PodView<'a>,
    what: String,
    is_meant: impl Fn(&Operation) -> bool,
    is_only: bool,
) -> Option<Tries<'a>> {
    let read = view.kubelet_counters().get()?;
    let meant = |read: &'a CounterRead| read.counters.iter().filter(|counter| is_meant(&counter.of));
    let before = |now: &Counter| {
        let earlier = read.earlier.iter().flat_map(|earlier| &earlier.counters);
        let mut same = earlier.filter(|counter| counter.of == now.of && counter.outcome == now.outcome);
        same.next().map_or(0, |counter| counter.count)
    };
    let mut outcomes: Vec<Outcome<'a>> = Vec::new();
    for counter in meant(&read.last) {
        let more = counter.count.saturating_sub(before(counter));
        match outcomes.iter_mut().find(|outcome| outcome.name == counter.outcome) {
            Some(known) => (known.count, known.more) = (known.count + counter.count, known.more + more),
            None => outcomes.push(Outcome { name: &counter.outcome, count: counter.count, more }),
        }
    }
    outcomes.sort_by(|a, b| (b.more, b.count).cmp(&(a.more, a.count)).then(a.name.cmp(b.name)));
    Some(Tries {
        what,
        outcomes,
        window_ms: read.earlier.as_ref().map(|earlier| read.last.at_ms.saturating_sub(earlier.at_ms)),
        earlier_ms: read.earlier.as_ref().map(|earlier| earlier.at_ms),
        is_only,
        age_ms: view.seen.node.kubelet.get().map(|kubelet| kubelet.age_ms),
    })
}

impl Tries<'_> {
    /// How it fails, where it does and nothing else of the kind succeeds.
    pub fn failure(&self) -> Option<&str> {
        // Between two tries nothing is counted, and what was counted before has not become wrong.
        let all = !self.has_grown() && !self.has_given_up();
        let lately = |outcome: &&Outcome<'_>| all || outcome.more > 0;
        let mut ended = self.outcomes.iter().filter(lately);
        let all_fail = ended.clone().all(Outcome::is_failure);
        ended.next().filter(|_| all_fail).map(|outcome| outcome.name)
    }

    /// Whether it has ended well, and never otherwise.
    pub fn only_succeeds(&self) -> bool {
        !self.outcomes.is_empty() && !self.outcomes.iter().any(Outcome::is_failure)
    }

    /// Whether it has failed between the two looks, and nothing of the kind has succeeded.
    pub fn fails_now(&self) -> bool {
        self.has_grown() && self.failure().is_some()
    }

    /// For how long no call has returned, of a kind that has never failed: between two tries that fail there is a pause.
    pub fn unanswered_ms(&self) -> Option<u64> {
        let has_failed = self.outcomes.iter().any(Outcome::is_failure);
        self.window_ms.filter(|window_ms| *window_ms >= RETRY_WINDOW_MS && !self.has_grown() && !has_failed)
    }

    /// Whether it is this volume that fails: the counter grows, and there is no other.
    pub fn proves_failure(&self) -> bool {
        self.is_only && self.fails_now()
    }

    fn has_grown(&self) -> bool {
        self.window_ms.is_some() && self.outcomes.iter().any(|outcome| outcome.more > 0)
    }

    /// Whether the kubelet has given up, or has forgotten: nothing was tried for longer than it ever waits.
    pub fn has_given_up(&self) -> bool {
        self.window_ms.is_some_and(|window| window >= WINDOW_MS)
            && self.outcomes.iter().all(|outcome| outcome.more == 0)
    }

    /// `NodeUnpublishVolume of exam.csi: Internal 14 times, OK 1 time since it started 2d ago; Internal 2 more in 3m`.
    pub fn says(&self) -> String {
        let mut words = format!("{}: ", self.what);
        let times = |count: u64| if count == 1 { "once".to_owned() } else { format!("{count} times") };
        let listed = |outcomes: &mut dyn Iterator<Item = String>| outcomes.take(5).collect::<Vec<_>>().join(", ");
        let name = |outcome: &Outcome<'_>| findings::clean(outcome.name, 40);
        let all =
            listed(&mut self.outcomes.iter().map(|outcome| format!("{} {}", name(outcome), times(outcome.count))));
        words.push_str(if all.is_empty() { "never" } else { &all });
        if let Some(age_ms) = self.age_ms {
            words.push_str(&format!(" since it started {} ago", duration(age_ms / 1000)));
        }
        if let Some(window_ms) = self.window_ms {
            let grown = self.outcomes.iter().filter(|outcome| outcome.more > 0);
            let more = listed(&mut grown.map(|outcome| format!("{} {} more", name(outcome), times(outcome.more))));
            let more = if more.is_empty() { "none".to_owned() } else { more };
            words.push_str(&format!("; in the last {} {more}", duration(window_ms / 1000)));
        }
        words
    }
}

/// Adds what the counters say, or why they say nothing.
pub fn add_evidence(view: &PodView, tries: Option<&Tries<'_>>, draft: FindingBuilder) -> FindingBuilder {
    match (tries, view.kubelet_counters()) {
        (Some(tries), _) => draft.evidence(METRICS, tries.says()),
        (None, Seen::Failed(fault)) if fault.kind == FaultKind::Denied => {
            let lacks =
                "not readable: allow get on nodes/metrics, or read the kubelet's log, to see what drivers answer";
            draft.evidence(METRICS, lacks)
        }
        (None, Seen::Failed(fault)) => draft.evidence(METRICS, &fault.says),
        (None, _) => draft,
    }
}

/// Whether a second reading a few seconds later may show that calls of drivers fail just now.
pub fn may_grow(counters: &KubeletCounters) -> bool {
    let has_failed = |counter: &Counter| match &counter.of {
        Operation::Csi { method, .. } => method.ends_with("/NodeUnpublishVolume") && counter.outcome != "OK",
        Operation::Dra { method, .. } => method.ends_with("/NodeUnprepareResources") && counter.outcome != "OK",
        Operation::Devices { name } => name == "UnprepareResources" && counter.outcome != "success",
        Operation::Storage { .. } => false,
    };
    counters.earlier.is_none() && counters.last.counters.iter().any(has_failed)
}

/// Whether no other volume like this one is to be unmounted on the node.
fn is_only(view: &PodView, is_like: impl Fn(&VolumeDir) -> bool, blocks_like: impl Fn(&PodDir) -> usize) -> bool {
    let Some(dirs) = view.seen.pod_dirs.get() else { return false };
    let mut like = 0;
    for dir in dirs.iter().filter(|dir| is_ending(view.seen, &dir.uid)) {
        view.seen.is_settled(Question::PodVolumes(dir.uid.clone()));
        let Some(volumes) = dir.volumes.get() else { return false };
        like += volumes.iter().filter(|volume| !volume.is_only_a_husk() && is_like(volume)).count();
        like += blocks_like(dir);
    }
    like == 1
}

/// Whether the volumes and devices of this pod are to be given back: the pod is deleted, has ended, or is not known any more.
fn is_ending(seen: &Observation, uid: &PodUid) -> bool {
    let pod = seen.api.get().and_then(|api| api.pods.iter().find(|pod| pod.uid == *uid));
    let stays = |pod: &ApiPod| pod.deletion.is_none() && !matches!(pod.phase.as_str(), "Succeeded" | "Failed");
    !pod.is_some_and(stays)
}

/// The volumes that are to be unmounted on the node, as far as they are known: while these stay the same, what the
/// counters say at two times is of them.
pub fn to_be_unmounted(seen: &Observation) -> Vec<String> {
    let dirs: Vec<&PodDir> =
        seen.pod_dirs.get().into_iter().flatten().filter(|dir| is_ending(seen, &dir.uid)).collect();
    let volumes = dirs.iter().flat_map(|dir| dir.volumes.get().into_iter().flatten().map(move |volume| (dir, volume)));
    let mut names: Vec<String> =
        volumes.map(|(dir, volume)| format!("{}/{}/{}", dir.uid, volume.plugin, volume.name)).collect();
    names.extend(dirs.iter().flat_map(|dir| &dir.devices).map(HostPath::show));
    let published = dirs.iter().flat_map(|dir| &dir.published);
    names.extend(published.filter_map(|volume| Some(volume.target.get()?.show())));
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::to_be_unmounted;
    use crate::test_prelude::*;

    const UNPUBLISH: &str = "/csi.v1.Node/NodeUnpublishVolume";

    fn read(at_ms: u64, counters: &[(&str, u64)]) -> CounterRead {
        let of = Operation::Csi { driver: "exam.csi".into(), method: UNPUBLISH.into() };
        let counters = counters.iter().map(|(outcome, count)| Counter {
            of: of.clone(),
            outcome: (*outcome).into(),
            count: *count,
        });
        CounterRead { at_ms, counters: counters.collect() }
    }

    fn counted(seen: &mut Observation, earlier: &[(&str, u64)], last: &[(&str, u64)]) {
        let earlier = Some(read(sample::NOW - 200_000, earlier));
        seen.kubelet_counters = Seen::Seen(KubeletCounters { last: read(sample::NOW, last), earlier });
    }

    fn finding(seen: &Observation) -> findings::Finding {
        judge(seen).pods.remove(0).findings.remove(0)
    }

    fn says(seen: &Observation) -> String {
        let finding = finding(seen);
        let evidence = finding.evidence.iter().find(|evidence| evidence.source.contains("/metrics"));
        evidence.map(|evidence| evidence.says.clone()).unwrap_or_default()
    }

    #[test]
    fn a_driver_that_fails_is_told_from_one_that_says_ok() {
        let mut seen = sample::mounted("ext4");
        counted(&mut seen, &[("OK", 1), ("Internal", 12)], &[("OK", 1), ("Internal", 14)]);
        assert_eq!(causes(&seen), ["CsiUnpublishFails"]);
        assert_eq!(finding(&seen).confidence, Confidence::Proven);
        assert_eq!(
            says(&seen),
            "NodeUnpublishVolume of exam.csi: Internal 14 times, OK once since it started 10d10h ago; in the last 3m20s \
             Internal 2 times more"
        );
        counted(&mut seen, &[("OK", 9)], &[("OK", 9)]);
        assert_eq!(causes(&seen), ["CsiUnpublishLeftMount"]);
        assert!(says(&seen).ends_with("in the last 3m20s none"), "{}", says(&seen));
        let answered = |seen: &Observation| finding(seen).chain.iter().any(|link| link.state.contains("answered OK"));
        assert!(answered(&seen), "{:?}", finding(&seen).chain);
        // Which of them was this volume's is unknown.
        assert_eq!(finding(&seen).confidence, Confidence::Probable);
        counted(&mut seen, &[("OK", 9), ("Internal", 1)], &[("OK", 9), ("Internal", 1)]);
        assert!(!answered(&seen));
    }

    /// As on a real node, whose agent said the one and the other in turn, and so never reported either.
    #[test]
    fn between_two_tries_a_driver_fails_as_before() {
        let mut seen = sample::mounted("ext4");
        let (earlier, last) = (read(sample::NOW - 60_000, &[("Internal", 9)]), read(sample::NOW, &[("Internal", 9)]));
        seen.kubelet_counters = Seen::Seen(KubeletCounters { last, earlier: Some(earlier) });
        assert_eq!((causes(&seen), finding(&seen).confidence), (vec!["CsiUnpublishFails"], Confidence::Probable));
        // For longer than it ever waits: it does not try any more.
        counted(&mut seen, &[("Internal", 9)], &[("Internal", 9)]);
        assert_eq!(causes(&seen), ["CsiUnpublishLeftMount"]);
    }

    #[test]
    fn a_driver_that_fails_on_what_is_not_mounted() {
        let mut seen = sample::mounted("ext4");
        table(&mut seen).clear();
        volume(&mut seen).mounted = Seen::Seen(false);
        // With its cgroup gone the kubelet would be past this gate.
        seen.cgroups = Seen::Missing;
        assert_eq!(finding(&seen).confidence, Confidence::Probable);
        counted(&mut seen, &[], &[("NotFound", 2)]);
        assert_eq!(causes(&seen), ["CsiUnpublishFails"]);
        assert_eq!(finding(&seen).confidence, Confidence::Proven);
        assert!(finding(&seen).chain.iter().any(|link| link.state.contains("answers NotFound")));
    }

    #[test]
    fn only_the_volumes_of_a_pod_that_ends_are_to_be_unmounted() {
        let mut seen = sample::mounted("ext4");
        assert_eq!(to_be_unmounted(&seen), [format!("{}/kubernetes.io/csi/pv-1", sample::UID)]);
        let api = seen.api.get_mut().unwrap();
        (api.pods[0].deletion, api.pods[0].phase) = (None, "Running".into());
        assert_eq!(to_be_unmounted(&seen), [""; 0]);
    }

    /// The counters name no pod.
    #[test]
    fn what_another_volume_may_have_counted_is_no_proof() {
        let mut seen = sample::mounted("ext4");
        counted(&mut seen, &[("Internal", 12)], &[("Internal", 14)]);
        let mut other = pod_dir(&mut seen).clone();
        other.uid = findings::PodUid::parse("96fb425e-919e-44f9-8b42-b1254a602ba2").unwrap();
        seen.pod_dirs.get_mut().unwrap().push(other);
        // Its volumes may be of the same driver.
        assert_eq!(finding(&seen).confidence, Confidence::Probable);
        // Those of a pod that stays are not unmounted; those of one that has ended are.
        let uid = findings::PodUid::parse("96fb425e-919e-44f9-8b42-b1254a602ba2").unwrap();
        let stays = ApiPod { uid, deletion: None, phase: "Running".into(), ..seen.api.get().unwrap().pods[0].clone() };
        seen.api.get_mut().unwrap().pods.push(stays);
        assert_eq!(finding(&seen).confidence, Confidence::Proven);
        seen.api.get_mut().unwrap().pods[1].phase = "Succeeded".into();
        assert_eq!(finding(&seen).confidence, Confidence::Probable);
        // Another driver is asked to unpublish it.
        seen.pod_dirs.get_mut().unwrap()[1].volumes.get_mut().unwrap()[0].vol_data =
            VolData::Read(CsiVolume { driver: "other.csi".into(), ..Default::default() });
        assert_eq!(finding(&seen).confidence, Confidence::Proven);
        // Another volume's has succeeded meanwhile.
        counted(&mut seen, &[("Internal", 12)], &[("Internal", 14), ("OK", 1)]);
        assert_eq!((causes(&seen), finding(&seen).confidence), (vec!["CsiUnpublishLeftMount"], Confidence::Probable));
    }

    /// The driver unpublishes it by the same call (`csi_block.go`, `UnmapPodDevice`).
    #[test]
    fn what_a_raw_block_volume_may_have_counted_is_no_proof() {
        let mut seen = sample::mounted("ext4");
        counted(&mut seen, &[("Internal", 12)], &[("Internal", 14)]);
        assert_eq!(finding(&seen).confidence, Confidence::Proven);
        let device = |plugin: &str| {
            HostPath::from(format!("/var/lib/kubelet/pods/{}/volumeDevices/{plugin}/pv-2", sample::UID).as_str())
        };
        pod_dir(&mut seen).devices.push(device("kubernetes.io~iscsi"));
        assert_eq!(finding(&seen).confidence, Confidence::Proven, "no driver of CSI has it");
        let before = super::to_be_unmounted(&seen);
        pod_dir(&mut seen).devices.push(device("kubernetes.io~csi"));
        assert_eq!(finding(&seen).confidence, Confidence::Probable);
        assert_ne!(super::to_be_unmounted(&seen), before);
        // Its `vol_data.json` names the driver, also when the link is gone.
        pod_dir(&mut seen).devices.clear();
        let mut block = pod_dir(&mut sample::published()).published.remove(0);
        block.name = "pv-2".into();
        pod_dir(&mut seen).published.push(block);
        assert_eq!(finding(&seen).confidence, Confidence::Probable);
        let before = super::to_be_unmounted(&seen);
        pod_dir(&mut seen).published[0].vol_data =
            VolData::Read(CsiVolume { driver: "other.csi".into(), ..Default::default() });
        pod_dir(&mut seen).devices.push(device("kubernetes.io~csi"));
        let findings = judge(&seen).pods.remove(0).findings;
        assert!(findings.iter().any(|one| one.cause.id == "CsiUnpublishFails" && one.confidence == Confidence::Proven));
        assert_ne!(super::to_be_unmounted(&seen), before);
    }

    /// Within the first two minutes, with the pod's deadline 20 s ago.
    fn young() -> Observation {
        let mut seen = sample::mounted("ext4");
        sample::set_deadline(&mut seen, sample::NOW - 20_000, 30);
        seen
    }

    #[test]
    fn a_driver_that_fails_is_stuck_at_once_where_it_was_counted_since_the_deadline() {
        let mut seen = young();
        let at_deadline = |count: u64| read(sample::NOW - 20_000, &[("OK", 3), ("Internal", count)]);
        let last = read(sample::NOW, &[("OK", 3), ("Internal", 9)]);
        seen.kubelet_counters = Seen::Seen(KubeletCounters { last: last.clone(), earlier: Some(at_deadline(4)) });
        assert_eq!((causes(&seen), finding(&seen).confidence), (vec!["CsiUnpublishFails"], Confidence::Proven));
        assert_eq!(sample::verdict(&seen), findings::Verdict::Stuck);
        // Nothing has failed since: it may be of another volume.
        seen.kubelet_counters = Seen::Seen(KubeletCounters { last: last.clone(), earlier: Some(at_deadline(9)) });
        assert_eq!(causes(&seen), ["VolumeMountedNoHolder"]);
        assert_eq!(sample::verdict(&seen), findings::Verdict::Progressing);
        assert!(says(&seen).contains("Internal 9 times, OK 3 times"), "{}", says(&seen));
        // Without the first reading it is possible, and how often is said.
        let only = read(sample::NOW, &[("Internal", 3)]);
        seen.kubelet_counters = Seen::Seen(KubeletCounters { last: only, earlier: None });
        assert_eq!((causes(&seen), finding(&seen).confidence), (vec!["CsiUnpublishFails"], Confidence::Probable));
        assert_eq!(sample::verdict(&seen), findings::Verdict::Progressing);
        assert!(says(&seen).contains("Internal 3 times"), "{}", says(&seen));
    }

    #[test]
    fn an_answer_that_is_not_there_is_told_from_one_that_is_not_visible() {
        let mut seen = young();
        let state = |seen: &Observation| {
            assert_eq!(causes(seen), ["VolumeMountedNoHolder"]);
            finding(seen).roots().next().unwrap().state.clone()
        };
        let held = "nothing was found that holds it";
        let denied = Seen::failed("kubelet", (FaultKind::Denied, "Forbidden"));
        for unread in [Seen::Missing, denied] {
            seen.kubelet_counters = unread;
            assert_eq!(state(&seen), format!("{held}; which answer CSI driver exam.csi gives is not visible"));
        }
        let counted = |at_ms: u64, count: u64| read(at_ms, &[("OK", count)]);
        let (earlier, last) = (Some(counted(sample::NOW - 20_000, 3)), counted(sample::NOW, 3));
        seen.kubelet_counters = Seen::Seen(KubeletCounters { last, earlier });
        let silent = "CSI driver exam.csi has answered no NodeUnpublishVolume in the last 20s";
        assert_eq!(state(&seen), format!("{held}; {silent}"));
        let (earlier, last) = (Some(counted(sample::NOW - 20_000, 3)), counted(sample::NOW, 4));
        seen.kubelet_counters = Seen::Seen(KubeletCounters { last, earlier });
        assert_eq!(state(&seen), held, "it has answered");
    }

    #[test]
    fn only_calls_that_have_failed_are_counted_again() {
        let may_grow = |counters: &[(&str, u64)], earlier: Option<CounterRead>| {
            super::may_grow(&KubeletCounters { last: read(sample::NOW, counters), earlier })
        };
        assert!(may_grow(&[("OK", 3), ("Internal", 2)], None));
        assert!(!may_grow(&[("OK", 3)], None));
        assert!(!may_grow(&[("Internal", 2)], Some(read(sample::NOW - 15_000, &[]))));
    }

    /// Before anything of the pod can be counted.
    #[test]
    fn the_counters_are_read_as_soon_as_the_deadline_has_passed() {
        let asks = |overdue_ms: i64| {
            let mut seen = sample::mounted("ext4");
            seen.kubelet_counters = Seen::NotAsked;
            sample::runtime(&mut seen).containers[0].state = ContainerState::Running;
            sample::set_deadline(&mut seen, sample::NOW.saturating_add_signed(-overdue_ms), 30);
            loop {
                match crate::plan(&seen) {
                    round if round.is_empty() => return false,
                    round if round.contains(&Question::KubeletCounters) => return true,
                    round => seen.asked.extend(round),
                }
            }
        };
        assert_eq!([-1, 0, 14_999, 15_000].map(asks), [false, true, true, false]);
    }

    #[test]
    fn one_look_is_no_proof() {
        let mut seen = sample::mounted("ext4");
        let last = read(sample::NOW, &[("Internal", 14)]);
        seen.kubelet_counters = Seen::Seen(KubeletCounters { last, earlier: None });
        assert_eq!((causes(&seen), finding(&seen).confidence), (vec!["CsiUnpublishFails"], Confidence::Probable));
        let last = read(sample::NOW, &[("Internal", 14), ("OK", 3)]);
        seen.kubelet_counters = Seen::Seen(KubeletCounters { last, earlier: None });
        assert_eq!(causes(&seen), ["CsiUnpublishLeftMount"]);
        assert!(says(&seen).contains("Internal 14 times, OK 3 times"));
    }

    #[test]
    fn a_right_that_is_missing_is_said_and_changes_nothing() {
        let mut seen = sample::mounted("ext4");
        seen.kubelet_counters = Seen::failed("kubelet", (FaultKind::Denied, "Forbidden"));
        assert_eq!(causes(&seen), ["CsiUnpublishLeftMount"]);
        assert!(says(&seen).contains("nodes/metrics"));
        assert!(judge(&seen).unknown.is_empty());
    }

    /// Which unmount fails is known, and not why.
    #[test]
    fn an_empty_dir_that_the_kubelet_cannot_unmount() {
        let mut seen = sample::mounted("tmpfs");
        (volume(&mut seen).plugin, volume(&mut seen).vol_data) = ("kubernetes.io/empty-dir".into(), VolData::NotCsi);
        let of = Operation::Storage { plugin: "kubernetes.io/empty-dir".into(), name: "volume_unmount".into() };
        seen.kubelet_counters = sample::failing(of, "fail-unknown");
        assert_eq!(causes(&seen), ["VolumeMountedNoHolder"]);
        assert!(says(&seen).starts_with("volume_unmount of kubernetes.io/empty-dir: fail-unknown 42 times"));
        assert!(finding(&seen).chain.iter().any(|link| link.root && link.state.contains("its unmount fails")));
    }
}
