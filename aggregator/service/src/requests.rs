//! What the API server was asked beside the watches, counted.

use std::sync::atomic::AtomicU64;

/// What was asked of the API server beside the watches.
#[derive(Debug, Default)]
pub struct Requests {
    /// Questions.
    pub asked: AtomicU64,
    /// Questions that had to wait.
    pub throttled: AtomicU64,
}
