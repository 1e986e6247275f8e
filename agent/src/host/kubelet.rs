//! Finding the kubelet and its settings.

mod embedded;
mod listener;
mod outside_pods;
mod verification;

use std::{collections::BTreeSet, io, path::PathBuf};

pub use listener::{KubeletListener, listener};

use super::{HostRoot, Sockets, healthz, prober::Prober, processes};
use crate::kubernetes_distribution::{self, DEFAULT_RUNTIME, Distribution, Runtime};
use crate::observation::{
    CgroupDriver, CgroupMount, Disbelief, FalseKubelet, Fault, FaultKind, HostPath, KubeletFacts, Reason, Seen,
};
use crate::parse::{self, KubeletConfig, KubeletFlags};
use crate::sys::{self, ProcDir};

const MAX_CONFIG_BYTES: usize = 1 << 20;
/// More files of `--config-dir` are not listed.
const MAX_DROP_INS: usize = 256;

/// A kubelet that was found, before it is asked anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KubeletProcess {
    pub pid: u32,
    /// Clock ticks after boot.
    pub start_ticks: u64,
    pub comm: String,
    /// The systemd service it runs in.
    pub unit: Option<String>,
    pub state: char,
    /// Milliseconds since it started.
    pub age_ms: u64,
}

/// What came of the search for the kubelet.
#[derive(Clone, Debug)]
pub struct Search {
    pub kubelet: Seen<KubeletProcess>,
    /// Others of its name.
    pub refused: Vec<FalseKubelet>,
}

impl Search {
    /// The pid of the kubelet, or of a process that may be it where permission is missing. Nothing can be read through that
    /// one, and such a failure is more honest than the agent's own files.
    pub fn pid(&self) -> Option<u32> {
        let untold = || self.refused.iter().find(|refused| matches!(refused.why, Disbelief::Untold(_)));
        self.kubelet.get().map(|found| found.pid).or_else(|| Some(untold()?.pid))
    }
}

/// Which of several is sought.
#[derive(Clone, Copy, Debug, Default)]
pub struct KubeletChoice {
    /// The one that a person names. It must be believed as any other.
    pub wanted: Option<u32>,
    /// Reports all others too, not only those in the units.
    pub every: bool,
}

/// Finds the kubelet: first among the processes of the units it usually runs in, which costs a few
/// reads, then among all processes. Many may call themselves `kubelet`; see [`Disbelief`].
///
/// Without the host's pid namespace nothing can be found, and that is a failure, not an absence.
pub fn find(cgroup_mounts: &[CgroupMount], host: &HostRoot, prober: &Prober, which: KubeletChoice) -> Search {
    let (mut refused, wanted) = (Vec::new(), which.wanted);
    if let Some(found) = first_of(&unit_kubelets(cgroup_mounts, host, which.every), prober, wanted, &mut refused) {
        return Search { kubelet: Seen::Seen(found), refused };
    }
    // They are met again.
    refused.clear();
    let pids = match sys::pids() {
        Ok(pids) => pids,
        Err(error) => return Search { kubelet: Seen::failed("/proc", error), refused },
    };
    let named: Vec<u32> = pids.into_iter().filter(|pid| has_name(*pid)).collect();
    let kubelet = first_of(&named, prober, wanted, &mut refused).map_or_else(|| absence(&refused, wanted), Seen::Seen);
    Search { kubelet, refused }
}

/// Those with its name in the units it usually runs in; where there are any, after them `every` other outside of pods.
fn unit_kubelets(cgroup_mounts: &[CgroupMount], host: &HostRoot, every: bool) -> Vec<u32> {
    let mounts = || cgroup_mounts.iter().filter(|mount| is_systemd(mount));
    let mut met = BTreeSet::new();
    let mut is_one = |pid: &u32| met.insert(*pid) && has_name(*pid);
    let mut named: Vec<u32> = mounts().flat_map(|mount| unit_processes(mount, host)).filter(&mut is_one).collect();
    if every && !named.is_empty() {
        named.extend(mounts().flat_map(|mount| outside_pods::pids(mount, host)).filter(is_one));
    }
    named
}

