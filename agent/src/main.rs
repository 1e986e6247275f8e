//! `why-terminating-agent`: what holds the pods of this node that should be gone.

use std::process::ExitCode;

use agent::{cli, sys};
use clap::Parser;
use findings::render::{Style, screened};

fn main() -> ExitCode {
    sys::share_one_heap();
    let args = match cli::Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            // clap's own code for a usage error is 2, which here means "something is stuck".
            let _ = error.print();
            return if error.use_stderr() { ExitCode::FAILURE } else { ExitCode::SUCCESS };
        }
    };
    let code = match cli::run(args.command) {
        Ok(code) => i32::from(code),
        Err(error) => {
            eprintln!("why-terminating-agent: {}", screened(&format!("{error:#}"), Style::Plain));
            1
        }
    };
    // Not a return: a thread that hangs in the kernel must not keep the process.
    std::process::exit(code)
}
