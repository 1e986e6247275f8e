//! The judgement of one node: what was seen goes in, what holds each pod comes out.
//!
//! ```text
//! parse (bytes → facts)  →  observation (plain data)  →  view + causes + gates  →  findings::NodeReport
//!                               ↑                              │
//!                            answers  ←  plan  ←  what is lacking
//! ```
//!
//! Nothing here reads or writes, and the manifest holds it to that: a saved
//! [`observation::Observation`] gives the same answer on any machine.

pub mod causes;
mod counterfactual;
pub mod facts;
pub mod file_system;
mod force;
pub mod gates;
mod kernel;
mod messages;
pub mod observation;
pub mod parse;
mod plan;
#[cfg(test)]
mod test_prelude;
pub mod view;

pub use plan::{MAX_ROUNDS, plan};
