//! What is linked into a program beside crates: the languages' own libraries.

use anyhow::{Context, Result, ensure};

use crate::build::rustc;

/// Those of one program.
#[derive(Debug, PartialEq, Eq)]
pub struct Runtime {
    /// The compiler, with which its standard library comes.
    pub rust: String,
    /// The GNU C Library, by the version it tells of itself; nothing where the program holds another, or none.
    pub glibc: Option<String>,
    /// Whether it holds the runtime of mingw-w64, which tells no version.
    pub mingw: bool,
}

/// What glibc writes into every program that it is linked into (its `version.c`).
const BANNER: &[u8] = b"GNU C Library (";
const VERSION: &str = "release version ";
/// What mingw-w64 writes into every program (its `pseudo-reloc.c`).
const MINGW: &[u8] = b"Mingw-w64 runtime failure:";

impl Runtime {
    /// What this program says of itself, whoever built it.
    pub fn of(program: &[u8]) -> Result<Self> {
        let asked = rustc().arg("--version").output().context("starting rustc")?;
        ensure!(asked.status.success(), "rustc does not tell its version");
        let rust = String::from_utf8(asked.stdout)?.trim().to_owned();
        Ok(Runtime { rust, glibc: glibc(program), mingw: find(program, MINGW).is_some() })
    }

    /// As a bill of materials has it: `1.95.0`.
    pub fn rust_version(&self) -> &str {
        self.rust.split(' ').nth(1).unwrap_or_default()
    }
}

fn glibc(program: &[u8]) -> Option<String> {
    let line = program
        .get(find(program, BANNER)?..)?
        .iter()
        .take(200)
        .take_while(|byte| byte.is_ascii_graphic() || **byte == b' ');
    let line: String = line.map(|byte| char::from(*byte)).collect();
    Some(line.split_once(VERSION)?.1.trim_end_matches('.').to_owned())
}

fn find(program: &[u8], words: &[u8]) -> Option<usize> {
    program.windows(words.len()).position(|window| window == words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn glibc_is_told_by_its_own_words() {
        let program = b"\x7fELF\0GNU C Library (Debian GLIBC 2.36-9+deb12u14) stable release version 2.36.\nCopyright";
        assert_eq!(glibc(program).as_deref(), Some("2.36"));
        assert_eq!(glibc(b"\x7fELF\0musl libc"), None);
    }

    #[test]
    fn the_compiler_is_asked() {
        let runtime = Runtime::of(b"").unwrap();
        assert!(runtime.rust.starts_with("rustc ") && runtime.rust_version().starts_with("1."), "{runtime:?}");
        assert_eq!((runtime.glibc, runtime.mingw), (None, false));
        assert!(Runtime::of(b"MZ\0Mingw-w64 runtime failure:\n\0").unwrap().mingw);
    }
}
