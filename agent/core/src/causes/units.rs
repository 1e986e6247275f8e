//! What systemd calls the kubelet and the container runtime here.

use crate::{
    distribution::{Distribution, RUNTIMES, Runtime},
    observation::Observation,
};

/// Both, as far as one is known.
pub(super) fn of_kubelet_and_runtime(seen: &Observation) -> (Option<&str>, Option<&str>) {
    let kubelet = kubelet_unit(seen);
    (kubelet.map(short), runtime_unit(seen, kubelet).map(short))
}

/// The unit the kernel says it runs in, else that of its distribution.
fn kubelet_unit(seen: &Observation) -> Option<&str> {
    let kubelet = seen.node.kubelet.get();
    let comm = kubelet.map(|kubelet| kubelet.comm.as_str());
    let socket = seen.node.cri_socket.get().map(|socket| socket.show());
    let told = kubelet.and_then(|kubelet| kubelet.unit.as_deref());
    told.or_else(|| Distribution::of(comm, None, socket.as_deref()).kubelet_unit(comm))
}

/// The same of the runtime: its distribution is known by its socket.
fn runtime_unit<'a>(seen: &'a Observation, kubelet_unit: Option<&'a str>) -> Option<&'a str> {
    let told = seen.node.runtime_process.get().and_then(|process| process.unit.as_deref());
    told.or_else(|| {
        let socket = seen.node.cri_socket.get().map(|socket| socket.show());
        let runtime = socket.as_deref().and_then(Runtime::at).unwrap_or(&RUNTIMES[0]);
        runtime.unit.or(kubelet_unit)
    })
}

/// As people write it.
fn short(unit: &str) -> &str {
    unit.strip_suffix(".service").unwrap_or(unit)
}
