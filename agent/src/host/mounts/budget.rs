//! How much of mount tables is kept, and how much is read. Tenants decide how long theirs get: three thousand mounts at deep
//! paths are 21 MB, and one user namespace is enough to make many.

use std::sync::{Arc, atomic::AtomicUsize};

/// What is kept of all mount tables together, in bytes; it is kept until the scan has ended.
const MAX_KEPT_BYTES: usize = 16 << 20;
/// The host's own, before anything else is read: 30,000 mounts and more.
pub(super) const MAX_FIRST_BYTES: usize = MAX_KEPT_BYTES / 2;
/// What is read in one look of those that are too long to be kept, with every question anew: enough to see that one of
/// 28 MB has no copy of a mount, which takes two questions. At deep paths the kernel writes 66 MB in a second.
const MAX_REREAD_BYTES: usize = 64 << 20;

/// What is left for the tables that are still to be read.
pub(super) struct Budget {
    left: usize,
    /// For those that are not kept.
    pub(super) anew: Arc<AtomicUsize>,
}

impl Budget {
    pub(super) fn new() -> Self {
        Budget { left: MAX_KEPT_BYTES, anew: Arc::new(AtomicUsize::new(MAX_REREAD_BYTES)) }
    }

    /// For the next table, in bytes: none takes so much that nothing is left for the others. The host's and the
    /// kubelet's come first, and are not made by tenants.
    pub(super) fn share(&self, of_node: bool) -> usize {
        self.left / if of_node { 2 } else { 4 }
    }

    /// Notes what is kept.
    pub(super) fn spend(&mut self, bytes: usize) {
        self.left = self.left.saturating_sub(bytes);
    }
}
