//! Which characters a reader sees as what they are.

/// Whether it is drawn, and changes nothing but itself. Control and format characters, overrides of the
/// direction, spaces that are not U+0020, tags, what has no meaning or a private one: none of them is.
/// Accents and vowel signs, which change the letter before them, are.
pub fn is_visible(c: char) -> bool {
    match c {
        ' '..='~' => true,
        c if is_drawn_as_nothing(c) => false,
        // Where there were bytes that were no text.
        '\u{fffd}' => false,
        c => is_printable(c),
    }
}

/// As the standard library knows it, with tables of the Unicode that it was made for.
fn is_printable(c: char) -> bool {
    // As the first character of a text, accents would be escaped too.
    let text: String = ['x', c].into_iter().collect();
    text.escape_debug().nth(1) == Some(c)
}

/// Letters, marks and symbols to Unicode, so the standard library prints them: fillers, joiners,
/// selectors of a variant, the empty Braille pattern.
fn is_drawn_as_nothing(c: char) -> bool {
    matches!(
        c,
        '\u{34f}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{ffa0}'
            | '\u{e0100}'..='\u{e01ef}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use regex::Regex;

    /// The properties are Unicode's own, from another table than the one that is tested.
    #[test]
    fn nothing_hidden_is_visible() {
        let hidden = r"[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}\p{Zs}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}--\x20]";
        let hidden = Regex::new(hidden).unwrap();
        let seen: Vec<_> =
            ('\0'..=char::MAX).filter(|c| is_visible(*c) && hidden.is_match(c.encode_utf8(&mut [0; 4]))).collect();
        assert!(seen.is_empty(), "{seen:x?}");
        for c in
            ['\u{61c}', '\u{ad}', '\u{2028}', '\u{206a}', '\u{206f}', '\u{180e}', '\u{e0041}', '\u{fe0f}', '\u{a0}']
        {
            assert!(!is_visible(c), "{:x}", u32::from(c));
        }
    }

    #[test]
    fn people_can_write_their_names() {
        for text in ["München", "Mu\u{308}nchen", "東京", "हिन्दी", "ภาษาไทย", "עברית", "العربية", "→ … └─ ✓", "🚀"]
        {
            assert!(text.chars().all(is_visible), "{text}");
        }
    }
}
