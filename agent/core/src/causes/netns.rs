//! The file that pins a sandbox's network namespace: gone, or busy.

use super::prelude::*;
use super::{dra, network, volume::Left};

const GATE: Option<Gate> = Some(Gate::SandboxStopped);

/// Whether the tear-down of the sandbox's network, though no network is left, must be what the
/// kubelet waits for: the runtime lost the namespace, and the pod did not come further than this.
pub fn is_open(view: &PodView, sandbox: &Sandbox) -> bool {
    stopped_without(view, sandbox).is_some() || busy(view, sandbox).is_some()
}

/// Whether the kubelet was started so lately, after a boot, that it may not have come to what the boot has left.
pub fn is_awaited(view: &PodView) -> bool {
    network::has_young_kubelet(view.seen)
        && view.sandboxes.iter().any(|sandbox| stopped_without(view, sandbox).is_some())
}

/// What is wrong with the pin of a sandbox's network namespace.
pub fn find(view: &PodView, sandbox: &Sandbox, head: &[Link]) -> Option<Finding> {
    if let Some((network, copy)) = busy(view, sandbox) {
        return Some(is_busy(view, sandbox, network, copy, head));
    }
    // A runtime that refuses comes to no plugin (`Remove` of go-cni asks for the `Status` first): the node's cause is
    // reported.
    let stopped = stopped_without(view, sandbox).filter(|_| !network::refuses(view.seen));
    let (network, why) = stopped.or_else(|| ready_without(view, sandbox))?;
    Some(missing(view, sandbox, network, why, head))
}

fn network(sandbox: &Sandbox) -> Option<&NetworkNamespace> {
    sandbox.network.get()
}

/// The namespaces of before a boot are gone with `/run`. A sandbox that was stopped in time has lost
/// its namespace too, so the pod itself has to show that its sandbox was not: from 1.27 on a phase
/// of Running becomes terminal, and volumes and cgroup are cleaned up, as soon as the sandboxes are stopped.
fn stopped_without<'a>(view: &PodView, sandbox: &'a Sandbox) -> Option<(&'a NetworkNamespace, &'static str)> {
    let network = network(sandbox).filter(|_| network::is_lost(view.seen, sandbox))?;
    let is_before = view.is_reported_ended() == Some(false);
    let is_left = Left::count(view).anything() || view.cgroup.is_some();
    let open = is_before && is_left && !dra::is_blocked(view);
    open.then_some((network, "the sandbox is older than this boot"))
}

/// CRI-O tears the network down before it ends the sandbox.
fn ready_without<'a>(view: &PodView, sandbox: &'a Sandbox) -> Option<(&'a NetworkNamespace, &'static str)> {
    let repeats = network::repeats_release(view.seen);
    let network = network(sandbox).filter(|network| network.missing && sandbox.ready && repeats)?;
    Some((network, "the sandbox is READY, and CRI-O releases its network first"))
}

fn missing(view: &PodView, sandbox: &Sandbox, network: &NetworkNamespace, why: &str, head: &[Link]) -> Finding {
    pod_finding(view, &cause::CNI_TEARDOWN_FAILING, GATE, head)
        .probable("the answer of the CNI plugin to a path that does not exist")
        .blame(describe::file(&network.path).called("network namespace "), format!("does not exist; {why}"))
        .evidence(network.path.show(), "no such file")
        .evidence(format!("CRI PodSandboxStatus {}", sandbox.id), "names it as the sandbox's network namespace")
        .name(Placeholder::Sandbox, &sandbox.id)
        .name_if(Placeholder::Path, network.path.as_str())
        .root(&sandbox.id)
        .finish()
}

/// The file cannot be removed while it is mounted in another namespace, on kernels of old.
fn busy<'a>(view: &PodView<'a>, sandbox: &'a Sandbox) -> Option<(&'a NetworkNamespace, &'a MountCopy)> {
    let network = network(sandbox).filter(|network| !sandbox.ready && !network.missing)?;
    let above = network.path.parent()?.parent()?;
    if !copies_block(view.seen) {
        return None;
    }
    network.path.relative_to(&above).map(|end| view.seen.is_settled(Question::MountCopies(end)));
    let copy = view.seen.mount_copies.iter().find(|copy| copy.is_copy_of(&network.path, &above))?;
    Some((network, copy))
}

