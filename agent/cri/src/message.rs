//! The messages, with the fields that are used.

use std::collections::HashMap;

use crate::{List, Pairs};

/// Asks for the runtime's name and version.
#[derive(Clone, PartialEq, prost::Message)]
pub struct VersionRequest {
    /// The API version the caller speaks; empty is accepted.
    #[prost(string, tag = "1")]
    pub version: String,
}

/// The runtime's name and version.
#[derive(Clone, PartialEq, prost::Message)]
pub struct VersionResponse {
    /// For example `containerd` or `cri-o`.
    #[prost(string, tag = "2")]
    pub runtime_name: String,
    /// The runtime's own version.
    #[prost(string, tag = "3")]
    pub runtime_version: String,
}

/// Asks for the runtime's conditions.
#[derive(Clone, PartialEq, prost::Message)]
pub struct StatusRequest {
    /// Whether to add `info`.
    #[prost(bool, tag = "1")]
    pub verbose: bool,
}

/// The runtime's conditions.
#[derive(Clone, PartialEq, prost::Message)]
pub struct StatusResponse {
    /// The conditions `RuntimeReady` and `NetworkReady`.
    #[prost(message, optional, tag = "1")]
    pub status: Option<RuntimeStatus>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct RuntimeStatus {
    /// Usually `RuntimeReady` and `NetworkReady`.
    #[prost(message, repeated, tag = "1")]
    pub conditions: Vec<RuntimeCondition>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct RuntimeCondition {
    /// `RuntimeReady` or `NetworkReady`.
    #[prost(string, tag = "1")]
    pub r#type: String,
    /// Whether it holds.
    #[prost(bool, tag = "2")]
    pub status: bool,
    /// A word why it does not.
    #[prost(string, tag = "3")]
    pub reason: String,
    /// A sentence why it does not.
    #[prost(string, tag = "4")]
    pub message: String,
}

/// Asks which cgroup driver the runtime uses (containerd ≥ 2.0, CRI-O ≥ 1.28).
#[derive(Clone, PartialEq, prost::Message)]
pub struct RuntimeConfigRequest {}

/// The cgroup driver the runtime uses.
#[derive(Clone, PartialEq, prost::Message)]
pub struct RuntimeConfigResponse {
    /// Absent on other systems than Linux.
    #[prost(message, optional, tag = "1")]
    pub linux: Option<LinuxRuntimeConfiguration>,
}

/// The Linux part of the runtime's configuration.
#[derive(Clone, PartialEq, prost::Message)]
pub struct LinuxRuntimeConfiguration {
    /// See [`CgroupDriver`].
    #[prost(enumeration = "CgroupDriver", tag = "1")]
    pub cgroup_driver: i32,
}

/// How cgroups are named and made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum CgroupDriver {
    /// systemd slices and scopes.
    Systemd = 0,
    /// Plain directories.
    Cgroupfs = 1,
}

/// Asks for pod sandboxes; without a filter, for all.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ListPodSandboxRequest {
    /// Which; all without it.
    #[prost(message, optional, tag = "1")]
    pub filter: Option<PodSandboxFilter>,
}

/// Which pod sandboxes are asked for.
#[derive(Clone, PartialEq, prost::Message)]
pub struct PodSandboxFilter {
    /// Those that have all these labels, with these values.
    #[prost(map = "string, string", tag = "3")]
    pub label_selector: HashMap<String, String>,
}

/// The pod sandboxes of the node; a pod may have several, one of them current.
pub type ListPodSandboxResponse = List<PodSandbox>;

#[derive(Clone, PartialEq, prost::Message)]
pub struct PodSandbox {
    #[prost(string, tag = "1")]
    pub id: String,
    /// Which pod it belongs to.
    #[prost(message, optional, tag = "2")]
    pub metadata: Option<PodSandboxMetadata>,
    /// See [`PodSandboxState`].
    #[prost(enumeration = "PodSandboxState", tag = "3")]
    pub state: i32,
    /// Nanoseconds since the epoch.
    #[prost(int64, tag = "4")]
    pub created_at: i64,
    /// What the kubelet wrote: the annotations of the pod.
    #[prost(message, required, tag = "6")]
    pub annotations: Pairs,
}

