//! The agent's reconciler: which pods are to be scanned when, what was found to hold them, and which
//! Events say so. Watch events, answers and the time go in, commands and metrics' values come out.
//!
//! ```text
//! watch, answers, time  →  Reconciler (Index, Schedule, Tracker)  →  commands
//! ```
//!
//! Nothing here reads a clock, a file or a socket: the manifest names nothing that could.

pub mod backoff;
pub mod event;
pub mod index;
pub mod instant;
pub mod reconciler;
pub mod schedule;
mod settings;
pub mod tracker;

pub use backoff::Backoff;
pub use instant::Instant;
pub use reconciler::Reconciler;
pub use settings::Settings;
