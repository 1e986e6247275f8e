//! The first screen: a block of at most seven parts for each root cause, the oldest first, each part a line where the
//! terminal is wide enough. Of many roots it is a line for each, below their cause.

use std::collections::BTreeSet;

use aggregator_core::report::{AtRisk, ClusterReport, Held, Root};
use aggregator_core::state::{ObjectRef, known};
use findings::render::{Page, Style};
use findings::{Cause, Confidence, Entity, Finding, Link, Verdict, clean, duration};

use super::short_names::{short_name, some, typed};
use super::summary::{NotSeen, by_reason, summary};
use super::{normal, scanned};

/// More notes are counted.
const MAX_NOTES: usize = 3;
/// Words of a root that are shorter are shown with what leads to it.
const MIN_STATE_CHARS: usize = 30;
/// More roots have a line each.
const MAX_BLOCKS: usize = 8;
/// A part that needs more lines of the terminal ends with `…`: a server may quote a page.
const MAX_LINES: usize = 4;
/// The whole text of a step is in the tree.
const MAX_FIX_LINES: usize = 2;
/// Where the text of a block's lines begins.
const LABEL_COLUMNS: usize = 8;

pub fn screen(report: &ClusterReport, width: usize, style: Style) -> String {
    let mut page = Page::new(width, style);
    head(&mut page, report, width);
    for line in AtRisk::lines(&report.at_risk, report.more_at_risk) {
        page.filled("", &style.bad(&line));
    }
    match report.roots.len() > MAX_BLOCKS {
        true => lines_by_cause(&mut page, &report.roots),
        false => report.roots.iter().for_each(|root| {
            page.gap();
            block(&mut page, root);
        }),
    }
    let unexplained: Vec<&Held> = report.unexplained.iter().filter(|held| held.verdict > Verdict::Clear).collect();
    if let Some(first) = unexplained.first() {
        page.gap();
        let names: Vec<String> = unexplained.iter().map(|held| short_name(&held.thing)).collect();
        page.line(&format!("?  {}  {}", style.doubtful("Unknown"), some(&names)));
        part(&mut page, "", &first.words);
        let below = if report.unknown.is_empty() { "" } else { " (what could not be read is listed below)" };
        page.line(&format!("   {:<LABEL_COLUMNS$}{}{below}", "Next", style.strong(&ask_about(&first.thing))));
    }
    normal::lines(&mut page, report, false);
    let unknown = by_reason(&report.unknown);
    if !unknown.is_empty() {
        page.gap();
    }
    for same in unknown {
        not_seen(&mut page, &same);
    }
    notes(&mut page, report);
    scanned::lines(&mut page, report);
    page.finish()
}

/// What to type to see all that is known of one object.
fn ask_about(object: &ObjectRef) -> String {
    let namespace = object.namespace.as_ref().map_or(String::new(), |namespace| format!(" -n {namespace}"));
    clean(&format!("kubectl why-terminating {}{namespace}", object.typed_name()), 400)
}

/// `20 objects stuck, 3 root causes (oldest 4d13h)`, and how to see more.
fn head(page: &mut Page, report: &ClusterReport, width: usize) {
    let line = summary(report, page.style);
    let more = if report.roots.is_empty() { "" } else { "whole chain and steps: add --explain ID" };
    let plain = summary(report, Style::Plain).chars().count();
    match width.checked_sub(plain + more.len()) {
        Some(room) if room > 2 => page.line(format!("{line}{}{more}", " ".repeat(room)).trim_end()),
        _ => {
            page.filled("", &line);
            if !more.is_empty() {
                page.line(more);
            }
        }
    }
}

