//! The answer for a person at a terminal: 100 columns, the chain down to the root cause, then what
//! to type.

use findings::{Confidence, Finding, GateState, Link, NodeReport, PodReport, Style, Unknown, Verdict, duration};

use super::wrap::wrap;

const WIDTH: usize = 100;
/// Where the state of a link starts.
const STATE_COLUMN: usize = 47;
/// Where the text after `Do`, `Don't`, `More` starts.
const ADVICE_COLUMN: usize = 9;

/// How much to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// What holds it and what to do.
    Short,
    /// Also every gate and the evidence.
    Wide,
}

/// Writes the whole report.
pub fn tree(report: &NodeReport, detail: Detail, style: Style) -> String {
    let mut out = String::new();
    summary(&mut out, report, style);
    for node_finding in &report.node_findings {
        let held: Vec<String> = node_finding.pods.iter().map(ToString::to_string).collect();
        let cause = node_finding.finding.cause.id;
        line(&mut out, "");
        line(&mut out, &format!("{} {}: {}", style.strong("Node"), report.node, style.bad(cause)));
        if !held.is_empty() {
            filled(&mut out, "  holds  ", &held.join(", "));
        }
        finding(&mut out, &node_finding.finding, detail, style);
    }
    for pod in &report.pods {
        line(&mut out, "");
        one_pod(&mut out, pod, report, detail, style);
    }
    unknowns(&mut out, &report.unknown, style);
    for note in &report.notes {
        line(&mut out, "");
        filled(&mut out, "Note     ", note);
    }
    out
}

fn line(out: &mut String, text: &str) {
    out.push_str(text.trim_end());
    out.push('\n');
}

/// A first line with a fixed head and lines below that start at the same column.
fn filled(out: &mut String, head: &str, text: &str) {
    let indent = head.chars().count();
    for (index, part) in wrap(text, WIDTH - indent).iter().enumerate() {
        let start = if index == 0 { head.to_owned() } else { " ".repeat(indent) };
        line(out, &format!("{start}{part}"));
    }
}

fn summary(out: &mut String, report: &NodeReport, style: Style) {
    let count = |verdict: Verdict| report.pods.iter().filter(|pod| pod.verdict == verdict).count();
    let mut parts = Vec::new();
    for (verdict, word) in
        [(Verdict::Stuck, "stuck"), (Verdict::CannotTell, "unclear"), (Verdict::Progressing, "progressing")]
    {
        let noun = if !parts.is_empty() {
            ""
        } else if count(verdict) == 1 {
            "pod "
        } else {
            "pods "
        };
        if count(verdict) > 0 {
            parts.push(format!("{} {noun}{word}", count(verdict)));
        }
    }
    if parts.is_empty() {
        parts.push(match report.verdict {
            Verdict::CannotTell => "no stuck pod was seen, but not everything could be looked at".to_owned(),
            Verdict::Stuck => "no pod is held yet".to_owned(),
            _ => "nothing is stuck".to_owned(),
        });
    }
    line(out, &format!("{} {}: {}", style.strong("Node"), report.node, parts.join(", ")));
}

fn one_pod(out: &mut String, pod: &PodReport, report: &NodeReport, detail: Detail, style: Style) {
    let overdue = pod.overdue_seconds.and_then(|seconds| u64::try_from(seconds).ok());
    let lasting = overdue
        .filter(|_| pod.verdict == Verdict::Stuck)
        .map_or(String::new(), |seconds| format!(" for {}", duration(seconds)));
    let verdict = match pod.verdict {
        Verdict::Stuck => style.bad("Stuck"),
        Verdict::CannotTell => style.doubtful("Cannot tell"),
        Verdict::Progressing => style.doubtful("Progressing"),
        Verdict::Clear => "Clear".to_owned(),
    };
    let gate = pod.gate.map_or(String::new(), |gate| format!(" at gate {gate}"));
    let head = format!("{} {}: {verdict}{lasting}{gate}", style.strong("Pod"), pod.pod);
    // "Stuck for 2d4h" has said when the deadline passed.
    let why = pod
        .gone_because
        .split_once(" ago, ")
        .filter(|_| !lasting.is_empty())
        .map_or(pod.gone_because.as_str(), |(_, rest)| rest);
    let plain = format!("Pod {}: {}{lasting}{gate} ({why})", pod.pod, pod.verdict);
    if plain.chars().count() <= WIDTH {
        line(out, &format!("{head} ({why})"));
    } else {
        line(out, &head);
        filled(out, "  ", &format!("({why})"));
    }
    if pod.pod.name.is_some() && detail == Detail::Wide {
        line(out, &style.faint(&format!("  uid {}", pod.pod.uid)));
    }
    for node_finding in report.node_findings.iter().filter(|held| held.pods.contains(&pod.pod)) {
        if pod.findings.iter().all(|own| own.root != node_finding.finding.root) {
            line(out, &format!("  held by the node's {} (above)", node_finding.finding.cause.id));
        }
    }
    for found in &pod.findings {
        finding(out, found, detail, style);
    }
    if pod.findings.is_empty() && pod.verdict == Verdict::CannotTell {
        line(out, "");
        filled(
            out,
            "  ",
            "No cause was found. What is known of each gate stands in -o wide; what could not be looked at stands below.",
        );
    }
    gates(out, pod, detail, style);
    unknowns(out, &pod.unknown, style);
}

