//! What the container runtime says.

use findings::{PodRef, PodUid};
use serde::{Deserialize, Serialize};

use super::{CgroupDriver, HostPath, Owner, Seen};

/// The runtime's answer to version, list of sandboxes, list of containers.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct RuntimeFacts {
    /// `containerd`, `cri-o`.
    pub name: String,
    pub version: String,
    /// Which cgroup driver it uses, when it reports that.
    pub cgroup_driver: Option<CgroupDriver>,
    /// Conditions that do not hold (`NetworkReady`), with their message.
    pub unready: Vec<(String, String)>,
    /// All sandboxes with a valid pod uid.
    pub sandboxes: Vec<Sandbox>,
    /// All containers with a valid pod uid.
    pub containers: Vec<Container>,
}

impl RuntimeFacts {
    /// Whether it is a static pod's uid, which the API server need not know. A manifest may set a `metadata.uid`, which the
    /// kubelet keeps (`applyDefaults` in its `config/common.go`): then only the sandbox shows that.
    pub fn is_static(&self, uid: &PodUid) -> bool {
        uid.is_static() || self.sandboxes.iter().any(|sandbox| sandbox.is_static && sandbox.pod.uid == *uid)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sandbox {
    pub id: String,
    pub pod: PodRef,
    /// READY; otherwise NOTREADY.
    pub ready: bool,
    /// Milliseconds since the epoch.
    pub created_ms: u64,
    /// The pid of its pause process, 0 when it has none.
    pub pid: Seen<u32>,
    /// Whether its pod comes from a file or a URL of the kubelet's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_static: bool,
    /// The network namespace the runtime made for it, `Missing` for a pod on the host's network.
    pub network: Seen<NetworkNamespace>,
}

/// The network namespace of a sandbox. The runtime removes it only after the CNI plugins have
/// torn the network down, so one that is left of a stopped sandbox is an unfinished tear-down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkNamespace {
    /// Where it is pinned: `/var/run/netns/cni-…`.
    pub path: HostPath,
    /// Whether something is mounted there still. What cannot be looked at makes the whole
    /// `Failed`.
    pub pinned: bool,
    /// Whether nothing at all is at that path.
    #[serde(default)]
    pub missing: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Container {
    pub id: String,
    /// The sandbox it runs in.
    pub sandbox: String,
    pub pod: PodRef,
    /// Its name in the pod.
    pub name: String,
    pub state: ContainerState,
    /// Milliseconds since the epoch.
    pub created_ms: u64,
    /// `io.kubernetes.pod.terminationGracePeriod`, in seconds.
    pub grace_s: Option<u64>,
    /// Whether it has a preStop hook.
    pub pre_stop: bool,
    /// The pid of its init, 0 when it has none.
    pub pid: Seen<u32>,
    /// Milliseconds since the epoch when it was started; it comes with the pid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_ms: Option<u64>,
}

findings::named! {
    /// `runtime.v1.ContainerState`, with its names.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum ContainerState {
        /// Made, not started.
        Created = "CREATED",
        /// Started, and the runtime has not seen it end.
        Running = "RUNNING",
        /// Ended.
        Exited = "EXITED",
        /// The runtime could not load its state.
        Unknown = "UNKNOWN",
    }
}

/// A shim that lives, known by its working directory: containerd starts it in the bundle of its
/// sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shim {
    pub sandbox: String,
    pub pid: u32,
    /// Clock ticks after boot; with the pid it names the process for good.
    pub start_ticks: u64,
    /// Its name, cut to 15 bytes: it does not distinguish one runtime's shim from another's.
    pub comm: String,
    pub state: char,
    /// The program it runs: `/usr/bin/containerd-shim-runc-v2`.
    pub program: Seen<HostPath>,
    /// In whose cgroup it is.
    #[serde(default)]
    pub owner: Owner,
    /// How many children it has; `Missing` where the kernel does not show them.
    pub children: Seen<u32>,
}

impl Shim {
    /// The file name of its program, also after an upgrade has replaced the file.
    pub fn program_name(&self) -> Option<&str> {
        let name = self.program.get()?.as_path().file_name()?.to_str()?;
        Some(name.strip_suffix(" (deleted)").unwrap_or(name))
    }
}
