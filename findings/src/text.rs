//! Making text from elsewhere safe to show, and numbers easy to read.

mod clauses;
mod shell;
mod visible;

pub use clauses::clean_sentence;
pub use shell::quote_for_shell;
pub use visible::is_visible;

/// Bounds `text` to `limit` characters and replaces what could steer a terminal, an event or a
/// page, or makes it look other than it is: whatever is not [visible](is_visible).
///
/// Process names, paths, volume names and API strings are untrusted; all of them pass through here before they are shown.
/// The middle is cut, because both ends of a path are informative.
pub fn clean(text: &str, limit: usize) -> String {
    // Nearly everything is short and plain.
    if text.len() <= limit && text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.to_owned();
    }
    // From both ends, and no further than what is shown: however long it is, it costs no more.
    let mut front = Vec::new();
    if text.chars().all(|c| {
        show(c, &mut front);
        front.len() <= limit
    }) {
        return front.into_iter().collect();
    }
    let keep = limit.saturating_sub(1);
    let head = keep / 2;
    let tail = keep - head;
    let mut back = Vec::new();
    for c in text.chars().rev().take(tail) {
        let before = back.len();
        show(c, &mut back);
        back[before..].reverse();
    }
    back.truncate(tail);
    front[..head].iter().chain(&['…']).chain(back.iter().rev()).collect()
}

fn show(c: char, to: &mut Vec<char>) {
    match c {
        '\n' => to.extend("\\n".chars()),
        '\t' => to.extend("\\t".chars()),
        c if is_visible(c) => to.push(c),
        c => to.extend(c.escape_unicode()),
    }
}

/// A duration with its two largest units: `2d4h`, `35m`, `12s`.
pub fn duration(seconds: u64) -> String {
    let (d, h, m, s) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
    let two = |a: u64, x: char, b: u64, y: char| if b == 0 { format!("{a}{x}") } else { format!("{a}{x}{b}{y}") };
    match (d, h, m) {
        (1.., _, _) => two(d, 'd', h, 'h'),
        (0, 1.., _) => two(h, 'h', m, 'm'),
        (0, 0, 1..) => two(m, 'm', s, 's'),
        (0, 0, 0) => format!("{s}s"),
    }
}

/// Some names, and how many more there are.
pub fn some(names: &[impl AsRef<str>], most: usize) -> String {
    let shown = names.iter().take(most).map(AsRef::as_ref).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(most) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_what_could_steer_a_terminal() {
        assert_eq!(clean("a\u{1b}[31mb\nc", 99), "a\\u{1b}[31mb\\nc");
        assert_eq!(clean("\u{202e}exe", 99), "\\u{202e}exe");
        assert_eq!(clean("a\u{e0041}b", 99), "a\\u{e0041}b");
    }

    #[test]
    fn cuts_the_middle() {
        assert_eq!(clean("abcdefghij", 5), "ab…ij");
        assert_eq!(clean("abcde", 5), "abcde");
        assert_eq!(clean("\u{1b}abcdefgh\n", 5), "\\u…\\n");
        assert_eq!(clean("ab", 1), "…");
    }

    #[test]
    fn stops_at_the_bound() {
        let long = "\u{1b}".repeat(100 << 20);
        let before = std::time::Instant::now();
        assert_eq!(clean(&long, 9), "\\u{1…{1b}");
        assert!(before.elapsed() < std::time::Duration::from_millis(100), "{:?}", before.elapsed());
    }

    #[test]
    fn names_two_units() {
        assert_eq!(duration(2 * 86_400 + 4 * 3_600 + 5), "2d4h");
        assert_eq!(duration(60), "1m");
        assert_eq!(duration(7), "7s");
    }
}
