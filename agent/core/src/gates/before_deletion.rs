//! One pod that is not being deleted: who outside of it would hold its volumes if it were.
//!
//! Its own processes end with it, so they are blamed for nothing; and what happens at the gates before and behind its
//! volumes is known only once it ends.

use findings::{Gate, PodReport, Unknown, Verdict};

use super::missing_rights::Lacking;
use super::pod;
use crate::{causes::volume, view::PodView};

/// Judges a pod whose deletion is assumed.
pub fn judge(view: &PodView<'_>, lacking: &Lacking) -> PodReport {
    let findings = volume::would_be_busy(view);
    let mut unknown = pod::unknowns(view, lacking);
    unknown.extend(volume::not_searched(view).into_iter().map(|(source, why)| Unknown {
        source,
        kind: None,
        why,
        hides: "whether another process would hold its volumes".to_owned(),
    }));
    let verdict = if !findings.is_empty() {
        Verdict::Stuck
    } else if !unknown.is_empty() || !view.sees_every_holder() {
        Verdict::CannotTell
    } else {
        Verdict::Clear
    };
    PodReport {
        pod: view.pod.clone(),
        before: true,
        verdict,
        gate: (!findings.is_empty()).then_some(Gate::VolumesUnmounted),
        gone_because: "not deleted; these processes would hold its volumes".to_owned(),
        overdue_seconds: None,
        gates: Vec::new(),
        findings,
        unknown,
        force: None,
    }
}

#[cfg(test)]
mod tests {
    use crate::test_prelude::*;

    fn holder(owner: Owner, copy: CopyKind) -> Holder {
        Holder { copy, owner, ..sample::holder() }
    }

    /// A pod that runs, with a volume that is a process's working directory.
    fn running(holders: Vec<Holder>) -> Observation {
        let mut seen = sample::mounted("ext4");
        let api = seen.api.get_mut().unwrap();
        (api.pods[0].deletion, api.pods[0].phase) = (None, "Running".into());
        sample::runtime(&mut seen).containers[0].state = ContainerState::Running;
        sample::runtime(&mut seen).sandboxes[0].ready = true;
        seen.holders[0].holders = holders;
        seen.before = true;
        seen
    }

    fn own() -> Owner {
        Owner::Pod { uid: sample::pod().uid, container: None }
    }

    #[test]
    fn who_is_outside_of_a_pod_that_runs_would_hold_its_volume() {
        let seen = running(vec![holder(Owner::Host, CopyKind::Original)]);
        assert_eq!(causes(&seen), ["VolumeHeldByProcess"]);
        let report = judge(&seen);
        let pod = &report.pods[0];
        assert!(pod.before && pod.verdict == Verdict::Stuck && pod.overdue_seconds.is_none(), "{pod:#?}");
        assert_eq!(pod.findings[0].confidence, Confidence::Proven);
        let chain: Vec<&str> = pod.findings[0].chain.iter().map(|link| link.state.as_str()).collect();
        assert!(chain.contains(&"could not be unmounted: in use"), "{chain:?}");
    }

    #[test]
    fn who_would_hold_a_sub_path_is_told_too() {
        let mut seen = running(Vec::new());
        let sub_path = sample::sub_path(Seen::Seen(true), false);
        let holders = vec![holder(Owner::Host, CopyKind::Original)];
        let search = HolderSearch { mount_point: sub_path.path.clone(), holders, ..seen.holders[0].clone() };
        seen.holders.push(search);
        sample::table(&mut seen).push(sample::mount(50, "0:42", sub_path.path.as_str().unwrap(), "ext4"));
        sample::pod_dir(&mut seen).sub_paths.push(sub_path);
        assert_eq!(causes(&seen), ["VolumeHeldByProcess"]);
    }

    #[test]
    fn nobody_is_looked_for_unless_that_is_asked() {
        let mut seen = running(vec![holder(Owner::Host, CopyKind::Original)]);
        seen.before = false;
        assert_eq!(candidates(&seen), []);
        assert_eq!(judge(&seen).pods, []);
    }

    #[test]
    fn its_own_processes_and_private_copies_would_hold_nothing() {
        let seen = running(vec![holder(Owner::Host, CopyKind::Private)]);
        assert_eq!((causes(&seen), judge(&seen).verdict), (vec![], Verdict::Clear));
        for holders in [Vec::new(), vec![holder(own(), CopyKind::Private)]] {
            let seen = running(holders);
            assert_eq!((causes(&seen), judge(&seen).verdict), (vec![], Verdict::Clear));
        }
        // Who holds it so ends the search before rarer ways are looked for.
        let seen = running(vec![holder(own(), CopyKind::Propagated)]);
        let report = judge(&seen);
        assert_eq!((causes(&seen), report.verdict), (vec![], Verdict::CannotTell), "{report:#?}");
        let why = &report.pods[0].unknown[0].why;
        assert!(why.contains("its own processes"), "{why}");
    }

    #[test]
    fn a_search_that_is_not_whole_finds_nobody_absent() {
        let mut seen = running(Vec::new());
        seen.holders[0].behind_unread_tables = 3;
        let report = judge(&seen);
        assert_eq!(report.verdict, Verdict::CannotTell);
        assert!(report.pods[0].unknown[0].why.starts_with("3 processes"), "{report:#?}");
        let mut seen = running(Vec::new());
        seen.holders[0].mappings = Seen::failed("/proc/9/maps", (FaultKind::TimedOut, "read too slowly"));
        let report = judge(&seen);
        assert_eq!(report.verdict, Verdict::CannotTell);
        assert!(report.pods[0].unknown[0].why.contains("read too slowly"), "{report:#?}");
    }

    #[test]
    fn one_that_was_deleted_is_judged_as_ever() {
        let mut seen = running(Vec::new());
        sample::set_deadline(&mut seen, sample::NOW - 3_600_000, 30);
        assert!(!judge(&seen).pods[0].before);
    }
}
