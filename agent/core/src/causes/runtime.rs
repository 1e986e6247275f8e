//! The container runtime as a whole.

use findings::FaultKind;

use super::prelude::*;

/// The runtime does not answer, or no process listens on its socket: every pod of the node waits. Any other failure is only
/// a source without an answer.
pub fn find(seen: &Facts<'_>) -> Option<Finding> {
    let fault = seen.runtime.fault().filter(|_| seen.node.cri_socket_is_kubelets)?;
    if fault.kind == FaultKind::Refused {
        let cause = &cause::RUNTIME_NOT_RESPONDING;
        let draft = node_finding(seen, cause, None)
            .blame("container runtime", "no answer on its socket")
            .evidence(fault.source.to_string(), &fault.says)
            .root(&fault.source);
        return Some(draft.finish());
    }
    if fault.kind != FaultKind::TimedOut {
        return None;
    }
    let cause = &cause::RUNTIME_NOT_RESPONDING;
    let draft = node_finding(seen, cause, None).evidence(fault.source.to_string(), &fault.says).root(&fault.source);
    seen.is_settled(Question::RuntimeListener);
    // Of a socket that systemd has opened for it (`cri-docker.socket`) the kernel names systemd.
    let Some(process) = seen.node.runtime_process.get().filter(|process| process.pid > 1) else {
        let state = "accepts the connection and does not answer";
        return Some(
            draft
                .probable("which process listens on the socket, and in which state it is")
                .blame("container runtime", state)
                .finish(),
        );
    };
    let state = format!("{}; accepts the connection and does not answer", describe::state_name(process.state));
    let stopped = matches!(process.state, 'T' | 't');
    let draft = draft
        .blame(describe::pid(process.pid, &process.comm, process.state), state)
        .evidence(format!("/proc/{}/stat", process.pid), format!("state {}", process.state))
        .name_if(Placeholder::Pid, process.id().filter(|_| stopped))
        .probable_unless(stopped, "whether it hangs or is only slow: it does not answer in time");
    Some(draft.finish())
}

#[cfg(test)]
mod tests {
    use crate::test_prelude::*;

    #[test]
    fn systemd_is_no_runtime() {
        let mut seen = sample::deleted();
        seen.runtime = Seen::failed("CRI", (FaultKind::TimedOut, "no answer in 2 s"));
        let root = |pid, comm: &str| {
            let process = RuntimeProcess { pid, start_ticks: None, comm: comm.into(), unit: None, state: 'S' };
            let seen = Observation {
                node: NodeFacts { runtime_process: Seen::Seen(process), ..seen.node.clone() },
                ..seen.clone()
            };
            assert_eq!(node_causes(&seen), ["RuntimeNotResponding"]);
            judge(&seen).node_findings[0].finding.chain.last().unwrap().subject.to_string()
        };
        assert_eq!(root(300, "containerd"), "pid 300 containerd");
        assert_eq!(root(1, "systemd"), "container runtime");
    }

    #[test]
    fn a_runtime_whose_socket_nobody_listens_on() {
        let mut seen = sample::deleted();
        seen.runtime =
            Seen::failed("CRI", (FaultKind::Refused, "cannot be reached: Connection refused (os error 111)"));
        assert_eq!(node_causes(&seen), ["RuntimeNotResponding"]);
        seen.runtime = Seen::failed("CRI", (FaultKind::Denied, "cannot be reached: Permission denied (os error 13)"));
        assert_eq!(node_causes(&seen), Vec::<&str>::new());
    }
}
