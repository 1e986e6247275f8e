//! `volume-subpaths/<volume>/<container>/<index>`: targets of bind mounts, directories or files.

use super::PodDirReader;
use crate::observation::{HostPath, PodDir, Seen, SubPath};
use crate::sys::EntryKind;

/// Fills `sub_paths`.
pub(super) fn fill(dir: &mut PodDir, reader: &PodDirReader<'_>, above: &HostPath) {
    for volume in reader.list_or_note(above, &mut dir.faults) {
        let volume_path = above.join(&volume.name);
        for container in reader.list_or_note(&volume_path, &mut dir.faults) {
            let container_path = volume_path.join(&container.name);
            for index in reader.list_or_note(&container_path, &mut dir.faults) {
                let path = container_path.join(&index.name);
                let mounted = match reader.is_mounted(&path) {
                    // An old kubelet compares devices here as well, but a subPath is a bind mount
                    // that runc made, nearly always within one file system: the table knows.
                    Seen::Seen(false) => Seen::Seen(reader.is_in_table(&path)),
                    seen => seen,
                };
                dir.sub_paths.push(SubPath {
                    volume: volume.name.to_string_lossy().into_owned(),
                    container: container.name.to_string_lossy().into_owned(),
                    path,
                    mounted,
                    is_file: index.kind == EntryKind::Other,
                });
            }
        }
    }
}
