//! Whether the page is readable with low vision: the contrast that WCAG 2.2 asks for (1.4.3 of text, 1.4.11 of what has a
//! border).

use std::collections::BTreeMap;

const STYLE: &str = include_str!("assets/style.css");

/// Of sRGB, as WCAG defines it.
fn luminance(colour: &str) -> f64 {
    let part = |at: usize| {
        let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
        if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
}

fn contrast(one: &str, other: &str) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

/// The light and the dark colour of each name.
fn colours() -> BTreeMap<&'static str, [&'static str; 2]> {
    let named = STYLE.lines().filter_map(|line| line.trim().strip_prefix("--")?.split_once(": light-dark("));
    let both = named.map(|(name, colours)| {
        let (light, dark) = colours.trim_end_matches(");").split_once(", ").unwrap();
        (name, [light, dark])
    });
    both.collect()
}

#[test]
fn black_on_white_is_as_the_standard_says() {
    assert!((contrast("#000000", "#ffffff") - 21.0).abs() < 0.01);
    assert!((contrast("#777777", "#ffffff") - 4.48).abs() < 0.01);
}

#[test]
fn everybody_can_read_it_in_both_lights() {
    let colours = colours();
    for light in [0, 1] {
        for ground in ["ground", "raised"] {
            for text in ["text", "soft", "bad", "warn", "good", "link"] {
                let ratio = contrast(colours[text][light], colours[ground][light]);
                assert!(ratio >= 4.5, "{text} on {ground}: {ratio:.2}");
            }
            let ratio = contrast(colours["line"][light], colours[ground][light]);
            assert!(ratio >= 3.0, "a border on {ground}: {ratio:.2}");
        }
    }
}

/// Else a colour could stand beside those that are looked at.
#[test]
fn every_colour_has_a_name() {
    let rules = STYLE.split_once('}').unwrap().1;
    let is_colour = |word: &str| word.starts_with('#') && word[1..].chars().all(|c| c.is_ascii_hexdigit());
    let values = rules.split(['{', '}', ';']).filter_map(|rule| rule.split_once(": ")).map(|(_, value)| value);
    let words: Vec<&str> = values.flat_map(str::split_whitespace).filter(|word| is_colour(word)).collect();
    assert_eq!(words, [""; 0]);
    for function in ["rgb(", "hsl(", "oklch(", "opacity"] {
        assert!(!rules.contains(function), "{function}");
    }
}
