//! The agent's parsers, as they stand there, without the hundreds of crates the agent is made of.

#![allow(dead_code, missing_docs)]

#[path = "../../../agent/src/observation/mod.rs"]
pub mod observation;
#[path = "../../../agent/src/parse/mod.rs"]
pub mod parse;
