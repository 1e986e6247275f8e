//! What a program is made of: every crate that is linked into it, as cargo resolves it for this program alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// The beginnings of names of files that a licence asks to pass on.
const NOTICES: &[&str] = &["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];

/// A crate of others.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Component {
    pub name: String,
    pub version: String,
    /// The SPDX expression of its manifest.
    pub license: String,
    /// SHA-256 of its archive at crates.io.
    pub checksum: String,
    /// The texts that come with it.
    pub notices: BTreeSet<String>,
}

/// Those of `package`, by name and version.
pub fn of(root: &Path, package: &str, triple: &str) -> Result<Vec<Component>> {
    let tree = cargo(
        root,
        &[
            "tree",
            "--package",
            package,
            "--edges",
            "normal,no-proc-macro",
            "--target",
            triple,
            "--prefix",
            "none",
            "--format",
            "{p}|{l}",
        ],
    )?;
    let metadata: Value = serde_json::from_str(&cargo(root, &["metadata", "--format-version", "1"])?)?;
    let folders = folders(&metadata);
    let lock = fs::read_to_string(root.join("Cargo.lock")).context("reading Cargo.lock")?;
    let checksums = checksums(&lock);
    let mut components = Vec::new();
    for (name, version, license) in linked(&tree) {
        let key = (name.to_owned(), version.to_owned());
        // What has no checksum is of this workspace.
        let Some(checksum) = checksums.get(&key) else { continue };
        let folder = folders.get(&key).with_context(|| format!("cargo metadata does not tell of {name} {version}"))?;
        ensure!(!license.is_empty(), "the manifest of {name} {version} names no licence");
        components.push(Component {
            name: key.0,
            version: key.1,
            license: license.to_owned(),
            checksum: checksum.clone(),
            notices: notices(folder)?,
        });
    }
    ensure!(!components.is_empty(), "cargo tells of nothing that {package} is made of");
    Ok(components)
}

fn cargo(root: &Path, arguments: &[&str]) -> Result<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let asked =
        Command::new(cargo).args(arguments).arg("--locked").current_dir(root).output().context("starting cargo")?;
    ensure!(asked.status.success(), "cargo {}: {}", arguments.join(" "), String::from_utf8_lossy(&asked.stderr));
    Ok(String::from_utf8(asked.stdout)?)
}

/// Each crate of lines like `serde v1.0.0 (*)|MIT OR Apache-2.0` once.
fn linked(tree: &str) -> BTreeSet<(&str, &str, &str)> {
    let parsed = tree.lines().filter_map(|line| {
        let (package, license) = line.split_once('|')?;
        let mut words = package.split(' ');
        Some((words.next()?, words.next()?.strip_prefix('v')?, license.trim_end_matches(" (*)")))
    });
    parsed.collect()
}

/// Where the sources of each crate lie.
fn folders(metadata: &Value) -> BTreeMap<(String, String), PathBuf> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let word = |package: &Value, key: &str| package[key].as_str().map(str::to_owned);
    let each = packages.filter_map(|package| {
        let manifest = PathBuf::from(word(package, "manifest_path")?);
        Some(((word(package, "name")?, word(package, "version")?), manifest.parent()?.to_owned()))
    });
    each.collect()
}

fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let value = |package: &str, key: &str| {
        let line = package.lines().find_map(|line| line.strip_prefix(&format!("{key} = \"")))?;
        Some(line.trim_end_matches('"').to_owned())
    };
    let packages = lock.split("[[package]]").skip(1);
    let each = packages.filter_map(|package| {
        Some(((value(package, "name")?, value(package, "version")?), value(package, "checksum")?))
    });
    each.collect()
}

fn notices(folder: &Path) -> Result<BTreeSet<String>> {
    let mut texts = BTreeSet::new();
    for entry in fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_uppercase();
        if entry.file_type()?.is_file() && NOTICES.iter().any(|notice| name.starts_with(notice)) {
            let bytes = fs::read(entry.path()).with_context(|| format!("reading {}", entry.path().display()))?;
            let text = String::from_utf8_lossy(&bytes).replace('\r', "");
            texts.insert(text.trim_matches('\n').to_owned());
        }
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_is_told_once_and_only_where_it_is_linked() {
        let tree =
            "own v0.1.0 (/source)|Apache-2.0\nserde v1.0.0|MIT OR Apache-2.0\nserde v1.0.0|MIT OR Apache-2.0 (*)\n";
        let expected = [("own", "0.1.0", "Apache-2.0"), ("serde", "1.0.0", "MIT OR Apache-2.0")];
        assert_eq!(linked(tree).into_iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn the_lock_file_has_the_checksum_of_what_is_not_ours() {
        let lock = "[[package]]\nname = \"own\"\nversion = \"1\"\n\n[[package]]\nname = \"a\"\nversion = \"2\"\nchecksum = \"ff\"\n";
        assert_eq!(checksums(lock), BTreeMap::from([(("a".to_owned(), "2".to_owned()), "ff".to_owned())]));
    }

    #[test]
    fn the_agent_is_made_of_what_cargo_links_and_not_of_what_builds_it() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let all = of(root, "why-terminating-agent", "x86_64-unknown-linux-gnu").unwrap();
        let find = |name: &str| all.iter().find(|component| component.name == name);
        let tokio = find("tokio").unwrap();
        assert!(tokio.license == "MIT" && tokio.checksum.len() == 64, "{tokio:?}");
        assert!(tokio.notices.iter().any(|text| text.contains("Permission is hereby granted")));
        for other in ["why-terminating-agent", "serde_derive", "proptest"] {
            assert!(find(other).is_none(), "{other}");
        }
    }
}
