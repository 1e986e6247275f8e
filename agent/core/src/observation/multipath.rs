//! Multipath maps, as far as sysfs shows.

use serde::{Deserialize, Serialize};

use super::Dev;

/// The multipath map that a mounted block device is, or is built on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MultipathMap {
    pub mounted: Dev,
    /// The map's name: `mpatha`.
    pub name: String,
    /// Its device: `dm-3`.
    pub device: String,
    /// The devices it could go through.
    pub paths: Vec<MultipathPath>,
}

/// One path of a map.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MultipathPath {
    /// `sdb`.
    pub device: String,
    /// `running`, `offline`, `transport-offline`, `blocked`; `live` for NVMe. None when sysfs does not show it.
    pub state: Option<String>,
}

impl MultipathMap {
    /// Whether no path is left, or every path is known to be of no use.
    pub fn is_without_path(&self) -> bool {
        let is_dead = |path: &MultipathPath| path.state.as_deref().is_some_and(|s| !matches!(s, "running" | "live"));
        self.paths.iter().all(is_dead)
    }
}
