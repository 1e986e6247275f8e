//! What the registry says the lab or the acceptance on a real cluster proves, they have a scenario or a situation for.

use std::collections::BTreeSet;

use findings::Proven;
use findings::cause::all;

use super::Source;

const SCENARIOS: &str = "tests/lab/src/scenario";
const SITUATIONS: &str = "tests/e2e/src";

pub fn check(sources: &[Source]) -> Vec<String> {
    let are_of = |folder: &str, source: &&Source| source.is_rust() && source.path.starts_with(&format!("{folder}/"));
    // A scenario is named; a situation names in its call each cause that it proves.
    let is_proven = |folder: &str, name: &str, id: &str| {
        let [name, id] = [name, id].map(|word| format!("\"{word}\""));
        let named = if folder == SITUATIONS { &id } else { &name };
        let files = sources.iter().filter(|source| are_of(folder, source));
        let mut calls =
            files.flat_map(|source| source.text.match_indices(&name).map(|(at, _)| arguments(&source.text[at..])));
        calls.any(|call| call.contains(named))
    };
    let lacking = claimed().into_iter().filter(|(folder, name, id)| !is_proven(folder, name, id));
    lacking.map(|(folder, name, id)| format!("{id}: not proven by {name} in {folder}")).collect()
}

/// From here to the end of the call.
fn arguments(text: &str) -> &str {
    let mut depth = 0;
    let end = text.find(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth < 0
    });
    &text[..end.unwrap_or(text.len())]
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
        let calls = |of: &str| {
            let all = claimed().into_iter().filter(move |(folder, ..)| *folder == of);
            all.map(|(_, name, id)| format!("one(\"{name}\", f(\"{id}\")), ")).collect::<Vec<String>>()
        };
        let source = |folder: &str, text: String| Source { path: format!("{folder}/all.rs"), text };
        let both = [SCENARIOS, SITUATIONS].map(|folder| source(folder, calls(folder).concat()));
        assert_eq!(check(&both), Vec::<String>::new());
        for folder in [SCENARIOS, SITUATIONS] {
            let [without, broken] = [("(\"", "(\"x"), ("f(", ") f(")].map(|(old, new)| {
                let text = calls(folder).concat().replace(old, new);
                check(&[source(folder, text)]).into_iter().filter(|rule| rule.ends_with(folder)).count()
            });
            let all = calls(folder).len();
            assert_eq!((without, broken), (all, if folder == SITUATIONS { all } else { 0 }), "{folder}");
        }
    }
}
