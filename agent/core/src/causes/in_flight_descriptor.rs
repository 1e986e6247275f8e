//! A volume without a visible holder, and descriptors that are on their way between processes: one of them may hold it.

use findings::Evidence;

use super::prelude::*;

/// More are not shown beside another cause.
const MAX_EVIDENCE: usize = 3;

/// Processes with sent descriptors that they have not received, where they have the mount in sight: nothing connects a
/// process of another pod that has not. Only when no other process holds the mount.
pub fn find(view: &PodView, mount: &Mount, head: &[Link]) -> Option<Finding> {
    together(view, mount, head, owners(view).filter(|owner| sees(view, owner, mount)).collect())
}

/// The same of those who have not.
pub fn find_unseen(view: &PodView, mount: &Mount, head: &[Link]) -> Option<Finding> {
    together(view, mount, head, owners(view).collect())
}

/// Which of several it is, or whether it is one at all, is unknown.
fn together(view: &PodView, mount: &Mount, head: &[Link], owners: Vec<&InFlight>) -> Option<Finding> {
    let count = owners.len();
    Finding::together(owners.into_iter().map(|owner| finding(view, mount, owner, count, head)).collect())
}

/// Adds them to another cause, which may be an effect of such a descriptor: a driver whose `umount` says busy.
pub fn add_evidence(view: &PodView, mut finding: Finding) -> Finding {
    let evidence = owners(view).take(MAX_EVIDENCE).map(|owner| {
        let says = format!("scm_fds: {}; {} was sent files that no source names", owner.count, owner.comm);
        Evidence::new(source(owner), says)
    });
    finding.evidence.extend(evidence);
    finding
}

fn owners<'a>(view: &PodView<'a>) -> impl Iterator<Item = &'a InFlight> {
    view.seen.is_settled(Question::InFlight);
    let seen: &'a Observation = view.seen;
    seen.in_flight.iter()
}

/// Whether the file system is seen mounted where it lives; of one that is on no device and no server its table shows
/// nothing. A process in no other pod may have been sent it by any process.
fn sees(view: &PodView, owner: &InFlight, mount: &Mount) -> bool {
    if !matches!(&owner.owner, Owner::Pod { uid, .. } if uid != view.uid()) {
        return true;
    }
    let Some(ns) = owner.mount_ns else { return false };
    view.seen.is_settled(Question::MountTable { ns, tid: owner.pid });
    view.seen.mounts.table(ns).is_some_and(|table| table.mounts.iter().any(|other| other.dev == mount.dev))
}

fn source(owner: &InFlight) -> String {
    format!("/proc/{}/fdinfo/{}", owner.pid, owner.fd)
}

fn finding(view: &PodView, mount: &Mount, owner: &InFlight, count: usize, head: &[Link]) -> Finding {
    let one_of = if count > 1 { format!("perhaps, one of these {count}: ") } else { "perhaps: ".to_owned() };
    let sent = describe::count(owner.count as usize, "descriptor", "descriptors");
    let whose = describe::owner(&owner.owner);
    pod_finding(view, &cause::VOLUME_HELD_IN_FLIGHT, VOLUMES, head)
        // Which files they are is not visible.
        .probable("which files the descriptors on their way are")
        .link(describe::mount(mount), "mounted, and no process holds it")
        .blame(
            describe::pid(owner.pid, &owner.comm, owner.state),
            format!("{one_of}{sent} sent to its socket (descriptor {}) and not received; {whose}", owner.fd),
        )
        .evidence(source(owner), format!("scm_fds: {}", owner.count))
        .name(Placeholder::Comm, &owner.comm)
        .name_if(Placeholder::Owner, describe::stoppable_owner(&owner.owner))
        .root(format!("{}:{}", owner.pid, owner.start_ticks))
        .finish()
}

#[cfg(test)]
mod tests {
    use crate::test_prelude::*;

