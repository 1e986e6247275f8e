//! The answer for a person at a terminal: each root cause with the chain that leads to it, what it
//! holds, and what to type next.

use std::collections::HashSet;

use aggregator_core::diagnosis::ToldBy;
use aggregator_core::report::{AtRisk, Claim, ClusterReport, Held, NOT_KNOWN, Root};
use aggregator_core::state::{ObjectRef, Subject};
use findings::render::{self, Detail, Page, Style};
use findings::{Entity, Finding, Link, RootId, Verdict, clean, duration, some};
use jiff::{SignedDuration, Timestamp};

use super::summary::{NotSeen, by_reason, summary};
use super::{deleter, normal, scanned};

/// How the reader calls this program.
const PROGRAM: &str = "kubectl why-terminating";
/// More names are counted.
const MAX_NAMES: usize = 12;

pub fn tree(report: &ClusterReport, detail: Detail, width: usize, style: Style) -> String {
    let mut page = Page::new(width, style);
    page.line(&summary(report, style));
    at_risk(&mut page, "", &report.at_risk, report.more_at_risk);
    for root in &report.roots {
        page.gap();
        one_root(&mut page, report, root, detail);
    }
    for held in &report.unexplained {
        page.gap();
        unexplained(&mut page, report, held);
    }
    normal::lines(&mut page, report, detail == Detail::Wide || report.subject.is_of_named());
    for same in by_reason(&report.unknown) {
        page.gap();
        not_seen(&mut page, &same);
    }
    for note in &report.notes {
        page.gap();
        page.filled("Note     ", note);
    }
    if detail == Detail::Wide
        || (report.roots.is_empty() && report.unexplained.iter().all(|held| held.verdict == Verdict::Clear))
    {
        scanned::lines(&mut page, report);
    }
    page.finish()
}

/// The whole tree of one root.
pub fn explain(report: &ClusterReport, id: RootId, detail: Detail, width: usize, style: Style) -> Option<String> {
    let root = report.roots.iter().find(|root| root.id == id)?;
    let mut page = Page::new(width, style);
    one_root(&mut page, report, root, detail);
    Some(page.finish())
}

/// When it was deleted, as the object says; of a pod, until when it had time to end.
fn deleted_at(report: &ClusterReport, held: &Held) -> Option<Timestamp> {
    let at: Timestamp = report.at.parse().ok()?;
    at.checked_sub(SignedDuration::from_secs(held.overdue_seconds?)).ok()
}

fn verdict(report: &ClusterReport, held: &Held, style: Style) -> String {
    let since = deleted_at(report, held)
        .map_or(String::new(), |at| format!(" (deletionTimestamp {})", at.strftime("%Y-%m-%d %H:%MZ")));
    if matches!(report.subject, Subject::Before { .. }) {
        return match held.verdict {
            Verdict::Stuck => style.bad("would be stuck"),
            Verdict::CannotTell => style.doubtful("Unknown"),
            Verdict::Progressing => style.doubtful("would be held for now"),
            Verdict::Clear if held.thing.kind == "Node" => "would be drained".to_owned(),
            Verdict::Clear => "would be deleted".to_owned(),
        };
    }
    match (held.verdict, held.overdue()) {
        (Verdict::Stuck, Some(seconds)) => format!("{} for {}{since}", style.bad("Stuck"), duration(seconds)),
        (Verdict::Stuck, None) => style.bad("Stuck"),
        (Verdict::CannotTell, _) => style.doubtful("Unknown"),
        (Verdict::Progressing, _) if held.overdue_seconds.is_none() && held.thing.kind == "Node" => {
            "being drained".to_owned()
        }
        (Verdict::Progressing, _) => "Terminating normally".to_owned(),
        (Verdict::Clear, _) => "Not stuck in a deletion".to_owned(),
    }
}

