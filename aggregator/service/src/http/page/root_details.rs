//! One root: its picture, the evidence, what to do and what not, and what has happened.

use std::collections::BTreeSet;

use crate::incidents::Incident;
use aggregator_core::report::Root;
use aggregator_core::state::ObjectRef;
use findings::duration;
use jiff::Timestamp;
use maud::{Markup, html};

use super::chain_diagram::{Diagram, diagram};
use super::root_list::{name, verdict};
use super::svg::svg;

/// Lines of the timeline.
const MAX_TIMELINE_LINES: usize = 30;

/// All of it. `incidents` are those that the caller may see.
pub fn details(root: &Root, incidents: &[Incident]) -> Markup {
    let finding = &root.finding;
    let picture = diagram(root);
    let timeline = timeline(root, incidents);
    html! {
        h2 { (finding.cause.title) }
        p { span.verdict.(root.verdict.as_str()) { (verdict(root.verdict)) } " · " (name(root)) }
        p { (finding.cause.meaning) }
        @if let Some(by) = &root.told_by {
            p { "The agent on " (by.node) " said so " (duration(by.seconds_ago)) " ago; all steps but the first go by that."
                @if by.overdue { " It should have said it again since." }
            }
        }
        @if let Some(node) = &root.look_on { p { "Only the node itself knows more: " (node) "." } }
        @for claim in &root.claims {
            p { "An Event in the name of the agent on " (claim.by.node) " claims " (claim.finding.cause.id) "."
                @if let Some(why) = &claim.by.unverified { " Not verified: " (why) "." }
            }
        }
        h3 { "What holds what" }
        (svg(&picture, &format!("{}, from what is stuck down to the root cause", finding.cause.title)))
        (evidence(root, &picture))
        h3 { "Do" }
        @if finding.remedy.steps.is_empty() { p { "No step is known that you may see." } }
        ol.steps {
            @for step in &finding.remedy.steps {
                li {
                    @if step.on_the_node { @if let Some(node) = root.node() { "On " (node) ": " } }
                    (step.text) "."
                    @if !step.tested { " " em { "Not tested." } }
                    @if let Some(command) = &step.command {
                        div.command {
                            pre tabindex="0" { code { (command) } }
                            button.copy type="button" aria-label={ "Copy: " (command) } { "Copy" }
                        }
                    }
                }
            }
        }
        h3 { "Don't" }
        p.dont { strong { (finding.remedy.dont) "." } " " (finding.remedy.breaks) }
        @if !timeline.is_empty() {
            h3 { "What has happened" }
            ol.timeline {
                @for (at, words) in timeline.iter().take(MAX_TIMELINE_LINES) {
                    li { time datetime=(at) { (at.strftime("%m-%d %H:%M:%S")) "Z" } " " (words) }
                }
                @if timeline.len() > MAX_TIMELINE_LINES { li { (timeline.len() - MAX_TIMELINE_LINES) " earlier" } }
            }
        }
    }
}

/// What is said of each box; the root's is shown until another is chosen.
fn evidence(root: &Root, picture: &Diagram) -> Markup {
    html! {
        div.evidence aria-live="polite" {
            @for (row, block) in picture.blocks.iter().enumerate() {
                div data-evidence=(row) hidden[!block.is_root] {
                    strong { (block.label) }
                    @if !block.state.is_empty() { ": " (block.state) }
                    @if block.is_root && !root.finding.evidence.is_empty() {
                        ul { @for one in &root.finding.evidence { li { code { (one.source) } ": " (one.says) } } }
                    }
                }
            }
        }
    }
}

/// The latest first.
fn timeline(root: &Root, incidents: &[Incident]) -> Vec<(Timestamp, String)> {
    let mut lines = Vec::new();
    let victims = root.victims.iter().map(|victim| &victim.held.thing);
    let held: BTreeSet<&ObjectRef> = victims.chain(&root.on_the_way).collect();
    let is_held = |incident: &&Incident| {
        incident.holds.iter().any(|hold| hold.root == root.id.to_string())
            && (incident.end.is_some() || held.contains(&incident.object))
    };
    for incident in incidents.iter().filter(is_held) {
        let object = &incident.object;
        lines.push((incident.asked, format!("{object}: its deletion was asked for")));
        lines.push((incident.stuck_since, format!("{object}: judged to be stuck")));
        for hold in incident.holds.iter().filter(|hold| hold.root == root.id.to_string()) {
            lines.push((hold.since, format!("{object}: held by this")));
            lines.extend(hold.until.map(|until| (until, format!("{object}: not held by this any more"))));
        }
        if let Some(end) = &incident.end {
            let forced =
                if end.left_behind.is_empty() { "gone" } else { "gone by force, and something was left behind" };
            lines.push((end.at, format!("{object}: {forced}")));
        }
    }
    lines.sort_by(|one, other| other.cmp(one));
    lines
}
