//! One look at the node: in which order the sources are asked, and how closely.
//!
//! Cheap lists come first. Only pods that should be gone are looked into, and only what their
//! first open gate needs: nobody searches for the holders of a volume whose container still runs.

mod closer;
mod options;
mod pinned;
mod place;
mod saved;
mod targets;

use crate::{
    observation::*,
    sys::{self, ProcDir},
};

pub use options::{ApiSource, Options, PodFilter};
pub use saved::{load, save};

use super::{
    HostView, api, block,
    census::Census,
    cgroups,
    child::Prober,
    csi, elsewhere, kubelet,
    mounts::{FirstTable, MountReader},
    rights, runtime, volumes,
};

/// What the steps share.
struct Looker<'a> {
    options: &'a Options,
    prober: &'a Prober,
    view: HostView,
    settings: kubelet::Settings,
    census: std::cell::OnceCell<Census>,
    reader: MountReader,
    faults: Vec<Fault>,
}

/// Looks at the node once.
pub async fn look(options: &Options, prober: &Prober) -> Observation {
    let mut faults = Vec::new();
    let own = HostView::new(options.host_root.clone().unwrap_or_default());
    let first = FirstTable::read(&own);
    let cgroup_mounts = cgroups::hierarchies(&first);
    let found = kubelet::find(&cgroup_mounts, &own);
    let running = found.get();
    let rights = rights::rights(running.map(|found| found.pid));
    let view = place::view(options, running.map(|found| found.pid));
    let settings = running.map(|found| kubelet::settings(found, &view, prober, &mut faults)).unwrap_or_default();
    let kubelet_root = place::kubelet_root(options, running.map(|_| &settings), &view);
    let cri_socket = place::cri_socket(options, &settings, &view);
    let name = place::node_name(options, &settings);
    let reader = MountReader::new(kubelet_root.clone()).knowing(first);
    let mut looker = Looker { options, prober, view, settings, census: Default::default(), reader, faults };

    // The node is listed before the API server is asked: a pod that appears in between is known to
    // the API server, and is not taken for one that it has forgotten.
    let runtime = looker.runtime(&cri_socket).await;
    let mounts = looker.mounts(running.map(|found| found.pid));
    let pod_dirs = looker.pod_dirs(&mounts, &kubelet_root, running.is_some());
    let cgroups = looker.cgroups(&cgroup_mounts, running.is_some());
    let api = looker.api(&name).await;
    let api = place::of_this_node(api, &runtime, sys::read_text("/proc/sys/kernel/random/boot_id".as_ref(), 64).ok());
    let runtime_process = match (&runtime, cri_socket.get()) {
        (Seen::Failed(_), Some(socket)) => runtime::listener(&looker.view.at(socket)),
        _ => Seen::Missing,
    };
    let kubelet = match found {
        Seen::Seen(found) => {
            let told = api.get().and_then(|facts| facts.kubelet_version.clone());
            let version = told.map_or_else(|| kubelet::version(found.pid, prober), Seen::Seen);
            Seen::Seen(kubelet::look(&found, &looker.settings, version).await)
        }
        Seen::Missing => Seen::Missing,
        Seen::Failed(fault) => Seen::Failed(fault),
    };
    let empty = MountTable { ns: 0, through_pid: 0, total: 0, mounts: Vec::new() };
    let table = mounts.kubelet.get().unwrap_or(&empty);
    let staging = csi::staging(&looker.view, &kubelet_root, table);
    let loops = block::loops(&looker.view, &kubelet_root);
    looker.faults.extend(loops.fault().cloned());
    let mut seen = Observation {
        schema: Observation::SCHEMA,
        agent_version: env!("CARGO_PKG_VERSION").to_owned(),
        at_ms: sys::now_ms(),
        uptime_ms: sys::uptime_ms(),
        rights,
        node: NodeFacts {
            name,
            may_detach_mounts: elsewhere::may_detach_mounts(),
            kernel: sysinfo::System::kernel_version().unwrap_or_default(),
            kubelet,
            cri_socket_is_kubelets: place::is_kubelets(options, &looker.settings),
            cri_socket,
            runtime_process,
            dra_pods: Seen::Missing,
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
        fuse: Vec::new(),
        holders: Vec::new(),
        elsewhere: Vec::new(),
        csi: Seen::Missing,
        staging,
        unstaged: Vec::new(),
        unmounted_devices: Vec::new(),
        loops: loops.get().cloned().unwrap_or_default(),
        faults: Vec::new(),
    };
    looker.search_pinned(&mut seen);
    looker.look_closer(&mut seen).await;
    looker.faults.extend(looker.reader.faults().iter().cloned());
    looker.faults.extend(looker.census.get().and_then(|census| census.fault.clone()));
    seen.faults = looker.faults;
    seen
}

impl Looker<'_> {
    async fn runtime(&self, socket: &Seen<HostPath>) -> Seen<RuntimeFacts> {
        match socket.get() {
            Some(socket) => runtime::look(&self.view.at(socket)).await,
            None => Seen::Missing,
        }
    }

    async fn api(&self, node: &str) -> Seen<ApiFacts> {
        match &self.options.api {
            ApiSource::Off => return Seen::Missing,
            ApiSource::Known(known) => return known.clone(),
            ApiSource::Ask => {}
        }
        match self.credentials() {
            Some(credentials) => api::look(credentials, node).await,
            None => {
                let why = "no kubeconfig was found; name one with --kubeconfig, or use --api off";
                Seen::Failed(Fault::new("API server", why))
            }
        }
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
        Some(api::Credentials::OfKubelet(self.view.at(&HostPath::from(of_kubelet))))
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
        let ended = || Fault::new(format!("/proc/{first}/mountinfo"), "the process has ended; look again");
        let kubelet = if table == Seen::Missing { Seen::Failed(ended()) } else { table };
        MountTables { kubelet, init, others: Vec::new() }
    }

    /// Who lives where; taken when first needed.
    fn census(&self) -> &Census {
        self.census.get_or_init(Census::take)
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

    fn pod_dirs(&self, mounts: &MountTables, kubelet_root: &HostPath, kubelet_runs: bool) -> Seen<Vec<PodDir>> {
        match &mounts.kubelet {
            Seen::Failed(fault) => Seen::Failed(fault.clone()),
            Seen::Missing => Seen::Missing,
            Seen::Seen(table) => match volumes::pod_dirs(&self.view, kubelet_root, table) {
                Seen::Missing if kubelet_runs => {
                    let why = "does not exist, though a kubelet runs; name its directory with --kubelet-root";
                    Seen::Failed(Fault::new(kubelet_root.join("pods").show(), why))
                }
                dirs => dirs,
            },
        }
    }

    fn cgroups(&self, mounts: &[CgroupMount], kubelet_runs: bool) -> Seen<Vec<PodCgroup>> {
        let root = self.settings.cgroup_root();
        match cgroups::pods(&self.view, mounts, &root) {
            Seen::Missing if kubelet_runs => {
                let why = format!("no kubepods cgroup was found below {root} in {} hierarchies", mounts.len());
                Seen::Failed(Fault::new("cgroups", why))
            }
            found => found,
        }
    }
}
