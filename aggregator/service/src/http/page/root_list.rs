//! All roots, the worst first.

use aggregator_core::report::{ClusterReport, Root, by_reason};
use findings::{Verdict, duration};
use jiff::Timestamp;
use maud::{Markup, html};

/// What is not explained is named so often.
const MAX_LISTED: usize = 50;
/// More roots are counted.
const MAX_ROOTS: usize = 150;
/// Bytes of the names by which the filter finds roots, of all together.
const MAX_NAMES_BYTES: usize = 60_000;

/// The name of what is at the end of the chain.
pub fn name(root: &Root) -> &str {
    root.finding.chain.last().map(|link| link.subject.as_str()).unwrap_or_default()
}

/// The names of the first victims, and whether there are more than have room.
fn names(root: &Root, room: usize) -> (String, bool) {
    let mut names = String::new();
    for victim in &root.victims {
        let name = victim.held.thing.to_string();
        if names.len() + name.len() >= room {
            return (names, true);
        }
        names.push_str(&name);
        names.push(' ');
    }
    (names, false)
}

/// The list.
pub fn list(report: &ClusterReport, silent_since: Option<Timestamp>) -> Markup {
    let room = MAX_NAMES_BYTES / report.roots.len().clamp(1, MAX_ROOTS);
    let roots: Vec<(&Root, String, bool)> = report
        .roots
        .iter()
        .take(MAX_ROOTS)
        .map(|root| {
            let (names, more) = names(root, room);
            (root, names, more)
        })
        .collect();
    html! {
        @if let Some(since) = silent_since {
            p.warning { "The API server has not been heard since " (since.strftime("%Y-%m-%d %H:%M:%SZ")) ": this is of before." }
        }
        @if report.roots.is_empty() && report.unexplained.is_empty() {
            @let scanned = if report.not_scanned.is_empty() { "" } else { "was scanned and " };
            p { "Nothing is stuck in what " (scanned) "you can see." }
        }
        ol.roots {
            @for (root, names, _) in &roots {
                li {
                    @let id = root.id;
                    a href={ "#root=" (id) } data-root=(id) data-words=(names) {
                        strong.cause { (root.finding.cause.title) }
                        span.name { (name(root)) }
                        span.facts {
                            span.verdict.(root.verdict.as_str()) { (verdict(root.verdict)) }
                            @if let Some(seconds) = root.oldest() { " for " (duration(seconds)) }
                            " · holds " (counted(root.objects()))
                        }
                    }
                }
            }
        }
        @if report.roots.len() > MAX_ROOTS { p { (report.roots.len() - MAX_ROOTS) " more root causes: the API and kubectl tell all." } }
        @if roots.iter().any(|(_, _, more)| *more) {
            p { "The filter knows the first names of what a root holds; " code { "kubectl why-terminating TYPE/NAME" } " finds each." }
        }
        @if !report.unexplained.is_empty() {
            h2 { "Not explained" }
            ul {
                @for held in report.unexplained.iter().take(MAX_LISTED) { li { (held.thing) ": " (held.words) } }
                @if report.unexplained.len() > MAX_LISTED { li { (report.unexplained.len() - MAX_LISTED) " more" } }
            }
        }
        @if let Some(line) = report.normal_line() { p { (line) } }
        @if !report.not_scanned.is_empty() {
            h2 { "Not scanned" }
            ul {
                @for (reason, kinds) in by_reason(&report.not_scanned) {
                    li { (kinds.iter().take(MAX_LISTED).map(String::as_str).collect::<Vec<_>>().join(", "))
                        @if kinds.len() > MAX_LISTED { " and " (kinds.len() - MAX_LISTED) " more" }
                        ": " (reason) }
                }
            }
        }
        @if !report.unknown.is_empty() {
            h2 { "Not known" }
            ul { @for unknown in report.unknown.iter().take(MAX_LISTED) { li { (unknown.source) ": " (unknown.why) "; hides " (unknown.hides) } } }
        }
    }
}

/// A verdict in words.
pub fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Stuck => "stuck",
        Verdict::CannotTell => "cannot tell",
        Verdict::Progressing => "on its way",
        Verdict::Clear => "not held",
    }
}

fn counted(objects: usize) -> String {
    if objects == 1 { "1 object".to_owned() } else { format!("{objects} objects") }
}
