//! The node itself.

use findings::PodUid;
use serde::{Deserialize, Serialize};

use super::{Fault, HostPath, Seen};

/// The node, its kernel, its kubelet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeFacts {
    /// The node's name, from the flag, the kubelet's `--hostname-override` or the host's name.
    pub name: String,
    /// `uname -r`.
    pub kernel: String,
    /// `fs.may_detach_mounts`; only kernels before 3.18 may have it.
    #[serde(default)]
    pub may_detach_mounts: Seen<bool>,
    /// The kubelet; `Missing` when none runs.
    pub kubelet: Seen<KubeletFacts>,
    /// Processes that have a kubelet's name and are not believed to be the node's.
    #[serde(default)]
    pub false_kubelets: Vec<FalseKubelet>,
    /// The directory the kubelet keeps its pods in; a guess when there is no kubelet.
    pub kubelet_root: HostPath,
    /// The socket of the container runtime; `Missing` when none was found.
    pub cri_socket: Seen<HostPath>,
    /// Whether it is the one the kubelet uses, and not another that the user named.
    pub cri_socket_is_kubelets: bool,
    /// The process that listens on it.
    pub runtime_process: Seen<RuntimeProcess>,
    /// The file that the kubelet writes its log to, where that is known and no journal.
    #[serde(default)]
    pub kubelet_log: Option<HostPath>,
    /// The same of the runtime.
    #[serde(default)]
    pub runtime_log: Option<HostPath>,
    /// Which cgroup hierarchies are mounted.
    pub cgroup_mounts: Vec<CgroupMount>,
    /// The pods for which the kubelet still holds devices (DRA), from its `dra_manager_state`.
    pub dra_pods: Seen<Vec<PodUid>>,
    /// The resource claims that it holds for any pod, from the same file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dra_claims: Vec<DraClaim>,
    /// Inode of pid 1's mount namespace, if it may be read.
    pub init_mount_ns: Option<u64>,
}

impl NodeFacts {
    /// The kubelet's pid, where its mount namespace is another one than pid 1's, or may be: what is mounted there is
    /// reached through it in both cases.
    pub fn kubelet_in_own_mount_namespace(&self) -> Option<u32> {
        let kubelet = self.kubelet.get()?;
        let is_the_same = kubelet.mount_ns.is_some() && kubelet.mount_ns == self.init_mount_ns;
        (!is_the_same).then_some(kubelet.pid)
    }
}

/// A resource claim whose devices the kubelet has had prepared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DraClaim {
    pub namespace: String,
    pub name: String,
    pub pods: Vec<PodUid>,
    /// Which drivers have to release something.
    pub drivers: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KubeletFacts {
    pub pid: u32,
    /// Clock ticks after boot.
    #[serde(default)]
    pub start_ticks: Option<u64>,
    /// Its name: `kubelet`, or `k3s`, `kubelite`, … where it is built in.
    pub comm: String,
    /// The systemd service it runs in, from its cgroup.
    #[serde(default)]
    pub unit: Option<String>,
    /// Its state letter, `T` when it was stopped by a signal.
    pub state: char,
    /// Milliseconds since it started.
    pub age_ms: u64,
    /// Inode of its mount namespace.
    pub mount_ns: Option<u64>,
    /// From its configuration.
    pub cgroup_driver: Option<CgroupDriver>,
    /// From its flags or configuration; `/` when not set.
    pub cgroup_root: String,
    /// What `http://127.0.0.1:10248/healthz` said.
    pub healthz: Seen<Healthz>,
    /// The kubeconfig it uses; its identity may list the pods of its node.
    pub kubeconfig: Option<HostPath>,
}

/// A process with a kubelet's name of which nothing else is read or used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FalseKubelet {
    pub pid: u32,
    pub comm: String,
    /// Why it is not believed.
    pub why: Disbelief,
}

/// Why a process is not believed to be the node's kubelet. Names are free to choose; these are not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Disbelief {
    /// It belongs to a pod.
    InPod,
    /// One of its ids is not root's, but this.
    NotRoot(u32),
    /// It is root of another user namespace than the agent's.
    OtherUserNamespace,
    /// Its program belongs to this user.
    ExecutableOf(u32),
    /// Others than root may write its program.
    ExecutableWritable,
    /// A server decides what its program is, and whether it answers.
    ExecutableServed,
    /// It may well be one, but the pods of another one, with this pid, were judged.
    AnotherIsJudged(u32),
    /// The kernel did not show enough.
    Untold(Fault),
}

/// The process behind the runtime's socket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuntimeProcess {
    pub pid: u32,
    /// Clock ticks after boot.
    #[serde(default)]
    pub start_ticks: Option<u64>,
    pub comm: String,
    /// The systemd service it runs in, from its cgroup.
    #[serde(default)]
    pub unit: Option<String>,
    /// Its state letter; `T` is stopped.
    pub state: char,
}

/// The kubelet's own opinion of its health.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Healthz {
    /// 200 when healthy.
    pub status: u16,
    pub body: String,
}

/// How the kubelet names and makes cgroups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CgroupDriver {
    /// systemd slices and scopes.
    Systemd,
    /// Plain directories.
    Cgroupfs,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CgroupMount {
    pub mount_point: HostPath,
    /// The controllers of a v1 hierarchy; `None` for v2.
    pub v1: Option<Vec<String>>,
}

/// A line of the kernel about a hung task, failed I/O or a silent server. It quotes names that others chose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelLine {
    /// Milliseconds from boot to it.
    pub after_boot_ms: u64,
    pub text: String,
}

/// The rights that decide which sources answer; what each is for stands in `docs/security.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rights {
    /// Whether it runs as root: the sockets of runtimes and drivers are root's.
    pub root: bool,
    /// `CAP_SYS_PTRACE`.
    pub sys_ptrace: bool,
    /// `CAP_DAC_READ_SEARCH`, or `CAP_DAC_OVERRIDE`, which is more.
    pub dac_read_search: bool,
    /// `CAP_SYS_ADMIN`: kernel stacks.
    pub sys_admin: bool,
    /// Whether `/proc` shows the processes of the host (`hostPID`).
    pub host_pids: bool,
    /// Whether the kernel lets it look into the kubelet; `None` when there is no kubelet to try it on.
    pub sees_kubelet: Option<bool>,
}

impl Rights {
    /// Whether it can see into other processes: their working directory, their mounts, what they wait for.
    pub fn sees_into_processes(&self) -> bool {
        self.host_pids && self.sees_kubelet.unwrap_or(self.sys_ptrace)
    }

    /// Whether no process of whatever user can hold something unseen.
    pub fn sees_every_holder(&self) -> bool {
        self.sees_into_processes() && self.dac_read_search
    }
}
