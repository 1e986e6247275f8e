//! Colour, or none.

use anstyle::{AnsiColor, Style as Ansi};

const BAD: Ansi = AnsiColor::Red.on_default().bold();
const DOUBTFUL: Ansi = AnsiColor::Yellow.on_default();
const STRONG: Ansi = Ansi::new().bold();
const FAINT: Ansi = Ansi::new().dimmed();

/// How to emphasise. Colour only says again what the words say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Plain text.
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

    fn paint(self, text: &str, style: Ansi) -> String {
        match self {
            Style::Plain => text.to_owned(),
            Style::Coloured => format!("{style}{text}{style:#}"),
        }
    }
}
