//! One scan of the node: first the lists, then what the judgement asks for.
//!
//! Only pods that should be gone are looked into, and only what their first open gate needs: nobody
//! searches for the holders of a volume whose container still runs.

mod answer;
mod locations;
mod observation_file;
mod options;

use std::{cell::OnceCell, collections::BTreeSet};

use findings::PodUid;
use tokio::time::Instant;

use crate::{
    host::PodFilter,
    observation::*,
    sys::{self, ProcDir},
};

pub use observation_file::{load, save};
pub use options::{ApiSource, Options};

use super::{
    HostRoot, api, block, cgroups, csi, kubelet, mount_copies,
    mounts::{FirstTable, MountReader},
    prober::Prober,
    process_index::ProcessIndex,
    rights,
    runtime::Runtime,
    volumes,
};

/// What the answers share.
struct Scan<'a> {
    options: &'a Options,
    prober: &'a Prober,
    host: HostRoot,
    settings: kubelet::Settings,
    /// Why the kubelet's directory cannot be told.
    doubt_of_root: Option<Fault>,
    /// The kubelet that was found.
    kubelet: Option<kubelet::KubeletProcess>,
    runtime: Option<Runtime>,
    /// Where the pods of a runtime have their directories that was only found; none where it was told.
    known_by: Option<HostPath>,
    conversation: OnceCell<Option<Result<api::Conversation, Fault>>>,
    process_index: OnceCell<ProcessIndex>,
    reader: MountReader,
    /// When the last of the tasks that wait, or have ended, was looked at.
    waiting_since: Option<Instant>,
    /// How many FUSE file systems were asked whether they answer.
    fuse_answers: usize,
}

/// Scans the node once.
pub async fn scan(options: &Options, prober: &Prober) -> Observation {
    let mut faults = Vec::new();
    let own = HostRoot::new(options.host_root.clone().unwrap_or_default());
    let first = FirstTable::read(&own);
    let cgroup_mounts = cgroups::hierarchies(first.bytes());
    let search = kubelet::find(&cgroup_mounts, &own, prober, options.kubelet);
    let (running, pid) = (search.kubelet.get(), search.pid());
    let rights = rights::rights(pid, running.is_some());
    let host = locations::host(options, pid);
    let settings = running.map(|found| kubelet::settings(found, &host, prober, &mut faults)).unwrap_or_default();
    let kubelet_root = locations::kubelet_root(options, running.map(|_| &settings), &host);
    let doubt_of_root = locations::doubt_of_root(options, running.map(|_| &settings), &host);
    let cri_socket = locations::cri_socket(options, &settings, &host);
    let [kubelet_log, runtime_log] = locations::logs(&settings, &host);
    let name = locations::node_name(options, &settings);
    let reader = MountReader::new(kubelet_root.clone()).knowing(first);
    let kubelet = running.cloned();
    let cri_socket_is_kubelets = locations::is_kubelets(&cri_socket, &settings, &host);
    let is_told = cri_socket_is_kubelets || options.cri_socket.is_some();
    let known_by = (!is_told).then(|| kubelet_root.join("pods"));
    let mut scan = Scan { settings, doubt_of_root, kubelet, known_by, ..Scan::new(options, prober, host, reader) };

    // The node is listed before the API server is asked: a pod that appears in between is known to
    // the API server, and is not taken for one that it has forgotten.
    let mut runtime = scan.runtime(&cri_socket, scan.only()).await;
    let mounts = scan.mounts(pid);
    let list = |scan: &Scan<'_>, uids: Option<&BTreeSet<PodUid>>| {
        let runs = pid.is_some();
        (scan.pod_dirs(&mounts, &kubelet_root, runs, uids), scan.cgroups(&cgroup_mounts, runs, uids))
    };
    let all = scan.only().is_none().then(|| list(&scan, None));
    let mut api = scan.api(&name, scan.only()).await;
    // Without the boot id it takes the other pods to tell whether the answer is about this node.
    if scan.only().is_some() && api.get().is_some_and(|api| api.boot_id.is_none()) {
        runtime = scan.runtime(&cri_socket, None).await;
        // When there is no second answer the first one cannot be believed either.
        api = scan.api(&name, None).await;
    }
    let api =
        locations::of_this_node(api, &runtime, sys::read_text("/proc/sys/kernel/random/boot_id".as_ref(), 64).ok());
    // The runtime was asked before the API server, so whoever it knows cannot have appeared in between.
    let (pod_dirs, cgroups) = all.unwrap_or_else(|| list(&scan, scan.uids(&runtime, &api).as_ref()));
    let kubelet = match search.kubelet {
        Seen::Seen(found) => Seen::Seen(kubelet::facts(&found, &scan.settings, &options.sockets).await),
        Seen::Missing | Seen::NotAsked => Seen::Missing,
        Seen::Failed(fault) => Seen::Failed(fault),
    };
    let empty = MountTable { ns: 0, through_pid: 0, total: 0, mounts: Vec::new() };
    let table = mounts.kubelet.get().unwrap_or(&empty);
    let staging = csi::staging(&scan.host, &kubelet_root, table);
    let unstaged = mounts.kubelet.get().map(|table| csi::unstaged(&scan.host, &kubelet_root, table));
    let loops = block::loops(&scan.host, &kubelet_root);
    faults.extend(loops.fault().cloned());
    let mut seen = Observation {
        schema: Observation::SCHEMA,
        agent_version: env!("CARGO_PKG_VERSION").to_owned(),
        at_ms: sys::now_ms(),
        uptime_ms: sys::uptime_ms(),
        before: options.before,
        rights,
        node: NodeFacts {
            name,
            may_detach_mounts: mount_copies::may_detach_mounts(),
            kernel: sysinfo::System::kernel_version().unwrap_or_default(),
            kubelet,
            false_kubelets: search.refused,
            cri_socket_is_kubelets,
            cri_socket,
            runtime_process: Seen::NotAsked,
            kubelet_log,
            runtime_log,
            dra_pods: Seen::NotAsked,
            init_mount_ns: ProcDir::open(1).and_then(|dir| dir.namespace("mnt")).ok(),
            cgroup_mounts,
            kubelet_root,
        },
        api,
        runtime,
        pod_dirs,
        cgroups,
        mounts,
        looked_into: Vec::new(),
        processes: Vec::new(),
        shims: Vec::new(),
        multipath: Vec::new(),
        block_stacks: Vec::new(),
        fuse: Vec::new(),
        holders: Vec::new(),
        in_flight: Vec::new(),
        writable: Vec::new(),
        mount_copies: Vec::new(),
        csi: Seen::NotAsked,
        kubelet_counters: Seen::NotAsked,
        staging,
        volumes_changed_ms: Seen::NotAsked,
        unstaged: unstaged.unwrap_or_default(),
        unmounted_devices: Vec::new(),
        loops: loops.get().cloned().unwrap_or_default(),
        asked: BTreeSet::new(),
        faults,
    };
    scan.gather(&mut seen).await;
    seen.faults.extend(scan.reader.faults());
    seen.faults.extend(scan.process_index.get().and_then(|process_index| process_index.fault.clone()));
    sys::stop_proc_worker();
    seen
}

