//! Lines of a given width.

use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

use super::{Style, cut};

/// Text for a terminal, line by line.
pub struct Page {
    text: String,
    width: usize,
    pub style: Style,
}

impl Page {
    /// An empty page of this many columns, and no fewer than 40.
    pub fn new(width: usize, style: Style) -> Self {
        Page { text: String::new(), width: width.max(40), style }
    }

    pub fn width(&self) -> usize {
        self.width
    }

    /// Adds a line as it is.
    pub fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    /// Adds an empty line.
    pub fn gap(&mut self) {
        self.text.push('\n');
    }

    /// Adds `text` after `head`; its further lines start below its first.
    pub fn filled(&mut self, head: &str, text: &str) {
        self.filled_at_most(usize::MAX, head, text);
    }

    /// The same, and what would need more lines ends with `…`.
    pub fn filled_at_most(&mut self, lines: usize, head: &str, text: &str) {
        let indent = head.chars().count();
        let room = self.width.saturating_sub(indent);
        let mut parts = wrap(text, room);
        if parts.len() > lines {
            parts.truncate(lines);
            if let Some(last) = parts.last_mut() {
                *last = cut_at_word(last, room);
            }
        }
        for (index, part) in parts.iter().enumerate() {
            match index {
                0 => self.line(&format!("{head}{part}")),
                _ => self.line(&format!("{}{part}", " ".repeat(indent))),
            }
        }
    }

    pub fn finish(self) -> String {
        self.text
    }
}

/// A line that goes on: its last words make room for `…`. One word that is longer is cut.
fn cut_at_word(line: &str, room: usize) -> String {
    let mut kept = line.trim_end();
    while kept.chars().count() + 2 > room
        && let Some((before, _)) = kept.rsplit_once(' ')
    {
        kept = before.trim_end();
    }
    cut(&format!("{kept} …"), room)
}

/// Breaks at spaces only: a name or an address that is cut cannot be copied.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let options = Options::new(width.max(20))
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit)
        .break_words(false);
    textwrap::wrap(text, options).into_iter().map(|line| line.into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn breaks_at_spaces_only() {
        assert_eq!(wrap("twenty columns at the least", 20), ["twenty columns at", "the least"]);
        assert_eq!(wrap("/a/path/longer-than-a-line x", 20), ["/a/path/longer-than-a-line", "x"]);
        assert_eq!(wrap("", 20), [""]);
    }

    #[test]
    fn what_needs_more_lines_says_that_it_goes_on() {
        let at_most = |lines, text: &str| {
            let mut page = Page::new(40, Style::Plain);
            page.filled_at_most(lines, "Note  ", text);
            page.finish()
        };
        let text = "a text that is longer than two lines of forty columns, and goes on for some words";
        assert_eq!(at_most(3, text).lines().last(), Some("      on for some words"));
        let cut = "Note  a text that is longer than two\n      lines of forty columns, and goes …\n";
        assert_eq!(at_most(2, text), cut);
        assert_eq!(at_most(1, "short"), "Note  short\n");
        // The last word makes room.
        let full = "a text of which the line ends near it, and more";
        assert_eq!(at_most(1, full), "Note  a text of which the line ends …\n");
    }

    #[test]
    fn what_cannot_be_seen_takes_no_column() {
        let red = Style::Coloured.bad("twenty columns");
        assert_eq!(wrap(&format!("{red} at the least"), 20), [format!("{red} at"), "the least".to_owned()]);
    }
}
