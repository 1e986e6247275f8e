//! Looks at the cluster, judges, answers.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use clap::{CommandFactory as _, Parser as _};
use findings::render::{self, Style};

use super::answer::{print, respond};
use super::args::{self, Args, Command, Flags};
use super::query::{add_version, complete_state, query_visible};
use super::subject::subject;
use super::version::version;
use super::{complete, mcp, on_node, ui, watch, workload};
use aggregator_core::judgement::judge;
use aggregator_core::state::{State, Subject};
use client::{Client, Defaults, Unreachable, connect, words};

pub async fn main() -> ExitCode {
    let mut typed = std::env::args_os();
    // On Windows the name ends with `.exe`.
    if typed.next().is_some_and(|name| Path::new(&name).file_stem().is_some_and(|stem| stem == complete::NAME)) {
        return complete::main(&typed.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>()).await;
    }
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            // clap's own code for a usage error is 2, which here means "something is stuck".
            let _ = error.print();
            return if error.use_stderr() { ExitCode::FAILURE } else { ExitCode::SUCCESS };
        }
    };
    match run(args).await {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {}", render::screened(&words(error.as_ref()), Style::Plain));
            ExitCode::from(1)
        }
    }
}

async fn run(args: Args) -> Result<ExitCode> {
    match args.command {
        Some(Command::Causes { id }) => {
            print(&render::causes(id.as_deref())?, Style::Plain)?;
            Ok(ExitCode::SUCCESS)
        }
        Some(Command::Completion { shell }) => {
            clap_complete::generate(shell, &mut Args::command(), "kubectl-why_terminating", &mut std::io::stdout());
            Ok(ExitCode::SUCCESS)
        }
        Some(Command::Version { client, output, flags }) => version(&flags, client, output).await,
        Some(Command::Mcp { flags }) => mcp::serve(&flags).await.map(|()| ExitCode::SUCCESS),
        Some(Command::Ui(flags)) => ui::ui(&flags).await,
        Some(Command::Judge { file, answer }) => {
            let text = std::fs::read(&file).with_context(|| format!("reading {}", file.display()))?;
            let state: State =
                serde_json::from_slice(&text).with_context(|| format!("{} is no saved state", file.display()))?;
            respond(&judge(&state), Some(&state), &answer)
        }
        Some(Command::Wait { object, timeout, flags }) => {
            let (client, own) = connect(&args::connection(&flags.connection)).await?;
            let namespace = flags.namespace.clone().unwrap_or(own.namespace);
            let subject = subject(&object, namespace, &flags)?;
            if flags.workload_kubeconfig.is_some() {
                bail!("wait does not follow a Machine into another cluster: leave --workload-kubeconfig out");
            }
            watch::wait(&client, &subject, &flags, timeout).await.map_err(|error| with_server(error, own.server))
        }
        None => look(&args.object, &args.flags).await,
    }
}

async fn look(object: &[String], flags: &Flags) -> Result<ExitCode> {
    let (client, Defaults { namespace: own, server }) = connect(&args::connection(&flags.connection)).await?;
    let namespace = flags.namespace.clone().unwrap_or_else(|| own.clone());
    let subject = subject(object, namespace, flags)?;
    let answered = match flags.watch {
        true => watch::watch(&client, &subject, flags).await,
        false => once(&client, subject, &own, flags).await,
    };
    answered.map_err(|error| with_server(error, server))
}

/// The address too, where nothing else says which server it is.
fn with_server(error: anyhow::Error, server: String) -> anyhow::Error {
    if error.is::<Unreachable>() { error.context(server) } else { error }
}

async fn once(client: &Client, mut subject: Subject, own: &str, flags: &Flags) -> Result<ExitCode> {
    let mut state = query_visible(client, &mut subject, own, flags).await?;
    if flags.on_node {
        on_node::check(client, &mut state, flags).await?;
        complete_state(client, &mut state, flags).await;
    }
    if flags.answer.share.is_some() {
        add_version(client, &mut state, flags).await;
    }
    if let Some(file) = &flags.save_state {
        save(&state, file)?;
    }
    let mut report = judge(&state);
    if let Some(file) = &flags.workload_kubeconfig {
        workload::follow(&state, &mut report, file, flags).await?;
    }
    respond(&report, Some(&state), &flags.answer)
}

/// Readable by its owner only: it holds names and messages that others have no permission to see.
fn save(state: &State, file: &Path) -> Result<()> {
    let text = serde_json::to_vec_pretty(state).context("writing the state as JSON")?;
    let write = || {
        let mut open = std::fs::OpenOptions::new();
        open.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut open, 0o600);
        let mut opened = open.open(file)?;
        // The mode is for a new file only.
        #[cfg(unix)]
        if opened.metadata()?.is_file() {
            opened.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
        }
        opened.write_all(&text)
    };
    write().with_context(|| format!("writing {}", file.display()))
}