impl<'a> Scan<'a> {
    /// Nothing was asked yet, and no kubelet found.
    fn new(options: &'a Options, prober: &'a Prober, host: HostRoot, reader: MountReader) -> Self {
        Scan {
            options,
            prober,
            host,
            settings: kubelet::Settings::default(),
            doubt_of_root: None,
            kubelet: None,
            runtime: None,
            known_by: None,
            conversation: OnceCell::new(),
            process_index: OnceCell::new(),
            reader,
            waiting_since: None,
            fuse_answers: 0,
        }
    }

    async fn runtime(&mut self, socket: &Seen<HostPath>, only: Option<&PodFilter>) -> Seen<RuntimeFacts> {
        let Some(socket) = socket.get() else { return Seen::Missing };
        let runtime = match Runtime::new(&self.options.sockets, &self.host.at(socket)) {
            Ok(runtime) => self.runtime.insert(runtime),
            Err(fault) => return Seen::Failed(fault),
        };
        if let Some(pods) = &self.known_by {
            return locations::known_by_its_pods(runtime.facts(None).await, socket, &self.host, pods);
        }
        let of_kubelet = self.kubelet.as_ref().map(|kubelet| HostRoot::new(format!("/proc/{}/root", kubelet.pid)));
        let facts = runtime.facts(only).await;
        locations::refused_to_kubelet(facts, socket, of_kubelet.as_ref().unwrap_or(&self.host))
    }

    async fn api(&self, node: &str, only: Option<&PodFilter>) -> Seen<ApiFacts> {
        match &self.options.api {
            ApiSource::Off => return Seen::NotAsked,
            ApiSource::Known(known) => return known.clone(),
            ApiSource::Ask => {}
        }
        if let Some(relay) = &self.options.relay {
            return relay.pods(only).await;
        }
        match self.conversation() {
            Some(Ok(conversation)) => conversation.facts(node, only).await,
            Some(Err(fault)) => Seen::Failed(fault.clone()),
            None => {
                let why = "no kubeconfig was found; name one with --kubeconfig, or use --api off";
                Seen::Failed(Fault::new(Source::ApiServer, (FaultKind::NotAsked, why)))
            }
        }
    }

    /// One for all questions; none without credentials.
    fn conversation(&self) -> Option<&Result<api::Conversation, Fault>> {
        let open = || self.credentials().map(api::Conversation::open);
        self.conversation.get_or_init(open).as_ref()
    }

    /// The kubelet's own identity may list the pods of its node, so on a node nothing needs to be
    /// set up for this.
    fn credentials(&self) -> Option<api::Credentials> {
        let told = self.options.kubeconfig.clone().or_else(|| std::env::var_os("KUBECONFIG").map(Into::into));
        if let Some(path) = told {
            return Some(api::Credentials::Kubeconfig(path));
        }
        if std::env::var_os("KUBERNETES_SERVICE_HOST").is_some() {
            return Some(api::Credentials::InCluster);
        }
        let of_kubelet = self.settings.flags.kubeconfig.as_deref()?;
        Some(api::Credentials::OfKubelet(self.host.clone(), HostPath::from(of_kubelet)))
    }

