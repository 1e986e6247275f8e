//! The kubelet itself: not running, or running and doing nothing.

use findings::kubernetes_distribution;

use super::prelude::*;
use crate::messages;

/// No kubelet runs, so nothing that is asked of it happens.
pub fn not_running(seen: &Observation) -> Option<Finding> {
    if seen.node.kubelet != Seen::Missing {
        return None;
    }
    let mut names: Vec<&str> = kubernetes_distribution::kubelets().map(|kubelet| kubelet.comm).collect();
    names.dedup();
    let draft = node_finding(seen, &cause::KUBELET_NOT_RUNNING, None)
        .blame("kubelet", "no process of it was found")
        .evidence("/proc/*/comm", format!("none of {} outside of pods", names.join(", ")))
        .root("kubelet");
    Some(draft.finish())
}

/// So many are named; anybody may start thousands.
const NAMED: usize = 5;

/// Processes that only have its name, each with the reason why nothing of it was used.
pub fn not_believed(seen: &Observation) -> Vec<String> {
    let is_told = |refused: &&FalseKubelet| match &refused.why {
        Disbelief::Untold(fault) => seen.node.kubelet.fault() != Some(fault),
        _ => true,
    };
    let mut notes: Vec<String> = seen.node.false_kubelets.iter().filter(is_told).map(refusal).collect();
    let more = notes.len().saturating_sub(NAMED);
    notes.truncate(NAMED);
    if more > 0 {
        notes.push(format!("{more} more processes have a kubelet's name and are not believed to be the node's"));
    }
    notes
}

fn refusal(refused: &FalseKubelet) -> String {
    let FalseKubelet { pid, comm, why } = refused;
    if let Disbelief::AnotherIsJudged(judged) = why {
        let note = format!(
            "pid {pid} ({comm}) is a kubelet too; the pods of pid {judged} were judged. For those of pid {pid} run check \
             --kubelet-pid {pid}, with --node-name where its Node is not called like the host"
        );
        return findings::clean(&note, 300);
    }
    let why = match why {
        Disbelief::InPod => "belongs to a pod".to_owned(),
        Disbelief::NotRoot(id) => format!("is not root's alone: one of its user or group ids is {id}"),
        Disbelief::OtherUserNamespace => "is in another user namespace than the agent".to_owned(),
        Disbelief::ExecutableOf(owner) => format!("its program belongs to uid {owner}, not to root"),
        Disbelief::ExecutableWritable => "others than root may write its program".to_owned(),
        Disbelief::AnotherIsJudged(judged) => format!("pid {judged} was judged"),
        Disbelief::ExecutableServed => "its program lies on a FUSE or network file system".to_owned(),
        Disbelief::Untold(fault) => format!("could not be looked at ({fault})"),
    };
    findings::clean(&format!("pid {pid} is called {comm}, but {why}: nothing of it was believed or used"), 300)
}

/// It was stopped by a signal.
pub fn stopped(seen: &Observation) -> Option<Finding> {
    let kubelet = seen.node.kubelet.get().filter(|kubelet| matches!(kubelet.state, 'T' | 't'))?;
    let says = describe::state_name(kubelet.state);
    let draft = node_finding(seen, &cause::KUBELET_STOPPED, None)
        .blame(describe::pid(kubelet.pid, &kubelet.comm, kubelet.state), says)
        .evidence(format!("/proc/{}/stat", kubelet.pid), says)
        // Without its start the pid may be read, and not be signalled.
        .name(Placeholder::Pid, kubelet.pid)
        .name_if(Placeholder::Pid, kubelet.id());
    Some(draft.root("kubelet").finish())
}

/// It runs and its sync loop does not, as it says itself.
pub fn hung(seen: &Observation) -> Option<Finding> {
    let kubelet = seen.node.kubelet.get()?;
    let is_late = |healthz: &&Healthz| healthz.status != 200 && messages::is_sync_loop_late(&healthz.body);
    let says = &kubelet.healthz.get().filter(is_late)?.body;
    let draft = node_finding(seen, &cause::KUBELET_SYNC_LOOP_HUNG, None)
        .blame(describe::pid(kubelet.pid, &kubelet.comm, kubelet.state), says)
        .evidence("/healthz of the kubelet", says)
        .name(Placeholder::Pid, kubelet.pid)
        .root("kubelet");
    Some(draft.finish())
}

