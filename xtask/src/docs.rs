//! The generated documents: pages of causes, finalizers and commands, the description of the service's API, the causes in
//! the book's table of contents, and the output that stands in other pages.

mod causes;
mod examples;
mod finalizers;
mod manual;
mod outputs;

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

const API: &str = "docs/schema/service.v1.openapi.json";

/// A generated file and what it should say.
struct Page {
    /// Relative to the repository.
    path: String,
    text: String,
}

impl Page {
    fn new(path: impl Into<String>, text: String) -> Self {
        Page { path: path.into(), text }
    }
}

fn pages(root: &Path) -> Result<Vec<Page>> {
    let mut pages = causes::pages(root)?;
    pages.extend(finalizers::pages()?);
    pages.push(Page::new(API, serde_json::to_string_pretty(&service::openapi())? + "\n"));
    pages.extend(manual::pages()?);
    pages.extend(outputs::pages(root)?);
    Ok(pages)
}

/// Writes the pages, and takes away those of causes that are no more.
pub fn write(root: &Path) -> Result<()> {
    let pages = pages(root)?;
    for Page { path, text } in &pages {
        let path = root.join(path);
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory).with_context(|| format!("making {}", directory.display()))?;
        }
        fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
    }
    for path in left(root, &pages)? {
        fs::remove_file(root.join(&path)).with_context(|| format!("removing {path}"))?;
    }
    Ok(())
}

/// Fails when a page is not what it should be.
pub fn check(root: &Path) -> Result<()> {
    check_pages(root, &pages(root)?)
}

fn check_pages(root: &Path, pages: &[Page]) -> Result<()> {
    const AGAIN: &str = "write the documents again with: cargo run -p xtask -- docs";
    for Page { path, text } in pages {
        let stored = fs::read_to_string(root.join(path)).with_context(|| format!("reading {path}; {AGAIN}"))?;
        ensure!(stored == *text, "{path} is stale; {AGAIN}");
    }
    if let Some(path) = left(root, pages)?.first() {
        bail!("{path} is of a cause or a command that is no more; {AGAIN}");
    }
    Ok(())
}

/// Files in the folders of generated pages that nothing generates any more.
fn left(root: &Path, pages: &[Page]) -> Result<BTreeSet<String>> {
    let mut files = BTreeSet::new();
    for folder in [causes::FOLDER, manual::FOLDER] {
        let entries = match fs::read_dir(root.join(folder)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(error).with_context(|| format!("reading {folder}")),
        };
        for entry in entries {
            files.insert(format!("{folder}/{}", entry?.file_name().to_string_lossy()));
        }
    }
    for page in pages {
        files.remove(&page.path);
    }
    Ok(files)
}

/// Words of the registry as Markdown: what would be read as HTML, emphasis or a link is escaped.
fn text(words: &str) -> String {
    let mut escaped = String::with_capacity(words.len());
    for c in words.chars() {
        if matches!(c, '\\' | '<' | '>' | '*' | '_' | '`' | '[' | ']') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

fn cell(words: &str) -> String {
    text(words).replace('|', "\\|")
}

#[cfg(test)]
fn repository() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_page_and_one_that_is_left_over_are_refused() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("docs/causes");
        fs::create_dir_all(&folder).unwrap();
        let pages = [Page::new("docs/causes/Known.md", "known".to_owned())];
        fs::write(folder.join("Known.md"), "known").unwrap();
        check_pages(root.path(), &pages).unwrap();
        fs::write(folder.join("Gone.md"), "gone").unwrap();
        let refused = check_pages(root.path(), &pages).unwrap_err().to_string();
        assert!(refused.starts_with("docs/causes/Gone.md is of a cause"), "{refused}");
        fs::write(folder.join("Known.md"), "old").unwrap();
        let refused = check_pages(root.path(), &pages).unwrap_err().to_string();
        assert!(refused.starts_with("docs/causes/Known.md is stale"), "{refused}");
    }

    #[test]
    fn words_are_not_markup() {
        assert_eq!(text("pods/<uid>/volumes/*"), r"pods/\<uid\>/volumes/\*");
    }
}
