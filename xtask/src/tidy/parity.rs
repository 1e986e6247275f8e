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
    let is_finder = |source: &&Source| {
        let path = source.path.as_str();
        finders.iter().any(|folder| path == format!("{folder}/{name}.rs") || path == format!("{folder}/{name}/mod.rs"))
    };
    let Some(finder) = sources.iter().find(is_finder) else {
        return Some(format!("{}: no finder is called {name}", file.path));
    };
    let statics = file.text.lines().filter_map(|line| line.strip_prefix("    ")?.split_once(" = Cause::"));
    let lost: Vec<&str> =
        statics.map(|(name, _)| name).filter(|name| !finder.text.contains(&format!("cause::{name}"))).collect();
    (!lost.is_empty()).then(|| format!("{}: {} does not find {}", file.path, finder.path, lost.join(", ")))
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
        assert!(check(&[entry()])[0].contains("no finder is called fuse"));
    }
}
