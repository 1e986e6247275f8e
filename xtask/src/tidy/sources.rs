//! The files that are, or will be, under version control.

use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// A text file of the repository.
pub struct Source {
    /// Relative to the repository, with `/`.
    pub path: String,
    /// What it holds.
    pub text: String,
}

impl Source {
    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Whether it is `area` itself, `area.rs`, or lies below it.
    pub fn is_in(&self, area: &str) -> bool {
        self.path.strip_prefix(area).is_some_and(|rest| rest.is_empty() || rest == ".rs" || rest.starts_with('/'))
    }
}

/// Tracked files and those not ignored; binary ones are left out.
pub fn tracked(root: &Path) -> Result<Vec<Source>> {
    let listed = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .context("running git ls-files")?;
    if !listed.status.success() {
        bail!("git ls-files: {}", String::from_utf8_lossy(&listed.stderr));
    }
    let listed = String::from_utf8(listed.stdout).context("a file name is not UTF-8")?;
    let mut sources = Vec::new();
    for path in listed.split('\0').filter(|path| !path.is_empty()) {
        match std::fs::read(root.join(path)) {
            Ok(bytes) => {
                if let Ok(text) = String::from_utf8(bytes) {
                    sources.push(Source { path: path.to_owned(), text });
                }
            }
            // Deleted but still in the index, or a link to a directory.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::IsADirectory) => {}
            Err(error) => return Err(error).with_context(|| format!("reading {path}")),
        }
    }
    Ok(sources)
}