/// It says that its list of containers is stale.
pub fn pleg(seen: &Observation) -> Option<Finding> {
    let kubelet = seen.node.kubelet.get()?;
    let says = seen.api.get()?.not_ready.as_ref().filter(|says| messages::is_pleg_late(says))?;
    let cause = &cause::PLEG_STALLED;
    let draft = node_finding(seen, cause, None)
        .blame(describe::pid(kubelet.pid, &kubelet.comm, kubelet.state), says)
        .evidence("the Node's Ready condition", says)
        .name(Placeholder::Pid, kubelet.pid)
        .root("kubelet");
    Some(draft.finish())
}

#[cfg(test)]
mod tests {
    use crate::test_prelude::*;

    #[test]
    fn a_kubelet_that_says_its_sync_loop_hangs() {
        let mut seen = sample::mounted("ext4");
        seen.node.kubelet.get_mut().unwrap().healthz = Seen::Seen(Healthz {
            status: 500,
            body: "[-]syncloop failed: reason withheld healthz check failed".into(),
        });
        assert_eq!(node_causes(&seen), ["KubeletSyncLoopHung"]);
        assert_eq!(judge(&seen).node_findings[0].pods.len(), 1);
    }

    #[test]
    fn a_stopped_kubelet_is_told_to_go_on_and_each_pod_says_nothing_more() {
        let mut seen = sample::running();
        assert_eq!(sample::causes(&seen), ["KillNotAttempted"]);
        let kubelet = seen.node.kubelet.get_mut().unwrap();
        (kubelet.state, kubelet.start_ticks) = ('T', Some(4000));
        let report = judge(&seen);
        assert_eq!(report.node_findings[0].finding.cause.id, "KubeletStopped");
        assert_eq!(report.node_findings[0].pods.len(), 1);
        let steps = serde_json::to_string(&report.node_findings[0].finding.remedy.steps).unwrap();
        assert!(steps.contains("kill -CONT 77") && steps.contains("4000 ' /proc/77/stat"), "{steps}");
        assert!(report.pods[0].findings.is_empty(), "{report:?}");
        assert_eq!(report.pods[0].verdict, findings::Verdict::Stuck);
        // What is not its fault stays.
        sample::block(&mut seen, sample::INIT, "io_schedule");
        assert_eq!(judge(&seen).pods[0].findings[0].cause.id, "UninterruptibleTask");
        seen.node.kubelet.get_mut().unwrap().start_ticks = None;
        let steps = serde_json::to_string(&judge(&seen).node_findings[0].finding.remedy.steps).unwrap();
        assert!(!steps.contains("-CONT"), "{steps}");
    }

    #[test]
    fn a_second_kubelet_is_told_of() {
        let mut seen = sample::node();
        let why = Disbelief::AnotherIsJudged(77);
        seen.node.false_kubelets = vec![FalseKubelet { pid: 812, comm: "kubelet".into(), why }];
        let notes = judge(&seen).notes;
        assert!(
            notes[0].starts_with("pid 812 (kubelet) is a kubelet too; the pods of pid 77 were judged"),
            "{notes:?}"
        );
    }

    #[test]
    fn no_kubelet_and_a_pod_that_should_be_gone() {
        let mut seen = sample::running();
        seen.node.kubelet = Seen::Missing;
        assert_eq!(node_causes(&seen), ["KubeletNotRunning"]);
    }

    #[test]
    fn a_relist_that_is_stale() {
        let mut seen = sample::running();
        seen.api.get_mut().unwrap().not_ready =
            Some("PLEG is not healthy: pleg was last seen active 4m0s ago; threshold is 3m0s".into());
        assert_eq!(node_causes(&seen), ["PlegStalled"]);
    }
}
