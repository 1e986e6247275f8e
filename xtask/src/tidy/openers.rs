//! The crates that judge cannot read or write; in the agent, files are opened in `sys/` and `host/` only.

use super::Source;

/// The crates whose manifests name nothing that reads or writes.
const PURE: &[&str] =
    &["findings/Cargo.toml", "agent/core/Cargo.toml", "agent/reconcile/Cargo.toml", "aggregator/core/Cargo.toml"];

const IMPURE: &[&str] = &["tokio", "kube", "nix", "rustix"];

/// How a file is opened without `sys/`.
const OPENERS: &[&str] = &["std::fs", "fs::read", "File::open", "OpenOptions"];

pub fn check(sources: &[Source]) -> Vec<String> {
    let missing = PURE.iter().filter(|manifest| sources.iter().all(|source| source.path != **manifest));
    let missing = missing.map(|manifest| format!("{manifest}: not there; this crate is to be pure"));
    missing.chain(sources.iter().flat_map(broken_in)).collect()
}

fn broken_in(source: &Source) -> Vec<String> {
    let Source { path, text } = source;
    let lines = (1..).zip(text.lines());
    if PURE.contains(&path.as_str()) {
        let named = |entry: &str| IMPURE.contains(&entry.split(['.', '=', ' ']).next().unwrap_or_default());
        return lines
            .filter(|(_, entry)| named(entry))
            .map(|(n, e)| format!("{path}:{n}: {e}: this crate is pure"))
            .collect();
    }
    let opens_here = source.is_in("agent/src/sys") || source.is_in("agent/src/host");
    if !source.is_in("agent/src") || opens_here {
        return Vec::new();
    }
    let opens = |line: &str| OPENERS.iter().any(|opener| line.contains(opener));
    lines
        .filter(|(_, line)| opens(line))
        .map(|(n, _)| format!("{path}:{n}: files are opened in sys/ and host/ only"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(path: &str, text: &str) -> usize {
        broken_in(&Source { path: path.to_owned(), text: text.to_owned() }).len()
    }

    #[test]
    fn pure_crates_name_nothing_that_reads_or_writes() {
        assert_eq!(broken("agent/core/Cargo.toml", "serde.workspace = true\nkube.workspace = true"), 1);
        assert_eq!(broken("findings/Cargo.toml", "kubelet-names = \"1\""), 0);
        assert_eq!(check(&[]).len(), PURE.len(), "a manifest that is not there is not skipped");
    }

    #[test]
    fn files_are_opened_in_their_places() {
        assert_eq!(broken("agent/src/report/json.rs", "use std::fs;"), 1);
        assert_eq!(broken("agent/src/main.rs", "let f = File::open(p)?;"), 1);
        assert_eq!(broken("agent/src/host/tasks.rs", "std::fs::read(p)"), 0);
        assert_eq!(broken("agent/src/sys.rs", "std::fs::read(p)"), 0);
    }
}
