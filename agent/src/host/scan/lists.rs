//! The lists of a scan: pods, containers, mounts and cgroups of the whole node, or of one pod.

use std::collections::BTreeSet;

use findings::PodUid;

use super::{ApiSource, Scan, locations};
use crate::host::runtime::Runtime;
use crate::host::{HostRoot, PodFilter, block, cgroups, csi, kubelet, volumes};
use crate::observation::*;
use crate::sys::{self, ProcDir};

impl<'a> Scan<'a> {
    /// Reads the lists. The node's come before the API server's: a pod that appears in between is known to
    /// the API server, and is not taken for one that it has forgotten.
    pub(super) async fn read_lists(&mut self, seen: &mut Observation) {
        let only = self.only();
        seen.runtime = self.runtime(&seen.node.cri_socket, only).await;
        seen.mounts = self.mounts();
        if only.is_none() {
            self.pods(None, seen);
        }
        seen.api = self.api(&seen.node.name, only).await;
        // Without the boot id only the other pods show whether the answer is about this node.
        if only.is_some() && seen.api.get().is_some_and(|api| api.boot_id.is_none()) {
            seen.runtime = self.runtime(&seen.node.cri_socket, None).await;
            // When there is no second answer the first one cannot be believed either.
            seen.api = self.api(&seen.node.name, None).await;
        }
        let boot_id = sys::read_text("/proc/sys/kernel/random/boot_id".as_ref(), 64).ok();
        seen.api = locations::reject_other_node(std::mem::take(&mut seen.api), &seen.runtime, boot_id);
        if only.is_some() {
            // The runtime was queried before the API server, so none of its pods can have appeared in between.
            self.pods(self.uids(&seen.runtime, &seen.api).as_ref(), seen);
        }
        seen.node.kubelet = match &self.kubelet {
            Seen::Seen(found) => Seen::Seen(kubelet::facts(found, &self.settings, &self.options.sockets).await),
            Seen::Missing | Seen::NotAsked => Seen::Missing,
            Seen::Failed(fault) => Seen::Failed(fault.clone()),
        };
        self.node_volumes(seen);
    }

    /// What the node itself has of all pods, or of these.
    fn pods(&self, uids: Option<&BTreeSet<PodUid>>, seen: &mut Observation) {
        seen.pod_dirs = self.pod_dirs(&seen.mounts, &seen.node.kubelet_root, uids);
        seen.cgroups = self.cgroups(&seen.node.cgroup_mounts, uids);
    }

    /// Staged volumes and loop devices, which belong to the node.
    fn node_volumes(&self, seen: &mut Observation) {
        let root = &seen.node.kubelet_root;
        if let Seen::Seen(table) = &seen.mounts.kubelet {
            seen.staging = csi::staging(&self.host, root, table);
            seen.unstaged = csi::unstaged(&self.host, root, table);
        }
        let loops = block::loops(&self.host, root);
        seen.faults.extend(loops.fault().cloned());
        seen.loops = loops.get().cloned().unwrap_or_default();
    }

    async fn runtime(&mut self, socket: &Seen<HostPath>, only: Option<&PodFilter>) -> Seen<RuntimeFacts> {
        let Some(socket) = socket.get() else { return Seen::Missing };
        let runtime = match Runtime::new(&self.options.sockets, &self.host.at(socket), socket) {
            Ok(runtime) => self.runtime.insert(runtime),
            Err(fault) => return Seen::Failed(fault),
        };
        if let Some(pods) = &self.known_by {
            return locations::verify_by_pods(runtime.facts(None).await, socket, &self.host, pods);
        }
        let of_kubelet = self.kubelet.get().map(|kubelet| HostRoot::new(format!("/proc/{}/root", kubelet.pid)));
        let facts = runtime.facts(only).await;
        locations::verify_refusal(facts, socket, of_kubelet.as_ref().unwrap_or(&self.host))
    }

    async fn api(&self, node: &str, only: Option<&PodFilter>) -> Seen<ApiFacts> {
        match &self.options.scan.api {
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
                Seen::failed(Source::ApiServer, (FaultKind::NotAsked, why))
            }
        }
    }

    pub(super) fn mounts(&mut self) -> MountTables {
        let first = self.kubelet_pid.unwrap_or(1);
        let mut table = self.reader.kubelet(first);
        if table.get().is_none() && self.kubelet_pid.is_none() {
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

    /// The host's own mounts, when the kubelet lives in another mount namespace: pid 1's, or ours
    /// where that may not be read and we stand on the host, that is, on the same root file system.
    fn host_mounts(&mut self, kubelet: &MountTable) -> Seen<MountTable> {
        let namespace = |pid: u32| ProcDir::open(pid).and_then(|dir| dir.namespace("mnt"));
        match namespace(1) {
            Ok(init) if init == kubelet.ns => Seen::Missing,
            Ok(_) => self.reader.root_mounts(1),
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
        uids: Option<&BTreeSet<PodUid>>,
    ) -> Seen<Vec<PodDir>> {
        if let Some(fault) = &self.doubt_of_root {
            return Seen::Failed(fault.clone());
        }
        mounts.kubelet.as_ref().and_then(|table| match volumes::pod_dirs(&self.host, kubelet_root, table, uids) {
            Seen::Missing if self.kubelet_pid.is_some() => {
                let why = "does not exist, though a kubelet runs; name its directory with --kubelet-root";
                Seen::failed(kubelet_root.join("pods"), (FaultKind::Gone, why))
            }
            dirs => dirs,
        })
    }

    /// The only pod that counts, where its facts are enough.
    fn only(&self) -> Option<&'a PodFilter> {
        self.options.scan.only.as_ref().filter(|_| !self.options.scan.list_all)
    }

    /// The uids of the only pod that counts, when the API server knows them; without it, any pod may
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
    fn cgroups(&self, mounts: &[CgroupMount], uids: Option<&BTreeSet<PodUid>>) -> Seen<Vec<PodCgroup>> {
        let root = self.settings.cgroup_root();
        let cgroups = match uids {
            Some(uids) => cgroups::pods_of(uids, &self.host, mounts, &root),
            None => cgroups::pods(&self.host, mounts, &root),
        };
        match cgroups {
            Seen::Missing => {
                let untold = if self.kubelet_pid.is_some() {
                    ""
                } else {
                    "; where a kubelet that is gone kept them is not known"
                };
                let why = format!("no kubepods cgroup was found below {root} in {} hierarchies{untold}", mounts.len());
                Seen::failed("cgroups", (FaultKind::Gone, why))
            }
            cgroups => cgroups,
        }
    }
}
