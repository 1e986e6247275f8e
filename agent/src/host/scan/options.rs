//! What the user may say.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::host::api::{CounterHistory, Relay};
use crate::host::kubelet::KubeletChoice;
use crate::host::{PodFilter, Sockets};
use crate::observation::{ApiFacts, Seen};

/// What the user said; everything else is found.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What is asked of each scan anew.
    pub scan: ScanOptions,
    pub kubelet: KubeletChoice,
    pub kubelet_root: Option<PathBuf>,
    pub cri_socket: Option<PathBuf>,
    /// Where the host's root is mounted.
    pub host_root: Option<PathBuf>,
    /// Whether to read what the kernel logged.
    pub kernel_log: bool,
    /// Who connects to the runtime and to drivers.
    pub sockets: Sockets,
    /// Who asks the API server, when this process does not do so itself.
    pub relay: Option<Relay>,
    /// With which kubeconfig the API server is asked.
    pub kubeconfig: Option<PathBuf>,
    /// What this process has read of the kubelet's counters, when it asks by itself.
    pub counters: CounterHistory,
}

/// One scan that is asked for, of this process or of the reader.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ScanOptions {
    pub node_name: Option<String>,
    /// Where to learn which pods should be gone.
    pub api: ApiSource,
    /// Whether a FUSE volume may be asked for its root directory, in the disposable child. One that
    /// hangs for ever keeps the pod of an agent from ending, so only a person's check does it.
    pub probe_fuse: bool,
    /// Whether to wait some seconds for counters of failures to grow: for a person, who does not ask again and again.
    pub watches_counters: bool,
    /// Look into this pod only.
    pub only: Option<PodFilter>,
    /// Assume that what runs is deleted, to learn who would hold its volumes.
    pub before: bool,
    /// List the whole node even so, for a later judgement of another pod.
    pub list_all: bool,
}

/// Where to learn which pods should be gone.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub enum ApiSource {
    /// Nowhere: what the node itself shows.
    #[default]
    Off,
    /// From the API server, asked during the scan; by the talker for the reader.
    Ask,
    Known(Seen<ApiFacts>),
}
