//! The file that pins a sandbox's network namespace: gone, or busy.

use findings::{Finding, Gate, Link, Placeholder, cause};

use super::{Found, api_side, runtime, volume::Left, words};
use crate::{
    observation::{HostPath, MountCopy, NetworkNamespace, Question, Sandbox},
    view::{PodView, copies_block},
};

const GATE: Option<Gate> = Some(Gate::SandboxStopped);

/// Whether the tear-down of the sandbox's network, though no network is left, must be what the
/// kubelet waits for: the runtime lost the namespace, and the pod did not come further than this.
pub fn is_open(view: &PodView, sandbox: &Sandbox) -> bool {
    stopped_without(view, sandbox).is_some() || busy(view, sandbox).is_some()
}

/// What is wrong with the pin of a sandbox's network namespace.
pub fn find(view: &PodView, sandbox: &Sandbox, head: &[Link]) -> Option<Finding> {
    if let Some((network, copy)) = busy(view, sandbox) {
        return Some(is_busy(view, sandbox, network, copy, head));
    }
    let (network, why) = stopped_without(view, sandbox).or_else(|| ready_without(view, sandbox))?;
    Some(missing(view, sandbox, network, why, head))
}

fn network(sandbox: &Sandbox) -> Option<&NetworkNamespace> {
    sandbox.network.get()
}

/// The namespaces of before a boot are gone with `/run`. A sandbox that was stopped in time has lost
/// its namespace too, so the pod itself has to show that its sandbox was not: from 1.27 on a phase
/// is terminal, and volumes and cgroup are cleaned up, as soon as the sandboxes are stopped.
fn stopped_without<'a>(view: &PodView, sandbox: &'a Sandbox) -> Option<(&'a NetworkNamespace, &'static str)> {
    let network = network(sandbox).filter(|network| network.missing && !sandbox.ready)?;
    let booted_ms = view.seen.at_ms.saturating_sub(view.seen.uptime_ms);
    let not_terminal = view.api.is_some_and(|pod| api_side::is_open(&pod.phase) && !pod.mirror);
    let is_before = not_terminal && !view.is_stale() && !view.kubelet.tests_together();
    let is_left = Left::of(view).anything() || view.cgroup.is_some();
    let open = sandbox.created_ms < booted_ms && is_before && is_left && api_side::devices(view).is_none();
    open.then_some((network, "the sandbox is older than this boot"))
}

/// CRI-O tears the network down before it ends the sandbox.
fn ready_without<'a>(view: &PodView, sandbox: &'a Sandbox) -> Option<(&'a NetworkNamespace, &'static str)> {
    let is_crio = view.seen.runtime.get().is_some_and(|runtime| runtime.name == "cri-o");
    let network = network(sandbox).filter(|network| network.missing && sandbox.ready && is_crio)?;
    Some((network, "the sandbox is READY, and CRI-O releases its network first"))
}

fn missing(view: &PodView, sandbox: &Sandbox, network: &NetworkNamespace, why: &str, head: &[Link]) -> Finding {
    let cause = &cause::NETNS_PATH_MISSING;
    runtime::named(view, Found::new(cause, GATE).after(head))
        .probable()
        .blame(words::place(&network.path).called("network namespace "), format!("does not exist; {why}"))
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
    let above = HostPath::from(network.path.as_path().parent()?.parent()?.to_owned());
    if !copies_block(view.seen) {
        return None;
    }
    network.path.below(&above).map(|end| view.seen.is_settled(Question::MountCopies(end)));
    let copy = view.seen.mount_copies.iter().find(|copy| copy.is_copy_of(&network.path, &above))?;
    Some((network, copy))
}

fn is_busy(view: &PodView, sandbox: &Sandbox, network: &NetworkNamespace, copy: &MountCopy, head: &[Link]) -> Finding {
    let cause = &cause::NETNS_BUSY;
    words::copy_named(runtime::named(view, Found::new(cause, GATE).after(head)), copy)
        .link(words::place(&network.path).called("network namespace "), "cannot be removed: mounted elsewhere")
        .blame(words::pid(copy.pid, &copy.comm, copy.state), words::has_copy(copy))
        .evidence(format!("/proc/{}/mountinfo", copy.pid), copy.mount.mount_point.show())
        .evidence("uname -r", &view.seen.node.kernel)
        .name(Placeholder::Sandbox, &sandbox.id)
        .root(format!("{}:{}", copy.ns, network.path.show()))
        .finish()
}
