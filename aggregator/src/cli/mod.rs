//! The plugin: flags, the order of work, exit codes.

mod args;
mod complete;
mod run;

pub use run::main;