fn is_busy(view: &PodView, sandbox: &Sandbox, network: &NetworkNamespace, copy: &MountCopy, head: &[Link]) -> Finding {
    let cause = &cause::MOUNT_COPIED_ON_OLD_KERNEL;
    describe::name_copy_holder(pod_finding(view, cause, GATE, head), copy)
        .link(describe::file(&network.path).called("network namespace "), "cannot be removed: mounted elsewhere")
        .blame(describe::pid(copy.pid, &copy.comm, copy.state), describe::copy_state(copy))
        .evidence(format!("/proc/{}/mountinfo", copy.pid), copy.mount.mount_point.show())
        .evidence("uname -r", &view.seen.node.kernel)
        .name(Placeholder::Sandbox, &sandbox.id)
        .root(format!("{}:{}", copy.ns, network.path.show()))
        .finish()
}

#[cfg(test)]
mod tests {
    use crate::test_prelude::*;

    fn sandbox(seen: &mut Observation) -> &mut Sandbox {
        let runtime = seen.runtime.get_mut().unwrap();
        &mut runtime.sandboxes[0]
    }

    fn network(pinned: bool, missing: bool) -> Seen<NetworkNamespace> {
        Seen::Seen(NetworkNamespace { path: HostPath::from("/var/run/netns/cni-1"), pinned, missing })
    }

    /// Everything ended with a boot an hour ago, and the namespace with it.
    fn rebooted() -> Observation {
        let mut seen = sample::mounted("ext4");
        sample::set_phase(&mut seen, "Running");
        sample::table(&mut seen).clear();
        seen.pod_dirs.get_mut().unwrap()[0].volumes.get_mut().unwrap()[0].mounted = Seen::Seen(false);
        seen.uptime_ms = 3_600_000;
        sandbox(&mut seen).network = network(false, true);
        seen
    }

    #[test]
    fn a_namespace_that_a_boot_has_taken() {
        let seen = rebooted();
        assert_eq!(causes(&seen), ["CniTeardownFailing"]);
        assert_eq!(verdict(&seen), findings::Verdict::Stuck);
    }

    #[test]
    fn a_namespace_that_a_boot_has_taken_while_the_network_is_not_up() {
        let mut seen = rebooted();
        let facts = sample::runtime(&mut seen);
        facts.unready.push(("NetworkReady".into(), "Network plugin returns error: cni plugin not initialized".into()));
        assert_eq!(node_causes(&seen), ["NetworkNotReady"]);
        assert_eq!((causes(&seen), verdict(&seen)), (Vec::new(), findings::Verdict::Stuck));
        // Its own pod has to be started too, and with a network the kubelet has to come to it.
        let mut young = rebooted();
        for seen in [&mut seen, &mut young] {
            seen.node.kubelet.get_mut().unwrap().age_ms = 20_000;
            assert_eq!((node_causes(seen), verdict(seen)), (Vec::new(), findings::Verdict::Progressing));
        }
        sandbox(&mut seen).network = network(true, false);
        assert_eq!(node_causes(&seen), ["NetworkNotReady"], "nothing was lost");
    }

    #[test]
    fn a_missing_namespace_alone_is_the_rule_and_no_cause() {
        let mut seen = rebooted();
        sample::set_phase(&mut seen, "Failed");
        assert_eq!(causes(&seen), ["CsiUnpublishFails"], "the sandboxes were stopped");
        sample::set_phase(&mut seen, "Pending");
        assert_eq!(causes(&seen), ["CsiUnpublishFails"], "it stays so to the end");
        let mut seen = rebooted();
        sandbox(&mut seen).created_ms = NOW - 60_000;
        assert_eq!(causes(&seen), ["TerminationNotFinished"], "the sandbox is of this boot");
        let mut seen = rebooted();
        sandbox(&mut seen).network = Seen::Missing;
        assert_eq!(causes(&seen), ["TerminationNotFinished"], "it has no network of its own");
        sandbox(&mut seen).network = network(false, false);
        assert_eq!(causes(&seen), ["TerminationNotFinished"], "its network is there");
        let mut seen = rebooted();
        seen.pod_dirs = Seen::Seen(Vec::new());
        assert_eq!(causes(&seen), ["StatusNotReported"], "the kubelet came further");
    }

