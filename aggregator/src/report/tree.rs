//! The answer for a person at a terminal: each root cause with the chain that leads to it, what it
//! holds, and what to type next.

use aggregator_core::diagnosis::ToldBy;
use aggregator_core::report::{ClusterReport, Held, Root};
use findings::render::{self, Detail, Page, Style};
use findings::{Unknown, Verdict, clean, duration};

/// How the reader calls this program.
const PROGRAM: &str = "kubectl why-terminating";
/// More names are counted.
const MOST_NAMES: usize = 12;

/// Writes the whole report.
pub fn tree(report: &ClusterReport, detail: Detail, width: usize, style: Style) -> String {
    let mut page = Page::new(width, style);
    page.line(&summary(report, style));
    for root in &report.roots {
        page.gap();
        one_root(&mut page, root, detail);
    }
    for held in &report.unexplained {
        page.gap();
        unexplained(&mut page, held);
    }
    for same in by_reason(&report.unknown) {
        page.gap();
        not_seen(&mut page, &same);
    }
    for note in &report.notes {
        page.gap();
        page.filled("Note     ", note);
    }
    page.finish()
}

/// One line: how many things are stuck, and of how many causes.
fn summary(report: &ClusterReport, style: Style) -> String {
    let victims = |verdict: Verdict| {
        let mut things: Vec<_> = report
            .roots
            .iter()
            .flat_map(|root| root.victims.iter().map(|victim| &victim.held))
            .chain(&report.unexplained)
            .filter(|held| held.verdict == verdict)
            .map(|held| &held.thing)
            .collect();
        things.sort_unstable();
        things.dedup();
        things.len()
    };
    let stuck = victims(Verdict::Stuck);
    let causes = report.roots.iter().filter(|root| root.verdict == Verdict::Stuck).count();
    let mut parts = Vec::new();
    if stuck > 0 {
        let causes = if causes == 1 { "1 root cause".to_owned() } else { format!("{causes} root causes") };
        parts.push(format!("{} ({causes})", style.bad(&format!("{stuck} stuck"))));
    }
    for (verdict, word) in [(Verdict::CannotTell, "unclear"), (Verdict::Progressing, "progressing")] {
        if victims(verdict) > 0 {
            parts.push(style.doubtful(&format!("{} {word}", victims(verdict))));
        }
    }
    if !parts.is_empty() {
        return parts.join(", ");
    }
    match report.verdict {
        Verdict::CannotTell => style.doubtful("Nothing stuck was seen, but not everything could be looked at"),
        _ => "Nothing is stuck".to_owned(),
    }
}

fn verdict(held: &Held, style: Style) -> String {
    match (held.verdict, held.overdue()) {
        (Verdict::Stuck, Some(seconds)) => format!("{} for {}", style.bad("Stuck"), duration(seconds)),
        (Verdict::Stuck, None) => style.bad("Stuck"),
        (Verdict::CannotTell, _) => style.doubtful("Cannot tell"),
        (Verdict::Progressing, _) => style.doubtful("Progressing"),
        (Verdict::Clear, _) => "Not stuck in a deletion".to_owned(),
    }
}

fn one_root(page: &mut Page, root: &Root, detail: Detail) {
    let style = page.style;
    match root.victims.as_slice() {
        [only] => page.line(&format!("{}: {}", style.strong(&only.held.thing.to_string()), verdict(&only.held, style))),
        several => {
            let names: Vec<String> = several.iter().map(|victim| victim.held.thing.to_string()).collect();
            let longest = several.iter().filter_map(|victim| victim.held.overdue()).max();
            let lasting = longest.map_or(String::new(), |seconds| format!(", the longest for {}", duration(seconds)));
            page.line(&format!("{}{lasting}", style.strong(&format!("{} held by one cause", several.len()))));
            page.filled("  ", &some(names));
        }
    }
    page.gap();
    render::finding(page, &root.finding);
    if let Some(by) = &root.told_by {
        page.gap();
        page.filled("  ", &said_by(by));
    }
    let with_it = with_it(root);
    if !with_it.is_empty() || !root.behind.is_empty() {
        page.gap();
    }
    if !with_it.is_empty() {
        page.filled("  Held with it: ", &with_it);
    }
    if !root.behind.is_empty() {
        let behind: Vec<&str> = root.behind.iter().map(String::as_str).collect();
        page.filled("  Waits behind it: ", &behind.join("; "));
    }
    if detail == Detail::Wide {
        page.gap();
        render::evidence(page, &root.finding);
    }
    page.gap();
    render::remedy(page, &root.finding, PROGRAM);
}

/// Whose word it is, and how fresh.
fn said_by(by: &ToldBy) -> String {
    let ago = duration(by.seconds_ago);
    let first =
        by.first_seen_seconds_ago.map_or(String::new(), |first| format!(", first seen {} ago", duration(first)));
    let late =
        if by.overdue { " It should have said it again since: it may be gone, and this may be old." } else { "" };
    let node = clean(&by.node, 253);
    let unverified = by.unverified.as_ref().map_or(String::new(), |why| format!(" Unverified: {}.", clean(why, 200)));
    format!("The agent on {node} said so {ago} ago{first}.{late}{unverified} The steps are for {node}, as root.")
}

/// Objects that the same cause holds and the chain does not show.
fn with_it(root: &Root) -> String {
    let is_shown = |name: &String| root.finding.chain.iter().any(|link| link.subject == *name);
    let names: Vec<String> = root.on_the_way.iter().map(ToString::to_string).filter(|name| !is_shown(name)).collect();
    some(names)
}

/// Some names, and how many more there are.
fn some(names: Vec<String>) -> String {
    let more = names.len().saturating_sub(MOST_NAMES);
    let mut shown = names.into_iter().take(MOST_NAMES).collect::<Vec<_>>().join(", ");
    if more > 0 {
        shown.push_str(&format!(" and {more} more"));
    }
    shown
}

fn unexplained(page: &mut Page, held: &Held) {
    let style = page.style;
    if held.verdict == Verdict::Clear {
        page.filled("", &format!("{} {}", style.strong(&held.thing.to_string()), held.words));
        return;
    }
    page.filled("", &format!("{}: {}", style.strong(&held.thing.to_string()), verdict(held, style)));
    page.filled("  ", &held.words);
    if held.verdict == Verdict::CannotTell {
        page.filled("  ", "No cause was found in what could be looked at.");
    }
}

/// What could not be seen, grouped by why: one lost right hides many kinds.
fn by_reason(unknown: &[Unknown]) -> Vec<Vec<&Unknown>> {
    let mut groups: Vec<Vec<&Unknown>> = Vec::new();
    for one in unknown {
        match groups.iter_mut().find(|group| group.iter().any(|other| other.why == one.why)) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    groups
}

fn not_seen(page: &mut Page, same: &[&Unknown]) {
    let joined = |words: fn(&Unknown) -> &str, between: &str| {
        let mut all: Vec<&str> = same.iter().map(|one| words(one)).filter(|words| !words.is_empty()).collect();
        all.dedup();
        all.join(between)
    };
    let sources = joined(|one| &one.source, ", ");
    let hides = joined(|one| &one.hides, "; ");
    render::unknown(page, &sources, same.first().map_or("", |one| &one.why), &hides);
}
