//! Loop devices whose backing file lies in a target: held by the kernel, so no process shows.

use super::{searches::Searches, space::Space};
use crate::{host::block::loop_files, observation::How};

/// Notes the loop devices. The kernel tells the path of the backing file in the namespace it was
/// opened in, but not which one that is; the kubelet's is taken for it.
pub(super) fn backing_files(spaces: &[Space], kubelet_ns: u64, found: &mut Searches) {
    let Some(space) = spaces.iter().find(|space| space.ns == kubelet_ns) else { return };
    for (name, file, _) in loop_files().unwrap_or_default() {
        for copy in space.copies_at(&file) {
            let how = How::Loop { device: format!("/dev/{name}"), file: file.clone() };
            found.kernel(copy.target, name.clone(), how, copy.kind, space.ns);
        }
    }
}
