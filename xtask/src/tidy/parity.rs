//! An entry of the registry, its finder and its tests are found from each other: entry and finder stand in files of
//! the same name, and what a node's finder finds is tested at the end of its own file.

use findings::{Cause, Proven, cause::all};

use super::{Source, diagnosis::screaming};

/// Where entries stand, and where the finders of those entries do.
const SIDES: &[(&str, &[&str])] = &[
    ("findings/src/cause/node", &["agent/core/src/causes"]),
    ("findings/src/cause/cluster", &["aggregator/core/src/rules", "aggregator/core/src"]),
];

/// What words of the API lead to may be of any family.
const LEADS: &str = "aggregator/core/src/rules/leads";

/// The finders that carry their tests; those of the cluster are tested through the whole plugin.
const WITH_TESTS: &str = "agent/core/src/causes";

/// How the tests of a file begin.
const TESTS: &str = "mod tests {";

pub fn check(sources: &[Source]) -> Vec<String> {
    let sides = SIDES.iter().flat_map(|(entries, finders)| alone(sources, entries, finders));
    sides.chain(sources.iter().filter_map(apart)).collect()
}

/// Tests of finders that stand in a file of their own.
fn apart(source: &Source) -> Option<String> {
    let name = source.path.rsplit('/').next()?;
    (source.is_in(WITH_TESTS) && name.starts_with("tests"))
        .then(|| format!("{}: tests stand in the file of their finder", source.path))
}

fn alone(sources: &[Source], entries: &str, finders: &[&str]) -> Vec<String> {
    let files = sources.iter().filter(|source| source.is_in(entries) && source.text.contains("causes! {"));
    files.flat_map(|file| broken(sources, file, entries, finders).unwrap_or_default()).collect()
}

fn broken(sources: &[Source], file: &Source, entries: &str, finders: &[&str]) -> Option<Vec<String>> {
    let name = file.path.strip_prefix(entries)?.strip_prefix('/')?.strip_suffix(".rs")?;
    // A finder may be a folder.
    let is_finder = |source: &&Source| {
        finders
            .iter()
            .any(|folder| source.path == format!("{folder}/{name}.rs") || source.is_in(&format!("{folder}/{name}")))
    };
    let files: Vec<&Source> = sources.iter().filter(is_finder).collect();
    let Some(finder) = files.first() else {
        return Some(vec![format!("{}: no finder is called {name}", file.path)]);
    };
    let leads = sources.iter().filter(|source| source.is_in(LEADS));
    let (code, tests): (Vec<&str>, Vec<&str>) =
        files.iter().copied().chain(leads).map(|file| file.text.split_once(TESTS).unwrap_or((&file.text, ""))).unzip();
    let statics = || file.text.lines().filter_map(|line| Some(line.strip_prefix("    ")?.split_once(" = Cause::")?.0));
    let not_found = statics().filter(|name| !code.iter().any(|code| code.contains(&format!("cause::{name}"))));
    let not_found = not_found.map(|name| format!("{}: {} does not find {name}", file.path, finder.path));
    let is_listed = |name: &str| all().any(|cause| screaming(cause.id) == name);
    let not_listed = statics().filter(|name| !is_listed(name));
    let not_listed = not_listed.map(|name| format!("{}: {name} is not in ALL of {entries}/mod.rs", file.path));
    let is_tested = |cause: &Cause| {
        !finder.is_in(WITH_TESTS)
            || matches!(cause.diagnosis, Proven::Lab(_))
            || tests.iter().any(|tests| tests.contains(&format!("\"{}\"", cause.id)))
    };
    let untested = all().filter(|cause| !is_tested(cause) && statics().any(|name| name == screaming(cause.id)));
    let untested = untested.map(|cause| format!("{}: its tests do not name {}", finder.path, cause.id));
    Some(not_found.chain(not_listed).chain(untested).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> Source {
        Source { path: path.to_owned(), text: text.to_owned() }
    }

    const FINDER: &str = "agent/core/src/causes/shim.rs";

    /// The entry of `ShimGone` with these files beside it.
    fn broken(sources: impl IntoIterator<Item = Source>) -> Vec<String> {
        let text = "causes! {\n    SHIM_GONE = Cause::gate(Gate::X, \"ShimGone\")";
        let entry = source("findings/src/cause/node/shim.rs", text);
        check(&sources.into_iter().chain([entry]).collect::<Vec<_>>())
    }

    #[test]
    fn an_entry_stands_in_the_file_of_its_finders_name() {
        assert!(broken([])[0].contains("no finder is called shim"));
        assert!(broken([source(FINDER, "")])[0].contains("does not find SHIM_GONE"));
        let text = "cause::SHIM_GONE\nmod tests {\"ShimGone\"}";
        assert_eq!(broken([source("agent/core/src/causes/shim/part.rs", text)]), [""; 0]);
    }

    #[test]
    fn an_entry_that_the_registry_does_not_list_is_told() {
        let entry = |path: &str| source(path, "causes! {\n    NOT_LISTED = Cause::gate(Gate::X, \"NotListed\")");
        let finder = source("agent/core/src/causes/new.rs", "cause::NOT_LISTED\nmod tests {\"NotListed\"}");
        let broken = check(&[entry("findings/src/cause/node/new.rs"), finder]);
        assert_eq!(
            broken,
            ["findings/src/cause/node/new.rs: NOT_LISTED is not in ALL of findings/src/cause/node/mod.rs"]
        );
    }

    #[test]
    fn a_finder_is_tested_in_its_own_file() {
        let finder = |tests: &str| source(FINDER, &format!("cause::SHIM_GONE\nmod tests {{{tests}}}"));
        assert_eq!(broken([finder("\"ShimGone\"")]), [""; 0]);
        assert!(broken([finder("")])[0].contains("its tests do not name ShimGone"));
        let elsewhere = source("agent/core/src/causes/tests_rare.rs", "\"ShimGone\"");
        assert_eq!(broken([finder(""), elsewhere]).len(), 2);
    }
}
