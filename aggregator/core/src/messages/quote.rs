//! A sentence between quotes, short enough to stand in an answer.

use findings::clean_sentence;

use super::Message;

/// The sentence, between quotes that it cannot end by itself. A line break ends a clause.
pub fn quote(message: &Message, limit: usize) -> String {
    let lines = message.0.split(['\n', '\r']).flat_map(|line| line.split("\\n")).map(str::trim);
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    format!("\"{}\"", clean_sentence(&lines.join("; ").replace('"', "'"), limit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_break_ends_a_clause_and_no_quote_ends_early() {
        assert_eq!(quote(&"2 errors:\n* a \"b\"\\n* c".into(), 200), "\"2 errors:; * a 'b'; * c\"");
        assert_eq!(quote(&"short".into(), 200), "\"short\"");
    }
}
