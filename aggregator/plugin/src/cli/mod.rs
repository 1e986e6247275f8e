//! The plugin: flags, the order of work, exit codes.

mod answer;
mod args;
mod complete;
mod mcp;
mod on_node;
mod query;
mod run;
mod subject;
mod ui;
mod version;
mod watch;
mod workload;

pub use args::Args;
pub use run::main;
