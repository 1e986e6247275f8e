//! `why-terminating-agent`: what holds the pods of this node that should be gone.

use std::process::ExitCode;

use agent::{cli, host::child, sys};
use clap::Parser;
use findings::render::{Style, screened};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args_os().map(|a| a.to_string_lossy().into_owned()).collect();
    // The disposable child: before anything that costs time or opens something.
    if arguments.get(1).is_some_and(|first| first == "probe") {
        return u8::try_from(child::probe_main(&arguments[2..])).map_or(ExitCode::FAILURE, ExitCode::from);
    }
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
