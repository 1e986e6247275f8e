//! A sentence between quotes, short enough to stand in an answer.

use findings::clean;

use super::Message;

/// The sentence, between quotes that it cannot end by itself. One that is too long is cut between clauses, else between
/// words: errors put what they were about first and why they failed last, so the end is what is kept of most.
pub fn quote(message: &Message, limit: usize) -> String {
    let lines: Vec<&str> = message
        .0
        .split(['\n', '\r'])
        .flat_map(|line| line.split("\\n"))
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    format!("\"{}\"", shorten(&lines.join("; ").replace('"', "'"), limit))
}

/// Of a sentence that is so many times too long the middle is not looked at.
const MAX_RATIO: usize = 64;

fn shorten(text: &str, limit: usize) -> String {
    const GAP: &str = "… ";
    let whole = clean(text, limit.saturating_mul(MAX_RATIO));
    if whole.chars().count() <= limit {
        return whole;
    }
    let is_long = |clause: &&str| clause.chars().count() > limit / 3;
    let pieces: Vec<&str> = clauses(&whole)
        .into_iter()
        .flat_map(|clause| if is_long(&clause) { clause.split_inclusive(' ').collect() } else { vec![clause] })
        .collect();
    let room = limit.saturating_sub(GAP.chars().count());
    let back = fitting(pieces.iter().rev(), room * 2 / 3);
    let taken: usize = pieces.iter().rev().take(back).map(|piece| piece.chars().count()).sum();
    let front = fitting(pieces.iter(), room - taken).min(pieces.len() - back);
    if back == 0 {
        return clean(&whole, limit);
    }
    format!("{}{GAP}{}", pieces[..front].concat(), pieces[pieces.len() - back..].concat())
}

/// How many pieces have room.
fn fitting<'p>(pieces: impl Iterator<Item = &'p &'p str>, room: usize) -> usize {
    let mut left = room;
    pieces
        .take_while(|piece| {
            let next = left.checked_sub(piece.chars().count());
            left = next.unwrap_or(0);
            next.is_some()
        })
        .count()
}

/// Parts of a sentence, each with the mark and the space that end it.
fn clauses(text: &str) -> Vec<&str> {
    let ends =
        text.match_indices(' ').map(|(at, _)| at + 1).filter(|end| text[..end - 1].ends_with([':', ';', ',', '.']));
    let mut from = 0;
    let mut found: Vec<&str> = ends.map(|end| &text[std::mem::replace(&mut from, end)..end]).collect();
    found.push(&text[from..]);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str, limit: usize) -> String {
        quote(&text.into(), limit)
    }

    /// Printed by a 1.36 API server.
    const CALL: &str = "Failed to finalize platform resources failed to update namespace default: Internal error occurred: failed \
        calling webhook \"namespace.operator.tekton.dev\": failed to call webhook: Post \
        \"https://tekton-operator-proxy-webhook.openshift-pipelines.svc:443/namespace-validation?timeout=10s\": service \
        \"tekton-operator-proxy-webhook\" not found";

    #[test]
    fn is_cut_between_clauses_and_never_within_a_name() {
        for limit in [100, 120, 160, 200, 240] {
            let short = cut(CALL, limit);
            assert!(short.chars().count() <= limit + 2, "{short}");
            assert!(short.ends_with("service 'tekton-operator-proxy-webhook' not found\""), "{short}");
            for word in short.trim_matches('"').split(' ') {
                let bare = word.trim_end_matches('…');
                assert!(
                    bare.is_empty() || CALL.replace('"', "'").split(' ').any(|whole| whole == bare),
                    "{word} of {short}"
                );
            }
        }
    }

    #[test]
    fn a_line_break_ends_a_clause_and_no_quote_ends_early() {
        assert_eq!(cut("2 errors:\n* a \"b\"\\n* c", 200), "\"2 errors:; * a 'b'; * c\"");
        assert_eq!(cut("short", 200), "\"short\"");
    }

    #[test]
    fn one_long_word_is_bounded_all_the_same() {
        assert!(cut(&"x".repeat(5000), 200).chars().count() <= 202);
        assert!(cut(&format!("begin {}", "\u{202e}".repeat(900)), 200).chars().count() <= 202);
    }
}
