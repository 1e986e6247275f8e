//! Colour, or none.

use anstyle::{AnsiColor, Reset, Style as Ansi};

const BAD: Ansi = AnsiColor::Red.on_default().bold();
const DOUBTFUL: Ansi = AnsiColor::Yellow.on_default();
const STRONG: Ansi = Ansi::new().bold();
const FAINT: Ansi = Ansi::new().dimmed();

/// How to emphasise. Colour only says again what the words say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Plain,
    /// ANSI colours, for a terminal.
    Coloured,
}

impl Style {
    /// What is wrong.
    pub fn bad(self, text: &str) -> String {
        self.paint(text, BAD)
    }

    /// What may be wrong.
    pub fn doubtful(self, text: &str) -> String {
        self.paint(text, DOUBTFUL)
    }

    /// Headings.
    pub fn strong(self, text: &str) -> String {
        self.paint(text, STRONG)
    }

    /// What is less important.
    pub fn faint(self, text: &str) -> String {
        self.paint(text, FAINT)
    }

    /// Whether `text` begins with one of its marks, and how long that is.
    pub(super) fn mark_at(self, text: &str) -> Option<usize> {
        let marks = [AnsiColor::Red.on_default(), DOUBTFUL, STRONG, FAINT].map(|mark| mark.render().to_string());
        let mut marks = marks.into_iter().chain([Reset.render().to_string()]);
        marks.find(|mark| self == Style::Coloured && text.starts_with(mark)).map(|mark| mark.len())
    }

    fn paint(self, text: &str, style: Ansi) -> String {
        match self {
            Style::Plain => text.to_owned(),
            Style::Coloured => format!("{style}{text}{style:#}"),
        }
    }
}
