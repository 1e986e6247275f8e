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
pub mod metrics_server;
mod process_metrics;
mod scanner;

pub use controller::{Options, run};
pub use scanner::Scanner;