/// The first that is trusted, or the one that is wanted. Other candidates are reported: their pods are not those of this
/// one.
fn first_of(
    pids: &[u32],
    prober: &Prober,
    wanted: Option<u32>,
    refused: &mut Vec<FalseKubelet>,
) -> Option<KubeletProcess> {
    let believed = pids.iter().filter_map(|pid| kubelet(*pid, prober, refused)).collect();
    choose(believed, wanted, refused)
}

fn choose(
    mut believed: Vec<KubeletProcess>,
    wanted: Option<u32>,
    refused: &mut Vec<FalseKubelet>,
) -> Option<KubeletProcess> {
    let is_wanted = |found: &KubeletProcess| wanted.is_none_or(|pid| found.pid == pid);
    let first = believed.iter().position(is_wanted).map(|at| believed.remove(at))?;
    // What a kubelet starts is called like it until it becomes another program.
    let others = believed.into_iter().filter(|other| other.age_ms > 10_000).map(|other| FalseKubelet {
        pid: other.pid,
        comm: other.comm,
        why: Disbelief::AnotherIsJudged(first.pid),
    });
    refused.extend(others);
    Some(first)
}

/// A process of a pod is never the node's kubelet; of any other untrusted one that is unknown.
fn absence(refused: &[FalseKubelet], wanted: Option<u32>) -> Seen<KubeletProcess> {
    if let Some(pid) = wanted {
        let says = format!("pid {pid}, which --kubelet-pid names, is not believed to be a kubelet of this node");
        return Seen::failed("/proc", (FaultKind::NotAsked, says));
    }
    let doubtful = refused.iter().find(|refused| refused.why != Disbelief::InPod);
    match doubtful.map(|refused| &refused.why) {
        Some(Disbelief::Untold(fault)) => Seen::Failed(fault.clone()),
        Some(_) => Seen::failed(
            "/proc",
            (FaultKind::NotAsked, "no process with a kubelet's name is believed to be the node's"),
        ),
        None if sees_the_host() => Seen::Missing,
        None => Seen::failed(
            "/proc",
            (FaultKind::Denied, "shows another pid namespace than the host's; run it with hostPID"),
        ),
    }
}

fn kubelet(pid: u32, prober: &Prober, refused: &mut Vec<FalseKubelet>) -> Option<KubeletProcess> {
    let dir = ProcDir::open(pid).ok()?;
    let stat = parse::stat(&dir.read("stat", sys::limits::MAX_LINE_BYTES).ok()?)?;
    if !kubernetes_distribution::is_kubelet(&stat.comm) || stat.state == 'Z' {
        return None;
    }
    match verification::disbelief(pid, &dir, prober) {
        Seen::Seen(None) => {}
        Seen::Seen(Some(why)) => {
            refused.push(FalseKubelet { pid, comm: stat.comm, why });
            return None;
        }
        _ => return None,
    }
    let age_ms = sys::uptime_ms().saturating_sub(stat.start_ticks * 1000 / sys::ticks_per_second());
    let unit = processes::owner(&dir, false).service().map(str::to_owned);
    Some(KubeletProcess { pid, start_ticks: stat.start_ticks, state: stat.state, age_ms, comm: stat.comm, unit })
}

/// Kernel threads live in the first pid namespace only; `kthreadd` is always its second process.
pub(super) fn sees_the_host() -> bool {
    let second = ProcDir::open(2).and_then(|dir| dir.read("stat", sys::limits::MAX_LINE_BYTES)).ok();
    second.and_then(|bytes| parse::stat(&bytes)).is_some_and(|stat| stat.is_kernel_thread())
}

fn has_name(pid: u32) -> bool {
    sys::comm_of(pid).is_ok_and(|comm| str::from_utf8(&comm).is_ok_and(kubernetes_distribution::is_kubelet))
}

fn is_systemd(mount: &CgroupMount) -> bool {
    mount.v1.as_ref().is_none_or(|controllers| controllers.iter().any(|c| c == "name=systemd"))
}

