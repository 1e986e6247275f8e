//! A package names only what its code uses: a dependency that is left behind costs everybody who builds, and who reviews.

use std::collections::BTreeSet;

use super::Source;
use crate::docs::named;

pub fn check(sources: &[Source]) -> Vec<String> {
    let folder = |manifest: &Source| manifest.path.strip_suffix("/Cargo.toml").map(str::to_owned);
    let packages: Vec<String> = sources.iter().filter_map(folder).collect();
    let mut broken = Vec::new();
    for manifest in sources.iter().filter(|source| source.path.ends_with("/Cargo.toml")) {
        let Some(own) = folder(manifest) else { continue };
        let is_of_another = |source: &Source| {
            packages.iter().any(|other| *other != own && other.starts_with(&format!("{own}/")) && source.is_in(other))
        };
        let code = sources.iter().filter(|source| source.is_rust() && source.is_in(&own) && !is_of_another(source));
        let words: BTreeSet<&str> =
            code.flat_map(|source| source.text.split(|c: char| !c.is_alphanumeric() && c != '_')).collect();
        let unused = named(&manifest.text).into_iter().filter(|(_, name)| !words.contains(&*name.replace('-', "_")));
        broken.extend(unused.map(|(section, name)| format!("{}: nothing uses {name} of [{section}]", manifest.path)));
    }
    broken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nothing_uses_is_told() {
        let source = |path: &str, text: &str| Source { path: path.to_owned(), text: text.to_owned() };
        let manifest =
            source("agent/Cargo.toml", "[dependencies]\nserde_json.workspace = true\nlinux-raw-sys = \"1\"\n");
        let inner = source("agent/core/Cargo.toml", "[dependencies]\n");
        let code = source("agent/src/main.rs", "use serde_json::Value;");
        let other = source("agent/core/src/lib.rs", "linux_raw_sys");
        let broken = check(&[manifest, inner, code, other]);
        assert_eq!(broken, ["agent/Cargo.toml: nothing uses linux-raw-sys of [dependencies]"]);
    }
}
