//! The last look at a text before it is shown.

use super::Style;
use crate::is_visible;

/// `text` with `escape` of every character in it that is not visible, but for newlines and the marks of
/// the style.
pub fn escaped(text: &str, style: Style, escape: impl Fn(char) -> String) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c != '\n' && !is_visible(c)) {
        shown.push_str(&rest[..at]);
        rest = &rest[at..];
        let Some(c) = rest.chars().next() else { break };
        let length = style.mark_at(rest).unwrap_or_else(|| {
            shown.push_str(&escape(c));
            0
        });
        shown.push_str(&rest[..length]);
        rest = &rest[length.max(c.len_utf8())..];
    }
    shown.push_str(rest);
    shown
}

#[cfg(test)]
mod tests {
    use crate::render::{Style, screened};

    #[test]
    fn only_newlines_and_our_own_marks_pass() {
        assert_eq!(screened("a\u{202e}b\n\tc", Style::Plain), "a\\u{202e}b\n\\u{9}c");
        let painted: String = [Style::bad, Style::doubtful, Style::strong, Style::faint]
            .map(|paint| paint(Style::Coloured, "x"))
            .concat();
        assert_eq!(screened(&painted, Style::Coloured), painted);
        assert_eq!(screened("\u{1b}[8mx\u{1b}", Style::Coloured), "\\u{1b}[8mx\\u{1b}");
        assert!(!screened(&painted, Style::Plain).contains('\u{1b}'));
    }
}
