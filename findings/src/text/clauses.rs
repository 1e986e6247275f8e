//! Sentences that are too long for where they are shown.

use super::clean;

/// Of a sentence that is so many times too long the middle is not looked at.
const MAX_RATIO: usize = 64;

/// Bounds a sentence as [`clean`] does, and cuts it between clauses, else between words: errors put what they were about first
/// and why they failed last, so the end is what is kept of most. What has no spaces is cut in its middle.
pub fn clean_sentence(text: &str, limit: usize) -> String {
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

    /// Printed by a 1.36 API server.
    const CALL: &str = "failed to update namespace default: Internal error occurred: failed calling webhook \
        'namespace.operator.tekton.dev': failed to call webhook: Post \
        'https://tekton-operator-proxy-webhook.openshift-pipelines.svc:443/namespace-validation?timeout=10s': service \
        'tekton-operator-proxy-webhook' not found";

    #[test]
    fn is_cut_between_clauses_and_never_within_a_name() {
        for limit in [100, 120, 160, 200, 240] {
            let short = clean_sentence(CALL, limit);
            assert!(short.chars().count() <= limit, "{short}");
            assert!(short.ends_with("service 'tekton-operator-proxy-webhook' not found"), "{short}");
            for word in short.split(' ').map(|word| word.trim_end_matches('…')).filter(|word| !word.is_empty()) {
                assert!(CALL.split(' ').any(|whole| whole == word), "{word} of {short}");
            }
        }
        assert_eq!(clean_sentence("short", 200), "short");
    }

    #[test]
    fn one_long_word_is_bounded_all_the_same() {
        for text in ["x".repeat(5000), format!("begin {}", "\u{202e}".repeat(900)), "a b ".repeat(4000)] {
            assert!(clean_sentence(&text, 200).chars().count() <= 200);
        }
    }
}
