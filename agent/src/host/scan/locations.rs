//! Where things are on this node: what the user said, else what the kubelet was told, else the
//! usual places.

use std::io::ErrorKind;

use crate::{
    distribution::{DEFAULT_ROOT, DISTRIBUTIONS, RUNTIMES},
    host::{HostRoot, kubelet},
    observation::{ApiFacts, Fault, FaultKind, HostPath, RuntimeFacts, Sandbox, Seen, Source},
    sys::{self, ProcDir},
};

use super::Options;

/// The host through the kubelet's eyes, unless the agent stands in the same mount namespace.
pub fn host(options: &Options, kubelet: Option<u32>) -> HostRoot {
    if let Some(root) = &options.host_root {
        return HostRoot::new(root.clone());
    }
    let namespace = |pid: u32| ProcDir::open(pid).and_then(|dir| dir.namespace("mnt"));
    let own = namespace(std::process::id()).ok();
    let is_other = |pid: &u32| match namespace(*pid) {
        Ok(theirs) => Some(theirs) != own,
        // Where we may not look, every read is to be refused: a container's own files would tell that
        // the node has no pods and no runtime.
        Err(error) => kubelet.is_some() && error.kind() == ErrorKind::PermissionDenied,
    };
    let through = kubelet.or(Some(1)).filter(is_other);
    through.map_or_else(HostRoot::default, |pid| HostRoot::new(format!("/proc/{pid}/root")))
}

/// The node's name.
pub fn node_name(options: &Options, settings: &kubelet::Settings) -> String {
    let named = options.node_name.clone().or_else(|| settings.flags.hostname_override.clone());
    named.unwrap_or_else(|| sysinfo::System::host_name().unwrap_or_default().to_lowercase())
}

/// The kubelet's directory, with links followed: the mount table knows only real paths.
pub fn kubelet_root(options: &Options, settings: Option<&kubelet::Settings>, host: &HostRoot) -> HostPath {
    let exists = |root: &&str| sys::file_facts(&host.at(&HostPath::from(*root)).join("pods")).is_ok();
    let mut usual = DISTRIBUTIONS.iter().map(|distribution| distribution.kubelet_root);
    let root = match (&options.kubelet_root, settings) {
        (Some(root), _) => HostPath::from(root.clone()),
        (None, Some(settings)) => settings.root_dir(),
        (None, None) => HostPath::from(usual.find(exists).unwrap_or(DEFAULT_ROOT)),
    };
    host.without_links(root)
}

/// The runtime's socket.
pub fn cri_socket(options: &Options, settings: &kubelet::Settings, host: &HostRoot) -> Seen<HostPath> {
    if let Some(told) = options.cri_socket.clone().map(HostPath::from).or_else(|| settings.runtime_socket()) {
        return Seen::Seen(told);
    }
    // Some distributions bring a runtime of their own, whatever else is installed beside it.
    let own = settings.distribution.runtime;
    let mut refused = Seen::Missing;
    for socket in own.into_iter().chain(&RUNTIMES).map(|runtime| HostPath::from(runtime.socket)) {
        match sys::file_facts(&host.at(&socket)) {
            Ok(_) => return Seen::Seen(socket),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                refused = Seen::Failed(Fault::new(format!("CRI {}", socket.show()), error));
            }
            Err(_) => {}
        }
    }
    refused
}

/// Whether the socket that is asked is the one the kubelet uses: only then does its silence mean
/// that the kubelet waits.
pub fn is_kubelets(options: &Options, settings: &kubelet::Settings) -> bool {
    let told = options.cri_socket.clone().map(HostPath::from);
    let own = settings.distribution.runtime.map(|runtime| HostPath::from(runtime.socket));
    told.is_none() || settings.runtime_socket().or(own) == told
}

/// An answer about another machine is worse than none: every pod here would seem forgotten. The
/// boot id settles it; without it, a list that shares no pod with this node is not this node's.
pub fn of_this_node(api: Seen<ApiFacts>, runtime: &Seen<RuntimeFacts>, boot_id: Option<String>) -> Seen<ApiFacts> {
    let Seen::Seen(facts) = api else { return api };
    let same = facts.boot_id.as_ref().zip(boot_id.as_ref()).map(|(told, own)| told == own.trim());
    let sandboxes = runtime.get().into_iter().flat_map(|runtime| &runtime.sandboxes);
    let is_static = |sandbox: &Sandbox| sandbox.is_static || sandbox.pod.uid.is_static();
    let mut ready = sandboxes.filter(|sandbox| sandbox.ready && !is_static(sandbox)).peekable();
    let knows_none = ready.peek().is_some() && ready.all(|sandbox| facts.pods.iter().all(|p| p.uid != sandbox.pod.uid));
    if same == Some(true) || (same.is_none() && !knows_none) {
        return Seen::Seen(facts);
    }
    let why = "its answer is about another machine; name this node with --node-name, its cluster with --kubeconfig";
    Seen::Failed(Fault::new(Source::ApiServer, (FaultKind::NotAsked, why)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::sample;

    #[test]
    fn the_pods_of_another_machine_are_not_believed() {
        let seen = sample::running();
        let own = || Some("b\n".to_owned());
        assert!(of_this_node(seen.api.clone(), &seen.runtime, own()).get().is_some(), "they share a pod");
        let mut other = sample::node();
        assert!(of_this_node(other.api.clone(), &seen.runtime, own()).fault().is_some(), "they share none");
        let Seen::Seen(facts) = &mut other.api else { unreachable!() };
        facts.boot_id = Some("b".to_owned());
        assert!(of_this_node(other.api.clone(), &seen.runtime, own()).get().is_some(), "all were forgotten");
        let Seen::Seen(facts) = &mut other.api else { unreachable!() };
        facts.boot_id = Some("c".to_owned());
        assert!(of_this_node(other.api, &seen.runtime, own()).fault().is_some());
    }
}
