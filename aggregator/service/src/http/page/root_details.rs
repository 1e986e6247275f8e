//! One root: what it is, what to do and what not, its picture, the evidence, and what has happened.

use aggregator_core::report::{AtRisk, Root};
use findings::{Confidence, Finding, duration};
use maud::{Markup, html};

use super::chain_diagram::{Diagram, diagram};
use super::merged::{Merged, merged};
use super::root_card::{name, verdict, waiting};
use super::svg::svg;
use super::timeline::timeline;
use crate::incidents::Incident;

/// Moments of the timeline.
const MAX_MOMENTS: usize = 30;

/// All of it. `incidents` are those that the caller may see; `ask_for` is what the caller lacks to see more of it.
pub fn details(root: &Root, incidents: &[Incident], ask_for: Option<&str>) -> Markup {
    let finding = &root.finding;
    let picture = diagram(root);
    html! {
        div.title {
            h2 { (finding.cause.title) }
            button.link type="button" { "Copy link" }
        }
        p { span.verdict.(root.verdict.as_str()) { (verdict(root.verdict)) }
            @if let Some(seconds) = root.oldest() { " for " (duration(seconds)) }
            " · " (waiting(root)) (name(root)) " · ID " code { (root.id) } }
        @for line in AtRisk::lines(&root.at_risk, root.more_at_risk) { p.danger { strong { (line) "." } } }
        @if finding.confidence == Confidence::Probable {
            p.warning { strong { "Probable. " }
                @match &finding.missing {
                    Some(missing) => { "Not verified: " (missing) "." }
                    None => "Not all of the proof was seen."
                }
            }
        }
        p { (finding.cause.meaning) }
        (steps(root, ask_for))
        @if let Some(note) = &finding.remedy.note { p { strong { "Note: " } (note) "." } }
        h3 { "Warning" }
        p.dont { strong { (finding.remedy.dont) "." } " " (finding.remedy.breaks_beside_steps()) }
        h3 { "What holds what" }
        (svg(&picture, &finding.cause))
        (states(&picture))
        (evidence(root))
        (happened(root, incidents))
    }
}

fn steps(root: &Root, ask_for: Option<&str>) -> Markup {
    let remedy = &root.finding.remedy;
    html! {
        h3 { "Do" }
        @if let Some(by) = &root.told_by {
            p { "Reported by the agent on " (by.node) " " (duration(by.seconds_ago)) " ago. Run the steps on " (by.node) " as root."
                @if by.overdue { " The agent has not renewed the report in time." } }
        }
        @if let Some(node) = &root.look_on { p { "Only the node shows more: check " (node) "." } }
        @if let Some(ask_for) = ask_for {
            p.warning { "You lack permission to see "
                @if remedy.steps.is_empty() { "the steps" } @else { "all of this" } ". Ask for: " code { (ask_for) } }
        } @else if remedy.steps.is_empty() {
            p { "No safe step is known." }
        }
        (steps_of(root, &root.finding))
        @for other in &root.also {
            h3 { "Also: " (other.cause.title) }
            @if let Some(link) = other.chain.last() { p { strong { (link.subject) } ": " (link.state) } }
            @if other.cause != root.finding.cause || other.remedy.steps.iter().any(|step| step.on_the_node) {
                (steps_of(root, other))
            }
        }
    }
}

/// What to do for one explanation of the root.
fn steps_of(root: &Root, finding: &Finding) -> Markup {
    html! {
        ol.steps {
            @for step in &finding.remedy.steps {
                li {
                    @if step.on_the_node { @if let Some(node) = root.node() { "On " (node) ": " } }
                    (step.text) "."
                    @if let Some(command) = &step.command {
                        div.command {
                            pre tabindex="0" { code { (command) } }
                            button.copy type="button" aria-label={ "Copy: " (command) } { "Copy" }
                        }
                    }
                }
            }
        }
    }
}

/// How each box stands; the root's is shown until another is chosen.
fn states(picture: &Diagram) -> Markup {
    html! {
        div.state aria-live="polite" {
            @for (row, block) in picture.blocks.iter().enumerate() {
                div data-state=(row) hidden[!block.is_root] {
                    strong { (block.label) }
                    @if !block.state.is_empty() { ": " (block.state) }
                }
            }
        }
    }
}

fn evidence(root: &Root) -> Markup {
    let all = &root.finding.evidence;
    let lines = merged(all.iter().map(|one| (one.source.as_str(), one.says.as_str())));
    html! {
        @for claim in &root.claims {
            p { "An Event in the name of the agent on " (claim.by.node) " claims " (claim.finding.cause.id) "."
                @if let Some(why) = &claim.by.unverified { " Not verified: " (why) "." }
            }
        }
        @if !lines.is_empty() {
            details.evidence {
                summary { "Evidence (" (all.len()) ")" }
                ul { @for line in &lines { li { (merged_line(line)) } } }
            }
        }
    }
}

fn merged_line(line: &Merged) -> Markup {
    html! {
        code { (line.counted()) } ": " (line.words)
        @if let Some(named) = line.named() { span.names { " (" (named) ")" } }
    }
}

fn happened(root: &Root, incidents: &[Incident]) -> Markup {
    let moments = timeline(root, incidents);
    html! {
        @if !moments.is_empty() {
            h3 { "Timeline" }
            ol.timeline {
                @for moment in moments.iter().take(MAX_MOMENTS) {
                    li {
                        time datetime=(moment.at) { (moment.at.strftime("%m-%d %H:%M:%S")) "Z" }
                        ul { @for event in &moment.events { li { (merged_line(event)) } } }
                    }
                }
                @if moments.len() > MAX_MOMENTS { li { (moments.len() - MAX_MOMENTS) " earlier" } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use aggregator_core::report::AtRiskKind;
    use aggregator_core::state::ObjectRef;
    use findings::Evidence;

    use super::super::chain_diagram::tests::root;
    use super::*;

    #[test]
    fn what_is_not_proven_says_so_before_its_steps() {
        let mut root = root(&[&["a", "b"]]);
        assert!(!details(&root, &[], None).into_string().contains("Probable"));
        root.finding.doubt("that no other controller removes it");
        let page = details(&root, &[], None).into_string();
        let doubt = page.find("Probable. </strong>Not verified: that no other controller removes it.");
        assert!(doubt.is_some() && doubt < page.find("<h3>Do</h3>"), "{page}");
    }

    #[test]
    fn what_is_at_risk_stands_above_what_to_do() {
        let mut root = root(&[&["a", "b"]]);
        assert!(!details(&root, &[], None).into_string().contains("at risk"));
        let claim = ObjectRef::claim("shop", "data");
        root.at_risk = vec![AtRisk::new(AtRiskKind::Disk, "vol-3", &claim, Evidence::new("", ""))];
        let page = details(&root, &[], None).into_string();
        let (risk, steps) = (page.find("Data at risk: disk vol-3 is deleted"), page.find("<h3>Do</h3>"));
        assert!(risk.is_some() && risk < steps, "{page}");
    }
}