    #[test]
    fn cri_o_with_a_sandbox_that_has_lost_its_namespace() {
        let mut seen = sample::running();
        seen.processes.clear();
        let runtime = seen.runtime.get_mut().unwrap();
        runtime.containers[0].state = ContainerState::Exited;
        runtime.sandboxes[0].network = network(false, true);
        assert_eq!(causes(&seen), ["SandboxNotStopped"], "containerd ends the sandbox first");
        sample::with_crio(&mut seen);
        // It calls the plugin once; those before it do so until it succeeds.
        for version in ["1.31.14", "1.32.8-2.rhaos4.19", "1.33.4", "1.34.1"] {
            sample::runtime(&mut seen).version = version.into();
            for (pinned, missing) in [(false, true), (true, false)] {
                sandbox(&mut seen).network = network(pinned, missing);
                assert_eq!(causes(&seen), ["SandboxNotStopped"], "{version}");
            }
        }
        for version in ["1.30.6", "1.31.13", "1.32.7-1.rhaos4.19", "1.33.3"] {
            sample::runtime(&mut seen).version = version.into();
            sandbox(&mut seen).network = network(false, true);
            assert_eq!(causes(&seen), ["CniTeardownFailing"], "{version}");
            sandbox(&mut seen).network = network(true, false);
            assert_eq!(causes(&seen), ["CniTeardownFailing"], "{version}");
        }
        assert_eq!(judge(&seen).pods[0].findings[0].confidence, findings::Confidence::Probable);
        let unready = ("NetworkReady".into(), "No CNI configuration file in /etc/cni/net.d/.".into());
        sample::runtime(&mut seen).unready.push(unready);
        assert_eq!(causes(&seen), ["CniTeardownFailing"]);
        sample::set_phase(&mut seen, "Pending");
        assert_eq!(causes(&seen), ["PodStartNotFinished"], "it has its network while it starts");
    }

    #[test]
    fn a_namespace_that_is_mounted_elsewhere_on_an_old_kernel() {
        let mut seen = sample::mounted("ext4");
        sandbox(&mut seen).network = network(false, false);
        seen.mount_copies = vec![mount_copy("0:3", "/host/run/netns/cni-1")];
        assert!(!causes(&seen).contains(&"MountCopiedOnOldKernel"), "today's kernels detach it");
        seen.node.kernel = "3.10.0-1160.el7.x86_64".into();
        assert_eq!(causes(&seen), ["MountCopiedOnOldKernel"]);
        let text = serde_json::to_string(&judge(&seen)).unwrap();
        assert!(text.contains("ntpd.service") && text.contains("may_detach_mounts"), "{text}");
        seen.node.may_detach_mounts = Seen::Seen(true);
        assert!(!causes(&seen).contains(&"MountCopiedOnOldKernel"));
        seen.node.may_detach_mounts = Seen::Seen(false);
        seen.mount_copies = vec![mount_copy("0:3", "/host/run/netns/cni-10")];
        assert!(!causes(&seen).contains(&"MountCopiedOnOldKernel"), "it is another pod's");
        seen.mount_copies = vec![mount_copy("0:3", "/host/run/netns/cni-1")];
        sandbox(&mut seen).network = network(false, true);
        assert!(!causes(&seen).contains(&"MountCopiedOnOldKernel"), "the file is gone");
    }

    /// Saved by an agent that did not know of these fields.
    #[test]
    fn an_older_observation_loads_and_claims_nothing() {
        let mut seen = sample::mounted("ext4");
        sandbox(&mut seen).network = network(false, true);
        let mut saved = serde_json::to_value(&seen).unwrap();
        saved.as_object_mut().unwrap().remove("elsewhere");
        saved["node"].as_object_mut().unwrap().remove("may_detach_mounts");
        saved.pointer_mut("/runtime/Seen/sandboxes/0/network/Seen").unwrap().as_object_mut().unwrap().remove("missing");
        let loaded: Observation = serde_json::from_value(saved).unwrap();
        assert!(!causes(&loaded).iter().any(|cause| ["CniTeardownFailing", "MountCopiedOnOldKernel"].contains(cause)));
    }
}
