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
    host.without_links(told_root(options, settings, host))
}

/// The kubelet's directory as the kubelet and its plugins call it.
pub fn told_root(options: &Options, settings: Option<&kubelet::Settings>, host: &HostRoot) -> HostPath {
    let pods = |root: &str| host.without_links(HostPath::from(root).join("pods"));
    let exists = |root: &&str| sys::file_facts(&host.at(&pods(root))).is_ok();
    let mut usual = DISTRIBUTIONS.iter().map(|distribution| distribution.kubelet_root);
    match (&options.kubelet_root, settings) {
        (Some(root), _) => HostPath::from(root.clone()),
        (None, Some(settings)) => settings.root_dir(),
        (None, None) => HostPath::from(usual.find(exists).unwrap_or(DEFAULT_ROOT)),
    }
}

/// The runtime's socket.
pub fn cri_socket(options: &Options, settings: &kubelet::Settings, host: &HostRoot) -> Seen<HostPath> {
    if let Some(told) = options.cri_socket.clone().map(HostPath::from).or_else(|| settings.runtime_socket()) {
        return Seen::Seen(host.without_links(told));
    }
    // Some distributions bring a runtime of their own, whatever else is installed beside it.
    let own = settings.distribution.runtime;
    let mut refused = Seen::Missing;
    for socket in own.into_iter().chain(&RUNTIMES).map(|runtime| host.without_links(runtime.socket.into())) {
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
pub fn is_kubelets(options: &Options, settings: &kubelet::Settings, host: &HostRoot) -> bool {
    let real = |path: HostPath| host.without_links(path);
    let told = options.cri_socket.clone().map(HostPath::from).map(real);
    let own = settings.distribution.runtime.map(|runtime| HostPath::from(runtime.socket));
    told.is_none() || settings.runtime_socket().or(own).map(real) == told
}

/// That nobody listens on a socket that is not there is so only where the kubelet, too, finds none.
pub fn refused_to_kubelet(runtime: Seen<RuntimeFacts>, socket: &HostPath, of_kubelet: &HostRoot) -> Seen<RuntimeFacts> {
    match runtime {
        Seen::Failed(fault) if fault.kind == FaultKind::Refused && is_of_nothing(&fault) => {
            let missing = of_kubelet.is_missing(socket);
            let kind = if missing { FaultKind::Refused } else { FaultKind::Gone };
            Seen::Failed(Fault { kind, ..fault })
        }
        other => other,
    }
}

fn is_of_nothing(fault: &Fault) -> bool {
    fault.errno.map(FaultKind::of_errno) == Some(FaultKind::Gone)
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
    use crate::{host::Sockets, host::runtime::Runtime, observation::sample};

    /// `/var/run` as on Debian: below another root an absolute link leads into the reader's own.
    fn node_with(socket: &str) -> (tempfile::TempDir, HostRoot, kubelet::Settings) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("var")).unwrap();
        std::fs::create_dir_all(dir.path().join("run/wt-test")).unwrap();
        std::os::unix::fs::symlink("/run", dir.path().join("var/run")).unwrap();
        let mut settings = kubelet::Settings::default();
        settings.config.container_runtime_endpoint = Some(format!("unix://{socket}"));
        let host = HostRoot::new(dir.path());
        (dir, host, settings)
    }

    #[tokio::test]
    async fn a_socket_told_below_a_link_is_the_kubelets_own() {
        let (dir, host, settings) = node_with("/var/run/wt-test/c.sock");
        let real = HostPath::from("/run/wt-test/c.sock");
        let facts = async |socket: &HostPath| {
            let facts = Runtime::new(&Sockets::Own, &host.at(socket)).unwrap().facts(None).await;
            refused_to_kubelet(facts, socket, &host).fault().map(|fault| fault.kind)
        };
        let found = cri_socket(&Options::default(), &settings, &host);
        assert_eq!(found, Seen::Seen(real.clone()));
        assert_eq!(facts(&real).await, Some(FaultKind::Refused), "it is not there");
        let listener = std::os::unix::net::UnixListener::bind(dir.path().join("run/wt-test/c.sock")).unwrap();
        assert_eq!(facts(&real).await, Some(FaultKind::TimedOut), "it was reached");
        drop(listener);
        assert_eq!(facts(&real).await, Some(FaultKind::Refused), "nobody listens on it");
    }

    #[tokio::test]
    async fn a_socket_that_the_kubelet_finds_is_not_missing() {
        let (dir, host, _) = node_with("/var/run/wt-test/c.sock");
        let socket = HostPath::from("/var/run/wt-test/c.sock");
        let facts = Runtime::new(&Sockets::Own, &host.at(&socket)).unwrap().facts(None).await;
        assert_eq!(facts.fault().map(|fault| fault.kind), Some(FaultKind::Refused));
        let _listener = std::os::unix::net::UnixListener::bind(dir.path().join("run/wt-test/c.sock")).unwrap();
        let confirmed = refused_to_kubelet(facts, &socket, &host);
        assert_eq!(confirmed.fault().map(|fault| fault.kind), Some(FaultKind::Gone));
    }

    #[test]
    fn one_socket_with_two_names_is_the_kubelets() {
        let (_dir, host, settings) = node_with("/var/run/wt-test/c.sock");
        let told = |path: &str| Options { cri_socket: Some(path.into()), ..Options::default() };
        assert!(is_kubelets(&told("/run/wt-test/c.sock"), &settings, &host));
        assert!(is_kubelets(&told("/var/run/wt-test/c.sock"), &settings, &host));
        assert!(!is_kubelets(&told("/run/wt-test/other.sock"), &settings, &host));
    }

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
