//! The table of what was seen on which versions, for the docs.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context as _;

use crate::cluster::Cluster;
use crate::situation::Seen;

const HEAD: &str = "# What was seen on which versions

Written by `SEEN_ON=docs/evidence/seen-on.md make e2e`. Each situation was made on a real cluster; the plugin, an agent started
then (where the node holds it) and the service named this cause and no other; the step of the answer was taken, and
everything went. Where none is named it went by itself, as it does. *Told* counts from the deletion of the namespace to the
plugin's answer (pods have a grace of 2 s), *gone* from the step to the end of the namespace, both as the machine was busy then.
How each is made stands in `tests/e2e/src/situations`.

| situation | on | cause | told | gone | commit |
|---|---|---|---|---|---|
";

/// Writes these rows, and keeps those of other situations and versions.
pub fn write(path: &Path, cluster: &Cluster, all: &[Seen]) -> anyhow::Result<()> {
    let old = std::fs::read_to_string(path).unwrap_or_default();
    let commit = std::env::var("COMMIT").unwrap_or_default();
    std::fs::write(path, merged(&old, &cluster.versions(), &commit, all)).with_context(|| path.display().to_string())
}

fn merged(old: &str, on: &str, commit: &str, all: &[Seen]) -> String {
    let mut rows: BTreeMap<(String, String), String> = BTreeMap::new();
    for line in old.lines().filter(|line| line.starts_with("| `")) {
        let mut cells = line.split('|').map(|cell| cell.trim().to_owned()).skip(1);
        if let (Some(name), Some(on)) = (cells.next(), cells.next()) {
            rows.insert((name, on), line.to_owned());
        }
    }
    for Seen { name, cause, told, gone } in all {
        let key = (format!("`{name}`"), on.to_owned());
        let (told, gone) = (told.as_secs(), gone.as_secs());
        let row = match cause.is_empty() {
            true => format!("| `{name}` | {on} | none: it goes by itself | | {gone} s | {commit} |"),
            false => format!("| `{name}` | {on} | [{cause}](../causes/{cause}.md) | {told} s | {gone} s | {commit} |"),
        };
        rows.insert(key, row);
    }
    let mut text = HEAD.to_owned();
    text.extend(rows.values().flat_map(|row| [row.as_str(), "\n"]));
    text
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_row_is_replaced_by_one_of_the_same_versions_only() {
        let seen = |cause, gone| {
            let (told, gone) = (Duration::from_secs(5), Duration::from_secs(gone));
            vec![Seen { name: "shim", cause, told, gone }]
        };
        let once = merged("", "Kubernetes 1.36.2", "1a2b", &seen("ShimNotResponding", 12));
        let row = "| `shim` | Kubernetes 1.36.2 | [ShimNotResponding](../causes/ShimNotResponding.md) | 5 s | 12 s | 1a2b |\n";
        assert_eq!(once, format!("{HEAD}{row}"));
        let twice = merged(&once, "Kubernetes 1.36.2", "1a2b", &seen("ShimNotResponding", 13));
        assert_eq!(twice, once.replace("12 s", "13 s"));
        let both = merged(&once, "Kubernetes 1.30.1", "3c4d", &seen("", 1));
        assert!(both.contains(row));
        assert!(both.contains("| `shim` | Kubernetes 1.30.1 | none: it goes by itself | | 1 s | 3c4d |"));
    }
}
