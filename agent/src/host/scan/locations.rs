//! Where things are on this node: by the user's flags, else by the kubelet's settings, else the usual places.

use std::io::ErrorKind;

use crate::host::{HostRoot, kubelet};
use crate::kubernetes_distribution::{DEFAULT_ROOT, DISTRIBUTIONS, RUNTIMES};
use crate::observation::{ApiFacts, Fault, FaultKind, HostPath, RuntimeFacts, Sandbox, Seen, Source};
use crate::sys::{self, ProcDir};

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
        // Without permission every read must fail: a container's own files would suggest that the node has no pods and no
        // runtime.
        Err(error) => kubelet.is_some() && error.kind() == ErrorKind::PermissionDenied,
    };
    let through = kubelet.or(Some(1)).filter(is_other);
    through.map_or_else(HostRoot::default, |pid| HostRoot::new(format!("/proc/{pid}/root")))
}

pub fn node_name(options: &Options, settings: &kubelet::Settings) -> String {
    let named = options.scan.node_name.clone().or_else(|| settings.flags.hostname_override.clone());
    named.unwrap_or_else(|| sysinfo::System::host_name().unwrap_or_default().to_lowercase())
}

/// The kubelet's directory as the kubelet and its plugins call it. The mount table knows only real paths.
pub fn configured_root(options: &Options, settings: Option<&kubelet::Settings>, host: &HostRoot) -> HostPath {
    match (&options.kubelet_root, settings) {
        (Some(root), _) => HostPath::from(root.clone()),
        (None, Some(settings)) => settings.root_dir(),
        (None, None) => usual_roots(host).into_iter().next().map_or(DEFAULT_ROOT.into(), |(_, told)| told),
    }
}

/// Why the directory of a kubelet that is gone is unknown.
pub fn doubt_of_root(options: &Options, settings: Option<&kubelet::Settings>, host: &HostRoot) -> Option<Fault> {
    let roots = usual_roots(host);
    let is_unsure = options.kubelet_root.is_none() && settings.is_none() && roots.len() > 1;
    let why = "is the directory of a kubelet, as others here are; name the right one with --kubelet-root";
    let (_, first) = roots.into_iter().next().filter(|_| is_unsure)?;
    Some(Fault::new(first.join("pods"), (FaultKind::NotAsked, why)))
}

/// The usual directories that are there, each with what it is called: where its pods really are, and by which path.
fn usual_roots(host: &HostRoot) -> Vec<(HostPath, HostPath)> {
    let mut roots: Vec<(HostPath, HostPath)> = Vec::new();
    for root in DISTRIBUTIONS.iter().map(|distribution| HostPath::from(distribution.kubelet_root)) {
        let pods = host.without_links(root.join("pods"));
        if !roots.iter().any(|(known, _)| *known == pods) && sys::file_facts(&host.at(&pods)).is_ok() {
            roots.push((pods, root));
        }
    }
    roots
}

/// Where the kubelet and the runtime write files as their logs.
pub fn logs(settings: &kubelet::Settings, host: &HostRoot) -> [Option<HostPath>; 2] {
    let known = settings.distribution.rancher.zip(settings.rancher_agent.as_ref());
    let Some((rancher, agent)) = known else { return [None, None] };
    let there = |log: &str| {
        let log = host.without_links(agent.join(log));
        sys::file_facts(&host.at(&log)).is_ok().then_some(log)
    };
    [rancher.kubelet_log.and_then(there), there(rancher.runtime_log)]
}

