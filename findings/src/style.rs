//! Colour, or none.

/// How to emphasise. Colour only says again what the words say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Plain text.
    Plain,
    /// ANSI colours, for a terminal.
    Coloured,
}

impl Style {
    /// Colour on a terminal, unless `NO_COLOR` is set to anything (no-color.org).
    pub fn choose(is_terminal: bool, no_color: Option<&std::ffi::OsStr>) -> Self {
        let refused = no_color.is_some_and(|value| !value.is_empty());
        if is_terminal && !refused { Style::Coloured } else { Style::Plain }
    }

    /// What is wrong.
    pub fn bad(self, text: &str) -> String {
        self.paint(text, "1;31")
    }

    /// What may be wrong.
    pub fn doubtful(self, text: &str) -> String {
        self.paint(text, "33")
    }

    /// Headings.
    pub fn strong(self, text: &str) -> String {
        self.paint(text, "1")
    }

    /// What is less important.
    pub fn faint(self, text: &str) -> String {
        self.paint(text, "2")
    }

    fn paint(self, text: &str, code: &str) -> String {
        match self {
            Style::Plain => text.to_owned(),
            Style::Coloured => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_color_is_honoured() {
        assert_eq!(Style::choose(true, None), Style::Coloured);
        assert_eq!(Style::choose(true, Some("1".as_ref())), Style::Plain);
        assert_eq!(Style::choose(true, Some("".as_ref())), Style::Coloured);
        assert_eq!(Style::choose(false, None), Style::Plain);
    }
}
