//! The messages, with the fields that are used.

use std::collections::HashMap;

use crate::{List, Pairs};

/// Declares messages: each field with its type, and what `prost` is to know of it.
macro_rules! messages {
    ($($(#[$about:meta])* $name:ident { $($(#[$of:meta])* $field:ident: $type:ty => $encoded:tt,)* })*) => {
        $(
            $(#[$about])*
            #[derive(Clone, PartialEq, prost::Message)]
            pub struct $name {
                $($(#[$of])* #[prost $encoded] pub $field: $type,)*
            }
        )*
    };
}

messages! {
    /// Asks for the runtime's name and version.
    VersionRequest {
        /// The API version the caller speaks; empty is accepted.
        version: String => (string, tag = "1"),
    }

    /// The runtime's name and version.
    VersionResponse {
        /// For example `containerd` or `cri-o`.
        runtime_name: String => (string, tag = "2"),
        /// The runtime's own version.
        runtime_version: String => (string, tag = "3"),
    }

    /// Asks for the runtime's conditions.
    StatusRequest {
        /// Whether to add `info`.
        verbose: bool => (bool, tag = "1"),
    }

    /// The runtime's conditions.
    StatusResponse {
        /// The conditions `RuntimeReady` and `NetworkReady`.
        status: Option<RuntimeStatus> => (message, optional, tag = "1"),
    }

    RuntimeStatus {
        /// Usually `RuntimeReady` and `NetworkReady`.
        conditions: Vec<RuntimeCondition> => (message, repeated, tag = "1"),
    }

    RuntimeCondition {
        /// `RuntimeReady` or `NetworkReady`.
        r#type: String => (string, tag = "1"),
        /// Whether it holds.
        status: bool => (bool, tag = "2"),
        /// A word why it does not.
        reason: String => (string, tag = "3"),
        /// A sentence why it does not.
        message: String => (string, tag = "4"),
    }

    /// Asks which cgroup driver the runtime uses (containerd ≥ 2.0, CRI-O ≥ 1.28).
    RuntimeConfigRequest {}

    /// The cgroup driver the runtime uses.
    RuntimeConfigResponse {
        /// Absent on other systems than Linux.
        linux: Option<LinuxRuntimeConfiguration> => (message, optional, tag = "1"),
    }

    /// The Linux part of the runtime's configuration.
    LinuxRuntimeConfiguration {
        cgroup_driver: i32 => (enumeration = "CgroupDriver", tag = "1"),
    }

    /// Asks for pod sandboxes; without a filter, for all.
    ListPodSandboxRequest {
        /// Which; all without it.
        filter: Option<PodSandboxFilter> => (message, optional, tag = "1"),
    }

    /// Which pod sandboxes are asked for.
    PodSandboxFilter {
        /// Those that have all these labels, with these values.
        label_selector: HashMap<String, String> => (map = "string, string", tag = "3"),
    }

    PodSandbox {
        id: String => (string, tag = "1"),
        /// Which pod it belongs to.
        metadata: Option<PodSandboxMetadata> => (message, optional, tag = "2"),
        state: i32 => (enumeration = "PodSandboxState", tag = "3"),
        /// Nanoseconds since the epoch.
        created_at: i64 => (int64, tag = "4"),
        /// What the kubelet wrote: the annotations of the pod.
        annotations: Pairs => (message, required, tag = "6"),
    }

    /// Which pod a sandbox belongs to.
    PodSandboxMetadata {
        name: String => (string, tag = "1"),
        /// The pod's uid (for a static pod, the hash of its manifest).
        uid: String => (string, tag = "2"),
        namespace: String => (string, tag = "3"),
        /// Counts the sandboxes of one pod, from 0.
        attempt: u32 => (uint32, tag = "4"),
    }

    /// Asks for containers; without a filter, for all.
    ListContainersRequest {
        /// Which; all without it.
        filter: Option<ContainerFilter> => (message, optional, tag = "1"),
    }

    /// Which containers are asked for.
    ContainerFilter {
        /// Those that have all these labels, with these values.
        label_selector: HashMap<String, String> => (map = "string, string", tag = "4"),
    }

    Container {
        id: String => (string, tag = "1"),
        /// The sandbox it runs in.
        pod_sandbox_id: String => (string, tag = "2"),
        /// Its name in the pod.
        metadata: Option<ContainerMetadata> => (message, optional, tag = "3"),
        state: i32 => (enumeration = "ContainerState", tag = "6"),
        /// Nanoseconds since the epoch.
        created_at: i64 => (int64, tag = "7"),
        /// `io.kubernetes.pod.uid` and its friends.
        labels: Pairs => (message, required, tag = "8"),
        /// `io.kubernetes.pod.terminationGracePeriod` and its friends.
        annotations: Pairs => (message, required, tag = "9"),
    }

    /// A container's name in its pod.
    ContainerMetadata {
        /// The name in the pod's spec.
        name: String => (string, tag = "1"),
        /// Counts restarts, from 0.
        attempt: u32 => (uint32, tag = "2"),
    }

    /// Asks for one container.
    ContainerStatusRequest {
        container_id: String => (string, tag = "1"),
        /// Whether to add `info`, which holds the pid.
        verbose: bool => (bool, tag = "2"),
    }

    /// One container, in detail.
    ContainerStatusResponse {
        /// What the API promises.
        status: Option<ContainerStatus> => (message, optional, tag = "1"),
        /// What this runtime adds; `info["info"]` is JSON and holds `pid`.
        info: Pairs => (message, required, tag = "2"),
    }

    /// What the API promises of a container.
    ContainerStatus {
        id: String => (string, tag = "1"),
        state: i32 => (enumeration = "ContainerState", tag = "3"),
        /// Nanoseconds since the epoch; 0 when it never started.
        started_at: i64 => (int64, tag = "5"),
        /// Nanoseconds since the epoch; 0 when it has not ended.
        finished_at: i64 => (int64, tag = "6"),
        /// Set when it has ended.
        exit_code: i32 => (int32, tag = "7"),
    }

    /// Asks for one sandbox.
    PodSandboxStatusRequest {
        pod_sandbox_id: String => (string, tag = "1"),
        /// Whether to add `info`, which holds the pid.
        verbose: bool => (bool, tag = "2"),
    }

    /// One sandbox, in detail.
    PodSandboxStatusResponse {
        /// What this runtime adds; `info["info"]` is JSON and holds `pid`.
        info: Pairs => (message, required, tag = "2"),
    }
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

/// The pod sandboxes of the node; a pod may have several, one of them current.
pub type ListPodSandboxResponse = List<PodSandbox>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum PodSandboxState {
    /// Its pause process runs.
    Ready = 0,
    /// It has stopped; its network may still exist.
    Notready = 1,
}

/// The containers of the node.
pub type ListContainersResponse = List<Container>;

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
