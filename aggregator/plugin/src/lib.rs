//! The kubectl plugin: what holds namespaces, pods, claims, volumes and every other object that
//! should be gone, as far as the API shows it.
//!
//! ```text
//! client (asks the API)  ⇄  aggregator/core (judges, and says what to ask next)  →  report (words)
//! ```

pub mod cli;
pub mod report;
