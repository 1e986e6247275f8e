//! One finding: the chain down to its root, its evidence, and what to type next.

use super::{Detail, Page, page::wrap};
use crate::{Confidence, Finding, Link};

/// Where a command starts: below the text of its step.
const COMMAND_COLUMN: usize = 14;

/// The chain, and whether it is proven.
pub fn finding(page: &mut Page, finding: &Finding) {
    let label = finding.cause.label();
    // Several roots stand side by side.
    let first_root = finding.chain.iter().position(|link| link.root).unwrap_or(usize::MAX);
    for (at, link) in finding.chain.iter().enumerate() {
        let state = match link.root {
            true if at == first_root => format!("{label} {}: {}", finding.cause.id, link.state),
            true => format!("and {}", link.state),
            false => link.state.clone(),
        };
        let has_sibling = link.root && finding.chain.get(at + 1).is_some_and(|next| next.root);
        link_lines(page, at.min(first_root), link, label, &state, has_sibling);
    }
    if let Some(others) = &finding.must_end_too {
        page.filled("  ", &enough(finding, others));
    }
    if finding.confidence == Confidence::Probable {
        page.filled(
            "  Probable. ",
            &match &finding.missing {
                Some(missing) => format!("Not verified: {missing}"),
                None => "Not all of the proof was seen; the page of the cause has the whole of it".to_owned(),
            },
        );
    }
}

/// Whether the end of the roots is enough, as far as was seen.
fn enough(finding: &Finding, others: &[String]) -> String {
    let what = finding.gate.map_or("finalizers", |gate| gate.noun());
    match others {
        [] => format!("Fixing this should release the pod's {what}: no other holder was found."),
        others => format!("Not enough to release the pod's {what}: {} must end too.", others.join(", ")),
    }
}

/// Two columns where they fit, else the state below its subject.
fn link_lines(page: &mut Page, depth: usize, link: &Link, label: &str, state: &str, has_sibling: bool) {
    let column = page.width() / 2 - 3;
    let branch = if has_sibling { "├─ " } else { "└─ " };
    let lead = if depth == 0 { "  ".to_owned() } else { format!("  {}{branch}", "   ".repeat(depth - 1)) };
    let subject = format!("{lead}{}", link.subject);
    let used = subject.chars().count();
    let beside = used + 2 <= column;
    let start = if beside { column } else { lead.chars().count() + 3 };
    let style = page.style;
    let mark = |text: &str| match text.strip_prefix(label).filter(|_| link.root) {
        Some(rest) => format!("{}{rest}", style.bad(label)),
        None => text.to_owned(),
    };
    let mut lines = wrap(state, page.width().saturating_sub(start)).into_iter();
    if beside {
        let first = lines.next().unwrap_or_default();
        page.line(&format!("{subject}{}{}", " ".repeat(start - used), mark(&first)));
    } else {
        page.line(&subject);
    }
    for rest in lines {
        page.line(&format!("{}{}", " ".repeat(start), mark(&rest)));
    }
}

pub fn evidence(page: &mut Page, finding: &Finding) {
    for evidence in &finding.evidence {
        page.filled("  Seen   ", &format!("{}: {}", evidence.source, evidence.says));
    }
}

/// The steps, what not to do, and where more is said: `program` is how the reader calls this program. Which steps no
/// test has executed is said to those who want all of it.
pub fn remedy(page: &mut Page, finding: &Finding, program: &str, detail: Detail) {
    let steps = &finding.remedy.steps;
    let is_wide = detail == Detail::Wide;
    let is_any_tested = steps.iter().any(|step| step.tested);
    for (index, step) in steps.iter().enumerate() {
        // The order counts: the safest is first, and some steps prepare the next.
        let number = if steps.len() > 1 { format!("{}. ", index + 1) } else { String::new() };
        let head = format!("  {:<7}{number}", if index == 0 { "Do" } else { "" });
        let colon = if step.command.is_some() { ":" } else { "" };
        let untested = if is_wide && is_any_tested && !step.tested { " (untested)" } else { "" };
        page.filled(&head, &format!("{}{untested}{colon}", step.text));
        if let Some(command) = &step.command {
            // Never wrapped: it is pasted.
            page.line(&format!("{}{}", " ".repeat(COMMAND_COLUMN), page.style.strong(command)));
        }
    }
    if is_wide && !steps.is_empty() && !is_any_tested {
        page.filled("         ", "(No test of this project has executed these steps.)");
    }
    if let Some(note) = &finding.remedy.note {
        page.filled("  Note   ", &format!("{note}."));
    }
    page.filled("  Do not ", &format!("{}: {}", finding.remedy.forbidden(), finding.remedy.breaks_beside_steps()));
    page.line(&format!("  More   {program} causes {}", finding.cause.id));
}

/// What could not be looked at; `hides` may be empty.
pub fn unknown(page: &mut Page, source: &str, why: &str, hides: &str) {
    let hides = if hides.is_empty() { String::new() } else { format!(" This hides {hides}.") };
    let source = page.style.doubtful(source);
    page.filled("Unknown  ", &format!("{source}: {}.{hides}", why.trim_end_matches('.')));
}
