//! A shim that lives on without anything below it, while the runtime calls its container RUNNING.

use super::prelude::*;

const GATE: Option<Gate> = Some(Gate::ContainersStopped);

/// The shim of a container whose processes are all gone: leaked, or of a guest that has died.
pub fn find(view: &PodView, container: &Container, processes: &[&Process], head: &[Link]) -> Option<Finding> {
    let Seen::Seen(pid) = container.pid else { return None };
    let is_gone = view.init(container).is_none() && processes.is_empty() && !view.is_unreadable(pid);
    let sandbox = view.sandboxes.iter().find(|sandbox| sandbox.id == container.sandbox);
    let pause = sandbox.and_then(|sandbox| view.pause(sandbox));
    if !is_gone || pause.is_some() {
        return None;
    }
    let shim = view.shim(&container.sandbox)?;
    if shim.children != Seen::Seen(0) {
        return None;
    }
    let program = shim.program_name().filter(|name| name.starts_with("containerd-shim-"))?;
    let is_runc = program.starts_with("containerd-shim-runc-");
    let (cause, what) = if is_runc {
        (&cause::RUNTIME_LOST_EXIT, "nothing is left below it")
    } else {
        (&cause::SANDBOXED_GUEST_NOT_STOPPED, "its guest is gone")
    };
    let draft = pod_finding(view, cause, GATE, head)
        .link(format!("pid {pid}, init of the container"), "it does not exist any more")
        .blame(describe::pid(shim.pid, &shim.comm, shim.state), format!("{}, {what}", describe::state_name(shim.state)))
        .evidence(format!("CRI ContainerStatus {}", container.id), format!("RUNNING, pid {pid}"))
        .evidence(format!("/proc/{pid}"), describe::reused_pid(view, pid))
        .evidence(format!("/proc/{}/exe", shim.pid), program)
        .evidence(format!("/proc/{}/cwd", shim.pid), format!("the bundle of sandbox {}", shim.sandbox))
        .evidence(format!("/proc/{}/task/*/children", shim.pid), "none")
        .name(Placeholder::Container, &container.id)
        .name(Placeholder::Sandbox, &container.sandbox)
        .name(Placeholder::ShimPid, shim.id())
        .root(root(shim));
    // The runtime may still be at its clean-up.
    Some(
        if view.is_overdue_by(UNMOUNT_RETRY_MS) {
            draft
        } else {
            draft.probable("whether containerd is still at its clean-up: too little time has passed")
        }
        .finish(),
    )
}

/// The container is the guest of a virtual machine or of a kernel of its own: what runs on the node is its monitor, which is
/// not to be killed, and whose signals say nothing of the guest's processes.
pub fn guest(view: &PodView, container: &Container, head: &[Link]) -> Option<Finding> {
    let shim = view.shim(&container.sandbox)?;
    let program = shim.program_name().filter(|name| name.starts_with("containerd-shim-"))?;
    if program.starts_with("containerd-shim-runc-") {
        return None;
    }
    let draft = pod_finding(view, &cause::SANDBOXED_GUEST_NOT_STOPPED, GATE, head)
        .probable("the processes inside the guest")
        .blame(
            describe::pid(shim.pid, &shim.comm, shim.state),
            format!(
                "{program}, {}; the container runs in its guest, which cannot be seen",
                describe::state_name(shim.state)
            ),
        )
        .evidence(format!("CRI ContainerStatus {}", container.id), "RUNNING")
        .evidence(format!("/proc/{}/exe", shim.pid), program)
        .name(Placeholder::Container, &container.id)
        .name(Placeholder::Sandbox, &container.sandbox)
        .name(Placeholder::ShimPid, shim.id())
        .root(root(shim));
    Some(draft.finish())
}

fn root(shim: &Shim) -> String {
    format!("{}:{}", shim.pid, shim.start_ticks)
}

#[cfg(test)]
mod tests {
    use crate::test_prelude::*;

    /// The container is RUNNING, and neither it nor its sandbox has a process.
    fn lost(program: &str) -> Observation {
        let mut seen = sample::running();
        seen.processes.clear();
        seen.shims = vec![Shim {
            sandbox: seen.runtime.get_mut().unwrap().sandboxes[0].id.clone(),
            pid: SHIM,
            start_ticks: 7,
            comm: "containerd-shim".into(),
            state: 'S',
            program: Seen::Seen(HostPath::from(program)),
            owner: Owner::Unit("containerd.service".into()),
            children: Seen::Seen(0),
        }];
        seen
    }

