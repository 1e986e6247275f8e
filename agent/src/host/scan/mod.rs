//! One scan of the node: first the lists, then what the judgement asks for.
//!
//! Only pods that should be gone are examined, and only what their first open gate needs: no scan searches for the holders
//! of a volume whose container still runs.

mod answer;
mod lists;
mod locations;
mod observation_file;
mod options;

use std::cell::OnceCell;

use tokio::time::Instant;

use crate::observation::*;
use crate::sys::{self, ProcDir};

pub use observation_file::{load, save};
pub use options::{ApiSource, Options, ScanOptions};

use super::broker::Directories;
use super::mounts::{FirstTable, MountReader, touchable};
use super::prober::Prober;
use super::process_index::ProcessIndex;
use super::runtime::Runtime;
use super::{HostRoot, api, cgroups, kubelet, mount_copies, rights};

struct Scan<'a> {
    options: &'a Options,
    prober: &'a Prober,
    host: HostRoot,
    kubelet: Seen<kubelet::KubeletProcess>,
    /// Through which process the kubelet's namespaces are read; none without a kubelet.
    kubelet_pid: Option<u32>,
    settings: kubelet::Settings,
    /// The kubelet's directory as the kubelet and its plugins call it.
    configured_root: HostPath,
    /// Why the kubelet's directory is not known.
    doubt_of_root: Option<Fault>,
    runtime: Option<Runtime>,
    /// Where the pods of a runtime have their directories that was only found; none for a configured one.
    known_by: Option<HostPath>,
    conversation: OnceCell<Option<Result<api::Conversation, Fault>>>,
    process_index: OnceCell<ProcessIndex>,
    reader: MountReader,
    /// When the last of the tasks that wait, or have ended, was read.
    waiting_since: Option<Instant>,
    /// How many FUSE file systems were asked whether they answer.
    fuse_answers: usize,
}

pub async fn scan(options: &Options, prober: &Prober) -> Observation {
    let (mut scan, mut seen) = Scan::begin(options, prober);
    if scan.kubelet.get().is_some() {
        options.sockets.verify(seen.node.cri_socket.get(), &seen.node.kubelet_root).await;
    }
    scan.read_lists(&mut seen).await;
    (seen.at_ms, seen.uptime_ms) = (sys::now_ms(), sys::uptime_ms());
    scan.gather(&mut seen).await;
    seen.faults.extend(scan.reader.faults());
    seen.faults.extend(scan.process_index.get().and_then(|process_index| process_index.fault.clone()));
    sys::stop_proc_worker();
    seen
}

/// Opens the directories in which the runtime and the plugins of the kubelet have their sockets. Before there is a runtime.
pub fn directories(options: &Options) -> Directories {
    let prober = Prober::default();
    let (mut scan, seen) = Scan::begin(options, &prober);
    let table = scan.mounts().kubelet;
    sys::stop_proc_worker();
    let may_open = |at: &HostPath| table.get().is_some_and(|table| touchable(&table.mounts, at).is_ok());
    let root = scan.host.at(&HostPath::from("/"));
    Directories::open(&root, seen.node.cri_socket.get(), &seen.node.kubelet_root, may_open)
}