/// Read one unit after the other, as far as they are asked for.
fn unit_processes(mount: &CgroupMount, host: &HostRoot) -> impl Iterator<Item = u32> + use<> {
    let slice = host.at(&mount.mount_point).join("system.slice");
    let procs = move |unit: &str| {
        sys::read_text(&slice.join(unit).join("cgroup.procs"), sys::limits::MAX_CGROUP_PROCS_BYTES).ok()
    };
    let pids = |text: String| text.lines().filter_map(|line| line.parse().ok()).collect::<Vec<u32>>();
    let mut units: Vec<&str> = kubernetes_distribution::kubelets().map(|kubelet| kubelet.unit).collect();
    units.dedup();
    units.into_iter().filter_map(procs).flat_map(pids)
}

/// The kubelet's settings, merged from its flags and its file; flags win, as in the kubelet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Which distribution's kubelet it is.
    pub distribution: &'static Distribution,
    pub flags: KubeletFlags,
    pub config: KubeletConfig,
    /// Whether its settings are complete: it runs in a process of its own, and its command line and its files were read.
    pub is_whole: bool,
    /// Where k3s and RKE2 keep what belongs to the node.
    pub rancher_agent: Option<HostPath>,
}

impl Default for Settings {
    fn default() -> Self {
        let distribution = Distribution::find(None, None, None);
        let (flags, config) = (KubeletFlags::default(), KubeletConfig::default());
        Settings { distribution, flags, config, is_whole: false, rancher_agent: None }
    }
}

impl Settings {
    pub fn root_dir(&self) -> HostPath {
        HostPath::from(self.flags.root_dir.as_deref().unwrap_or(self.distribution.kubelet_root))
    }

    /// Where its runtime is, by its settings.
    fn endpoint(&self) -> Option<&str> {
        let endpoint = self.flags.runtime_endpoint.as_deref().or(self.config.container_runtime_endpoint.as_deref());
        // A configuration that a program has written has every field.
        endpoint.filter(|endpoint| !endpoint.is_empty())
    }

    /// The runtime's socket, when it is set: a URL or a path (`parseEndpoint` in pkg/util of k8s.io/cri-client).
    pub fn runtime_socket(&self) -> Option<HostPath> {
        let endpoint = self.endpoint()?;
        let path = match endpoint.strip_prefix("unix:") {
            // `unix:///run/x.sock`, with a host that is empty.
            Some(url) => url.strip_prefix("//").map_or(Some(url), |rest| rest.get(rest.find('/')?..))?,
            None => endpoint,
        };
        path.starts_with('/').then(|| HostPath::from(path))
    }

    /// The runtime of its distribution, and the default of a kubelet that is known to have none configured.
    pub fn own_runtime(&self) -> Option<&'static Runtime> {
        let default = || (self.is_whole && self.endpoint().is_none()).then_some(DEFAULT_RUNTIME);
        self.distribution.runtime.or_else(default)
    }

    /// The cgroup below which `kubepods` lies.
    pub fn cgroup_root(&self) -> String {
        let root = self.flags.cgroup_root.as_deref().or(self.config.cgroup_root.as_deref()).unwrap_or("/");
        if root.is_empty() { "/".to_owned() } else { root.to_owned() }
    }

    fn cgroup_driver(&self) -> Option<CgroupDriver> {
        match self.flags.cgroup_driver.as_deref().or(self.config.cgroup_driver.as_deref())? {
            "systemd" => Some(CgroupDriver::Systemd),
            "cgroupfs" => Some(CgroupDriver::Cgroupfs),
            _ => None,
        }
    }

    fn healthz_port(&self) -> u16 {
        self.flags.healthz_port.or(self.config.healthz_port).unwrap_or(healthz::DEFAULT_PORT)
    }
}

/// Reads the settings: the command line in the disposable child (a kubelet in D may hold its
/// memory lock), the file through the kubelet's own view.
pub fn settings(found: &KubeletProcess, host: &HostRoot, prober: &Prober, faults: &mut Vec<Fault>) -> Settings {
    let arguments = prober.command_line(found.pid, sys::FILE_TIMEOUT);
    faults.extend(arguments.fault().cloned());
    settings_of(found, arguments.get().map(Vec::as_slice), host, faults)
}

