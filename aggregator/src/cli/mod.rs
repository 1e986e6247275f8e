//! The plugin: flags, the order of work, exit codes.

mod answer;
mod args;
mod ask;
mod complete;
mod run;
mod watch;

pub use run::main;
