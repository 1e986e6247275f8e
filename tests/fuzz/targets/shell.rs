//! Any word, quoted for a command: sh and fish read it back as it was.
// Fuzzes: findings/src/text/shell.rs
#![no_main]

use std::{iter::Peekable, str::Chars};

use findings::quote_for_shell;

libfuzzer_sys::fuzz_target!(|word: &str| {
    let Some(quoted) = quote_for_shell(word) else { return };
    for shell in [Shell::Posix, Shell::Fish] {
        assert_eq!(read(&quoted, shell).as_deref(), Some(word), "{shell:?} reads {quoted}");
    }
});

#[derive(Clone, Copy, Debug, PartialEq)]
enum Shell {
    Posix,
    Fish,
}

/// What the shell takes it for; none when it would be more than a plain word.
fn read(quoted: &str, shell: Shell) -> Option<String> {
    let mut word = String::new();
    let mut rest = quoted.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\'' => in_quotes(&mut rest, shell, &mut word)?,
            // Before a letter it means something to fish.
            '\\' => word.push(rest.next().filter(|c| matches!(c, '\'' | '\\'))?),
            c if c.is_ascii_alphanumeric() || "/._-+:,@".contains(c) => word.push(c),
            _ => return None,
        }
    }
    Some(word)
}

fn in_quotes(rest: &mut Peekable<Chars>, shell: Shell, word: &mut String) -> Option<()> {
    loop {
        match rest.next()? {
            '\'' => return Some(()),
            '\\' if shell == Shell::Fish && matches!(rest.peek(), Some('\'' | '\\')) => word.push(rest.next()?),
            c => word.push(c),
        }
    }
}
