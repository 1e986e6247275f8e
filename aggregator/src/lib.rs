//! The cluster's side of why-terminating: what holds namespaces, pods, claims, volumes and every
//! other object that should be gone, as far as the API shows it.
//!
//! ```text
//! cluster/ (asks the API)  →  state (plain data)  →  graph + rules (pure)  →  chain  →  report (words)
//! ```
//!
//! The rules ask a [`graph::View`] for what they need. What the state does not have yet becomes the
//! next [`state::Question`]s, so that the plan of what to ask and the judgement are the same code.

pub mod chain;
pub mod cli;
pub mod cluster;
pub mod graph;
pub mod report;
mod rules;
pub mod state;
