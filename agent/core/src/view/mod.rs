//! Picking one pod's share out of an observation: which pods should be gone, what was seen of each,
//! and which kubelet judges them. The causes and the gates both look through this.

mod candidates;
mod kernel;
mod pod;
mod version;

pub(crate) use candidates::candidates_by;
pub use candidates::{Candidate, DeletionReason, candidates};
pub use kernel::copies_block;
pub use pod::{PodView, RETRY_WINDOW_MS, UNMOUNT_RETRY_MS, server_ahead_ms};
pub use version::{KubeletMinor, kubelet_minor, reported_minor};
