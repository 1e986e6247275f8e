//! The judgement reads and writes nothing; files are opened in `sys/` and `host/` only.

use super::Source;
use super::paths::{is_below, named};

/// What the pure parts must not reach for.
const IMPURE: &[&str] = &[
    "std::fs",
    "std::process",
    "std::net",
    "tokio",
    "kube",
    "nix",
    "rustix",
    "crate::host",
    "crate::sys",
    "crate::cli",
];

const PURE: &[&str] = &[
    "agent/src/view",
    "agent/src/gates",
    "agent/src/causes",
    "agent/src/parse",
    "agent/src/report",
    "agent/src/run/brain",
    "agent/src/run/ledger",
    "findings",
];

/// Modules of one file, and what only looks like one.
const PURE_FILES: &[&str] = &[
    "agent/src/observation",
    "agent/src/run/bucket.rs",
    "agent/src/run/index.rs",
    "agent/src/run/moment.rs",
    "agent/src/run/patience.rs",
    "agent/src/run/schedule.rs",
    "agent/src/run/settings.rs",
];

/// The crates that are pure as a whole.
const PURE_CRATES: &[&str] = &["aggregator/core", "findings"];

/// What their manifests must not name.
const IMPURE_CRATES: &[&str] = &["tokio", "kube", "hyper", "axum", "nix", "rustix"];

pub fn check(sources: &[Source]) -> Vec<String> {
    sources.iter().flat_map(broken_in).collect()
}

fn broken_in(source: &Source) -> Vec<String> {
    let Source { path, text } = source;
    if PURE_CRATES.iter().any(|pure| *path == format!("{pure}/Cargo.toml")) {
        return manifest(path, text);
    }
    if !source.is_rust() {
        return Vec::new();
    }
    if is_pure(source) {
        return named(text)
            .into_iter()
            .filter(|(_, named)| IMPURE.iter().any(|impure| is_below(named, impure)))
            .map(|(line, named)| format!("{path}:{line}: {named}: this part is pure and must not read or write"))
            .collect();
    }
    if source.is_in("agent/src") && !source.is_in("agent/src/sys") && !source.is_in("agent/src/host") {
        return named(text)
            .into_iter()
            .filter(|(_, named)| is_below(named, "std::fs") || named.ends_with("File::open"))
            .map(|(line, named)| format!("{path}:{line}: {named}: files are opened in sys/ and host/ only"))
            .collect();
    }
    Vec::new()
}

fn is_pure(source: &Source) -> bool {
    PURE.iter().any(|area| source.is_in(area)) || PURE_FILES.iter().any(|file| source.path.starts_with(file))
}

fn manifest(path: &str, text: &str) -> Vec<String> {
    (1..)
        .zip(text.lines())
        .filter_map(|(line, entry)| {
            let name = entry.split(['.', '=', ' ']).next().unwrap_or_default();
            IMPURE_CRATES.contains(&name).then(|| format!("{path}:{line}: {name}: this crate is pure"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(path: &str, text: &str) -> usize {
        broken_in(&Source { path: path.to_owned(), text: text.to_owned() }).len()
    }

    #[test]
    fn pure_parts_do_not_reach_out() {
        assert_eq!(broken("agent/src/gates/volumes.rs", "use crate::{gates, host};"), 1);
        assert_eq!(broken("agent/src/causes.rs", "fn f() { std::fs::read(p); }"), 1);
        assert_eq!(broken("agent/src/observation.rs", "use tokio::time;"), 1);
        assert_eq!(broken("findings/src/gate.rs", "// kube::Client\nuse crate::Gate;"), 0);
        for pure in ["findings", "aggregator/core"] {
            assert_eq!(broken(&format!("{pure}/Cargo.toml"), "serde.workspace = true\nkube.workspace = true"), 1);
        }
    }

    #[test]
    fn files_are_opened_in_their_places() {
        assert_eq!(broken("agent/src/report/json.rs", "use std::fs;"), 1);
        assert_eq!(broken("agent/src/main.rs", "let f = File::open(p)?;"), 1);
        assert_eq!(broken("agent/src/host/tasks.rs", "std::fs::read(p)"), 0);
        assert_eq!(broken("agent/src/sys.rs", "std::fs::read(p)"), 0);
    }
}
