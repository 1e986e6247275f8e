//! The flight recorder: what was stuck, when it was asked to go, what held it and from when to when,
//! and how it ended. The Events of the cluster are gone after an hour; this is what is left the morning
//! after.
//!
//! ```text
//! snapshots of the cluster, time  →  Recorder  →  incidents  →  JSON, a file's bytes, Markdown
//! ```
//!
//! Nothing here reads a clock, a file or a socket: the manifest names nothing that could.

pub mod file;
mod incident;
mod postmortem;
mod recorder;
mod snapshot;

pub use incident::{End, Hold, Incident, LeftBehind};
pub use postmortem::markdown;
pub use recorder::{Limits, Recorder};
pub use snapshot::{Snapshot, Terminating};
