//! Loop devices whose backing file lies in a target, and files there that are swapped to: held by the kernel, so no process
//! shows.

use std::path::Path;

use super::{searches::Searches, space::Space};
use crate::host::block::loop_files;
use crate::observation::HeldBy;
use crate::parse;
use crate::sys;
use crate::sys::limits::MAX_LINE_BYTES;

/// Notes the loop devices and the swap. The kernel shows the path of the backing file in the namespace it was opened in, but
/// not which one that is; the kubelet's is assumed.
pub(super) fn backing_files(spaces: &[Space], kubelet_ns: u64, found: &mut Searches) {
    let Some(space) = spaces.iter().find(|space| space.ns == kubelet_ns) else { return };
    for (name, file, _) in loop_files().unwrap_or_default() {
        for copy in space.copies_at(&file) {
            let how = HeldBy::Loop { device: format!("/dev/{name}"), file: file.clone() };
            found.kernel(copy.target, name.clone(), how, copy.kind, space.ns);
        }
    }
    let swaps = sys::read_capped(Path::new("/proc/swaps"), MAX_LINE_BYTES).unwrap_or_default();
    for file in parse::swap_files(&swaps) {
        for copy in space.copies_at(&file) {
            found.kernel(copy.target, "swap".to_owned(), HeldBy::Swap(file.clone()), copy.kind, space.ns);
        }
    }
}
