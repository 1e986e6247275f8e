//! The command line: arguments in, text and an exit code out.

mod args;
mod check;
mod run;

pub use args::{ApiMode, Args, Command, Output};
pub use check::run;
