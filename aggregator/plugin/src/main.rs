//! `kubectl why-terminating`.

use std::process::ExitCode;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    plugin::cli::main().await
}
