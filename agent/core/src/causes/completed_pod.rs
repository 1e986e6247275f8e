//! A pod that has ended, and whose volume stays mounted because a process uses it. The pod is not being deleted, so nothing
//! is called Terminating; a pod that waits for the volume waits for it.

use super::prelude::*;

/// The cause when a process uses a volume of a pod that has ended and is not being deleted.
pub fn volume_busy(view: &PodView) -> Option<&'static Cause> {
    matches!(view.why, DeletionReason::Completed { .. }).then_some(&cause::COMPLETED_POD_VOLUME_BUSY)
}

#[cfg(test)]
mod tests {
    use crate::test_prelude::*;

    /// A job that ended an hour ago, with a volume that is a process's working directory.
    fn job() -> Observation {
        let mut seen = sample::mounted("ext4");
        let api = seen.api.get_mut().unwrap();
        (api.pods[0].deletion, api.pods[0].finished_ms) = (None, Some(NOW - 3_600_000));
        api.pods[0].phase = "Succeeded".into();
        seen.holders[0].holders.push(sample::holder());
        seen
    }

    #[test]
    fn a_job_whose_volume_is_busy_is_found_though_nobody_has_deleted_it() {
        let seen = job();
        assert_eq!(causes(&seen), ["CompletedPodVolumeBusy"]);
        assert_eq!(verdict(&seen), Verdict::Stuck);
        let report = judge(&seen);
        let finding = report.pods[0].findings[0].clone();
        assert_eq!(finding.confidence, Confidence::Proven);
        assert!(finding.roots().next().unwrap().subject.contains("pid 700 backup"), "{finding:?}");
        assert_eq!(report.pods[0].gone_because, "it ended 1h ago, not deleted");
    }

    #[test]
    fn one_that_has_just_ended_runs_or_has_nothing_mounted_is_left_alone() {
        let set = |change: fn(&mut ApiPod)| {
            let mut seen = job();
            let api = seen.api.get_mut().unwrap();
            change(&mut api.pods[0]);
            seen
        };
        assert_eq!(candidates(&set(|pod| pod.finished_ms = Some(NOW - 5_000))), []);
        assert_eq!(candidates(&set(|pod| pod.phase = "Running".into())), []);
        assert_eq!(candidates(&set(|pod| pod.finished_ms = None)), []);
        let mut seen = job();
        sample::table(&mut seen).clear();
        assert_eq!(candidates(&seen), []);
    }

    #[test]
    fn what_nobody_holds_is_at_first_only_on_its_way() {
        let mut seen = job();
        seen.holders[0].holders.clear();
        seen.api.get_mut().unwrap().pods[0].finished_ms = Some(NOW - 60_000);
        assert_eq!(verdict(&seen), Verdict::Progressing);
    }
}
