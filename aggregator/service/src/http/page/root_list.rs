//! All roots, the worst first, and what was resolved in the last day.

use aggregator_core::report::{ClusterReport, Held, Root, by_reason, roots_in_words};
use findings::{Verdict, duration};
use jiff::{SignedDuration, Timestamp};
use maud::{Markup, html};

use super::filter::Filter;
use super::root_card::{card, counted};
use crate::incidents::Incident;

/// What is not explained is named so often.
const MAX_LISTED: usize = 50;
/// More roots are counted.
const MAX_ROOTS: usize = 150;
/// How long what was resolved is listed.
const RESOLVED_FOR: SignedDuration = SignedDuration::from_hours(24);

/// What the list is made of.
pub struct List<'r> {
    /// What the caller sees of the last judgement.
    pub report: &'r ClusterReport,
    /// Since when the API server has not answered.
    pub silent_since: Option<Timestamp>,
    /// When the kind was scanned whose last scan is the oldest.
    pub oldest_scan: Option<Timestamp>,
    /// What the caller sees of what was stuck.
    pub incidents: &'r [Incident],
    /// Only what these words find.
    pub filter: Filter,
    pub now: Timestamp,
}

impl List<'_> {
    pub fn markup(&self) -> Markup {
        let List { report, filter, .. } = self;
        let roots: Vec<&Root> = report.roots.iter().filter(|root| filter.finds_root(root)).collect();
        let unexplained: Vec<_> = report.unexplained.iter().filter(|held| filter.finds_held(held)).collect();
        let is_nothing_stuck = report.roots.is_empty() && report.unexplained.is_empty();
        html! {
            @if let Some(since) = self.silent_since {
                p.warning { "The API server has not answered since " (since.strftime("%Y-%m-%d %H:%M:%SZ")) ". This is the state before that." }
            }
            @if is_nothing_stuck {
                @let scanned = if report.not_scanned.is_empty() { "" } else { "was scanned and " };
                p.nothing { "Nothing is stuck in what " (scanned) "you can see." }
            } @else if roots.is_empty() && unexplained.is_empty() {
                p.nothing { "Nothing matches. " (report.roots.len() + report.unexplained.len()) " without the filter." }
            } @else {
                @let (heading, of) = match roots.is_empty() {
                    true => (unexplained_in_words(&unexplained), (unexplained.len(), report.unexplained.len())),
                    false => (roots_in_words(roots.iter().copied()), (roots.len(), report.roots.len())),
                };
                h2 { (heading) @if !filter.is_empty() { " (" (of.0) " of " (of.1) ")" } }
            }
            p.checked {
                "Last checked " time data-age="checked" datetime=(report.at) { (report.at) } "."
                @if let Some(at) = self.oldest_scan {
                    " Oldest scan of a kind: " time data-age="scanned" datetime=(at) { (at) }
                    ". What was deleted since may not be listed yet."
                }
                @if !is_nothing_stuck { " What is gone can stay listed for a minute." }
            }
            ol.roots { @for root in roots.iter().take(MAX_ROOTS) { (card(root)) } }
            @if roots.len() > MAX_ROOTS {
                p { (roots.len() - MAX_ROOTS) " more: filter, or use the API or " code { "kubectl why-terminating" } "." }
            }
            @if !unexplained.is_empty() {
                h2 { "Not explained" }
                ul {
                    @for held in unexplained.iter().take(MAX_LISTED) { li { (held.thing) ": " (held.words) } }
                    @if unexplained.len() > MAX_LISTED { li { (unexplained.len() - MAX_LISTED) " more" } }
                }
            }
            @if filter.is_empty() {
                @for line in [report.young_line(), report.normal_line()].into_iter().flatten() { p { (line) } }
                (self.resolved(is_nothing_stuck))
                (scanned(report))
                (not_scanned(report))
            }
        }
    }

    /// What was resolved, the latest first.
    fn resolved(&self, is_open: bool) -> Markup {
        let since = self.now.checked_sub(RESOLVED_FOR).unwrap_or(Timestamp::MIN);
        let ended = self.incidents.iter().filter_map(|incident| Some((incident.end.as_ref()?, incident)));
        let mut ended: Vec<_> = ended.filter(|(end, _)| end.at >= since).collect();
        ended.sort_by_key(|(end, _)| std::cmp::Reverse(end.at));
        html! {
            @if ended.is_empty() {
                @if is_open { p { "No stuck object was resolved in the last 24 hours." } }
            } @else {
                details.resolved open[is_open] {
                    summary { "Resolved in the last 24 hours (" (ended.len()) ")" }
                    ul {
                        @for (end, incident) in ended.iter().take(MAX_LISTED) {
                            li {
                                time datetime=(end.at) { (end.at.strftime("%m-%d %H:%M")) "Z" } " "
                                (incident.object) ", " (duration(incident.seconds(self.now)))
                                @if let Some(hold) = incident.last_held_by().next() { ": " (hold.cause.title) }
                                @if incident.was_forced() { strong { " Force-deleted; something was left on the node." } }
                            }
                        }
                        @if ended.len() > MAX_LISTED { li { (ended.len() - MAX_LISTED) " more" } }
                    }
                }
            }
        }
    }
}

/// `2 objects stuck, 1 object unknown, not explained`
fn unexplained_in_words(unexplained: &[&Held]) -> String {
    let stuck = unexplained.iter().filter(|held| held.verdict == Verdict::Stuck).count();
    let counts = [(stuck, "stuck"), (unexplained.len() - stuck, "unknown")];
    let counts = counts.iter().filter(|(number, _)| *number > 0);
    let counts: Vec<String> = counts.map(|(number, state)| format!("{} {state}", counted(*number, "object"))).collect();
    format!("{}, not explained", counts.join(", "))
}

fn scanned(report: &ClusterReport) -> Markup {
    html! {
        @if !report.looked_at.is_empty() {
            details.scanned {
                summary { "Scanned " (counted(report.looked_at.len(), "kind")) }
                p { (report.looked_at.join(", ")) }
            }
        }
    }
}

fn not_scanned(report: &ClusterReport) -> Markup {
    html! {
        @if !report.not_scanned.is_empty() {
            h2 { "Not scanned" }
            ul {
                @for (reason, kinds) in by_reason(&report.not_scanned, "kubectl why-terminating --all-kinds") {
                    li { (kinds.iter().take(MAX_LISTED).map(String::as_str).collect::<Vec<_>>().join(", "))
                        @if kinds.len() > MAX_LISTED { " and " (kinds.len() - MAX_LISTED) " more" }
                        ": " (reason) }
                }
            }
        }
        @if !report.unknown.is_empty() {
            h2 { "Unknown" }
            ul { @for unknown in report.unknown.iter().take(MAX_LISTED) { li { (unknown.source) ": " (unknown.why) "; hides " (unknown.hides) } } }
        }
    }
}