    fn mounts(&mut self, kubelet: Option<u32>) -> MountTables {
        let first = kubelet.unwrap_or(1);
        let mut table = self.reader.kubelet(first);
        if table.get().is_none() && kubelet.is_none() {
            table = self.reader.kubelet(std::process::id());
        }
        let init = match &table {
            Seen::Seen(table) => self.host_mounts(table),
            _ => Seen::Missing,
        };
        let ended =
            || Fault::new(format!("/proc/{first}/mountinfo"), (FaultKind::Gone, "the process has ended; look again"));
        let kubelet = if table == Seen::Missing { Seen::Failed(ended()) } else { table };
        MountTables { kubelet, init, others: Vec::new() }
    }

    /// Who lives where; taken when first needed.
    fn process_index(&self) -> &ProcessIndex {
        self.process_index.get_or_init(ProcessIndex::read)
    }

    /// The host's own mounts, when the kubelet lives in another mount namespace: pid 1's, or ours
    /// where that may not be read and we stand on the host, that is, on the same root file system.
    fn host_mounts(&mut self, kubelet: &MountTable) -> Seen<MountTable> {
        let namespace = |pid: u32| ProcDir::open(pid).and_then(|dir| dir.namespace("mnt"));
        match namespace(1) {
            Ok(init) if init == kubelet.ns => Seen::Missing,
            Ok(_) => self.reader.below_root(1),
            Err(_) => {
                let own = self.reader.kubelet(std::process::id());
                let root =
                    |table: &MountTable| table.mounts.iter().find(|m| m.mount_point.as_bytes() == b"/").map(|m| m.dev);
                let is_host = own
                    .get()
                    .is_some_and(|own| own.ns != kubelet.ns && root(own).is_some() && root(own) == root(kubelet));
                if is_host { own } else { Seen::Missing }
            }
        }
    }

    /// The directories of all pods, or of these.
    fn pod_dirs(
        &self,
        mounts: &MountTables,
        kubelet_root: &HostPath,
        kubelet_runs: bool,
        uids: Option<&BTreeSet<PodUid>>,
    ) -> Seen<Vec<PodDir>> {
        if let Some(fault) = &self.doubt_of_root {
            return Seen::Failed(fault.clone());
        }
        match &mounts.kubelet {
            Seen::Failed(fault) => Seen::Failed(fault.clone()),
            Seen::Missing | Seen::NotAsked => Seen::Missing,
            Seen::Seen(table) => match volumes::pod_dirs(&self.host, kubelet_root, table, uids) {
                Seen::Missing if kubelet_runs => {
                    let why = "does not exist, though a kubelet runs; name its directory with --kubelet-root";
                    Seen::Failed(Fault::new(kubelet_root.join("pods"), (FaultKind::Gone, why)))
                }
                dirs => dirs,
            },
        }
    }

    /// The only pod that counts, where its facts are enough.
    fn only(&self) -> Option<&'a PodFilter> {
        self.options.only.as_ref().filter(|_| !self.options.list_all)
    }

    /// The uids of the only pod that counts, when the API server can tell them; without it, any pod may
    /// be that one.
    fn uids(&self, runtime: &Seen<RuntimeFacts>, api: &Seen<ApiFacts>) -> Option<BTreeSet<PodUid>> {
        let (only, api) = (self.only()?, api.get().filter(|api| api.stale.is_none())?);
        let of_runtime = runtime.get().into_iter().flat_map(|runtime| &runtime.sandboxes).map(|s| s.pod.clone());
        let known = api.pods.iter().map(ApiPod::to_ref).chain(of_runtime);
        let mut uids: BTreeSet<PodUid> = known.filter(|pod| only.matches(pod)).map(|pod| pod.uid).collect();
        uids.extend(match only {
            PodFilter::Uid(uid) => Some(uid.clone()),
            PodFilter::Name(..) => None,
        });
        (!uids.is_empty()).then_some(uids)
    }

    /// The cgroups of all pods, or of these.
    fn cgroups(
        &self,
        mounts: &[CgroupMount],
        kubelet_runs: bool,
        uids: Option<&BTreeSet<PodUid>>,
    ) -> Seen<Vec<PodCgroup>> {
        let root = self.settings.cgroup_root();
        let found = match uids {
            Some(uids) => cgroups::of(uids, &self.host, mounts, &root),
            None => cgroups::pods(&self.host, mounts, &root),
        };
        match found {
            Seen::Missing => {
                let untold = if kubelet_runs { "" } else { "; where a kubelet that is gone kept them is not known" };
                let why = format!("no kubepods cgroup was found below {root} in {} hierarchies{untold}", mounts.len());
                Seen::Failed(Fault::new("cgroups", (FaultKind::Gone, why)))
            }
            found => found,
        }
    }
}
