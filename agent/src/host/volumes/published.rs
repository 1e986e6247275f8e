//! Raw block volumes of CSI that are published for a pod: what the kubelet keeps of them lies outside of the pod's
//! directory (`pkg/volume/csi/csi_block.go`).

use super::{PodDirReader, read_vol_data};
use crate::observation::{HostPath, PodDir, Seen, VolumeDir};
use crate::sys::EntryKind;

/// Fills `published`; `devices` is `plugins/kubernetes.io/csi/volumeDevices`.
pub(super) fn fill(dir: &mut PodDir, reader: &PodDirReader<'_>, devices: &HostPath) {
    let above = devices.join("publish");
    let volumes = reader.list_or_note(&above, &mut dir.faults);
    for volume in volumes.iter().filter(|volume| matches!(volume.kind, EntryKind::Directory | EntryKind::Unknown)) {
        let target = above.join(&volume.name).join(dir.uid.as_str());
        let mounted = reader.is_in_table(&target);
        // The driver binds the device there, or makes a node or a link. A file or directory is what one left.
        let facts = if mounted { None } else { reader.tree.facts(&target).or_note(&mut dir.faults) };
        if !mounted && facts.is_none_or(|facts| facts.is_file || facts.is_directory) {
            continue;
        }
        let path = devices.join(&volume.name).join("data");
        dir.published.push(VolumeDir {
            plugin: super::volume_dirs::CSI.to_owned(),
            name: volume.name.to_string_lossy().into_owned(),
            vol_data: read_vol_data(&reader.tree, &path.join("vol_data.json")),
            path,
            target: Seen::Seen(target),
            mounted: Seen::Seen(mounted),
            failed: None,
            entries: None,
        });
    }
}
