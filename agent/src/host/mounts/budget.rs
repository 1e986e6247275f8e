//! How much of mount tables is read. Tenants decide how long theirs get: three thousand mounts at deep paths
//! are 21 MB, and whoever may make one user namespace may make many.

/// All mount tables together, in one look, in bytes. What is read is kept until the look is over.
const LOOK_CAP: usize = 16 << 20;
/// The host's own, before anything else is read: 30,000 mounts and more.
pub(super) const FIRST_CAP: usize = LOOK_CAP / 2;

/// What is left for the tables that are still to be read.
pub(super) struct Budget {
    left: usize,
}

impl Budget {
    pub(super) fn new() -> Self {
        Budget { left: LOOK_CAP }
    }

    /// For the next table, in bytes: none takes so much that nothing is left for the others. The host's and the
    /// kubelet's come first, and are not made by tenants.
    pub(super) fn share(&self, of_node: bool) -> usize {
        self.left / if of_node { 2 } else { 4 }
    }

    /// Notes what was read, also for nothing.
    pub(super) fn spend(&mut self, bytes: usize) {
        self.left = self.left.saturating_sub(bytes);
    }
}
