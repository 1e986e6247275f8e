//! One node: what holds every pod that should be gone.
//!
//! ```text
//! host/ (one module per source)  →  core (observation in, findings out; pure)  →  report/ (table, json)
//! ```
//!
//! Invariants, held by `cargo run -p xtask -- tidy`:
//!
//! * No file is opened outside `sys` and `host`.
//! * Nothing is read that a dead file server or a task in D could block: no `cmdline`, `environ`,
//!   `maps`; no `stat` or `open` on a file system that needs a server. What could block runs in a
//!   disposable child ([`host::prober`]).

pub mod cli;
pub(crate) mod clock;
mod frame;
pub mod host;

pub mod reader;
pub mod report;
pub mod run;
pub mod sys;

use agent_core::{file_system, gates, observation, parse, view};
use findings::kubernetes_distribution;
