//! The calls that change something; the agent's client has none of them.
//!
//! Field numbers are those of `k8s.io/cri-api/pkg/apis/runtime/v1/api.proto`.

use std::collections::HashMap;

/// Names of the methods.
pub mod method {
    pub const RUN_POD_SANDBOX: &str = "/runtime.v1.RuntimeService/RunPodSandbox";
    pub const STOP_POD_SANDBOX: &str = "/runtime.v1.RuntimeService/StopPodSandbox";
    pub const CREATE_CONTAINER: &str = "/runtime.v1.RuntimeService/CreateContainer";
    pub const START_CONTAINER: &str = "/runtime.v1.RuntimeService/StartContainer";
    pub const STOP_CONTAINER: &str = "/runtime.v1.RuntimeService/StopContainer";
    pub const EXEC_SYNC: &str = "/runtime.v1.RuntimeService/ExecSync";
    pub const IMAGE_STATUS: &str = "/runtime.v1.ImageService/ImageStatus";
}

/// An answer without content.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Empty {}

#[derive(Clone, PartialEq, prost::Message)]
pub struct RunPodSandboxRequest {
    #[prost(message, optional, tag = "1")]
    pub config: Option<PodSandboxConfig>,
}

/// The id of a sandbox, as question and as answer.
#[derive(Clone, PartialEq, prost::Message)]
pub struct SandboxId {
    #[prost(string, tag = "1")]
    pub pod_sandbox_id: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct PodSandboxConfig {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<cri::PodSandboxMetadata>,
    #[prost(string, tag = "2")]
    pub hostname: String,
    #[prost(string, tag = "3")]
    pub log_directory: String,
    #[prost(map = "string, string", tag = "6")]
    pub labels: HashMap<String, String>,
    #[prost(map = "string, string", tag = "7")]
    pub annotations: HashMap<String, String>,
    #[prost(message, optional, tag = "8")]
    pub linux: Option<LinuxPodSandboxConfig>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct LinuxPodSandboxConfig {
    #[prost(string, tag = "1")]
    pub cgroup_parent: String,
    #[prost(message, optional, tag = "2")]
    pub security_context: Option<LinuxSandboxSecurityContext>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct LinuxSandboxSecurityContext {
    #[prost(message, optional, tag = "1")]
    pub namespace_options: Option<NamespaceOption>,
    #[prost(message, optional, tag = "9")]
    pub seccomp: Option<SecurityProfile>,
}

/// Which namespaces are the pod's, the container's or the node's own.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct NamespaceOption {
    #[prost(enumeration = "NamespaceMode", tag = "1")]
    pub network: i32,
    #[prost(enumeration = "NamespaceMode", tag = "2")]
    pub pid: i32,
    #[prost(enumeration = "NamespaceMode", tag = "3")]
    pub ipc: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum NamespaceMode {
    Pod = 0,
    Container = 1,
    Node = 2,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct CreateContainerRequest {
    #[prost(string, tag = "1")]
    pub pod_sandbox_id: String,
    #[prost(message, optional, tag = "2")]
    pub config: Option<ContainerConfig>,
    #[prost(message, optional, tag = "3")]
    pub sandbox_config: Option<PodSandboxConfig>,
}

/// The id of a container, as question and as answer.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ContainerId {
    #[prost(string, tag = "1")]
    pub container_id: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct StopContainerRequest {
    #[prost(string, tag = "1")]
    pub container_id: String,
    /// Seconds between the stop signal and SIGKILL.
    #[prost(int64, tag = "2")]
    pub timeout: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ContainerConfig {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<cri::ContainerMetadata>,
    #[prost(message, optional, tag = "2")]
    pub image: Option<ImageSpec>,
    #[prost(string, repeated, tag = "3")]
    pub command: Vec<String>,
    /// What follows the image's entry point.
    #[prost(string, repeated, tag = "4")]
    pub args: Vec<String>,
    #[prost(message, repeated, tag = "6")]
    pub envs: Vec<KeyValue>,
    #[prost(message, repeated, tag = "7")]
    pub mounts: Vec<Mount>,
    #[prost(map = "string, string", tag = "9")]
    pub labels: HashMap<String, String>,
    #[prost(map = "string, string", tag = "10")]
    pub annotations: HashMap<String, String>,
    #[prost(string, tag = "11")]
    pub log_path: String,
    #[prost(message, optional, tag = "15")]
    pub linux: Option<LinuxContainerConfig>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct LinuxContainerConfig {
    #[prost(message, optional, tag = "1")]
    pub resources: Option<LinuxContainerResources>,
    #[prost(message, optional, tag = "2")]
    pub security_context: Option<LinuxContainerSecurityContext>,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct LinuxContainerResources {
    #[prost(int64, tag = "3")]
    pub cpu_shares: i64,
    #[prost(int64, tag = "4")]
    pub memory_limit_in_bytes: i64,
    #[prost(int64, tag = "5")]
    pub oom_score_adj: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct LinuxContainerSecurityContext {
    #[prost(message, optional, tag = "1")]
    pub capabilities: Option<Capability>,
    #[prost(message, optional, tag = "3")]
    pub namespace_options: Option<NamespaceOption>,
    #[prost(message, optional, tag = "4")]
    pub selinux_options: Option<SeLinuxOption>,
    #[prost(message, optional, tag = "5")]
    pub run_as_user: Option<Int64Value>,
    #[prost(bool, tag = "7")]
    pub readonly_rootfs: bool,
    #[prost(bool, tag = "11")]
    pub no_new_privs: bool,
    #[prost(message, optional, tag = "12")]
    pub run_as_group: Option<Int64Value>,
    #[prost(string, repeated, tag = "13")]
    pub masked_paths: Vec<String>,
    #[prost(string, repeated, tag = "14")]
    pub readonly_paths: Vec<String>,
    #[prost(message, optional, tag = "15")]
    pub seccomp: Option<SecurityProfile>,
    #[prost(message, optional, tag = "16")]
    pub apparmor: Option<SecurityProfile>,
}

/// Names without `CAP_`; `ALL` stands for all.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Capability {
    #[prost(string, repeated, tag = "1")]
    pub add: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    pub drop: Vec<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct SeLinuxOption {
    #[prost(string, tag = "3")]
    pub r#type: String,
}

/// A number that may be absent.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct Int64Value {
    #[prost(int64, tag = "1")]
    pub value: i64,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct SecurityProfile {
    #[prost(enumeration = "ProfileType", tag = "1")]
    pub profile_type: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum ProfileType {
    RuntimeDefault = 0,
    Unconfined = 1,
}

/// One variable of the environment.
#[derive(Clone, PartialEq, prost::Message)]
pub struct KeyValue {
    #[prost(string, tag = "1")]
    pub key: String,
    #[prost(string, tag = "2")]
    pub value: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ExecSyncRequest {
    #[prost(string, tag = "1")]
    pub container_id: String,
    #[prost(string, repeated, tag = "2")]
    pub cmd: Vec<String>,
    /// Seconds.
    #[prost(int64, tag = "3")]
    pub timeout: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ExecSyncResponse {
    #[prost(bytes = "vec", tag = "1")]
    pub stdout: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub stderr: Vec<u8>,
    #[prost(int32, tag = "3")]
    pub exit_code: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ImageSpec {
    #[prost(string, tag = "1")]
    pub image: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Mount {
    #[prost(string, tag = "1")]
    pub container_path: String,
    #[prost(string, tag = "2")]
    pub host_path: String,
    #[prost(bool, tag = "3")]
    pub readonly: bool,
    /// 0 private, 1 host to container, 2 both ways.
    #[prost(int32, tag = "5")]
    pub propagation: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ImageStatusRequest {
    #[prost(message, optional, tag = "1")]
    pub image: Option<ImageSpec>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ImageStatusResponse {
    /// Absent when the runtime does not have it.
    #[prost(message, optional, tag = "1")]
    pub image: Option<Empty>,
}
