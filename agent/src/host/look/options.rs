//! What the user may say.

use std::path::PathBuf;

use findings::PodUid;

/// What the user said; everything else is found.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The node's name.
    pub node_name: Option<String>,
    /// The kubelet's directory.
    pub kubelet_root: Option<PathBuf>,
    /// The runtime's socket.
    pub cri_socket: Option<PathBuf>,
    /// Where the host's root is mounted.
    pub host_root: Option<PathBuf>,
    /// Whether to ask the API server.
    pub ask_api: bool,
    /// With which kubeconfig.
    pub kubeconfig: Option<PathBuf>,
    /// Look into this pod only.
    pub only: Option<PodFilter>,
}

/// A pod the user asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PodFilter {
    /// By its uid.
    Uid(PodUid),
    /// By namespace and name.
    Name(String, String),
}

impl PodFilter {
    /// Whether it means this pod.
    pub fn matches(&self, pod: &findings::PodRef) -> bool {
        match self {
            PodFilter::Uid(uid) => pod.uid == *uid,
            PodFilter::Name(namespace, name) => {
                pod.namespace.as_ref() == Some(namespace) && pod.name.as_ref() == Some(name)
            }
        }
    }
}

impl std::fmt::Display for PodFilter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PodFilter::Uid(uid) => uid.fmt(f),
            PodFilter::Name(namespace, name) => {
                write!(f, "{}/{}", findings::clean(namespace, 63), findings::clean(name, 253))
            }
        }
    }
}