fn finding(out: &mut String, finding: &Finding, detail: Detail, style: Style) {
    line(out, "");
    for (depth, link) in finding.chain.iter().enumerate() {
        one_link(out, depth, link, finding.cause.id, style);
    }
    if finding.confidence == Confidence::Probable {
        line(out, &style.faint("  Probable: a part of the proof could not be had."));
    }
    if detail == Detail::Wide {
        line(out, "");
        for evidence in &finding.evidence {
            filled(out, "  Seen   ", &format!("{}: {}", evidence.source, evidence.says));
        }
    }
    line(out, "");
    let several = finding.remedy.steps.len() > 1;
    for (index, step) in finding.remedy.steps.iter().enumerate() {
        // The order counts: the safest is first, and some steps prepare the next.
        let number = if several { format!("{}. ", index + 1) } else { String::new() };
        let head = format!("  {:<7}{number}", if index == 0 { "Do" } else { "" });
        let untested = if step.tested { "" } else { " (untested)" };
        let colon = if step.command.is_some() { ":" } else { "" };
        filled(out, &head, &format!("{}{untested}{colon}", step.text));
        if let Some(command) = &step.command {
            // Never wrapped: it is pasted.
            line(out, &format!("{}{}", " ".repeat(ADVICE_COLUMN + 5), style.strong(command)));
        }
    }
    filled(out, "  Don't  ", &format!("{}: {}", finding.remedy.dont, finding.remedy.breaks));
    line(out, &format!("  More   why-terminating-agent causes {}", finding.cause.id));
}

/// Two columns where they fit, else the state below its subject.
fn one_link(out: &mut String, depth: usize, link: &Link, cause: &str, style: Style) {
    let lead = if depth == 0 { "  ".to_owned() } else { format!("  {}└─ ", "   ".repeat(depth - 1)) };
    let subject = format!("{lead}{}", link.subject);
    let width = subject.chars().count();
    let mark = |text: &str| match text.strip_prefix("ROOT CAUSE").filter(|_| link.root) {
        Some(rest) => format!("{}{rest}", style.bad("ROOT CAUSE")),
        None => text.to_owned(),
    };
    let beside = width + 2 <= STATE_COLUMN;
    let column = if beside { STATE_COLUMN } else { lead.chars().count() + 3 };
    let state = if link.root { format!("ROOT CAUSE {cause}: {}", link.state) } else { link.state.clone() };
    let mut lines = wrap(&state, WIDTH - column).into_iter();
    if beside {
        let first = lines.next().unwrap_or_default();
        line(out, &format!("{subject}{}{}", " ".repeat(column - width), mark(&first)));
    } else {
        line(out, &subject);
    }
    for rest in lines {
        line(out, &format!("{}{}", " ".repeat(column), mark(&rest)));
    }
}

fn gates(out: &mut String, pod: &PodReport, detail: Detail, style: Style) {
    let named = |gate: &findings::GateView| match gate.detail.as_str() {
        "" => gate.gate.to_string(),
        detail => format!("{} ({detail})", gate.gate),
    };
    if detail == Detail::Wide {
        line(out, "");
        for gate in &pod.gates {
            let state = match gate.state {
                GateState::Met => "met",
                GateState::Blocked => "BLOCKED",
                GateState::NotReached => "not reached",
                GateState::Unknown => "unknown",
            };
            line(
                out,
                &format!(
                    "  Gate   {:<18} {state}{}",
                    gate.gate,
                    if gate.detail.is_empty() { String::new() } else { format!(": {}", gate.detail) }
                ),
            );
        }
        return;
    }
    let waiting: Vec<String> = pod
        .gates
        .iter()
        .filter(|gate| gate.state == GateState::NotReached && !gate.detail.is_empty())
        .map(named)
        .collect();
    if !waiting.is_empty() {
        line(out, "");
        filled(out, "  ", &style.faint(&format!("Not reached yet: {}", waiting.join(", "))));
    }
}

fn unknowns(out: &mut String, unknown: &[Unknown], style: Style) {
    for one in unknown {
        line(out, "");
        let hides = if one.hides.is_empty() { String::new() } else { format!(" This hides {}.", one.hides) };
        filled(
            out,
            "Unknown  ",
            &format!("{}: {}.{hides}", style.doubtful(&one.source), one.why.trim_end_matches('.')),
        );
    }
}
