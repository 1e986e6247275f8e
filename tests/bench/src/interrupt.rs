//! Ctrl-C takes the node away too.

use std::{os::unix::process::CommandExt as _, path::PathBuf, process::Command};

use anyhow::Context as _;
use tokio::signal::unix::{SignalKind, signal};

/// Watches, in a thread of its own, for the signals that end a program, and then becomes the program
/// that removes the node in `dir`: the other thread stops at once, wherever it is, and the lab's lock
/// that it holds is free. Handlers and not a mask, because a mask would be inherited by
/// everything that the lab starts.
pub fn watch(dir: PathBuf) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let asked = {
        let _inside = runtime.enter();
        asked()?
    };
    std::thread::Builder::new().name("interrupt".to_owned()).spawn(move || {
        runtime.block_on(asked);
        eprintln!("bench: interrupted, cleaning up …");
        let own = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("/proc/self/exe"));
        let error = Command::new(own).arg("--dir").arg(&dir).args(["clean", "--interrupted"]).exec();
        eprintln!("bench: cannot clean up: {error}");
        std::process::exit(1);
    })?;
    Ok(())
}

/// Ends when a signal comes that ends a program. To be called inside of a runtime; from then on such a
/// signal does nothing else.
pub fn asked() -> anyhow::Result<impl Future<Output = ()>> {
    let of = |kind| signal(kind).context("watch for signals");
    let (mut interrupt, mut terminate, mut hangup) =
        (of(SignalKind::interrupt())?, of(SignalKind::terminate())?, of(SignalKind::hangup())?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    })
}
