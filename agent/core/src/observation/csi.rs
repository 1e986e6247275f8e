//! CSI drivers and block devices.

use serde::{Deserialize, Serialize};

use super::{BlockKind, Dev, HostPath, Seen, VolData};

/// A CSI driver's registration socket in `plugins_registry`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CsiDriver {
    pub socket: HostPath,
    /// What it said of itself (`GetInfo`): the driver's name and its endpoint.
    pub info: Seen<CsiDriverInfo>,
}

/// A driver's own words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CsiDriverInfo {
    pub name: String,
    /// Its CSI socket.
    pub endpoint: HostPath,
    /// Whether something listens on that socket.
    pub listens: Seen<bool>,
    /// Milliseconds since the epoch when the younger of its two sockets was made: the driver is there since then.
    /// `Missing` in observations of older agents.
    #[serde(default)]
    pub since_ms: Seen<u64>,
    /// Whether it is a DRA driver: these register at the same place.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_dra: bool,
}

/// A staged volume: `<root-dir>/plugins/kubernetes.io/csi/<driver>/<sha256>/globalmount`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StagingMount {
    /// The driver's directory name.
    pub driver: String,
    /// Where it is mounted.
    pub path: HostPath,
    /// Its file system.
    pub dev: Dev,
    /// The `vol_data.json` beside it.
    pub vol_data: VolData,
    /// Mount points below `pods/` that show the same file system.
    pub used_by: Vec<HostPath>,
    /// Milliseconds since the epoch when it was staged: when the directory around it was last changed.
    #[serde(default)]
    pub staged_ms: Option<u64>,
}

/// A staging directory (`globalmount`) in which nothing is mounted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnstagedVolume {
    /// The driver's directory name.
    pub driver: String,
    pub path: HostPath,
    /// Milliseconds since the epoch when it was last changed.
    pub changed_ms: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopDevice {
    /// `/dev/loop0`.
    pub device: String,
    pub dev: Dev,
    pub file: HostPath,
    /// The backing file has been deleted.
    pub deleted: bool,
    /// Devices built on it (`/sys/block/loop0/holders`).
    pub holders: Vec<String>,
    /// All that is built on it, each before what it is built on itself.
    #[serde(default)]
    pub layers: Vec<BlockLayer>,
}

/// A device that is built on another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockLayer {
    /// `dm-3`, `md127`.
    pub name: String,
    pub kind: BlockKind,
}