fn one_root(page: &mut Page, report: &ClusterReport, root: &Root, detail: Detail) {
    let style = page.style;
    match root.victims.as_slice() {
        [only] => page.filled(
            "",
            &format!("{}: {}", style.strong(&only.held.thing.to_string()), verdict(report, &only.held, style)),
        ),
        several => {
            let names: Vec<String> = several.iter().map(|victim| victim.held.thing.to_string()).collect();
            let longest = several.iter().filter_map(|victim| victim.held.overdue()).max();
            let lasting = longest.map_or(String::new(), |seconds| format!(", the longest for {}", duration(seconds)));
            page.line(&format!("{}{lasting}", style.strong(&format!("{} held by one cause", several.len()))));
            page.filled("  ", &some(&names, MAX_NAMES));
        }
    }
    at_risk(page, "  ", &root.at_risk, root.more_at_risk);
    if let Some(node) = &root.look_on {
        page.filled("  ", &format!("What holds it is not visible from the API: check node {}.", clean(node, 253)));
    }
    page.gap();
    render::finding(page, &root.finding);
    if let Some(by) = &root.told_by {
        page.gap();
        page.filled("  ", &said_by(by, &root.finding));
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
    render::remedy(page, &root.finding, PROGRAM, detail);
    if let Some(others) = needing_their_own_patch(root) {
        page.filled("  Note   ", &others);
    }
    for other in &root.also {
        page.gap();
        page.filled("  Also   ", &also(other));
        // Of another process the commands name that one.
        if other.cause != root.finding.cause || other.remedy.steps.iter().any(|step| step.on_the_node) {
            render::remedy(page, other, PROGRAM, detail);
        }
    }
    for Claim { by, finding } in &root.claims {
        page.gap();
        let state = finding.chain.last().map_or("", |link| link.state.as_str());
        page.filled("  Claim  ", &format!("{}: \"{state}\"", finding.cause.id));
        page.filled("         ", &said_by(by, finding));
        render::remedy(page, finding, PROGRAM, detail);
    }
    if root.more_explanations > 0 {
        page.filled("  Also   ", &format!("{} more explanations", root.more_explanations));
    }
    let deleted = root.victims.iter().find(|victim| victim.held.overdue_seconds.is_some());
    if let Some(victim) = deleted.filter(|_| detail == Detail::Wide && report.subject.is_of_named()) {
        deleter::lines(page, &victim.held.thing);
    }
}

/// The other objects of the kind that a printed patch is for: it changes one of them.
fn needing_their_own_patch(root: &Root) -> Option<String> {
    let commands = root.finding.remedy.steps.iter().filter_map(|step| step.command.as_deref());
    let patch = commands.filter_map(|command| command.strip_prefix("kubectl patch ")).next()?;
    let mut words = patch.split(' ');
    let (kind, name) = (words.next()?, words.next()?);
    let held = root.victims.iter().map(|victim| &victim.held.thing).chain(&root.on_the_way);
    // What waits for another object goes with that.
    let chains = root.victims.iter().filter_map(|victim| victim.chain.split_last());
    let waiting: HashSet<&str> = chains.flat_map(|(_, before)| before).map(|link| link.subject.as_str()).collect();
    let others = held.filter(|other| other.type_for_kubectl() == kind && other.name != name);
    let others = others.filter(|other| !waiting.contains(other.to_string().as_str()));
    let names: Vec<String> = others.map(ObjectRef::to_string).collect();
    (!names.is_empty()).then(|| {
        let names = some(&names, MAX_NAMES);
        format!("The patch is for {kind} {name} only. Each of these needs its own ({PROGRAM} TYPE/NAME): {names}")
    })
}

fn at_risk(page: &mut Page, lead: &str, all: &[AtRisk], more: usize) {
    for line in AtRisk::lines(all, more) {
        page.filled(lead, &page.style.bad(&line));
    }
}

/// Another explanation: its cause, and how it stands there; of what is on a node also which process or mount.
fn also(other: &Finding) -> String {
    let id = other.cause.id;
    match other.chain.last() {
        Some(Link { subject, state, what: Some(what), .. }) if !matches!(what, Entity::Object { .. }) => {
            format!("{id}: {subject}: {state}")
        }
        Some(link) => format!("{id}: {}", link.state),
        None => id.to_owned(),
    }
}

/// Whose word it is, and how fresh.
fn said_by(by: &ToldBy, finding: &Finding) -> String {
    let ago = duration(by.seconds_ago);
    let first =
        by.first_seen_seconds_ago.map_or(String::new(), |first| format!(", first seen {} ago", duration(first)));
    let late = if by.overdue { " It has not reported it again: it may be gone, and this may be outdated." } else { "" };
    let node = clean(&by.node, 253);
    let unverified = by
        .unverified
        .as_ref()
        .map_or(String::new(), |why| format!(" Unverified: {}; so the steps here only look.", clean(why, 200)));
    let which = match finding.remedy.steps.iter().take_while(|step| !step.on_the_node).count() {
        0 => "Run the steps",
        2 => "The first two steps run here; run the others",
        _ => "The first step runs here; run the others",
    };
    let steps = format!("{which} on {node} as root. All but the first rest on what its agent reported.");
    let who =
        if by.unverified.is_some() { "Reported by an Event in the name of the agent" } else { "Reported by the agent" };
    format!("{who} on {node} {ago} ago{first}.{late}{unverified} {steps}")
}

/// Objects that the same cause holds and the chain does not show.
fn with_it(root: &Root) -> String {
    let is_shown = |name: &String| root.finding.chain.iter().any(|link| link.subject == *name);
    let names: Vec<String> = root.on_the_way.iter().map(ToString::to_string).filter(|name| !is_shown(name)).collect();
    some(&names, MAX_NAMES)
}

fn unexplained(page: &mut Page, report: &ClusterReport, held: &Held) {
    let style = page.style;
    if matches!(report.subject, Subject::Before { .. }) {
        page.filled("", &format!("{}: {}", style.strong(&held.thing.to_string()), verdict(report, held, style)));
        return;
    }
    if held.verdict == Verdict::Clear {
        page.filled("", &format!("{} {}", style.strong(&held.thing.to_string()), held.words));
        return;
    }
    page.filled("", &format!("{}: {}", style.strong(&held.thing.to_string()), verdict(report, held, style)));
    let is_unread = held.words == NOT_KNOWN;
    if !is_unread {
        page.filled("  ", &held.words);
    }
    if held.verdict == Verdict::CannotTell && !is_unread {
        page.filled("  ", "No cause was found in what could be read.");
    }
}

fn not_seen(page: &mut Page, same: &NotSeen) {
    render::unknown(page, &same.sources().join(", "), &same.why(), &same.hides().join("; "));
    if let Some(command) = same.command() {
        page.line(&format!("         {}", page.style.strong(&command)));
    }
}
