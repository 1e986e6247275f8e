//! What holds namespaces, pods, claims, volumes and every other object that should be gone, judged by what the API
//! showed. Nothing here asks the API: it says what to ask.
//!
//! ```text
//! state  →  lister  →  rules  →  engine (a graph of what waits for what)  →  chain  →  report
//! ```
//!
//! The rules ask a [`lister::Lister`] for what they need. What the state does not have yet becomes the next
//! [`state::Question`]s, so that the plan of what to ask and the judgement are the same code.

pub mod access;
pub mod answer_budget;
mod at_risk;
pub mod bounded_list;
mod deletion_cycle;
pub mod diagnosis;
pub mod engine;
pub mod explanation_cache;
mod graph;
pub mod judgement;
pub mod lister;
pub mod messages;
pub mod report;
pub mod resource;
mod rules;
pub mod shares;
pub mod state;
pub mod workload;

pub use rules::{KnownFinalizer, MAX_AGE_SECONDS, MAX_RENEWAL_SECONDS, known_finalizers};
