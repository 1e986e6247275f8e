//! Colour, or none. Colour only says again what the words say.

/// How to emphasise.
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
        self.paint(text, "1;31")
    }

    /// What may be wrong.
    pub fn doubtful(self, text: &str) -> String {
        self.paint(text, "33")
    }

    /// Headings and what is to be typed.
    pub fn strong(self, text: &str) -> String {
        self.paint(text, "1")
    }

    fn paint(self, text: &str, code: &str) -> String {
        match self {
            Style::Plain => text.to_owned(),
            Style::Coloured => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
        }
    }
}
