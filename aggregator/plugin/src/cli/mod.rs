//! The plugin: flags, the order of work, exit codes.

mod answer;
mod args;
mod ask;
mod complete;
mod run;
mod version;
mod watch;

pub use args::Args;
pub use run::main;
