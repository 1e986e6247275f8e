//! What the kernel logged.

use serde::{Deserialize, Serialize};

/// A line of the kernel about a hung task, failed I/O or a silent server. It quotes names that others chose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelLine {
    /// Milliseconds from boot to it.
    pub after_boot_ms: u64,
    pub text: String,
}
