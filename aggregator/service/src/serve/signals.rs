//! The signals that end the program.

use tokio::signal::unix::{SignalKind, signal};

/// Waits until a signal ends the program.
pub async fn ended_by_signal() -> std::io::Result<()> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}
