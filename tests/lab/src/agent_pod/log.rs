//! Container logs in the form of the CRI: `<time> <stream> <F or P> <text>`, `P` for a line that goes on.

/// What was written to one of the streams.
pub fn stream(log: &str, name: &str) -> String {
    let mut text = String::new();
    for line in log.lines() {
        let mut words = line.splitn(4, ' ').skip(1);
        if words.next() != Some(name) {
            continue;
        }
        let whole = words.next() == Some("F");
        text.push_str(words.next().unwrap_or_default());
        if whole {
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn puts_long_lines_together() {
        let log = "t stdout P {\"a\":\nt stderr F no\nt stdout F  1}\nt stdout F \n";
        assert_eq!(stream(log, "stdout"), "{\"a\": 1}\n\n");
        assert_eq!(stream(log, "stderr"), "no\n");
    }
}
