//! One incident as Markdown, for the morning after.

use std::fmt::Write as _;

use findings::{clean, duration};
use jiff::Timestamp;

use crate::incidents::{Hold, Incident};

/// The whole story of one incident; `now` is its last moment so far, if it has not ended.
pub fn markdown(incident: &Incident, now: Timestamp) -> String {
    let mut text = String::new();
    let took = duration(incident.seconds(now));
    let object = escape(&incident.object.to_string());
    let state = if incident.end.is_some() {
        format!("was Terminating for {took}")
    } else {
        format!("is Terminating for {took}")
    };
    let _ = writeln!(text, "# {object} {state}\n");
    let _ = writeln!(text, "| time (UTC) | what happened |\n|---|---|");
    for (at, words) in timeline(incident) {
        let _ = writeln!(text, "| {} | {words} |", at.strftime("%Y-%m-%d %H:%M:%S"));
    }
    let _ = writeln!(text, "\n{}", ending(incident));
    for hold in &incident.holds {
        text.push_str(&section(hold, now));
    }
    if incident.has_more_holds {
        text.push_str("\nMore causes were seen than are kept of one object.\n");
    }
    let _ = writeln!(text, "\nIncident {}, uid {}.", incident.id, escape(&incident.uid));
    text
}

fn timeline(incident: &Incident) -> Vec<(Timestamp, String)> {
    let mut lines = vec![
        (incident.asked, "its deletion was requested".to_owned()),
        (incident.stuck_since, "it was judged to be stuck".to_owned()),
    ];
    for hold in &incident.holds {
        let what = format!("{} at {}", hold.cause.id, escape(root(hold)));
        lines.push((hold.since, format!("held by {what}")));
        lines.extend(hold.until.map(|until| (until, format!("not held any more by {what}"))));
    }
    if let Some(end) = &incident.end {
        lines.push((
            end.at,
            if end.seen { "it was gone" } else { "it was found to be gone, after a time without scans" }.to_owned(),
        ));
        for left in &end.left_behind {
            let (node, root) = (escape(&left.node), escape(&left.root.subject));
            lines.push((left.seen, format!("the agent on {node} still saw {} at {root}", left.cause.id)));
        }
    }
    lines.sort_by_key(|(at, _)| *at);
    lines
}

fn ending(incident: &Incident) -> String {
    let Some(end) = &incident.end else { return "It has not ended.".to_owned() };
    if incident.was_forced() {
        return "**It was deleted while something on its node still held it**: it was force-deleted, or its finalizers \
            were removed. What the agent still saw afterwards is listed above; that was left behind."
            .to_owned();
    }
    let last: Vec<&str> = incident.last_held_by().map(|hold| hold.cause.id).collect();
    match (end.seen, last.as_slice()) {
        (false, _) => "It was deleted during a time without scans, so what released it is unknown.".to_owned(),
        (true, []) => "Nothing was found to hold it at its end.".to_owned(),
        (true, last) => format!("It was deleted when this ended or was removed: {}.", last.join(", ")),
    }
}

fn section(hold: &Hold, now: Timestamp) -> String {
    let mut text = format!("\n## {}\n\n{}\n\n", hold.cause.id, hold.cause.meaning);
    let seconds = hold.until.unwrap_or(now).as_second().saturating_sub(hold.since.as_second());
    let _ = write!(text, "{:?}", hold.confidence);
    if let Some(gate) = hold.gate {
        let _ = write!(text, ", at gate {}", gate.as_str());
    }
    if let Some(node) = &hold.told_by {
        let _ = write!(text, ", as the agent of {} said", escape(node));
    }
    if hold.until.is_some() {
        let _ = write!(text, ", for {}", duration(u64::try_from(seconds).unwrap_or(0)));
    }
    text.push_str(".\n\n");
    for link in &hold.chain {
        let root = if link.root { format!(" ({})", hold.cause.label().to_lowercase()) } else { String::new() };
        let _ = writeln!(text, "1. {}: {}{root}", escape(&link.subject), escape(&link.state));
    }
    text
}

fn root(hold: &Hold) -> &str {
    hold.chain.iter().find(|link| link.root).or(hold.chain.last()).map_or("", |link| link.subject.as_str())
}

/// Words of the cluster must not become Markdown or HTML.
fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for char in clean(text, 300).chars() {
        match char {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '(' | ')' | '#' | '+' | '!' | '|' | '~' => {
                escaped.push('\\');
                escaped.push(char);
            }
            _ => escaped.push(char),
        }
    }
    escaped
}