/// Each cause once, in the order of its first root.
fn lines_by_cause(page: &mut Page, roots: &[Root]) {
    let mut by_cause: Vec<(&'static Cause, Vec<&Root>)> = Vec::new();
    for root in roots {
        let cause = root.finding.cause.0;
        match by_cause.iter_mut().find(|(other, _)| other.id == cause.id) {
            Some((_, same)) => same.push(root),
            None => by_cause.push((cause, vec![root])),
        }
    }
    for (cause, same) in by_cause {
        page.gap();
        page.filled("", &format!("{}: {}", page.style.bad(cause.id), cause.title));
        for root in same {
            let risk = root.at_risk.iter().any(|one| one.what.has_data()).then(|| "data at risk".to_owned());
            let by = root.finalizer.as_ref().map(|name| format!("finalizer {}", clean(name, 253)));
            let (place, style) = (place(root), page.style);
            let parts = [
                risk.map(|risk| (risk.len(), style.bad(&risk))),
                Some((place.chars().count(), style.strong(&place))),
                by.map(|by| (by.chars().count(), by)),
                Some(format!("{}  {}", counted(root), age(root))).map(|much| (much.chars().count(), much)),
            ];
            packed(page, &format!("   {}  ", root.id), parts.into_iter().flatten());
        }
    }
}

/// Parts, each with its columns, in as few lines as hold them: none is broken where it fits a line.
fn packed(page: &mut Page, lead: &str, parts: impl Iterator<Item = (usize, String)>) {
    let indent = lead.chars().count();
    let (mut line, mut used) = (lead.to_owned(), indent);
    for (columns, part) in parts {
        if used > indent && used + 2 + columns > page.width() {
            page.line(&line);
            (line, used) = (" ".repeat(indent), indent);
        }
        let gap = if used > indent { "  " } else { "" };
        line = format!("{line}{gap}{part}");
        used += gap.len() + columns;
    }
    page.line(&line);
}

fn age(root: &Root) -> String {
    match root.verdict {
        Verdict::Progressing => "for now".to_owned(),
        Verdict::Clear => "not stuck".to_owned(),
        Verdict::CannotTell | Verdict::Stuck => root.oldest().map_or(String::new(), duration),
    }
}

fn block(page: &mut Page, root: &Root) {
    let style = page.style;
    let cause = root.finding.cause.id;
    let is_broken = root.verdict == Verdict::Stuck && !root.finding.cause.in_use;
    let coloured = if is_broken { style.bad(cause) } else { style.doubtful(cause) };
    let waiting = if root.finding.cause.in_use { "waiting for " } else { "" };
    let (id, place) = (root.id.to_string(), format!("{waiting}{}", place(root)));
    let (what, much) = (format!("{coloured}  {}", style.strong(&place)), format!("{}  {}", counted(root), age(root)));
    let columns = id.len() + cause.len() + place.chars().count() + much.trim_end().chars().count();
    if columns + 6 <= page.width() {
        page.line(format!("{id}  {what}  {much}").trim_end());
    } else {
        page.filled(&format!("{id}  "), &what);
        page.line(format!("   {much}").trim_end());
    }
    for line in AtRisk::lines(&root.at_risk, root.more_at_risk) {
        part(page, "", &style.bad(&line));
    }
    part(page, "", &proof(root));
    if let Some(missing) = root.finding.missing.as_ref().filter(|_| root.finding.confidence == Confidence::Probable) {
        part(page, "", &format!("Not verified: {missing}"));
    }
    let also: BTreeSet<String> = root.also.iter().map(explanation).collect();
    let also: Vec<String> = also.into_iter().filter(|other| *other != explanation(&root.finding)).collect();
    if !also.is_empty() {
        part(page, "Also", &some(&also));
    }
    let names: Vec<String> = root.victims.iter().map(|victim| short_name(&victim.held.thing)).collect();
    if names != [place] {
        part(page, "Holds", &some(&names));
    }
    next(page, root);
    part(page, "Do not", root.finding.remedy.forbidden());
}

/// What to type first, and the first step that changes anything.
fn next(page: &mut Page, root: &Root) {
    let steps = &root.finding.remedy.steps;
    let next = steps.iter().find(|step| step.command.is_some()).or(steps.first());
    if let Some(step) = next {
        let node = root.node().filter(|_| step.on_the_node);
        let node = node.map_or(String::new(), |node| format!("on {}: ", clean(node, 253)));
        match &step.command {
            // Never cut: it is pasted.
            Some(command) => page.line(&format!("   {:<LABEL_COLUMNS$}{node}{}", "Next", page.style.strong(command))),
            None => part(page, "Next", &format!("{node}{}", step.text)),
        }
    }
    // A check may say what to repair as well; a last resort repairs nothing, nor does what deletes the pod of a check.
    let tidies =
        |step: &findings::Step| step.is_check && step.command.as_ref().is_some_and(|it| it.contains(" delete"));
    let mut repairs = steps.iter().filter(|step| !step.is_last_resort() && !tidies(step));
    let fix = repairs.clone().find(|step| !step.is_check).or(repairs.next_back());
    if let Some(fix) = fix.filter(|fix| Some(*fix) != next) {
        page.filled_at_most(MAX_FIX_LINES, &format!("   {:<LABEL_COLUMNS$}", "Fix"), &fix.text);
    }
}

/// A cause, and what it is about on a node: another process is another explanation.
fn explanation(finding: &Finding) -> String {
    let id = finding.cause.id;
    let on_node = |link: &&Link| link.what.as_ref().is_some_and(|what| !matches!(what, Entity::Object { .. }));
    finding.chain.last().filter(on_node).map_or(id.to_owned(), |link| format!("{id} {}", link.subject))
}

/// One part of a block.
fn part(page: &mut Page, head: &str, text: &str) {
    let lead = if head.is_empty() { "   ".to_owned() } else { format!("   {head:<LABEL_COLUMNS$}") };
    page.filled_at_most(MAX_LINES, &lead, text);
}

/// What proves it: the words of the root itself, which quote the server where it says anything.
fn proof(root: &Root) -> String {
    let said = match root.finding.chain.as_slice() {
        // `does not exist` means little by itself.
        [.., above, last] if last.state.chars().count() < MIN_STATE_CHARS => {
            format!("{}; {} {}", above.state, last.subject, last.state)
        }
        [.., last] => last.state.clone(),
        [] => String::new(),
    };
    let node = root
        .told_by
        .as_ref()
        .map_or(String::new(), |by| format!("{} says ({} ago): ", clean(&by.node, 253), duration(by.seconds_ago)));
    // Only the node knows what holds each of them.
    let many = match (&root.look_on, root.victims.as_slice()) {
        (Some(_), [first, _, ..]) => format!("for example {}: ", short_name(&first.held.thing)),
        _ => String::new(),
    };
    let probable = if root.finding.confidence == Confidence::Probable { "probable: " } else { "" };
    format!("{node}{probable}{many}{said}")
}

/// The root in a few words: `node/node-b`, `service/guard in guard-system`, `ns/shop`; of what only a node knows, that node.
fn place(root: &Root) -> String {
    if let Some(node) = &root.look_on {
        return format!("not visible from the API: check node {}", clean(node, 253));
    }
    let Some(link) = root.finding.chain.last() else { return String::new() };
    let node = root.told_by.as_ref().map_or(String::new(), |by| format!(" on {}", clean(&by.node, 253)));
    match &link.what {
        Some(Entity::Object { kind, namespace, name }) => typed(kind, namespace.as_deref(), name),
        _ => format!("{}{node}", link.subject),
    }
}

/// `12 pods, 2 ns`, `1 pod in shop`: of what, and where.
fn counted(root: &Root) -> String {
    let victims = root.victims.iter().map(|victim| &victim.held.thing);
    let objects: Vec<&ObjectRef> = victims.chain(&root.on_the_way).collect();
    let is_namespace = |object: &&&ObjectRef| object.is(known::NAMESPACES);
    let others: Vec<&ObjectRef> = objects.iter().filter(|object| !is_namespace(object)).copied().collect();
    let mut namespaces: BTreeSet<&str> = others.iter().filter_map(|object| object.namespace.as_deref()).collect();
    namespaces.extend(objects.iter().filter(is_namespace).map(|object| object.name.as_str()));
    let mut parts = Vec::new();
    let kinds: BTreeSet<&str> = others.iter().map(|object| object.kind.as_ref()).collect();
    match (others.len(), kinds.len()) {
        (0, _) => {}
        (1, _) => parts.extend(others.first().map(|one| format!("1 {}", one.kind.to_lowercase()))),
        (many, 1) => parts.extend(others.first().map(|one| format!("{many} {}", clean(&one.resource.plural, 63)))),
        (many, _) => parts.push(format!("{many} objects")),
    }
    match namespaces.first() {
        None => {}
        Some(only) if namespaces.len() == 1 && others.len() == objects.len() => {
            return format!("{} in {}", parts.concat(), clean(only, 63));
        }
        Some(_) => parts.push(format!("{} ns", namespaces.len())),
    }
    parts.join(", ")
}

fn not_seen(page: &mut Page, same: &NotSeen) {
    let hides = match same.hides().as_slice() {
        [] => String::new(),
        hides => format!("; hides {}", some(hides)),
    };
    let text = match same.refusals.is_empty() {
        true => format!("{}: {}{hides}", some(&same.sources()), same.why()),
        false => format!("{}{hides}", same.why()),
    };
    page.filled_at_most(MAX_LINES, "Unknown  ", &text);
    if let Some(command) = same.command() {
        page.line(&format!("         {}", page.style.strong(&command)));
    }
}

fn notes(page: &mut Page, report: &ClusterReport) {
    for note in report.notes.iter().take(MAX_NOTES) {
        page.gap();
        page.filled("Note     ", note);
    }
    match report.notes.len().saturating_sub(MAX_NOTES) {
        0 => {}
        more => page.line(&format!("Note     and {more} more: -o tree")),
    }
}
