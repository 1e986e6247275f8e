//! Pod directories: `<root-dir>/pods/<uid>`.

use findings::PodUid;
use serde::{Deserialize, Serialize};

use super::{Fault, HostPath, Seen};

/// One pod's directory, as far as it is informative.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PodDir {
    /// Its name is the pod's uid.
    pub uid: PodUid,
    /// Milliseconds since the epoch when it was last changed.
    pub changed_ms: u64,
    /// `volumes/<plugin>/<name>`.
    pub volumes: Seen<Vec<VolumeDir>>,
    /// Entries of `volumes/` that are no directory: the kubelet fails on them for ever.
    pub strays: Vec<HostPath>,
    /// `volume-subpaths/<volume>/<container>/<index>`.
    pub sub_paths: Vec<SubPath>,
    /// `volumeDevices/<plugin>/<name>` (raw block).
    pub devices: Vec<HostPath>,
    /// Raw block volumes of CSI that are published for the pod, outside of this directory:
    /// `plugins/kubernetes.io/csi/volumeDevices/publish/<name>/<uid>` is the target of each, and its path is the
    /// directory of its `vol_data.json`. The kubelet removes the link of one before it asks the driver.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<VolumeDir>,
    /// What could not be read.
    pub faults: Vec<Fault>,
}

impl PodDir {
    /// One that was not looked into yet.
    pub fn new(uid: PodUid) -> Self {
        PodDir {
            uid,
            changed_ms: 0,
            volumes: Seen::NotAsked,
            strays: Vec::new(),
            sub_paths: Vec::new(),
            devices: Vec::new(),
            published: Vec::new(),
            faults: Vec::new(),
        }
    }
}

/// One volume's directory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VolumeDir {
    /// `kubernetes.io/csi`, with the `~` turned back.
    pub plugin: String,
    /// The PV's name, or the pod volume's name when it is inline.
    pub name: String,
    pub path: HostPath,
    /// The path the kubelet looks at: `<path>/mount` for CSI, else `path`. `Missing` when a CSI
    /// volume has no `mount`.
    pub target: Seen<HostPath>,
    /// Whether the target is a mount point, as the kernel says (statx) or, for file systems that
    /// may not be touched, as mountinfo says.
    pub mounted: Seen<bool>,
    /// `vol_data.json` (CSI only).
    pub vol_data: VolData,
    /// What a look at what is mounted there fails with: its file system takes no more calls. Asked only of what lies on a
    /// block device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<Fault>,
    /// How many entries an unmounted directory holds, counted up to 100. For CSI, those of
    /// `mount`.
    pub entries: Option<u32>,
}

impl VolumeDir {
    /// Whether the kubelet takes no notice of it: of a CSI volume it looks at `mount` only
    /// (`getPodVolumePathListFromDisk`), and what remembers the volume is gone too.
    pub fn is_only_a_husk(&self) -> bool {
        self.vol_data == VolData::Missing && self.target == Seen::Missing
    }

    /// Whether it is made for the pod alone: no other pod writes it, and the kubelet deletes it with all that is in it.
    pub fn is_made_for_the_pod(&self) -> bool {
        matches!(
            self.plugin.trim_start_matches("kubernetes.io/"),
            "configmap" | "secret" | "projected" | "downward-api" | "empty-dir" | "git-repo" | "image"
        )
    }
}

/// The file in which the kubelet remembers a CSI volume.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum VolData {
    /// Not a CSI volume.
    #[default]
    NotCsi,
    Read(CsiVolume),
    /// There is none.
    Missing,
    /// There is one that the kubelet cannot use.
    Unusable(String),
    /// It could not be read.
    Failed(Fault),
}

/// What `vol_data.json` says.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CsiVolume {
    /// `driverName`.
    pub driver: String,
    /// `volumeHandle`.
    pub handle: String,
    /// `specVolID`: the PV's name.
    pub spec_id: String,
    /// `attachmentID`.
    pub attachment: String,
    /// `nodeName`.
    pub node: String,
    /// `volumeLifecycleMode`.
    pub lifecycle: String,
}

/// What lies below a directory and may not be removed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProtectedFiles {
    pub dir: HostPath,
    pub found: Vec<ProtectedFile>,
    /// Whether all of it was looked at.
    pub is_whole: bool,
}

/// A file or a directory that may not be removed, nor what is in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProtectedFile {
    pub path: HostPath,
    /// It may not be changed either; else it may grow.
    pub is_immutable: bool,
}

/// A subPath's bind mount.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SubPath {
    pub volume: String,
    /// The container that uses it.
    pub container: String,
    pub path: HostPath,
    /// Whether it is a mount point, by mountinfo or statx.
    pub mounted: Seen<bool>,
    /// Whether it is a file: `rmdir` fails on it (kubelet ≤ 1.35).
    pub is_file: bool,
}