    #[test]
    fn a_shim_with_nothing_below_it() {
        let seen = lost("/usr/bin/containerd-shim-runc-v2 (deleted)");
        assert_eq!(causes(&seen), ["RuntimeLostExit"]);
        assert_eq!(verdict(&seen), Verdict::Stuck);
        let finding = judge(&seen).pods[0].findings[0].clone();
        let commands: Vec<&String> = finding.remedy.steps.iter().filter_map(|step| step.command.as_ref()).collect();
        assert!(commands.iter().any(|command| command.ends_with("7 ' /proc/300/stat && kill 300\"")), "{commands:?}");
    }

    #[test]
    fn a_shim_of_another_runtime_whose_guest_is_gone() {
        assert_eq!(causes(&lost("/opt/kata/bin/containerd-shim-kata-v2")), ["SandboxedGuestNotStopped"]);
        assert_eq!(causes(&lost("/usr/local/bin/containerd-shim-runsc-v1")), ["SandboxedGuestNotStopped"]);
    }

    /// Its monitor lives without a SIGKILL: that is how it should be.
    #[test]
    fn a_guest_that_runs_on() {
        let guest = |program: &str| {
            let mut seen = lost(program);
            let mut monitor = process(sample::INIT, "qemu-system-x86", 'S', SHIM);
            monitor.owner = sample::running().processes[0].owner.clone();
            seen.processes = vec![monitor, process(SHIM, "containerd-shim", 'S', 1)];
            causes(&seen)
        };
        assert_eq!(guest("/opt/kata/bin/containerd-shim-kata-v2"), ["SandboxedGuestNotStopped"]);
        assert_eq!(guest("/usr/bin/containerd-shim-runsc-v1"), ["SandboxedGuestNotStopped"]);
        assert_eq!(guest("/usr/bin/containerd-shim-runc-v2"), ["KillNotAttempted"]);
    }

    #[test]
    fn nobody_is_accused_when_a_part_of_the_proof_is_missing() {
        const RUNC: &str = "/usr/bin/containerd-shim-runc-v2";
        let with = |change: fn(&mut Observation)| {
            let mut seen = lost(RUNC);
            change(&mut seen);
            let names_shim = serde_json::to_string(&judge(&seen)).unwrap().contains("left-over shim");
            (causes(&seen), names_shim)
        };
        let no_shim = (vec!["RuntimeLostExit"], false);
        let child = |seen: &mut Observation| {
            let mut child = sample::running().processes.remove(0);
            (child.pid, child.threads[0].tid, child.ns_pids) = (999, 999, vec![999, 7]);
            seen.processes.push(child);
            seen.cgroups = sample::cgroup(&[999]);
        };
        assert_eq!(with(child).0, ["KillNotAttempted"], "something of it lives");
        assert_eq!(with(|seen| seen.shims.clear()), no_shim);
        assert_eq!(with(|seen| seen.shims[0].sandbox = "other".into()), no_shim);
        let other_pod = |seen: &mut Observation| {
            let uid = findings::PodUid::parse("00000000-0000-4000-8000-000000000000").unwrap();
            seen.shims[0].owner = Owner::Pod { uid, container: None };
        };
        assert_eq!(with(other_pod), no_shim, "a process of another pod, in the host's pid namespace");
        let own_pod = |seen: &mut Observation| {
            let uid = seen.runtime.get().unwrap().sandboxes[0].pod.uid.clone();
            seen.shims[0].owner = Owner::Pod { uid, container: None };
        };
        assert_eq!(with(own_pod), (vec!["RuntimeLostExit"], true), "Kata's may be in the pod's own cgroup");
        assert_eq!(with(|seen| seen.shims[0].children = Seen::Seen(1)), no_shim);
        assert_eq!(with(|seen| seen.shims[0].children = Seen::Missing), no_shim);
        assert_eq!(with(|seen| seen.shims[0].program = Seen::Missing), no_shim);
        assert_eq!(with(|seen| seen.shims[0].program = Seen::Seen(HostPath::from("/bin/sh"))), no_shim);
        assert_eq!(
            with(|seen| seen.processes.push(process(310, "pause", 'S', SHIM))),
            no_shim,
            "the pause process lives"
        );
    }

    #[test]
    fn a_clean_up_gets_its_time() {
        let mut seen = lost("/usr/bin/containerd-shim-runc-v2");
        sample::set_deadline(&mut seen, NOW - 60_000, 30);
        assert_eq!(verdict(&seen), Verdict::Progressing);
        assert_eq!(judge(&seen).pods[0].findings[0].confidence, Confidence::Probable);
    }
}
