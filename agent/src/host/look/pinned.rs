//! Devices that should be detached and are still in use in another mount namespace.

use super::Looker;
use crate::{
    host::{census::Census, csi, elsewhere, superblocks},
    observation::*,
};

impl Looker<'_> {
    /// Only where a staging directory without a mount meets a file system that lives on without one
    /// are the other namespaces searched; both questions cost a few reads.
    pub(super) fn search_pinned(&mut self, seen: &mut Observation) {
        let Some(kubelets) = seen.mounts.kubelet.get() else { return };
        seen.unstaged = csi::unstaged(&self.view, &seen.node.kubelet_root, kubelets);
        if seen.unstaged.is_empty() {
            return;
        }
        let Ok(table) = self.reader.table(kubelets.through_pid) else { return };
        seen.unmounted_devices = superblocks::unmounted(&self.view, &table.bytes);
        if seen.unmounted_devices.is_empty() {
            return;
        }
        let root = seen.node.kubelet_root.as_path();
        let below = |volume: &UnstagedVolume| Some(volume.path.as_path().strip_prefix(root).ok()?.to_str()?.to_owned());
        let ends: Vec<String> = seen.unstaged.iter().filter_map(below).collect();
        let own = std::iter::once(kubelets.ns).chain(seen.node.init_mount_ns).collect();
        let census = self.census.get_or_init(Census::take);
        let found = elsewhere::search(&ends, &own, census, &mut self.reader);
        seen.elsewhere.extend(found.into_iter().filter(|copy| seen.unmounted_devices.contains(&copy.mount.dev)));
    }
}
