//! An entry of the registry and its finder are found from each other: their files have the same name.

use super::Source;

/// Where entries stand, and where the finders of those entries do.
const SIDES: &[(&str, &[&str])] = &[
    ("findings/src/cause/node", &["agent/core/src/causes"]),
    ("findings/src/cause/cluster", &["aggregator/core/src/rules", "aggregator/core/src"]),
];

pub fn check(sources: &[Source]) -> Vec<String> {
    SIDES.iter().flat_map(|(entries, finders)| alone(sources, entries, finders)).collect()
}

fn alone(sources: &[Source], entries: &str, finders: &[&str]) -> Vec<String> {
    let files = sources.iter().filter(|source| source.is_in(entries) && source.text.contains("causes! {"));
    files.filter_map(|file| broken(sources, file, entries, finders)).collect()
}

fn broken(sources: &[Source], file: &Source, entries: &str, finders: &[&str]) -> Option<String> {
    let name = file.path.strip_prefix(entries)?.strip_prefix('/')?.strip_suffix(".rs")?;
    // A finder may be a folder.
    let is_finder = |source: &&Source| {
        finders
            .iter()
            .any(|folder| source.path == format!("{folder}/{name}.rs") || source.is_in(&format!("{folder}/{name}")))
    };
    let finder: Vec<&Source> = sources.iter().filter(is_finder).collect();
    let Some(first) = finder.first() else {
        return Some(format!("{}: no finder is called {name}", file.path));
    };
    let is_found = |name: &str| finder.iter().any(|source| source.text.contains(&format!("cause::{name}")));
    let statics = file.text.lines().filter_map(|line| line.strip_prefix("    ")?.split_once(" = Cause::"));
    let lost: Vec<&str> = statics.map(|(name, _)| name).filter(|name| !is_found(name)).collect();
    (!lost.is_empty()).then(|| format!("{}: {} does not find {}", file.path, first.path, lost.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> Source {
        Source { path: path.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn an_entry_stands_in_the_file_of_its_finders_name() {
        let entry =
            || source("findings/src/cause/node/fuse.rs", "causes! {\n    FUSE_GONE = Cause::at(Gate::X, \"FuseGone\")");
        let finder = |text: &str| source("agent/core/src/causes/fuse.rs", text);
        assert!(check(&[entry(), finder("cause::FUSE_GONE")]).is_empty());
        assert!(check(&[entry(), finder("")])[0].contains("does not find FUSE_GONE"));
        let part = source("agent/core/src/causes/fuse/part.rs", "cause::FUSE_GONE");
        assert!(check(&[entry(), source("agent/core/src/causes/fuse/mod.rs", ""), part]).is_empty());
        assert!(check(&[entry()])[0].contains("no finder is called fuse"));
    }
}
