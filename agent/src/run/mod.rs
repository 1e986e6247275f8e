//! The DaemonSet's process: the same scan and the same judgement as `check`, at the right time, and
//! reported as Events and metrics.
//!
//! ```text
//! watch, answers, time  →  reconcile::Reconciler (pure)  →  commands  →  controller (scan, list, write)
//! ```

pub mod api;
mod controller;
pub mod logs;
pub mod metrics;
mod process_metrics;
mod scanner;
pub mod serve;

pub use controller::{Options, run};
pub use scanner::Scanner;
