//! What no answer may say beside another thing that it says. Every answer of the tests is checked.

use aggregator_core::report::{ClusterReport, Root};
use findings::cause;
use findings::render::{Detail, Style};
use plugin::report::{screen, tree};

pub fn has_none(report: &ClusterReport) {
    agents(report);
    report.roots.iter().for_each(root);
    let screen = screen(report, 120, Style::Plain);
    // What is named below is there.
    if screen.contains("listed below") {
        assert!(screen.contains("\nUnknown  "), "{screen}");
    }
    let tree = tree(report, Detail::Short, 120, Style::Plain);
    for text in [&screen, &tree] {
        let has_passed = text.contains("deadline passed");
        assert!(!(has_passed && text.contains("until the grace period has ended")), "{text}");
    }
}

/// An agent that reports is there.
fn agents(report: &ClusterReport) {
    for by in report.roots.iter().filter_map(|root| root.told_by.as_ref()) {
        let denies = |note: &&String| {
            note.contains("No agent runs in this cluster")
                || note.contains(&format!("No agent is deployed on {}", by.node))
        };
        assert_eq!(report.notes.iter().find(denies), None, "{} reports", by.node);
    }
}

fn root(root: &Root) {
    let remedy = &root.finding.remedy;
    let commands = remedy.steps.iter().filter_map(|step| step.command.as_deref());
    for command in commands.clone() {
        // A cluster has tens of thousands.
        let is_of_all =
            command.contains("get pods") && (command.contains(" -A") || command.contains("--all-namespaces"));
        assert!(!is_of_all || command.contains("-selector"), "{}: {command}", root.finding.cause.id);
    }
    if root.finding.cause.id == cause::NODE_OBJECT_GONE.id {
        assert!(!commands.clone().any(|command| command.contains("webhook")), "{:?}", commands.collect::<Vec<_>>());
    }
    if root.finding.cause.danger.is_any_finalizer_by_hand() && remedy.dont == root.finding.cause.danger.action {
        // The guarded patch of the last resort names what is lost.
        let by_hand = |text: &&str| text.contains("kubectl edit");
        assert_eq!(remedy.steps.iter().map(|step| step.text.as_str()).find(by_hand), None, "{}", remedy.dont);
    }
}