fn settings_of(
    found: &KubeletProcess,
    arguments: Option<&[String]>,
    host: &HostRoot,
    faults: &mut Vec<Fault>,
) -> Settings {
    let distribution = Distribution::find(Some(&found.comm), found.unit.as_deref(), None);
    let unread = faults.len();
    let flags = arguments.map(parse::kubelet_flags).unwrap_or_default();
    let flags = embedded::flags(flags, distribution, host, faults);
    let has_own_flags = arguments.is_some() && ["kubelet", "hyperkube"].contains(&found.comm.as_str());
    let mut config = config(&flags, host, faults);
    let rancher_agent = embedded::agent_dir(&flags, distribution);
    let written = || embedded::endpoint(rancher_agent.as_ref()?, host, faults);
    let configured = config.container_runtime_endpoint.take().filter(|endpoint| !endpoint.is_empty());
    config.container_runtime_endpoint = configured.or_else(written);
    let is_whole = has_own_flags && faults.len() == unread;
    Settings { distribution, flags, config, is_whole, rancher_agent }
}

/// `--config`, overridden by the files of `--config-dir`.
fn config(flags: &KubeletFlags, host: &HostRoot, faults: &mut Vec<Fault>) -> KubeletConfig {
    let file = flags.config.as_deref().map(HostPath::from).into_iter();
    let drop_ins = flags.config_dir.as_deref().map(|dir| drop_ins(host, dir.into(), faults)).unwrap_or_default();
    let files: Vec<HostPath> = file.chain(drop_ins).collect();
    let configs = files.into_iter().map(|path| read_config(host, path, faults));
    configs.fold(KubeletConfig::default(), KubeletConfig::overridden_by)
}

/// The files of `--config-dir` that the kubelet reads, in its order: those that end with `.conf`, by name.
fn drop_ins(host: &HostRoot, dir: HostPath, faults: &mut Vec<Fault>) -> Vec<HostPath> {
    let dir = host.without_links(dir);
    let entries = sys::list_capped(&host.at(&dir), MAX_DROP_INS).unwrap_or_else(|error| {
        faults.push(Fault::new(format!("kubelet configuration {}", dir.show()), error));
        Vec::new()
    });
    let names = entries.into_iter().map(|entry| PathBuf::from(entry.name));
    let mut files: Vec<PathBuf> = names.filter(|name| name.extension().is_some_and(|end| end == "conf")).collect();
    files.sort();
    files.into_iter().map(|name| dir.join(name)).collect()
}

fn read_config(host: &HostRoot, path: HostPath, faults: &mut Vec<Fault>) -> KubeletConfig {
    let parsed = read_own(host, &path, MAX_CONFIG_BYTES)
        .map_err(Reason::from)
        .and_then(|text| parse::kubelet_config(&text).map_err(|why| Reason::new(FaultKind::Malformed, why)));
    parsed.unwrap_or_else(|reason| {
        faults.push(Fault::new(format!("kubelet configuration {}", path.show()), reason));
        KubeletConfig::default()
    })
}

/// A file that the settings of the kubelet, or of the program that runs it, name.
fn read_own(host: &HostRoot, path: &HostPath, cap: usize) -> io::Result<String> {
    let real = host.without_links(path.clone());
    // The maker of a link chose where it leads: a file that only root can write is no trap.
    let read = if real == *path { sys::read_text } else { sys::read_text_of_root };
    read(&host.at(&real), cap)
}

