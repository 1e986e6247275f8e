//! `volumeDevices/<plugin>/<name>`: links to raw block volumes.

use super::PodDirReader;
use crate::observation::{HostPath, PodDir};

/// Fills `devices`.
pub(super) fn fill(dir: &mut PodDir, reader: &PodDirReader<'_>, above: &HostPath) {
    for plugin in reader.list_or_note(above, &mut dir.faults) {
        let plugin_path = above.join(&plugin.name);
        for device in reader.list_or_note(&plugin_path, &mut dir.faults) {
            dir.devices.push(plugin_path.join(&device.name));
        }
    }
}
