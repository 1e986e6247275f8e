//! Every link of every page leads to a file that is there, and its anchor to a heading of that file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use anyhow::{Result, bail};

use crate::tidy::sources::{Source, tracked};

/// The book, whose pages may lead only to each other: nothing else is in it.
const BOOK: &str = "docs";
const CONTENTS: &str = "docs/SUMMARY.md";

pub fn check(root: &Path) -> Result<()> {
    let sources = tracked(root)?;
    let pages: Vec<&Source> = sources.iter().filter(|source| source.path.ends_with(".md")).collect();
    let broken = broken(&pages, |path| root.join(path).exists());
    if broken.is_empty() {
        return Ok(());
    }
    bail!("{}", broken.join("\n"));
}

fn broken(pages: &[&Source], exists: impl Fn(&str) -> bool) -> Vec<String> {
    let anchors: BTreeMap<&str, BTreeSet<String>> =
        pages.iter().map(|page| (page.path.as_str(), anchors(&page.text))).collect();
    let mut broken = Vec::new();
    let mut listed = BTreeSet::new();
    for page in pages {
        for link in links(&page.text) {
            let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
            let target = resolved(&page.path, path);
            if page.path == CONTENTS {
                listed.insert(target.clone());
            }
            let reason = if !exists(&target) {
                "leads nowhere"
            } else if is_in_book(&page.path) && !target.starts_with(&format!("{BOOK}/")) {
                "leads out of the book"
            } else if anchor.is_some_and(|anchor| !anchors.get(&*target).is_some_and(|known| known.contains(anchor))) {
                "leads to a heading that is not there"
            } else {
                continue;
            };
            broken.push(format!("{}: the link {link} {reason}", page.path));
        }
    }
    let book = pages.iter().filter(|page| is_in_book(&page.path) && page.path != CONTENTS);
    let unlisted = book.filter(|page| !listed.contains(&page.path));
    broken.extend(unlisted.map(|page| format!("{}: is not in {CONTENTS}", page.path)));
    broken
}

fn is_in_book(path: &str) -> bool {
    path.starts_with(&format!("{BOOK}/"))
}

/// What a link in the file `from` means, relative to the repository.
fn resolved(from: &str, link: &str) -> String {
    if link.is_empty() {
        return from.to_owned();
    }
    let mut path = PathBuf::from(from);
    path.pop();
    for part in Path::new(link).components() {
        match part {
            Component::ParentDir => {
                path.pop();
            }
            Component::Normal(name) => path.push(name),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    path.to_string_lossy().into_owned()
}

/// The lines that are no code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// The targets of links within the repository.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets =
        prose(text).flat_map(|line| line.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0)));
    targets.filter(|target| !target.contains("://") && !target.starts_with("mailto:"))
}

/// The anchors of its headings, as the forge and mdbook make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings =
        prose(text).filter_map(|line| line.trim_start_matches('#').strip_prefix(' ').filter(|_| line.starts_with('#')));
    headings.map(anchor).collect()
}

fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken_in(pages: &[(&str, &str)]) -> Vec<String> {
        let sources: Vec<Source> =
            pages.iter().map(|(path, text)| Source { path: (*path).to_owned(), text: (*text).to_owned() }).collect();
        let exists = |path: &str| pages.iter().any(|(known, _)| *known == path);
        broken(&sources.iter().collect::<Vec<_>>(), exists)
    }

    #[test]
    fn a_link_that_leads_nowhere_is_told() {
        let page = "[a](b.md) [b](https://example.com/#x)\n```\n[c](d.md)\n```\n";
        assert_eq!(broken_in(&[("README.md", page)]), ["README.md: the link b.md leads nowhere"]);
        assert_eq!(broken_in(&[("README.md", page), ("b.md", "")]), [""; 0]);
    }

    #[test]
    fn an_anchor_is_a_heading() {
        let target = ("deploy/a.md", "# The `run`, again\n\n```\n# no heading\n```\n");
        assert_eq!(broken_in(&[("README.md", "[a](deploy/a.md#the-run-again)"), target]), [""; 0]);
        let broken = broken_in(&[("README.md", "[a](deploy/a.md#no-heading)"), target]);
        assert_eq!(broken, ["README.md: the link deploy/a.md#no-heading leads to a heading that is not there"]);
        assert_eq!(broken_in(&[("deploy/b.md", "# B\n[up](../README.md) [here](#b)"), ("README.md", "")]), [""; 0]);
    }

    #[test]
    fn the_book_holds_all_its_pages_and_leads_to_no_others() {
        let contents = ("docs/SUMMARY.md", "- [A](a.md)");
        let broken = broken_in(&[contents, ("docs/a.md", "[r](../README.md)"), ("docs/b.md", ""), ("README.md", "")]);
        assert_eq!(
            broken,
            ["docs/a.md: the link ../README.md leads out of the book", "docs/b.md: is not in docs/SUMMARY.md"]
        );
    }
}
