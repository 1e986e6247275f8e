//! Looks at the cluster, judges, answers.

use std::io::{IsTerminal as _, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use clap::Parser as _;
use findings::{Verdict, cause};
use jiff::Timestamp;

use super::args::{AnswerFlags, Args, Colour, Command, Flags, Output};
use crate::chain::judge;
use crate::cluster::{Bounds, Connection, connect, gather};
use crate::report::{ClusterReport, Depth, Style, tree};
use crate::state::{State, Subject};

/// Runs the plugin.
pub async fn main() -> ExitCode {
    match run(Args::parse()).await {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(1)
        }
    }
}

async fn run(args: Args) -> Result<ExitCode> {
    match args.command {
        Some(Command::Causes { id }) => causes(id.as_deref()),
        Some(Command::Judge { file, answer }) => {
            let text = std::fs::read(&file).with_context(|| format!("reading {}", file.display()))?;
            let state: State =
                serde_json::from_slice(&text).with_context(|| format!("{} is no saved state", file.display()))?;
            respond(&judge(&state), answer)
        }
        None => look(&args.object, &args.flags).await,
    }
}

async fn look(object: &[String], flags: &Flags) -> Result<ExitCode> {
    let connection = Connection {
        kubeconfig: flags.kubeconfig.clone(),
        context: flags.context.clone(),
        impersonate: flags.impersonate.clone(),
        request_timeout: flags.request_timeout,
    };
    let (client, namespace) = connect(&connection).await?;
    let namespace = flags.namespace.clone().unwrap_or(namespace);
    let subject = subject(object, namespace, flags)?;
    let mut state = State::new(subject, Timestamp::now());
    let bounds = Bounds { request_timeout: flags.request_timeout, ..Bounds::default() };
    let started = Instant::now();
    gather(&client, &mut state, bounds, |round, questions| {
        if started.elapsed().as_secs() >= 1 && std::io::stderr().is_terminal() {
            eprintln!("round {}: {questions} questions to the API server", round + 1);
        }
    })
    .await;
    if let Some(file) = &flags.save_state {
        save(&state, file)?;
    }
    respond(&judge(&state), flags.answer)
}

fn subject(object: &[String], namespace: String, flags: &Flags) -> Result<Subject> {
    let (word, name) = match object {
        [] => return Ok(Subject::Everything { namespace: flags.namespace.clone() }),
        [both] => both.split_once('/').with_context(|| format!("{both:?} is no TYPE/NAME, for example pod/{both}"))?,
        [word, name, ..] => (word.as_str(), name.as_str()),
    };
    if word.is_empty() || name.is_empty() {
        bail!("give TYPE/NAME, for example ns/shop");
    }
    Ok(Subject::Object { word: word.to_owned(), namespace, name: name.to_owned() })
}

fn save(state: &State, file: &Path) -> Result<()> {
    let text = serde_json::to_vec_pretty(state).context("writing the state as JSON")?;
    std::fs::write(file, text).with_context(|| format!("writing {}", file.display()))
}

fn respond(report: &ClusterReport, flags: AnswerFlags) -> Result<ExitCode> {
    let text = match flags.output {
        Output::Json => serde_json::to_string_pretty(report)? + "\n",
        Output::Tree => tree(report, Depth::Short, 100, style(flags.color)),
        Output::Wide => tree(report, Depth::Wide, 100, style(flags.color)),
    };
    print(&text)?;
    Ok(ExitCode::from(match report.verdict {
        Verdict::Clear | Verdict::Progressing => 0,
        Verdict::Stuck => 2,
        Verdict::CannotTell => 3,
    }))
}

fn style(colour: Colour) -> Style {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    match colour {
        Colour::Always => Style::Coloured,
        Colour::Auto if std::io::stdout().is_terminal() && !refused => Style::Coloured,
        Colour::Auto | Colour::Never => Style::Plain,
    }
}

fn causes(id: Option<&str>) -> Result<ExitCode> {
    let text = match id {
        None => cause::all().map(|cause| format!("{:<32} {}\n", cause.id, cause.title)).collect(),
        Some(id) => match cause::all().find(|cause| cause.id.eq_ignore_ascii_case(id)) {
            Some(cause) => crate::report::explain(cause),
            None => bail!("no cause is called {id:?}; `kubectl why-terminating causes` lists them"),
        },
    };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// A reader that has seen enough (`| head`) is no failure.
fn print(text: &str) -> Result<()> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other.context("writing the answer"),
    }
}
