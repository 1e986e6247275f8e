//! What the registry says the lab or the acceptance on a real cluster proves, they have a scenario or a situation for.

use std::collections::BTreeSet;

use findings::Proven;
use findings::cause::all;

use super::Source;

const SCENARIOS: &str = "tests/lab/src/scenario";
const SITUATIONS: &str = "tests/e2e/src/situations";

pub fn check(sources: &[Source]) -> Vec<String> {
    let are_of = |folder: &str, source: &&Source| source.is_rust() && source.path.starts_with(&format!("{folder}/"));
    let is_there = |folder: &str, name: &str| {
        let literal = format!("\"{name}\"");
        sources.iter().filter(|source| are_of(folder, source)).any(|source| source.text.contains(&literal))
    };
    let lacking = claimed().into_iter().filter(|(folder, name, _)| !is_there(folder, name));
    lacking.map(|(folder, name, id)| format!("{id}: proven by {name}, which {folder} does not have")).collect()
}

/// Each that the registry names: its folder, its name, and the cause.
fn claimed() -> BTreeSet<(&'static str, &'static str, &'static str)> {
    let proven = all().flat_map(|cause| {
        cause.safe.iter().map(|advice| advice.proven).chain([cause.diagnosis]).map(|it| (it, cause.id))
    });
    proven
        .filter_map(|(proven, id)| match proven {
            Proven::Lab(name) => Some((SCENARIOS, name, id)),
            Proven::Cluster(name) => Some((SITUATIONS, name, id)),
            Proven::Typed | Proven::Recording(_) | Proven::Observation | Proven::Untested => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_folder_is_not_skipped() {
        assert_eq!(check(&[]).len(), claimed().len());
    }

    #[test]
    fn a_scenario_counts_as_a_whole_literal() {
        let names = |of: &str| {
            let all = claimed().into_iter().filter(|(folder, _, _)| *folder == of);
            all.map(|(_, name, _)| format!("\"{name}\", ")).collect::<BTreeSet<String>>()
        };
        let source = |folder: &str, text: String| Source { path: format!("{folder}/all.rs"), text };
        let situations = source(SITUATIONS, names(SITUATIONS).into_iter().collect());
        let [all, without_first] = [0, 1].map(|skipped| names(SCENARIOS).into_iter().skip(skipped).collect::<String>());
        assert_eq!(check(&[source(SCENARIOS, all), situations]), Vec::<String>::new());
        let situations = source(SITUATIONS, names(SITUATIONS).into_iter().collect());
        assert!(!check(&[source(SCENARIOS, without_first), situations]).is_empty());
    }
}
