//! Shims that outlive what they serve, from observations made after the reference.

use findings::{Confidence, Verdict};

use crate::observation::{
    sample::{self, NOW, SHIM, causes, process, verdict},
    *,
};

/// The container is RUNNING, and neither it nor its sandbox has a process.
fn lost(program: &str) -> Observation {
    let mut seen = sample::running();
    seen.processes.clear();
    let Seen::Seen(runtime) = &mut seen.runtime else { unreachable!() };
    seen.shims = vec![Shim {
        sandbox: runtime.sandboxes[0].id.clone(),
        pid: SHIM,
        start_ticks: 7,
        comm: "containerd-shim".into(),
        state: 'S',
        program: Seen::Seen(HostPath::from(program)),
        children: Seen::Seen(0),
    }];
    seen
}

#[test]
fn a_shim_with_nothing_below_it() {
    let seen = lost("/usr/bin/containerd-shim-runc-v2 (deleted)");
    assert_eq!(causes(&seen), ["ShimLeaked"]);
    assert_eq!(verdict(&seen), Verdict::Stuck);
    let finding = crate::gates::judge(&seen).pods[0].findings[0].clone();
    let commands: Vec<&String> = finding.remedy.steps.iter().filter_map(|step| step.command.as_ref()).collect();
    assert_eq!(commands.len(), 1);
    assert!(commands[0].contains("/proc/300/stat ") && commands[0].contains(" = 7 ]; then kill 300; "), "{commands:?}");
}

#[test]
fn a_shim_of_another_runtime_whose_guest_is_gone() {
    assert_eq!(causes(&lost("/opt/kata/bin/containerd-shim-kata-v2")), ["SandboxedGuestGone"]);
    assert_eq!(causes(&lost("/usr/local/bin/containerd-shim-runsc-v1")), ["SandboxedGuestGone"]);
}

#[test]
fn nobody_is_accused_when_a_part_of_the_proof_is_missing() {
    const RUNC: &str = "/usr/bin/containerd-shim-runc-v2";
    let with = |change: fn(&mut Observation)| {
        let mut seen = lost(RUNC);
        change(&mut seen);
        causes(&seen)
    };
    let no_shim = ["RuntimeLostExit"];
    assert_eq!(with(|seen| seen.shims.clear()), no_shim);
    assert_eq!(with(|seen| seen.shims[0].sandbox = "other".into()), no_shim);
    assert_eq!(with(|seen| seen.shims[0].children = Seen::Seen(1)), no_shim);
    assert_eq!(with(|seen| seen.shims[0].children = Seen::Missing), no_shim);
    assert_eq!(with(|seen| seen.shims[0].program = Seen::Missing), no_shim);
    assert_eq!(with(|seen| seen.shims[0].program = Seen::Seen(HostPath::from("/bin/sh"))), no_shim);
    assert_eq!(with(|seen| seen.processes.push(process(310, "pause", 'S', SHIM))), no_shim, "the pause process lives");
}

#[test]
fn a_clean_up_gets_its_time() {
    let mut seen = lost("/usr/bin/containerd-shim-runc-v2");
    let Seen::Seen(api) = &mut seen.api else { unreachable!() };
    api.pods[0].deletion = Some(Deletion { deadline_ms: NOW - 60_000, grace_s: 30 });
    assert_eq!(verdict(&seen), Verdict::Progressing);
    assert_eq!(crate::gates::judge(&seen).pods[0].findings[0].confidence, Confidence::Probable);
}
