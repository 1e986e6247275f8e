//! The answer for a person at a terminal: 100 columns, the chain down to the root cause, then what
//! to type.

use findings::render::{self, Detail, Page, Style};
use findings::{GateState, NodeReport, PodReport, Unknown, Verdict, duration};

const WIDTH: usize = 100;
/// How the reader calls this program.
const PROGRAM: &str = "why-terminating-agent";

pub fn tree(report: &NodeReport, detail: Detail, style: Style) -> String {
    let mut page = Page::new(WIDTH, style);
    summary(&mut page, report);
    for node_finding in &report.node_findings {
        let held: Vec<String> = node_finding.pods.iter().map(ToString::to_string).collect();
        let cause = node_finding.finding.cause.id;
        page.gap();
        page.line(&format!("{} {}: {}", style.strong("Node"), report.node, style.bad(cause)));
        if !held.is_empty() {
            page.filled("  holds  ", &held.join(", "));
        }
        finding(&mut page, &node_finding.finding, detail);
    }
    for pod in &report.pods {
        page.gap();
        pod_lines(&mut page, pod, report, detail);
    }
    unknowns(&mut page, &report.unknown);
    for note in &report.notes {
        page.gap();
        page.filled("Note     ", note);
    }
    page.finish()
}

fn summary(page: &mut Page, report: &NodeReport) {
    let count = |verdict: Verdict| report.pods.iter().filter(|pod| pod.verdict == verdict).count();
    let mut parts = Vec::new();
    let stuck = if report.pods.iter().any(|pod| pod.before) { "would be stuck" } else { "stuck" };
    for (verdict, word) in
        [(Verdict::Stuck, stuck), (Verdict::CannotTell, "unclear"), (Verdict::Progressing, "progressing")]
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
    page.line(&format!("{} {}: {}", page.style.strong("Node"), report.node, parts.join(", ")));
}

fn pod_lines(page: &mut Page, pod: &PodReport, report: &NodeReport, detail: Detail) {
    let style = page.style;
    let overdue = pod.overdue_seconds.and_then(|seconds| u64::try_from(seconds).ok());
    let lasting = overdue
        .filter(|_| pod.verdict == Verdict::Stuck)
        .map_or(String::new(), |seconds| format!(" for {}", duration(seconds)));
    let word = match pod.verdict {
        Verdict::Stuck if pod.before => "Would be stuck".to_owned(),
        Verdict::CannotTell => "Cannot tell".to_owned(),
        verdict => verdict.to_string(),
    };
    let verdict = match pod.verdict {
        Verdict::Stuck => style.bad(&word),
        Verdict::CannotTell | Verdict::Progressing => style.doubtful(&word),
        Verdict::Clear => word.clone(),
    };
    let gate = pod.gate.map_or(String::new(), |gate| format!(" at gate {gate}"));
    let head = format!("{} {}: {verdict}{lasting}{gate}", style.strong("Pod"), pod.pod);
    // "Stuck for 2d4h" has said when the deadline passed.
    let why = pod
        .gone_because
        .split_once(" ago, ")
        .filter(|_| !lasting.is_empty())
        .map_or(pod.gone_because.as_str(), |(_, rest)| rest);
    let plain = format!("Pod {}: {word}{lasting}{gate} ({why})", pod.pod);
    if plain.chars().count() <= WIDTH {
        page.line(&format!("{head} ({why})"));
    } else {
        page.line(&head);
        page.filled("  ", &format!("({why})"));
    }
    if pod.pod.name.is_some() && detail == Detail::Wide {
        page.line(&style.faint(&format!("  uid {}", pod.pod.uid)));
    }
    for node_finding in report.node_findings.iter().filter(|held| held.pods.contains(&pod.pod)) {
        if pod.findings.iter().all(|own| own.root != node_finding.finding.root) {
            page.line(&format!("  held by the node's {} (above)", node_finding.finding.cause.id));
        }
    }
    for found in &pod.findings {
        finding(page, found, detail);
    }
    if pod.findings.is_empty() && pod.verdict == Verdict::CannotTell && !pod.before {
        page.gap();
        page.filled(
            "  ",
            "No cause was found. What is known of each gate is in -o wide; what could not be looked at is below.",
        );
    }
    force(page, pod, detail);
    gates(page, pod, detail);
    unknowns(page, &pod.unknown);
}

/// What a forced deletion would cost: one line, or all of it.
fn force(page: &mut Page, pod: &PodReport, detail: Detail) {
    let Some(cost) = &pod.force else { return };
    page.gap();
    page.filled("  Force  ", &format!("would not end it: {}", cost.line()));
    if detail == Detail::Wide {
        cost.details().iter().for_each(|line| page.filled("         ", line));
    }
}

fn finding(page: &mut Page, finding: &findings::Finding, detail: Detail) {
    page.gap();
    render::finding(page, finding);
    if detail == Detail::Wide {
        page.gap();
        render::evidence(page, finding);
    }
    page.gap();
    render::remedy(page, finding, PROGRAM, detail);
}

fn gates(page: &mut Page, pod: &PodReport, detail: Detail) {
    let named = |gate: &findings::GateView| match gate.detail.as_str() {
        "" => gate.gate.to_string(),
        detail => format!("{} ({detail})", gate.gate),
    };
    if detail == Detail::Wide {
        page.gap();
        for gate in &pod.gates {
            let state = match gate.state {
                GateState::Met => "met",
                GateState::Blocked => "BLOCKED",
                GateState::NotReached => "not reached",
                GateState::Unknown => "unknown",
            };
            let detail = if gate.detail.is_empty() { String::new() } else { format!(": {}", gate.detail) };
            page.line(&format!("  Gate   {:<18} {state}{detail}", gate.gate));
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
        page.gap();
        page.filled("  ", &page.style.faint(&format!("Not reached yet: {}", waiting.join(", "))));
    }
}

fn unknowns(page: &mut Page, unknown: &[Unknown]) {
    for one in unknown {
        page.gap();
        render::unknown(page, &one.source, &one.why, &one.hides);
    }
}
