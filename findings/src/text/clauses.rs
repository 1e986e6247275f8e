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
    // Go's errors name the cause after the last colon. Where advice follows it, its end is what can be spared.
    if let Some(short) = from_last_colon(&whole, room, GAP, limit) {
        return short;
    }
    let back = fitting(pieces.iter().rev(), room * 2 / 3);
    let taken: usize = pieces.iter().rev().take(back).map(|piece| piece.chars().count()).sum();
    let front = fitting(pieces.iter(), room - taken).min(pieces.len() - back);
    if back == 0 {
        return clean(&whole, limit);
    }
    format!("{}{GAP}{}", pieces[..front].concat(), pieces[pieces.len() - back..].concat())
}

/// What stands before the last colon, or its beginning, and what follows the colon, cut at its end: where that is several
/// sentences, and longer than its share.
fn from_last_colon(whole: &str, room: usize, gap: &str, limit: usize) -> Option<String> {
    let at = whole.rfind(": ")? + 2;
    let (head, last) = whole.split_at(at);
    if last.chars().count() <= room * 2 / 3 || !last.contains(". ") {
        return None;
    }
    let head_room = room / 3;
    if head.chars().count() <= head_room {
        return Some(beginning(whole, limit));
    }
    let front = beginning(head, head_room);
    let front = front.trim_end_matches('…');
    Some(format!("{front}{gap}{}", beginning(last, room - front.chars().count())))
}

/// The words that have room, with what shows that there are more.
fn beginning(text: &str, limit: usize) -> String {
    let words: Vec<&str> = text.split_inclusive(' ').collect();
    let words = words[..fitting(words.iter(), limit.saturating_sub(1))].concat();
    format!("{}…", words.trim_end())
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

    /// libdns, by cert-manager.
    #[test]
    fn advice_after_the_cause_is_cut_first() {
        let text = "Error cleaning up challenge: Found no Zones for domain _acme-challenge.shop.example.com. (neither in the \
            sub-domain nor in the SLD) please make sure your domain-entries in the config are correct and the API key is \
            correctly setup with Zone.read rights.";
        for limit in [120, 160, 200] {
            let short = clean_sentence(text, limit);
            assert!(short.contains("Found no Zones for domain _acme-challenge.shop.example.com"), "{short}");
            assert!(short.chars().count() <= limit, "{short}");
        }
        let deep = clean_sentence(&format!("{}: {text}", "while reconciling the object".repeat(5)), 200);
        assert!(deep.contains("Found no Zones for domain") && deep.chars().count() <= 200, "{deep}");
    }

    #[test]
    fn one_long_word_is_bounded_all_the_same() {
        for text in ["x".repeat(5000), format!("begin {}", "\u{202e}".repeat(900)), "a b ".repeat(4000)] {
            assert!(clean_sentence(&text, 200).chars().count() <= 200);
        }
    }
}
