//! Looks again whenever something has changed: `--watch`, and `wait` until an object is gone.

use std::collections::HashSet;
use std::process::ExitCode;
use std::time::Duration;

use aggregator_core::judgement::judge;
use aggregator_core::report::ClusterReport;
use aggregator_core::state::{Answer, Question, State, Subject};
use anyhow::{Result, bail};
use findings::render::{self, Style};
use findings::{RootId, Verdict};
use tokio::time::Instant;

use super::answer::{print, respond};
use super::args::Flags;
use super::query::query;
use client::{Bounds, Client, WatchStarts, changed, followed, versions};

/// Between two looks where nothing can be followed.
const POLL_INTERVAL: Duration = Duration::from_secs(5);
/// The longest pause between two scans, since progress may have turned into a stall; and the shortest, however much changes.
/// One object is few requests.
const OF_ONE: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(1));
const OF_MANY: (Duration, Duration) = (Duration::from_secs(60), POLL_INTERVAL);

/// Looks, and looks again.
struct Poller<'a> {
    client: &'a Client,
    subject: &'a Subject,
    flags: &'a Flags,
    /// What is followed, and the uids of what was met.
    questions: Vec<Question>,
    seen: HashSet<String>,
    /// Where to follow from; none where something is followed only from now on, and is looked at at once.
    from: Option<WatchStarts>,
}

impl<'a> Poller<'a> {
    fn new(client: &'a Client, subject: &'a Subject, flags: &'a Flags) -> Self {
        Poller { client, subject, flags, questions: Vec::new(), seen: HashSet::new(), from: None }
    }

    /// The next report: at once the first two times, else when something has changed.
    async fn next(&mut self) -> Result<ClusterReport> {
        let bounds = Bounds { request_timeout: self.flags.connection.request_timeout, ..Bounds::default() };
        if let Some(from) = self.from.take() {
            let began = Instant::now();
            let (at_least, apart) = match self.subject {
                Subject::Object { .. } | Subject::Objects { .. } | Subject::Before { .. } => OF_ONE,
                Subject::Everything { .. } | Subject::Kind { .. } => OF_MANY,
            };
            changed(self.client, from, &self.seen, bounds, POLL_INTERVAL, at_least).await;
            tokio::time::sleep_until(began + apart).await;
        }
        // Taken before the look: what happens while it lasts is heard afterwards.
        let from = versions(self.client, &self.questions, bounds).await;
        let state = query(self.client, self.subject, self.flags).await?;
        let report = judge(&state);
        let questions = followed(&state, &report);
        self.seen = uids(&state);
        self.from = (questions == self.questions).then_some(from);
        self.questions = questions;
        Ok(report)
    }
}

fn uids(state: &State) -> HashSet<String> {
    let answers = state.answers.values().filter_map(|answered| match &answered.answer {
        Answer::Seen(facts) => Some(facts.metas()),
        _ => None,
    });
    answers.flatten().map(|meta| meta.uid.clone()).collect()
}

/// Answers whenever the roots or what they hold have changed; ends with Ctrl-C, or when the object
/// that was named is gone.
pub async fn watch(client: &Client, subject: &Subject, flags: &Flags) -> Result<ExitCode> {
    let mut looking = Poller::new(client, subject, flags);
    let mut before = None;
    loop {
        let report = match looking.next().await {
            Ok(report) => report,
            // It was there before and may come back.
            Err(error) if before.is_some() => {
                eprintln!("warning: {}", render::screened(&error.to_string(), Style::Plain));
                tokio::time::sleep(POLL_INTERVAL).await;
                continue;
            }
            Err(error) => return Err(error),
        };
        if let Some(gone) = report.refused.as_ref().filter(|_| before.is_some()) {
            print(&format!("\nAt {}\n{gone}\n", report.at), Style::Plain)?;
            return Ok(ExitCode::SUCCESS);
        }
        let is_same = before.as_ref().is_some_and(|before: &ClusterReport| before.outline().eq(report.outline()));
        if !is_same {
            if before.is_some() {
                print("\n", Style::Plain)?;
            }
            print(&format!("At {}\n", report.at), Style::Plain)?;
            respond(&report, None, &flags.answer)?;
            before = Some(report);
        }
    }
}

/// Waits until an object is gone, as `kubectl wait --for=delete` does; when time is up, says what holds it.
pub async fn wait(client: &Client, subject: &Subject, flags: &Flags, most: Duration) -> Result<ExitCode> {
    let Subject::Object { word, name, .. } = subject else {
        bail!("give one object to wait for: TYPE/NAME, for example pod/db-0 -n shop")
    };
    let end = Instant::now() + most;
    let mut looking = Poller::new(client, subject, flags);
    let mut before = None;
    let mut last: Option<ClusterReport> = None;
    loop {
        let next = looking.next();
        let report = match &last {
            // The first look is what the answer comes from, and takes as long as its requests may.
            None => next.await?,
            Some(last) => match tokio::time::timeout_at(end, next).await {
                Ok(report) => report?,
                Err(_) => return timed_out(last, word, name, flags),
            },
        };
        if report.refused.is_some() {
            // An unknown type does not prove that the object is gone.
            if last.is_none() && !report.is_missing {
                return respond(&report, None, &flags.answer);
            }
            let how = if last.is_some() { "is deleted" } else { "does not exist" };
            print(&format!("{word}/{name} {how}\n"), Style::Plain)?;
            return Ok(ExitCode::SUCCESS);
        }
        let now: Vec<RootId> = report.roots.iter().map(|root| root.id).collect();
        if before.as_ref().is_some_and(|before| *before != now) {
            let roots = roots(&report);
            eprintln!("{}: now held by {}", report.at, render::screened(&roots, Style::Plain));
        }
        before = Some(now);
        if Instant::now() >= end {
            return timed_out(&report, word, name, flags);
        }
        last = Some(report);
    }
}

fn timed_out(report: &ClusterReport, word: &str, name: &str, flags: &Flags) -> Result<ExitCode> {
    let answer = match report.verdict {
        Verdict::Progressing => "It is terminating normally",
        Verdict::Clear => "It is not being deleted",
        Verdict::CannotTell | Verdict::Stuck => "What holds it",
    };
    eprintln!("error: timed out waiting for the deletion of {word}/{name}. {answer}:");
    let code = respond(report, None, &flags.answer)?;
    // It is still there, so a script that waits must not go on.
    Ok(match report.verdict {
        Verdict::Clear => ExitCode::FAILURE,
        Verdict::Progressing => ExitCode::from(2),
        Verdict::CannotTell | Verdict::Stuck => code,
    })
}

/// The causes and where they are: `NodeUnreachable (Node node-b)`.
fn roots(report: &ClusterReport) -> String {
    let all = report.roots.iter().map(|root| {
        let place = root.finding.chain.last().map_or("", |link| link.subject.as_str());
        format!("{} ({place})", root.finding.cause.id)
    });
    let all: Vec<String> = all.collect();
    if all.is_empty() { "nothing that was found".to_owned() } else { all.join(", ") }
}
