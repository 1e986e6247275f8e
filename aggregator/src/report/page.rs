//! Lines of a given width.

use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// Text for a terminal, line by line.
pub struct Page {
    text: String,
    width: usize,
}

impl Page {
    /// An empty page of this many columns.
    pub fn new(width: usize) -> Self {
        Page { text: String::new(), width: width.max(40) }
    }

    /// The columns.
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
        let indent = head.chars().count();
        for (index, part) in wrap(text, self.width.saturating_sub(indent)).iter().enumerate() {
            match index {
                0 => self.line(&format!("{head}{part}")),
                _ => self.line(&format!("{}{part}", " ".repeat(indent))),
            }
        }
    }

    /// What was written.
    pub fn finish(self) -> String {
        self.text
    }
}

/// Breaks at spaces only: a name or an address that is cut cannot be copied.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let options = Options::new(width.max(20))
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit)
        .break_words(false);
    textwrap::wrap(text, options).into_iter().map(|line| line.into_owned()).collect()
}
