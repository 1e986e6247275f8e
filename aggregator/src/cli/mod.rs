//! The plugin: flags, the order of work, exit codes.

mod args;
mod complete;
mod run;
mod watch;

pub use run::main;
