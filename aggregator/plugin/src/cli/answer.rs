//! Writes the answer in the form that was asked for.

use std::process::ExitCode;

use aggregator_core::report::ClusterReport;
use aggregator_core::state::{Answer, Facts, Question, State, Subject};
use anyhow::{Context as _, Result, bail};
use findings::render::{self, Detail, Style};

use super::args::{AnswerFlags, Colour, Output, Share};
use crate::report;

/// Longer lines are hard to read.
const MAX_WIDTH_COLUMNS: usize = 120;

/// Of a report that is made again and again there is no state to give.
pub fn respond(report: &ClusterReport, state: Option<&State>, flags: &AnswerFlags) -> Result<ExitCode> {
    let redacted = match (flags.share, state) {
        (Some(Share::Redacted), Some(state)) => Some(report::redact(report, state).context("replacing names")?),
        (Some(Share::Redacted), None) => bail!("--share=redacted takes one answer: leave --watch or wait out"),
        (Some(Share::Names) | None, _) => None,
    };
    let report = redacted.as_ref().unwrap_or(report);
    if let Some(refusal) = &report.refused {
        bail!("{refusal}");
    }
    let style = if flags.share.is_some() { Style::Plain } else { style(flags.color) };
    let terminal = width().filter(|_| flags.share.is_none()).unwrap_or(100);
    let width = terminal.min(MAX_WIDTH_COLUMNS);
    let form = flags.output.as_ref().unwrap_or(match report.subject {
        Subject::Object { .. } | Subject::Objects { .. } | Subject::Before { .. } => &Output::Tree,
        Subject::Everything { .. } | Subject::Kind { .. } => &Output::Screen,
    });
    let detail = if *form == Output::Wide { Detail::Wide } else { Detail::Short };
    if flags.share.is_some() && !matches!(form, Output::Screen | Output::Tree | Output::Wide | Output::Table) {
        bail!("--share takes the answer as text: leave -o out, or give -o wide or -o table");
    }
    let text = match (flags.explain, form) {
        (Some(id), Output::Screen | Output::Tree | Output::Wide) => report::explain(report, id, detail, width, style)
            .with_context(|| {
            let elsewhere = match &report.subject {
                Subject::Everything { namespace: None, .. } => {
                    "resolved, hidden by your permissions, or shown with -n NAMESPACE, which --explain then needs too"
                }
                _ => "resolved, hidden by your permissions, or not in this namespace or object",
            };
            format!("no root cause {id}: {elsewhere}. For the current list: kubectl why-terminating")
        })?,
        (Some(_), _) => bail!("--explain answers as a tree: leave -o out, or give -o wide"),
        (None, Output::Screen) => report::screen(report, terminal, style),
        (None, Output::Tree | Output::Wide) => report::tree(report, detail, width, style),
        (None, Output::Table) => report::table(report, !flags.no_headers, style),
        (None, Output::Json) => render::json(report)?,
        (None, Output::Yaml) => report::yaml(report)?,
        (None, Output::Name) => report::name(report),
        (None, Output::Dot) => report::dot(report),
        (None, Output::Mermaid) => report::mermaid(report),
        (None, Output::JsonPath(template)) => template.render(&serde_json::to_value(report)?)?,
        (None, Output::CustomColumns(columns)) => columns.render(report, !flags.no_headers, style)?,
    };
    if matches!(form, Output::Table | Output::Name | Output::CustomColumns(_))
        && let Some(line) = report::not_read(report)
    {
        eprintln!("note: {}", render::screened(&line, Style::Plain));
    }
    let text = if flags.share.is_some() { report::share(report, state.and_then(kubernetes), &text) } else { text };
    match form {
        // Its tabs are those of the template.
        Output::JsonPath(_) => render::write(&text, std::io::stdout()).context("writing the answer")?,
        _ => print(&text, style)?,
    }
    Ok(exit_code(report))
}

/// The version of the API server, where it was queried.
fn kubernetes(state: &State) -> Option<&str> {
    match &state.answers.get(&Question::Version)?.answer {
        Answer::Seen(Facts::Version(version)) => Some(&version.git_version),
        _ => None,
    }
}

/// As of both programs, and one more: nothing is stuck in what was scanned, and not everything was.
fn exit_code(report: &ClusterReport) -> ExitCode {
    match render::exit_code(report.verdict) {
        0 if !report.not_scanned.is_empty() => ExitCode::from(4),
        code => ExitCode::from(code),
    }
}

/// The columns of the terminal, if there is one.
fn width() -> Option<usize> {
    terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| usize::from(width.0))
}

fn style(colour: Colour) -> Style {
    match colour {
        Colour::Always => Style::Coloured,
        Colour::Auto if anstream::AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never => {
            Style::Coloured
        }
        Colour::Auto | Colour::Never => Style::Plain,
    }
}

pub fn print(text: &str, style: Style) -> Result<()> {
    render::print(text, style, std::io::stdout()).context("writing the answer")
}
