//! The node's pod network: while it is not ready, some runtimes refuse to release any pod's network.

use super::prelude::*;
use crate::messages;

/// Runtimes that fail `StopPodSandbox` before they call a plugin, as long as they have no network
/// configuration. CRI-O goes on with what it has cached of the pod.
const REFUSING: [&str; 2] = ["containerd", "docker"];
/// So many sandboxes are named.
const MAX_NAMED: usize = 4;

/// What the runtime says of its network, when that is not ready.
pub fn unready<'a>(seen: &'a Facts<'_>) -> Option<&'a str> {
    seen.is_settled(Question::RuntimeConditions);
    let runtime = seen.runtime.get()?;
    runtime.unready.iter().find(|(condition, _)| condition == "NetworkReady").map(|(_, message)| message.as_str())
}

/// Whether the runtime says that it has found no configuration, and may do without.
pub fn is_unconfigured(seen: &Facts<'_>) -> bool {
    unready(seen).is_some_and(messages::is_network_unconfigured)
}

/// Whether the state of the node, and nothing of the pod, keeps this sandbox's network.
pub fn holds(seen: &Facts<'_>, sandbox: &Sandbox) -> bool {
    let is_lost = || is_lost(seen, sandbox) && !has_young_kubelet(seen);
    (is_left(sandbox) || is_lost()) && refuses(seen)
}

/// Whether the runtime refuses to release networks.
pub fn refuses(seen: &Facts<'_>) -> bool {
    refusal(seen).is_some()
}

/// The network of a stopped sandbox is gone with an earlier boot, whether it was released or not.
pub fn is_lost(seen: &Observation, sandbox: &Sandbox) -> bool {
    let booted_ms = seen.at_ms.saturating_sub(seen.uptime_ms);
    let is_missing = sandbox.network.get().is_some_and(|network| network.missing);
    is_missing && !sandbox.ready && sandbox.created_ms < booted_ms
}

/// Whether the kubelet was started so lately that the pod of the network may still be on its way.
pub fn has_young_kubelet(seen: &Observation) -> bool {
    seen.node.kubelet.get().is_some_and(|kubelet| kubelet.age_ms < UNMOUNT_RETRY_MS)
}

/// The network of a stopped sandbox is still there.
pub fn is_left(sandbox: &Sandbox) -> bool {
    !sandbox.ready && is_pinned(sandbox)
}

/// The network of a sandbox that is READY may be what keeps it so.
pub fn may_be_first(seen: &Observation, sandbox: &Sandbox) -> bool {
    sandbox.ready && is_pinned(sandbox) && repeats_release(seen)
}

/// CRI-O calls the plugin before it stops anything (`networkStop`), and up to these versions again and again where that
/// fails; later ones go on after the first failure, and where the namespace is gone.
pub fn repeats_release(seen: &Observation) -> bool {
    let is_crio = |runtime: &&RuntimeFacts| runtime.name == "cri-o";
    let version = seen.runtime.get().filter(is_crio).and_then(|runtime| minor_and_patch(&runtime.version));
    version.is_some_and(|(minor, patch)| match minor {
        ..=30 => true,
        31 => patch < 14,
        32 => patch < 8,
        33 => patch < 4,
        _ => false,
    })
}

/// `1.32.7`, `1.33.4-2.rhaos4.20`: 32 and 7, 33 and 4.
fn minor_and_patch(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split(['.', '-', '+', '~']).map(str::parse);
    match (numbers.next()?, numbers.next()?, numbers.next()?) {
        (Ok(1), Ok(minor), Ok(patch)) => Some((minor, patch)),
        _ => None,
    }
}

fn is_pinned(sandbox: &Sandbox) -> bool {
    sandbox.network.get().is_some_and(|network| network.pinned)
}

/// The runtime's words, when they mean that it refuses to release networks. A plugin that is loaded
/// and says that it is not ready is still called.
fn refusal<'a>(seen: &'a Facts<'_>) -> Option<&'a str> {
    let refuses = seen.runtime.get().is_some_and(|runtime| REFUSING.contains(&runtime.name.as_str()));
    unready(seen).filter(|message| refuses && messages::is_network_uninitialized(message))
}

/// The state of the node, when it holds any sandbox of a pod that should be gone.
pub fn not_ready(seen: &Facts<'_>) -> Option<Finding> {
    let runtime = seen.runtime.get()?;
    // Pods that run again have sandboxes of before a boot too.
    let is_held = |sandbox: &&Sandbox| seen.looked_into.contains(&sandbox.pod.uid) && holds(seen, sandbox);
    let mut held = runtime.sandboxes.iter().filter(is_held).peekable();
    held.peek()?;
    let message = refusal(seen)?;
    let cause = &cause::NETWORK_NOT_READY;
    let mut draft = node_finding(seen, cause, None)
        .blame("network of the node", format!("{} says: {message}", runtime.name))
        .evidence("CRI Status, condition NetworkReady", format!("false, {message}"));
    for sandbox in held.take(MAX_NAMED) {
        let path = sandbox.network.get().map(|network| network.path.show()).unwrap_or_default();
        let says = if is_left(sandbox) { "is left" } else { "is gone with an earlier boot" };
        draft = draft.evidence(format!("sandbox {} of pod {}", sandbox.id, sandbox.pod), format!("{path} {says}"));
    }
    Some(draft.finish())
}

#[cfg(test)]
mod tests {
    use crate::test_prelude::*;

    #[test]
    fn a_network_of_the_node_that_is_not_ready_is_told_once() {
        let mut seen = sample::running();
        seen.processes.clear();
        let facts = runtime(&mut seen);
        facts.containers[0].state = ContainerState::Exited;
        facts.sandboxes[0].ready = false;
        facts.unready.push(("NetworkReady".into(), "Network plugin returns error: cni plugin not initialized".into()));
        let network = NetworkNamespace { path: HostPath::from("/var/run/netns/cni-1"), pinned: false, missing: true };
        facts.sandboxes[0].network = Seen::Seen(network.clone());
        assert_eq!(judge(&seen).node_findings, [], "it holds nothing here");
        let mut other = runtime(&mut seen).sandboxes[0].clone();
        other.pod.uid = findings::PodUid::parse("00000000-0000-4000-8000-000000000000").unwrap();
        other.network = Seen::Seen(NetworkNamespace { pinned: true, ..network.clone() });
        let mut beside = seen.clone();
        runtime(&mut beside).sandboxes[0].ready = true;
        runtime(&mut beside).sandboxes.push(other);
        assert_eq!(judge(&beside).node_findings, [], "that it holds another pod is nothing to this one");
        runtime(&mut seen).sandboxes[0].network = Seen::Seen(NetworkNamespace { pinned: true, ..network });
        let report = judge(&seen);
        assert_eq!(report.node_findings[0].finding.cause.id, "NetworkNotReady");
        assert_eq!(report.node_findings[0].pods, [sample::pod()]);
        assert_eq!((report.pods[0].verdict, report.pods[0].findings.len()), (Verdict::Stuck, 0));
        let mut before = seen.clone();
        runtime(&mut before).containers[0].state = ContainerState::Running;
        assert_ne!(judge(&before).pods[0].gate, report.pods[0].gate);
        let held = |seen: &Observation| judge(seen).node_findings.iter().any(|held| !held.pods.is_empty());
        assert!(held(&seen) && !held(&before), "it waits for its container first");
        sample::with_crio(&mut seen);
        assert_eq!(causes(&seen), ["CniTeardownFailing"], "it may use its cache");
    }
}