/// Everything that is known of the kubelet.
pub async fn facts(found: &KubeletProcess, settings: &Settings, sockets: &Sockets) -> KubeletFacts {
    let dir = ProcDir::open(found.pid).ok();
    let shares_network = dir.as_ref().is_some_and(|dir| {
        let ours = ProcDir::open(std::process::id()).and_then(|own| own.namespace("net")).ok();
        ours.is_some() && dir.namespace("net").ok() == ours
    });
    let port = settings.healthz_port();
    KubeletFacts {
        pid: found.pid,
        start_ticks: Some(found.start_ticks),
        comm: found.comm.clone(),
        unit: found.unit.clone(),
        state: found.state,
        age_ms: found.age_ms,
        mount_ns: dir.and_then(|dir| dir.namespace("mnt").ok()),
        cgroup_driver: settings.cgroup_driver(),
        cgroup_root: settings.cgroup_root(),
        // 127.0.0.1 is the kubelet's only in the kubelet's own network namespace.
        healthz: if shares_network && port != 0 { sockets.healthz(port).await } else { Seen::Missing },
        kubeconfig: settings.flags.kubeconfig.as_deref().map(HostPath::from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_is_not_believed_is_not_none() {
        let refused = |why| [FalseKubelet { pid: 7, comm: "kubelet".to_owned(), why }];
        assert!(absence(&refused(Disbelief::NotRoot(1000)), None).fault().is_some());
        let untold = refused(Disbelief::Untold(Fault::new("/proc/7/ns/user", (FaultKind::Denied, "no right"))));
        assert!(absence(&untold, None).fault().is_some_and(|fault| fault.kind == FaultKind::Denied));
        assert_eq!(Search { kubelet: absence(&untold, None), refused: untold.to_vec() }.pid(), Some(7));
        let in_pod = refused(Disbelief::InPod);
        assert_eq!(absence(&in_pod, None).fault(), absence(&[], None).fault(), "as if it were not there");
        assert_eq!(Search { kubelet: absence(&in_pod, None), refused: in_pod.to_vec() }.pid(), None);
    }

    #[test]
    fn one_of_several_can_be_named() {
        let of = |pid: u32| KubeletProcess {
            pid,
            start_ticks: 1,
            comm: "kubelet".to_owned(),
            unit: None,
            state: 'S',
            age_ms: 60_000,
        };
        let choose = |wanted: Option<u32>| {
            let mut refused = Vec::new();
            let chosen = choose(vec![of(7), of(8)], wanted, &mut refused);
            (
                chosen.map(|chosen| chosen.pid),
                refused.into_iter().map(|other| (other.pid, other.why)).collect::<Vec<_>>(),
            )
        };
        assert_eq!(choose(None), (Some(7), vec![(8, Disbelief::AnotherIsJudged(7))]));
        assert_eq!(choose(Some(8)), (Some(8), vec![(7, Disbelief::AnotherIsJudged(8))]));
        assert_eq!(choose(Some(9)), (None, Vec::new()));
        assert!(absence(&[], Some(9)).fault().is_some_and(|fault| fault.says.contains("pid 9")));
    }

    #[test]
    fn a_kubelet_outside_of_the_usual_units_is_told_of_where_every_one_is_sought() {
        let called_kubelet = || {
            let mut command = std::process::Command::new("sh");
            command.args(["-c", "echo kubelet >/proc/$$/comm; echo; read end"]);
            let child = command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped()).spawn();
            let mut child = child.unwrap();
            std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut [0]).unwrap();
            child
        };
        let mut children = [called_kubelet(), called_kubelet()];
        let [usual, other] = [children[0].id(), children[1].id()];
        let dir = tempfile::tempdir().unwrap();
        let put = |pid: u32, cgroup: &str| {
            std::fs::create_dir_all(dir.path().join(cgroup)).unwrap();
            std::fs::write(dir.path().join(cgroup).join("cgroup.procs"), format!("1\n{pid}\n")).unwrap();
        };
        put(other, "a.slice/second-kubelet.service");
        let mounts = [CgroupMount { mount_point: HostPath::from(dir.path().to_owned()), v1: None }];
        let kubelets = |every: bool| unit_kubelets(&mounts, &HostRoot::default(), every);
        // No kubelet is in the units: then all processes are checked.
        assert!(kubelets(true).is_empty());
        put(usual, "system.slice/kubelet.service");
        assert_eq!((kubelets(false), kubelets(true)), (vec![usual], vec![usual, other]));
        for child in &mut children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    #[test]
    fn drop_ins_win_in_the_order_of_their_names() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
        write("10-first.conf", "cgroupDriver: cgroupfs\ncgroupRoot: /a\n");
        write("20-second.conf", "cgroupRoot: /b\n");
        write("30-no.yaml", "cgroupRoot: /c\n");
        let mut faults = Vec::new();
        let host = HostRoot::default();
        let of_dir = |dir: &std::path::Path| KubeletFlags {
            config_dir: dir.to_str().map(str::to_owned),
            ..KubeletFlags::default()
        };
        let merged = config(&of_dir(dir.path()), &host, &mut faults);
        assert_eq!((merged.cgroup_driver.as_deref(), merged.cgroup_root.as_deref()), (Some("cgroupfs"), Some("/b")));
        assert!(faults.is_empty(), "{faults:?}");
        assert_eq!(config(&of_dir(&dir.path().join("none")), &host, &mut faults), KubeletConfig::default());
        assert_eq!(faults.len(), 1);
    }

    /// Below another root an absolute link leads into the reader's own files.
    #[test]
    fn a_linked_directory_has_its_configuration() {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().join("data/kubelet");
        std::fs::create_dir_all(real.join("conf.d")).unwrap();
        std::fs::create_dir_all(dir.path().join("var/lib")).unwrap();
        std::os::unix::fs::symlink("/data/kubelet", dir.path().join("var/lib/kubelet")).unwrap();
        std::fs::write(real.join("config.yaml"), "cgroupRoot: /a\ncgroupDriver: cgroupfs\n").unwrap();
        std::fs::write(real.join("conf.d/10.conf"), "cgroupRoot: /b\n").unwrap();
        let flags = KubeletFlags {
            config: Some("/var/lib/kubelet/config.yaml".to_owned()),
            config_dir: Some("/var/lib/kubelet/conf.d".to_owned()),
            ..KubeletFlags::default()
        };
        let mut faults = Vec::new();
        let read = config(&flags, &HostRoot::new(dir.path()), &mut faults);
        assert!(faults.is_empty(), "{faults:?}");
        assert_eq!((read.cgroup_driver.as_deref(), read.cgroup_root.as_deref()), (Some("cgroupfs"), Some("/b")));
        // A link that another user made to a file of his own.
        std::os::unix::fs::chown(real.join("config.yaml"), Some(65534), None).unwrap();
        config(&flags, &HostRoot::new(dir.path()), &mut faults);
        assert!(faults.len() == 1 && faults[0].says.contains("does not belong to root"), "{faults:?}");
    }

    #[test]
    fn flags_win_over_the_file() {
        let flags = KubeletFlags { cgroup_root: Some("/lab".to_owned()), ..Default::default() };
        let config = KubeletConfig {
            cgroup_root: Some("/other".to_owned()),
            container_runtime_endpoint: Some("unix:///run/crio/crio.sock".to_owned()),
            ..Default::default()
        };
        let settings = Settings { flags, config, ..Default::default() };
        assert_eq!(settings.cgroup_root(), "/lab");
        assert_eq!(settings.runtime_socket(), Some(HostPath::from("/run/crio/crio.sock")));
        assert_eq!(settings.root_dir(), HostPath::from(kubernetes_distribution::DEFAULT_ROOT));
    }

    #[test]
    fn an_endpoint_is_a_url_or_a_path() {
        for (endpoint, socket) in [
            ("unix:///run/x.sock", Some("/run/x.sock")),
            ("unix:/run/x.sock", Some("/run/x.sock")),
            ("unix://host/run/x.sock", Some("/run/x.sock")),
            ("/run/x.sock", Some("/run/x.sock")),
            ("tcp://127.0.0.1:10010", None),
            ("npipe:////./pipe/x", None),
            ("unix://x", None),
        ] {
            let flags = KubeletFlags { runtime_endpoint: Some(endpoint.to_owned()), ..Default::default() };
            let settings = Settings { flags, is_whole: true, ..Default::default() };
            assert_eq!(settings.runtime_socket(), socket.map(HostPath::from), "{endpoint}");
            assert_eq!(settings.own_runtime(), None, "{endpoint}");
        }
        let config = KubeletConfig { container_runtime_endpoint: Some(String::new()), ..Default::default() };
        let untold = Settings { config, is_whole: true, ..Default::default() };
        assert_eq!((untold.runtime_socket(), untold.own_runtime()), (None, Some(DEFAULT_RUNTIME)));
    }
}