pub fn cri_socket(options: &Options, settings: &kubelet::Settings, host: &HostRoot) -> Seen<HostPath> {
    if let Some(told) = options.cri_socket.clone().map(HostPath::from).or_else(|| settings.runtime_socket()) {
        return Seen::Seen(host.without_links(told));
    }
    let own = settings.own_runtime();
    let (mut there, mut refused) = (Vec::new(), Seen::Missing);
    for runtime in own.into_iter().chain(&RUNTIMES) {
        let socket = host.without_links(runtime.socket.into());
        match sys::file_facts(&host.at(&socket)) {
            Ok(_) if own == Some(runtime) => return Seen::Seen(socket),
            Ok(_) => there.push(socket),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                refused = Seen::failed(format!("CRI {}", socket.show()), error);
                if own == Some(runtime) {
                    return refused;
                }
            }
            // It is the kubelet's all the same, and the kubelet's calls fail there, too.
            Err(_) if own == Some(runtime) && settings.is_whole => return Seen::Seen(socket),
            Err(_) => {}
        }
    }
    match there.as_slice() {
        [] => refused,
        [only] => Seen::Seen(only.clone()),
        several => {
            let several = several.iter().map(HostPath::show).collect::<Vec<_>>().join(", ");
            let why = format!("several have a socket ({several}); name that of the kubelet with --cri-endpoint");
            Seen::failed("container runtimes", (FaultKind::NotAsked, why))
        }
    }
}

/// Whether the socket that is asked is the one the kubelet uses: only then does its silence mean
/// that the kubelet waits. One that was only found is not known to be.
pub fn is_kubelets(asked: &Seen<HostPath>, settings: &kubelet::Settings, host: &HostRoot) -> bool {
    let own = || settings.own_runtime().map(|runtime| HostPath::from(runtime.socket));
    let known = settings.runtime_socket().or_else(own).map(|socket| host.without_links(socket));
    asked.get().is_none_or(|asked| known.as_ref() == Some(asked))
}

/// What was only found may be what is left of another runtime, for which this node has no containers. It is believed where
/// it runs a pod whose directory the kubelet has made below `pods`: that of one which has ended may be older than the kubelet.
pub fn verify_by_pods(
    runtime: Seen<RuntimeFacts>,
    socket: &HostPath,
    host: &HostRoot,
    pods: &HostPath,
) -> Seen<RuntimeFacts> {
    let Seen::Seen(facts) = runtime else { return runtime };
    let is_here =
        |sandbox: &Sandbox| sandbox.ready && sys::file_facts(&host.at(&pods.join(sandbox.pod.uid.as_str()))).is_ok();
    if facts.sandboxes.iter().any(is_here) {
        return Seen::Seen(facts);
    }
    let why =
        "is not known to be the kubelet's and runs none of its pods; name that of the kubelet with --cri-endpoint";
    Seen::failed(format!("CRI {}", socket.show()), (FaultKind::NotAsked, why))
}

/// A missing socket proves that no runtime listens only where the kubelet, too, finds none.
pub fn verify_refusal(runtime: Seen<RuntimeFacts>, socket: &HostPath, of_kubelet: &HostRoot) -> Seen<RuntimeFacts> {
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
    fault.errno.map(FaultKind::from_errno) == Some(FaultKind::Gone)
}

