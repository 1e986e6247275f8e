//! A root in the list: its name, and the words that a filter looks in.

use aggregator_core::report::{AtRisk, Root};
use findings::{Confidence, Verdict, duration};
use maud::{Markup, html};

/// The name of what is at the end of the chain, and the finalizer that holds it where that is the root.
pub fn name(root: &Root) -> String {
    let last = root.finding.chain.last().map(|link| link.subject.as_str());
    last.into_iter().chain(root.finalizer.as_deref()).collect::<Vec<_>>().join(" · ")
}

/// The words on the card of a root, without its numbers: those change by themselves.
pub fn card_words(root: &Root) -> [String; 4] {
    let confidence = if root.finding.confidence == Confidence::Probable { "probable" } else { "" };
    let name = format!("{}{}", waiting(root), name(root));
    [root.finding.cause.title.to_owned(), name, verdict(root.verdict).to_owned(), confidence.to_owned()]
}

/// What stands before the name of what is not broken, only in use.
pub fn waiting(root: &Root) -> &'static str {
    if root.finding.cause.in_use { "Waiting for " } else { "" }
}

/// Its card in the list.
pub fn card(root: &Root) -> Markup {
    let id = root.id;
    let [title, name, verdict, confidence] = card_words(root);
    html! {
        li {
            a href={ "#root=" (id) } data-root=(id) {
                strong.cause { (title) }
                span.name { (name) }
                @for line in AtRisk::data_lines(&root.at_risk) { span.danger { (line) } }
                span.facts {
                    span.verdict.(root.verdict.as_str()) { (verdict) }
                    @if let Some(seconds) = root.oldest() { " for " (duration(seconds)) }
                    @if !confidence.is_empty() { " · " (confidence) }
                    " · holds " (counted(root.objects(), "object"))
                }
            }
        }
    }
}

/// A verdict in words.
pub fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Stuck => "Stuck",
        Verdict::CannotTell => "Unknown",
        Verdict::Progressing => "Terminating normally",
        Verdict::Clear => "Not stuck",
    }
}

/// `1 object`, `2 objects`.
pub fn counted(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

#[cfg(test)]
mod tests {
    use aggregator_core::report::AtRiskKind;
    use aggregator_core::state::{ObjectRef, known};
    use findings::Evidence;

    use super::super::chain_diagram::tests::root;
    use super::*;

    #[test]
    fn a_card_says_that_data_is_at_risk() {
        let mut root = root(&[&["a", "b"]]);
        assert!(!card(&root).into_string().contains("risk"));
        let service = ObjectRef::namespaced(known::SERVICES, "shop", "web");
        root.at_risk = vec![AtRisk::new(AtRiskKind::LoadBalancer, "203.0.113.7", &service, Evidence::new("", ""))];
        assert!(!card(&root).into_string().contains("risk"), "no data is lost with it");
        let claim = ObjectRef::claim("shop", "data");
        root.at_risk.push(AtRisk::new(AtRiskKind::Disk, "vol-3", &claim, Evidence::new("", "")));
        assert!(card(&root).into_string().contains("Data at risk: disk vol-3 is deleted with "));
    }
}
