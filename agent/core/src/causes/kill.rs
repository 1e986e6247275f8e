//! Which processes a step may kill.

use findings::{ProcessId, kubernetes_distribution};

use super::prelude::*;

/// Programs of which a node lives, beside its kubelet: containers, or all of them, would go with them.
const NEEDED: [&str; 6] = ["systemd", "init", "containerd", "crio", "dockerd", "cri-dockerd"];

/// The value for the placeholder of a command that kills, unless the process is one that a node
/// needs: pid 1, the kubelet, a runtime, a shim, the agent itself. Nor for one that gives no answer.
pub fn may_be_killed(view: &PodView, process: ProcessId, comm: &str) -> Option<ProcessId> {
    let pid = process.pid;
    let kubelet = view.seen.node.kubelet.get().map(|kubelet| kubelet.pid);
    let runtime = view.seen.node.runtime_process.get().map(|runtime| runtime.pid);
    let named = NEEDED.contains(&comm) || kubernetes_distribution::is_kubelet(comm) || is_shim_name(comm);
    let needed = named || pid <= 1 || Some(pid) == kubelet || Some(pid) == runtime;
    (!needed && process.may_be_asked()).then_some(process)
}

/// A container's direct parent that the runtime put there: containerd's shims, CRI-O's conmon.
pub fn is_shim(process: &Process) -> bool {
    is_shim_name(&process.comm)
}

/// CRI-O kills by its OCI runtime and takes a zombie for dead (its `internal/oci/container.go`): of conmon it waits for
/// nothing, and needs it for the record of the exit.
pub fn is_conmon(process: &Process) -> bool {
    is_conmon_name(&process.comm)
}

fn is_shim_name(comm: &str) -> bool {
    comm.starts_with("containerd-shim") || is_conmon_name(comm) || comm.starts_with("docker-contain")
}

fn is_conmon_name(comm: &str) -> bool {
    comm.starts_with("conmon")
}
