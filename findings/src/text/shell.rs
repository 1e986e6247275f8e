//! Words of commands that people paste.

use super::is_visible;

/// Quotes one word so that sh, bash and fish read it alike: within single quotes fish takes `\\` and `\'`
/// for one character, so a backslash stands outside of them, as a single quote does.
///
/// `None` for a word with characters that cannot be shown as they are: `$'…'` would be needed, which
/// not every shell knows, and a command that looks other than it is must not be printed.
pub fn quote_for_shell(word: &str) -> Option<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:,@".contains(c);
    if !word.chars().all(is_visible) {
        return None;
    }
    if !word.is_empty() && word.chars().all(is_plain) {
        return Some(word.to_owned());
    }
    let mut quoted = String::with_capacity(word.len() + 8);
    quoted.push('\'');
    for c in word.chars() {
        match c {
            '\'' | '\\' => quoted.extend(['\'', '\\', c, '\'']),
            c => quoted.push(c),
        }
    }
    quoted.push('\'');
    Some(quoted)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::{collection::vec, prelude::*, strategy::ValueTree, test_runner::TestRunner};

    use super::*;

    #[test]
    fn a_plain_word_stays_as_it_is() {
        let quoted = |word: &str| quote_for_shell(word).unwrap();
        assert_eq!(quoted("/var/lib/kubelet"), "/var/lib/kubelet");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(r"run-user\x2d1"), r"'run-user'\\'x2d1'");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("~root"), "'~root'");
        assert_eq!(quoted("$(reboot)"), "'$(reboot)'");
        assert_eq!(quote_for_shell("a\nb"), None);
        assert_eq!(quote_for_shell("a\u{202e}b"), None);
    }

    /// Words that mean something to some shell, each beside each, and random ones.
    fn words() -> Vec<String> {
        let nasty = [
            "\\", "'", "\\'", "'\\", "\\\\", "\"", "$(reboot)", "`reboot`", "$HOME", "${IFS}", "!!", "!$", "^a^b",
            "%self", "~", "~root", "=ls", "a=b", "*", "?", "[a]", "{a,b}", "#", ";", "&", "|", "<(ls)", ">x", "(", ")",
            " ", "-n", "\\x41", "\\n", "\\0", "%s", "ü", "",
        ];
        let mut words: Vec<String> = nasty.map(str::to_owned).into();
        words.extend(nasty.iter().flat_map(|a| nasty.map(|b| format!("{a}{b}"))));
        let mut random = TestRunner::deterministic();
        let letters = prop::sample::select(r#"\'"$`!^%~=*?[]{}#;&|<>() -ax0é"#.chars().collect::<Vec<_>>());
        let word = vec(letters, 0..12).prop_map(String::from_iter);
        words.extend((0..2000).map(|_| word.new_tree(&mut random).unwrap().current()));
        words
    }

    #[test]
    fn every_shell_reads_the_word_that_was_meant() {
        let words = words();
        let quoted: Vec<String> = words.iter().map(|word| quote_for_shell(word).unwrap()).collect();
        // Not the shells' own: each has another opinion on `-n`.
        let script = format!("/usr/bin/printf '%s\\0' {}", quoted.join(" "));
        let file = std::env::temp_dir().join(format!("why-terminating-words-{}", std::process::id()));
        std::fs::write(&file, script).unwrap();
        for shell in ["sh", "dash", "bash", "fish"] {
            let output = Command::new(shell).arg(&file).output();
            let output = output.unwrap_or_else(|error| panic!("{shell}: {error}; tests/packages.sh installs it"));
            assert!(output.status.success(), "{shell}: {}", String::from_utf8_lossy(&output.stderr));
            let output = String::from_utf8(output.stdout).unwrap();
            let read: Vec<&str> = output.strip_suffix('\0').unwrap().split('\0').collect();
            for (word, read) in words.iter().zip(&read) {
                assert_eq!(word, read, "{shell}");
            }
            assert_eq!(read.len(), words.len(), "{shell}");
        }
        std::fs::remove_file(file).unwrap();
    }
}
