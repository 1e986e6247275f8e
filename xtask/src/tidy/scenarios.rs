//! What the registry says the lab proves, the lab has a scenario for.

use std::collections::BTreeMap;

use findings::Proven;
use findings::cause::all;

use super::Source;

const FOLDER: &str = "tests/lab/src/scenario";

pub fn check(sources: &[Source]) -> Vec<String> {
    let scenarios: Vec<&Source> = sources.iter().filter(|source| source.is_rust() && source.is_in(FOLDER)).collect();
    if !scenarios.iter().any(|source| source.path.starts_with(&format!("{FOLDER}/"))) {
        return vec![format!("{FOLDER}: no scenario there, but the registry says that the lab proves causes")];
    }
    claimed()
        .into_iter()
        .filter(|(name, _)| !scenarios.iter().any(|source| source.text.contains(&format!("\"{name}\""))))
        .map(|(name, id)| format!("{id}: proven by the lab scenario {name}, which {FOLDER} does not have"))
        .collect()
}

/// Each scenario the registry names, with a cause that names it.
fn claimed() -> BTreeMap<&'static str, &'static str> {
    let mut claimed = BTreeMap::new();
    for cause in all() {
        for proven in cause.safe.iter().map(|advice| advice.proven).chain([cause.diagnosis]) {
            if let Proven::Lab(name) = proven {
                claimed.insert(name, cause.id);
            }
        }
    }
    claimed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_folder_is_not_skipped() {
        assert_eq!(check(&[]).len(), 1);
    }

    #[test]
    fn a_scenario_counts_as_a_whole_literal() {
        let text: String = claimed().keys().skip(1).map(|name| format!("\"{name}\", ")).collect();
        let path = format!("{FOLDER}/all.rs");
        assert_eq!(check(&[Source { path, text }]).len(), 1);
    }
}