impl<'a> Scan<'a> {
    /// Finds the kubelet and where it keeps things. Nothing else is read yet.
    fn begin(options: &'a Options, prober: &'a Prober) -> (Self, Observation) {
        let mut faults = Vec::new();
        let own = HostRoot::new(options.host_root.clone().unwrap_or_default());
        let first = FirstTable::read(&own);
        let cgroup_mounts = cgroups::hierarchies(first.bytes());
        let search = kubelet::find(&cgroup_mounts, &own, prober, options.kubelet);
        let (kubelet_pid, running) = (search.pid(), search.kubelet.get());
        let host = locations::host(options, kubelet_pid);
        let settings = running.map(|found| kubelet::settings(found, &host, prober, &mut faults));
        let configured_root = locations::configured_root(options, settings.as_ref(), &host);
        let doubt_of_root = locations::doubt_of_root(options, settings.as_ref(), &host);
        let rights = rights::rights(kubelet_pid, running.is_some());
        let settings = settings.unwrap_or_default();
        let kubelet_root = host.without_links(configured_root.clone());
        let cri_socket = locations::cri_socket(options, &settings, &host);
        let [kubelet_log, runtime_log] = locations::logs(&settings, &host);
        let cri_socket_is_kubelets = locations::is_kubelets(&cri_socket, &settings, &host);
        let is_configured = cri_socket_is_kubelets || options.cri_socket.is_some();
        let scan = Scan {
            options,
            prober,
            kubelet: search.kubelet,
            kubelet_pid,
            configured_root,
            doubt_of_root,
            runtime: None,
            known_by: (!is_configured).then(|| kubelet_root.join("pods")),
            conversation: OnceCell::new(),
            process_index: OnceCell::new(),
            reader: MountReader::new(kubelet_root.clone()).knowing(first),
            waiting_since: None,
            fuse_answers: 0,
            host,
            settings,
        };
        let node = NodeFacts {
            name: locations::node_name(options, &scan.settings),
            may_detach_mounts: mount_copies::may_detach_mounts(),
            kernel: sysinfo::System::kernel_version().unwrap_or_default(),
            false_kubelets: search.refused,
            kubelet_root,
            cri_socket,
            cri_socket_is_kubelets,
            runtime_process: Seen::NotAsked,
            kubelet_log,
            runtime_log,
            cgroup_mounts,
            dra_pods: Seen::NotAsked,
            init_mount_ns: ProcDir::open(1).and_then(|dir| dir.namespace("mnt")).ok(),
            ..NodeFacts::default()
        };
        let seen = Observation {
            schema: Observation::SCHEMA,
            agent_version: env!("CARGO_PKG_VERSION").to_owned(),
            before: options.scan.before,
            rights,
            node,
            csi: Seen::NotAsked,
            kubelet_counters: Seen::NotAsked,
            kernel_log: Seen::NotAsked,
            volumes_changed_ms: Seen::NotAsked,
            faults,
            ..Observation::default()
        };
        (scan, seen)
    }

    /// One for all questions; none without credentials.
    fn conversation(&self) -> Option<&Result<api::Conversation, Fault>> {
        let open = || self.credentials().map(api::Conversation::open);
        self.conversation.get_or_init(open).as_ref()
    }

    /// A kubeconfig that is named; else what [`order`] says.
    fn credentials(&self) -> Option<api::Credentials> {
        let kubeconfig = self.options.kubeconfig.clone().or_else(|| std::env::var_os("KUBECONFIG").map(Into::into));
        if let Some(path) = kubeconfig {
            return Some(api::Credentials::Kubeconfig(path));
        }
        let of_kubelet = self.settings.flags.kubeconfig.as_deref();
        let of_kubelet = of_kubelet.map(|path| api::Credentials::OfKubelet(self.host.clone(), HostPath::from(path)));
        let in_cluster = std::env::var_os("KUBERNETES_SERVICE_HOST").map(|_| api::Credentials::InCluster);
        let is_of_node = self.kubelet_pid.is_some_and(is_in_network_of);
        let asks_as_kubelet = matches!(self.options.scan.api, ApiSource::Ask) && is_of_node;
        order(asks_as_kubelet, of_kubelet, in_cluster)
    }

    /// Who lives where; taken when first needed.
    fn process_index(&self) -> &ProcessIndex {
        self.process_index.get_or_init(ProcessIndex::read)
    }
}

/// Whether this process is in the network of another. In that of a pod the kubelet's address of the API server may lead
/// nowhere: k3s names a proxy on the loopback.
fn is_in_network_of(pid: u32) -> bool {
    let network = |pid: u32| sys::namespace_of(pid, "net").ok();
    network(pid).is_some_and(|other| Some(other) == network(std::process::id()))
}

/// The kubelet's own identity may list the pods of its node, so on a node nothing needs to be set up for `check`. The
/// account of the pod that it runs in may have no right: `kubectl debug` gives it the namespace's default one. The pods of
/// agents have an account of their own.
fn order(
    asks_as_kubelet: bool,
    of_kubelet: Option<api::Credentials>,
    in_cluster: Option<api::Credentials>,
) -> Option<api::Credentials> {
    if asks_as_kubelet { of_kubelet.or(in_cluster) } else { in_cluster.or(of_kubelet) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_the_nodes_network_a_check_asks_as_the_kubelet() {
        let of_kubelet = || Some(api::Credentials::OfKubelet(HostRoot::new(String::new()), HostPath::from("/k")));
        let in_cluster = || Some(api::Credentials::InCluster);
        let is_kubelets = |found: Option<api::Credentials>| matches!(found, Some(api::Credentials::OfKubelet(..)));
        assert!(is_kubelets(order(true, of_kubelet(), in_cluster())));
        assert!(matches!(order(true, None, in_cluster()), Some(api::Credentials::InCluster)));
        assert!(!is_kubelets(order(false, of_kubelet(), in_cluster())), "the agent has its own account");
        assert!(is_kubelets(order(false, of_kubelet(), None)) && order(true, None, None).is_none());
        assert!(is_in_network_of(std::process::id()) && !is_in_network_of(0));
    }
}