/// An answer about another machine is worse than none: every pod here would seem forgotten. The
/// boot id settles it; without it, a list that shares no pod with this node is not this node's.
pub fn reject_other_node(api: Seen<ApiFacts>, runtime: &Seen<RuntimeFacts>, boot_id: Option<String>) -> Seen<ApiFacts> {
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
    Seen::failed(Source::ApiServer, (FaultKind::NotAsked, why))
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd as _;

    use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, bind, socket};

    use super::*;
    use crate::{host::Sockets, host::runtime, kubernetes_distribution::Distribution, observation::sample};

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
            let facts = runtime::Runtime::new(&Sockets::Own, &host.at(socket), socket).unwrap().facts(None).await;
            verify_refusal(facts, socket, &host).fault().map(|fault| fault.kind)
        };
        let configured = cri_socket(&Options::default(), &settings, &host);
        assert_eq!(configured, Seen::Seen(real.clone()));
        assert_eq!(facts(&real).await, Some(FaultKind::Refused), "it is not there");
        let path = dir.path().join("run/wt-test/c.sock");
        let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        assert_eq!(facts(&real).await, Some(FaultKind::TimedOut), "it was reached");
        drop(listener);
        std::fs::remove_file(&path).unwrap();
        // One that is closed may still be open in a child that another test has just begun.
        let bound = socket(AddressFamily::Unix, SockType::Stream, SockFlag::SOCK_CLOEXEC, None).unwrap();
        bind(bound.as_raw_fd(), &UnixAddr::new(&path).unwrap()).unwrap();
        assert_eq!(facts(&real).await, Some(FaultKind::Refused), "nothing listens on it");
    }

    #[tokio::test]
    async fn a_socket_that_the_kubelet_finds_is_not_missing() {
        let (dir, host, _) = node_with("/var/run/wt-test/c.sock");
        let socket = HostPath::from("/var/run/wt-test/c.sock");
        let facts = runtime::Runtime::new(&Sockets::Own, &host.at(&socket), &socket).unwrap().facts(None).await;
        assert_eq!(facts.fault().map(|fault| fault.kind), Some(FaultKind::Refused));
        let _listener = std::os::unix::net::UnixListener::bind(dir.path().join("run/wt-test/c.sock")).unwrap();
        let confirmed = verify_refusal(facts, &socket, &host);
        assert_eq!(confirmed.fault().map(|fault| fault.kind), Some(FaultKind::Gone));
    }

    #[test]
    fn one_socket_with_two_names_is_the_kubelets() {
        let (_dir, host, settings) = node_with("/var/run/wt-test/c.sock");
        let options = |path: &str| Options { cri_socket: Some(path.into()), ..Options::default() };
        let is_its = |options: &Options| is_kubelets(&cri_socket(options, &settings, &host), &settings, &host);
        assert!(is_its(&options("/run/wt-test/c.sock")));
        assert!(is_its(&options("/var/run/wt-test/c.sock")));
        assert!(!is_its(&options("/run/wt-test/other.sock")));
    }

    #[test]
    fn of_two_runtimes_none_is_guessed() {
        let dir = tempfile::tempdir().unwrap();
        let host = HostRoot::new(dir.path());
        let put = |path: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        };
        let chosen = |settings: &kubelet::Settings| cri_socket(&Options::default(), settings, &host);
        let unknown = kubelet::Settings::default();
        let whole = kubelet::Settings { is_whole: true, ..kubelet::Settings::default() };
        let distribution = Distribution::find(Some("k3s-server"), None, None);
        let k3s = kubelet::Settings { distribution, ..kubelet::Settings::default() };
        let at = |path: &str| Seen::Seen(HostPath::from(path));
        assert_eq!(chosen(&unknown), Seen::Missing);
        put("run/crio/crio.sock");
        for settings in [&unknown, &k3s] {
            assert_eq!(chosen(settings), at("/run/crio/crio.sock"));
            assert!(!is_kubelets(&chosen(settings), settings, &host), "what is left of a runtime may be silent");
        }
        assert_eq!(chosen(&whole), at("/run/containerd/containerd.sock"), "its default, with nothing there");
        let mut elsewhere = whole.clone();
        elsewhere.flags.runtime_endpoint = Some("tcp://127.0.0.1:1".into());
        assert_eq!(chosen(&elsewhere), at("/run/crio/crio.sock"), "it was given another than the default");
        put("run/containerd/containerd.sock");
        for settings in [&unknown, &k3s] {
            let fault = chosen(settings).fault().cloned().unwrap();
            assert!(fault.says.contains("/run/containerd/containerd.sock, /run/crio/crio.sock"), "{fault:?}");
            assert!(fault.says.contains("--cri-endpoint"), "{fault:?}");
        }
        assert_eq!(chosen(&whole), at("/run/containerd/containerd.sock"), "its default");
        assert!(is_kubelets(&chosen(&whole), &whole, &host));
        put("run/k3s/containerd/containerd.sock");
        assert_eq!(chosen(&k3s), at("/run/k3s/containerd/containerd.sock"));
    }

    #[test]
    fn a_runtime_that_was_only_found_is_known_by_a_pod_of_the_kubelet() {
        let dir = tempfile::tempdir().unwrap();
        let host = HostRoot::new(dir.path());
        let (socket, pods) = (HostPath::from("/run/crio/crio.sock"), HostPath::from("/var/lib/kubelet/pods"));
        let runtime = sample::running().runtime;
        let uid = runtime.get().unwrap().sandboxes[0].pod.uid.clone();
        let believed = |runtime: Seen<RuntimeFacts>| verify_by_pods(runtime, &socket, &host, &pods);
        let fault = believed(runtime.clone()).fault().cloned().unwrap();
        assert!(fault.kind == FaultKind::NotAsked && fault.says.contains("--cri-endpoint"), "{fault:?}");
        std::fs::create_dir_all(dir.path().join("var/lib/kubelet/pods").join(uid.as_str())).unwrap();
        assert_eq!(believed(runtime.clone()), runtime);
        // Those from before the kubelet had another runtime; and a node on which nothing runs looks like one that it
        // does not know.
        let mut ended = runtime.clone();
        let facts = ended.get_mut().unwrap();
        facts.sandboxes.iter_mut().for_each(|sandbox| sandbox.ready = false);
        let empty = runtime.map(|facts| RuntimeFacts { sandboxes: Vec::new(), ..facts });
        assert!([ended, empty].into_iter().all(|runtime| believed(runtime).fault().is_some()));
    }

    #[test]
    fn of_two_directories_of_a_kubelet_that_is_gone_none_is_guessed() {
        let dir = tempfile::tempdir().unwrap();
        let host = HostRoot::new(dir.path());
        let settings = kubelet::Settings::default();
        let asked = |options: &Options, settings| {
            (configured_root(options, settings, &host), doubt_of_root(options, settings, &host).is_some())
        };
        let none = Options::default();
        assert_eq!(asked(&none, None), (DEFAULT_ROOT.into(), false));
        std::fs::create_dir_all(dir.path().join("var/lib/k0s/kubelet/pods")).unwrap();
        assert_eq!(asked(&none, None), ("/var/lib/k0s/kubelet".into(), false));
        // MicroK8s has such a link.
        std::os::unix::fs::symlink("/var/lib/k0s/kubelet", dir.path().join("var/lib/kubelet")).unwrap();
        assert_eq!(asked(&none, None), (DEFAULT_ROOT.into(), false));
        std::fs::create_dir_all(dir.path().join("var/snap/microk8s/common/var/lib/kubelet/pods")).unwrap();
        assert_eq!(asked(&none, None), (DEFAULT_ROOT.into(), true));
        assert_eq!(asked(&none, Some(&settings)), (DEFAULT_ROOT.into(), false));
        let named = Options { kubelet_root: Some("/var/lib/k0s/kubelet".into()), ..Options::default() };
        assert_eq!(asked(&named, None), ("/var/lib/k0s/kubelet".into(), false));
    }

    #[test]
    fn logs_are_named_where_they_are() {
        let dir = tempfile::tempdir().unwrap();
        let host = HostRoot::new(dir.path());
        let agent = HostPath::from("/var/lib/rancher/rke2/agent");
        let settings = kubelet::Settings {
            distribution: Distribution::find(Some("kubelet"), Some("rke2-agent.service"), None),
            rancher_agent: Some(agent.clone()),
            ..kubelet::Settings::default()
        };
        assert_eq!(logs(&settings, &host), [None, None]);
        for path in ["logs/kubelet.log", "containerd/containerd.log"] {
            let path = host.at(&agent.join(path));
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let both = ["logs/kubelet.log", "containerd/containerd.log"].map(|log| Some(agent.join(log)));
        assert_eq!(logs(&settings, &host), both);
        assert_eq!(logs(&kubelet::Settings::default(), &host), [None, None]);
    }

    #[test]
    fn the_pods_of_another_machine_are_not_believed() {
        let seen = sample::running();
        let own = || Some("b\n".to_owned());
        assert!(reject_other_node(seen.api.clone(), &seen.runtime, own()).get().is_some(), "they share a pod");
        let mut other = sample::node();
        assert!(reject_other_node(other.api.clone(), &seen.runtime, own()).fault().is_some(), "they share none");
        other.api.get_mut().unwrap().boot_id = Some("b".to_owned());
        assert!(reject_other_node(other.api.clone(), &seen.runtime, own()).get().is_some(), "all were forgotten");
        other.api.get_mut().unwrap().boot_id = Some("c".to_owned());
        assert!(reject_other_node(other.api, &seen.runtime, own()).fault().is_some());
    }
}
