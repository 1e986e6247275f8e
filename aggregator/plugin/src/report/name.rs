//! Names only, for the next command.

use findings::{Verdict, quote_for_shell};

use aggregator_core::report::ClusterReport;

/// One line per stuck object, as kubectl takes it: `pod/db-0 -n shop`.
pub fn name(report: &ClusterReport) -> String {
    let victims = report.roots.iter().flat_map(|root| root.victims.iter().map(|victim| &victim.held));
    let stuck = victims.chain(&report.unexplained).filter(|held| held.verdict == Verdict::Stuck);
    // What should be gone too, and stands between them and the root.
    let roots = report.roots.iter().filter(|root| root.verdict == Verdict::Stuck);
    let between = roots.flat_map(|root| &root.on_the_way);
    let mut lines: Vec<String> = stuck
        .map(|held| &held.thing)
        .chain(between)
        .filter_map(|thing| {
            // A name that would have to be quoted cannot be one of the API's.
            let name = quote_for_shell(&thing.typed_name())?;
            Some(match &thing.namespace {
                Some(namespace) => format!("{name} -n {}\n", quote_for_shell(namespace)?),
                None => format!("{name}\n"),
            })
        })
        .collect();
    lines.sort_unstable();
    lines.dedup();
    lines.concat()
}
