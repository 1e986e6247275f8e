//! Serves a store on its own, so that people can try things against a recording by hand.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use apiserver::Store;
use clap::Parser;
use tokio::process::Command;
use tokio::signal::unix::{SignalKind, signal};

/// A fake Kubernetes API server.
#[derive(Debug, Parser)]
#[command(version)]
struct Args {
    /// The directory of the objects; without it they are kept in a directory that is removed at the end.
    #[arg(long)]
    store: Option<PathBuf>,
    /// Answer from this recording what no file says otherwise: a directory, or the name of one of `tests/recordings`.
    #[arg(long)]
    recording: Option<PathBuf>,
    /// Where to listen.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: String,
    /// Write the address here once it listens.
    #[arg(long)]
    address_file: Option<PathBuf>,
    /// Write a kubeconfig here once it listens.
    #[arg(long)]
    kubeconfig: Option<PathBuf>,
    /// Run this with `KUBECONFIG` set, and end when it ends, as it does.
    #[arg(last = true)]
    command: Vec<OsString>,
}

fn main() -> anyhow::Result<ExitCode> {
    let Args { store, recording, listen, address_file, kubeconfig, command } = Args::parse();
    let temporary = std::env::temp_dir().join(format!("apiserver-{}", std::process::id()));
    let mut served = Store::new(store.as_ref().unwrap_or(&temporary));
    if let Some(recording) = recording {
        served = served.with_recording(find_recording(recording)?).at_the_time_of_the_recording();
    }
    let executor = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ended = executor.block_on(async {
        let listener = tokio::net::TcpListener::bind(&listen).await.with_context(|| format!("listen on {listen}"))?;
        let address = listener.local_addr()?.to_string();
        if let Some(file) = &kubeconfig {
            write(file, &apiserver::kubeconfig(&address, None))?;
        }
        if let Some(file) = &address_file {
            write(file, &address)?;
        }
        let root = served.root().to_owned();
        let serving = apiserver::serve(listener, served, apiserver::VERSION.to_owned());
        if let Some((program, arguments)) = command.split_first() {
            let own = root.join("kubeconfig");
            fs::create_dir_all(&root).with_context(|| format!("create {}", root.display()))?;
            write(&own, &apiserver::kubeconfig(&address, None))?;
            let asking = Command::new(program).args(arguments).env("KUBECONFIG", own).kill_on_drop(true).status();
            return tokio::select! {
                served = serving => served.map(|()| ExitCode::SUCCESS),
                status = asking => {
                    let status = status.with_context(|| format!("run {}", program.display()))?;
                    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
                }
            };
        }
        println!("serving {} at http://{address}", root.display());
        let mut terminate = signal(SignalKind::terminate()).context("wait for SIGTERM")?;
        tokio::select! {
            served = serving => served?,
            stopped = tokio::signal::ctrl_c() => stopped.context("wait for Ctrl-C")?,
            _ = terminate.recv() => {}
        }
        Ok(ExitCode::SUCCESS)
    });
    if store.is_none() {
        fs::remove_dir_all(&temporary).with_context(|| format!("remove {}", temporary.display()))?;
    }
    ended
}

fn find_recording(given: PathBuf) -> anyhow::Result<PathBuf> {
    if given.join("index.json").exists() {
        return Ok(given);
    }
    let mut known = apiserver::recordings()?;
    let names: Vec<String> = known.keys().cloned().collect();
    let named = given.to_str().and_then(|name| known.remove(name));
    named.with_context(|| format!("{} holds no index.json; there are {}", given.display(), names.join(", ")))
}

/// Renamed, because someone waits for the file.
fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    let unfinished = file.with_extension("unfinished");
    fs::write(&unfinished, text).with_context(|| format!("write {}", unfinished.display()))?;
    fs::rename(&unfinished, file).with_context(|| format!("rename to {}", file.display()))
}
