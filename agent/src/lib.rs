//! One node: what holds every pod that should be gone.
//!
//! ```text
//! host/ (one module per source)  →  observation (plain data)  →  view/ + causes/ + gates/ (pure)  →  report/ (table, json)
//! ```
//!
//! Invariants, held by `cargo run -p xtask -- tidy`:
//!
//! * `view`, `causes` and `gates` import nothing that reads or writes: a saved [`observation::Observation`]
//!   gives the same answer on any machine.
//! * No file is opened outside `sys` and `host`.
//! * Nothing is read that a dead file server or a task in D could block: no `cmdline`, `environ`,
//!   `maps`; no `stat` or `open` on a file system that needs a server. What could block runs in a
//!   disposable child ([`host::child`]).

pub mod causes;
pub mod cli;
pub mod gates;
pub mod host;
pub mod observation;
pub mod parse;
pub mod report;
pub mod run;
pub mod sys;
pub mod view;
