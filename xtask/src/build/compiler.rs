//! The compiler, and what it would say of where Rust's own library lies.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// The compiler that cargo takes.
pub fn rustc() -> Command {
    Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
}

/// The sources of Rust's library, which need not be there (rustup's component `rust-src`). Where they are, what is compiled
/// into a program of that library calls its files by this directory; otherwise by a name that the compiler was built with.
pub struct Sources {
    pub directory: PathBuf,
    /// That name: the same everywhere.
    pub name: String,
}

impl Sources {
    /// Those of the compiler that cargo takes.
    pub fn find() -> Result<Self> {
        Self::of(&[])
    }

    fn of(flags: &[&str]) -> Result<Self> {
        let version = ask(flags, &["--version", "--verbose"])?;
        let told = |key: &str| version.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
        // A distribution's own compiler may be of no commit.
        let commit = told("commit-hash:").filter(|commit| *commit != "unknown").or_else(|| told("release:"));
        let name = format!("/rustc/{}", commit.context("rustc does not tell its version")?);
        let sysroot = ask(flags, &["--print", "sysroot"])?;
        Ok(Sources { directory: Path::new(sysroot.trim()).join("lib/rustlib/src/rust"), name })
    }

    /// Refuses a program that names the directory: somebody else would get another one.
    pub fn must_not_be_named(&self, program: &Path) -> Result<()> {
        let bytes = std::fs::read(program).with_context(|| format!("reading {}", program.display()))?;
        let directory = self.directory.as_os_str().as_encoded_bytes();
        ensure!(
            !bytes.windows(directory.len()).any(|window| window == directory),
            "{} names {}, where this machine's compiler keeps its sources",
            program.display(),
            self.directory.display()
        );
        Ok(())
    }
}

fn ask(flags: &[&str], question: &[&str]) -> Result<String> {
    let asked = rustc().args(flags).args(question).output().context("starting rustc")?;
    ensure!(asked.status.success(), "rustc {}: {}", question.join(" "), String::from_utf8_lossy(&asked.stderr));
    Ok(String::from_utf8(asked.stdout)?)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::build::{Platform, flag_for};

    /// Whose machine code holds functions of Rust's library, and in them the names of its files.
    const PROGRAM: &str = "pub fn less(mut all: std::collections::BTreeMap<String, u8>, key: &str) -> Option<u8> {
        all.remove(key)
    }";

    #[test]
    fn a_program_does_not_tell_whether_the_sources_of_rust_are_installed() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        fs::write(place("program.rs"), PROGRAM).unwrap();
        // The compiler's own directory, with the library for this machine and nothing else.
        let own = ask(&[], &["--print", "sysroot"]).unwrap();
        let library = Path::new("lib/rustlib").join(Platform::own().unwrap().triple);
        fs::create_dir_all(place("lib/rustlib")).unwrap();
        symlink(Path::new(own.trim()).join(&library), place("").join(&library)).unwrap();
        let flags = ["--sysroot", folder.path().to_str().unwrap()];
        let compiled = |more: &[&str]| {
            let output = place("program.o").display().to_string();
            let source = place("program.rs").display().to_string();
            ask(&flags, &[&["-O", "--crate-type=lib", "--emit=obj", "-o", &output, &source], more].concat()).unwrap();
            fs::read(output).unwrap()
        };
        let sources = Sources::of(&flags).unwrap();
        let flag = flag_for(&sources.directory, &sources.name);

        let without = compiled(&[]);
        sources.must_not_be_named(&place("program.o")).unwrap();
        // By this file the compiler knows that the sources are there.
        fs::create_dir_all(sources.directory.join("library/std/src")).unwrap();
        fs::write(sources.directory.join("library/std/src/lib.rs"), "").unwrap();
        compiled(&[]);
        let error = sources.must_not_be_named(&place("program.o")).unwrap_err().to_string();
        assert!(error.contains("lib/rustlib/src/rust"), "{error}");
        assert!(compiled(&[&flag]) == without, "they differ though {flag} was said");
    }
}
