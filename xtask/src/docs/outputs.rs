//! Output in a page that is what a test holds: below a line `<!-- output: FILE -->` stands that file, and below
//! `<!-- output: 2 paragraphs of FILE -->` its beginning.

use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::Page;

/// The pages with such output; a page that has some is listed here.
const PAGES: &[&str] = &[
    "README.md", "docs/answers/namespace.md", "docs/answers/pod.md", "docs/answers/csi-unmount.md",
    "docs/answers/node-gone.md", "docs/answers/drain.md", "docs/compared.md",
];
const MARK: &str = "<!-- output: ";

/// Each page and what it should say.
pub fn pages(root: &Path) -> Result<Vec<Page>> {
    let read = |name: &str| std::fs::read_to_string(root.join(name)).with_context(|| format!("reading {name}"));
    let made = |page: &&str| Ok(Page::new(*page, filled(&read(page)?, read).with_context(|| format!("in {page}"))?));
    PAGES.iter().map(made).collect()
}

/// The page with each block below a mark made anew.
fn filled(page: &str, read: impl Fn(&str) -> Result<String>) -> Result<String> {
    let mut out = String::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        out.push_str(line);
        out.push('\n');
        let Some(file) = line.strip_prefix(MARK).and_then(|rest| rest.strip_suffix(" -->")) else { continue };
        ensure!(lines.next() == Some("```"), "no block below {line}");
        ensure!(lines.any(|line| line == "```"), "the block below {line} has no end");
        let output = match file.split_once(" paragraphs of ") {
            Some((count, file)) => read(file)?.split("\n\n").take(count.parse()?).collect::<Vec<_>>().join("\n\n"),
            None => read(file)?,
        };
        out.push_str(&format!("```\n{}\n```\n", output.trim_end()));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_block_below_a_mark_is_made_anew() {
        let read = |name: &str| Ok(format!("what {name} says\n\n"));
        let page = "a\n<!-- output: f.txt -->\n```\nold\n```\n\n```\nkept\n```\n";
        let made = filled(page, read).unwrap();
        assert_eq!(made, "a\n<!-- output: f.txt -->\n```\nwhat f.txt says\n```\n\n```\nkept\n```\n");
        assert_eq!(filled(&made, read).unwrap(), made);
        let start = "<!-- output: 2 paragraphs of f.txt -->\n```\n```\n";
        let made = filled(start, |_| Ok("a\n\nb\nb\n\nc\n".to_owned())).unwrap();
        assert_eq!(made, "<!-- output: 2 paragraphs of f.txt -->\n```\na\n\nb\nb\n```\n");
        assert!(filled("<!-- output: f.txt -->\n\nno block", read).is_err());
        assert!(filled("<!-- output: f.txt -->\n```\nno end", read).is_err());
    }
}