/// Which pod a sandbox belongs to.
#[derive(Clone, PartialEq, prost::Message)]
pub struct PodSandboxMetadata {
    #[prost(string, tag = "1")]
    pub name: String,
    /// The pod's uid (for a static pod, the hash of its manifest).
    #[prost(string, tag = "2")]
    pub uid: String,
    #[prost(string, tag = "3")]
    pub namespace: String,
    /// Counts the sandboxes of one pod, from 0.
    #[prost(uint32, tag = "4")]
    pub attempt: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum PodSandboxState {
    /// Its pause process runs.
    Ready = 0,
    /// It has stopped; its network may still exist.
    Notready = 1,
}

/// Asks for containers; without a filter, for all.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ListContainersRequest {
    /// Which; all without it.
    #[prost(message, optional, tag = "1")]
    pub filter: Option<ContainerFilter>,
}

/// Which containers are asked for.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ContainerFilter {
    /// Those that have all these labels, with these values.
    #[prost(map = "string, string", tag = "4")]
    pub label_selector: HashMap<String, String>,
}

/// The containers of the node.
pub type ListContainersResponse = List<Container>;

#[derive(Clone, PartialEq, prost::Message)]
pub struct Container {
    #[prost(string, tag = "1")]
    pub id: String,
    /// The sandbox it runs in.
    #[prost(string, tag = "2")]
    pub pod_sandbox_id: String,
    /// Its name in the pod.
    #[prost(message, optional, tag = "3")]
    pub metadata: Option<ContainerMetadata>,
    /// See [`ContainerState`].
    #[prost(enumeration = "ContainerState", tag = "6")]
    pub state: i32,
    /// Nanoseconds since the epoch.
    #[prost(int64, tag = "7")]
    pub created_at: i64,
    /// `io.kubernetes.pod.uid` and its friends.
    #[prost(message, required, tag = "8")]
    pub labels: Pairs,
    /// `io.kubernetes.pod.terminationGracePeriod` and its friends.
    #[prost(message, required, tag = "9")]
    pub annotations: Pairs,
}

/// A container's name in its pod.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ContainerMetadata {
    /// The name in the pod's spec.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Counts restarts, from 0.
    #[prost(uint32, tag = "2")]
    pub attempt: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum ContainerState {
    /// Made, not started.
    Created = 0,
    /// Started, and the runtime has not seen it end.
    Running = 1,
    /// Ended, and the runtime has cleaned up after it.
    Exited = 2,
    /// The runtime could not load its state.
    Unknown = 3,
}

/// Asks for one container.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ContainerStatusRequest {
    #[prost(string, tag = "1")]
    pub container_id: String,
    /// Whether to add `info`, which holds the pid.
    #[prost(bool, tag = "2")]
    pub verbose: bool,
}

/// One container, in detail.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ContainerStatusResponse {
    /// What the API promises.
    #[prost(message, optional, tag = "1")]
    pub status: Option<ContainerStatus>,
    /// What this runtime adds; `info["info"]` is JSON and holds `pid`.
    #[prost(message, required, tag = "2")]
    pub info: Pairs,
}

/// What the API promises of a container.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ContainerStatus {
    #[prost(string, tag = "1")]
    pub id: String,
    /// See [`ContainerState`].
    #[prost(enumeration = "ContainerState", tag = "3")]
    pub state: i32,
    /// Nanoseconds since the epoch; 0 when it never started.
    #[prost(int64, tag = "5")]
    pub started_at: i64,
    /// Nanoseconds since the epoch; 0 when it has not ended.
    #[prost(int64, tag = "6")]
    pub finished_at: i64,
    /// Set when it has ended.
    #[prost(int32, tag = "7")]
    pub exit_code: i32,
}

/// Asks for one sandbox.
#[derive(Clone, PartialEq, prost::Message)]
pub struct PodSandboxStatusRequest {
    #[prost(string, tag = "1")]
    pub pod_sandbox_id: String,
    /// Whether to add `info`, which holds the pid.
    #[prost(bool, tag = "2")]
    pub verbose: bool,
}

/// One sandbox, in detail.
#[derive(Clone, PartialEq, prost::Message)]
pub struct PodSandboxStatusResponse {
    /// What this runtime adds; `info["info"]` is JSON and holds `pid`.
    #[prost(message, required, tag = "2")]
    pub info: Pairs,
}