    #[test]
    fn the_owner_of_the_socket_is_named_before_nobody_is() {
        let mut seen = sample::mounted("ext4");
        assert_eq!(causes(&seen), ["CsiUnpublishLeftMount"]);
        seen.in_flight = vec![sample::in_flight()];
        assert_eq!(causes(&seen), ["VolumeHeldInFlight"]);
        let finding = judge(&seen).pods[0].findings[0].clone();
        assert_eq!(finding.confidence, Confidence::Probable);
        assert!(finding.roots().next().unwrap().subject.contains("pid 700 broker"), "{finding:?}");
        // An innocent process may have one under way as well.
        seen.in_flight.push(InFlight { pid: 702, comm: "innocent".into(), ..sample::in_flight() });
        let finding = judge(&seen).pods[0].findings[0].clone();
        assert!(finding.roots().all(|root| root.state.starts_with("perhaps, one of these 2: ")), "{finding:?}");
        assert!(finding.remedy.steps.iter().all(|step| step.command.is_none()), "no kill on suspicion");
        seen.holders[0].holders.push(Holder { pid: 701, comm: "du".into(), ..sample::holder() });
        assert_eq!(causes(&seen), ["VolumeHeldByProcess"], "a holder that is known explains it");
    }

    /// A socket pair of anybody, and the driver fails all the same.
    fn strangers_descriptor() -> InFlight {
        let uid = findings::PodUid::parse("96fb425e-919e-44f9-8b42-b1254a602ba2").unwrap();
        let owner = Owner::Pod { uid, container: None };
        InFlight { comm: "postgres".into(), mount_ns: Some(900), owner, ..sample::in_flight() }
    }

    fn failing(seen: &mut Observation) {
        let read = |at_ms: u64, count: u64| {
            let of =
                Operation::Csi { driver: "exam.csi".into(), method: "/csi.v1.Node/NodeUnpublishVolume".to_owned() };
            CounterRead { at_ms, counters: vec![Counter { of, outcome: "Internal".into(), count }] }
        };
        let earlier = Some(read(sample::NOW - 200_000, 12));
        seen.kubelet_counters = Seen::Seen(KubeletCounters { last: read(sample::NOW, 14), earlier });
    }

    #[test]
    fn a_strangers_descriptors_hide_no_proof() {
        let mut seen = sample::mounted("ext4");
        failing(&mut seen);
        seen.in_flight =
            vec![strangers_descriptor(), InFlight { pid: 701, owner: Owner::Host, ..strangers_descriptor() }];
        assert_eq!(causes(&seen), ["CsiUnpublishFails"]);
        let finding = judge(&seen).pods[0].findings[0].clone();
        assert_eq!(finding.confidence, Confidence::Proven);
        // The driver's umount may say busy because of them.
        let sources: Vec<&str> = finding.evidence.iter().map(|one| one.source.as_str()).collect();
        assert!(sources.contains(&"/proc/700/fdinfo/4") && sources.contains(&"/proc/701/fdinfo/4"), "{sources:?}");
    }

    #[test]
    fn nobody_is_told_to_kill_what_has_the_volume_nowhere_in_sight() {
        let mut seen = sample::mounted("ext4");
        seen.in_flight = vec![strangers_descriptor()];
        let kills = |seen: &Observation| {
            let finding = judge(seen).pods[0].findings[0].clone();
            finding.remedy.steps.iter().any(|step| step.command.as_ref().is_some_and(|run| run.contains("kill")))
        };
        for table in [None, Some(sample::mount(9, "0:42", "/data", "ext4"))] {
            seen.mounts.others.clear();
            let mounts: Vec<Mount> = table.into_iter().collect();
            seen.mounts.others.push(MountTable { ns: 900, through_pid: 700, total: mounts.len(), mounts });
            assert_eq!(causes(&seen), ["CsiUnpublishLeftMount"]);
            assert!(!kills(&seen));
        }
        // Nothing else explains it.
        let other = VolumeDir { vol_data: VolData::NotCsi, ..sample::volume(&mut seen).clone() };
        let of_csi = std::mem::replace(sample::volume(&mut seen), other);
        assert_eq!(causes(&seen), ["VolumeHeldInFlight"]);
        assert!(!kills(&seen));
        *sample::volume(&mut seen) = of_csi;
        seen.mounts.others[0].mounts = vec![sample::mount(9, "0:41", "/data", "ext4")];
        assert_eq!(causes(&seen), ["VolumeHeldInFlight"]);
        assert!(!kills(&seen));
        seen.in_flight[0].mount_ns = None;
        assert_eq!(causes(&seen), ["CsiUnpublishLeftMount"], "where it lives is unknown");
    }
}
