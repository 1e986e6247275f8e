//! What a process of a pod could go on writing to.

use serde::{Deserialize, Serialize};

use super::{Dev, Fault, HostPath};

/// The files on volumes of pods that a process can write to without opening anything.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WritableFiles {
    pub pid: u32,
    /// When the process started that had it then; none if it had gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_ticks: Option<u64>,
    pub files: Vec<WritableFile>,
    /// Why these may not be all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WritableFile {
    /// Its file system.
    pub dev: Dev,
    /// Which directory of the file system is mounted where it was opened.
    pub root: HostPath,
    /// Its path as its process sees it.
    pub path: HostPath,
    /// The descriptor; none for a file that is mapped and closed.
    pub fd: Option<u32>,
}
