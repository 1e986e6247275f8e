//! Building a program without shared libraries.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail, ensure};

use super::Program;

/// How much the compiler shall do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// For tests: quick to build.
    Dev,
    /// For use.
    #[default]
    Release,
}

impl Profile {
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "dev" => Some(Profile::Dev),
            "release" => Some(Profile::Release),
            _ => None,
        }
    }

    /// Cargo calls the directory of `dev` otherwise.
    fn directory(self) -> &'static str {
        match self {
            Profile::Dev => "debug",
            Profile::Release => "release",
        }
    }
}

/// Builds it in `target`, a directory of its own: other flags would build everything there anew, again
/// and again.
pub fn program(program: Program, root: &Path, target: &Path, profile: Profile) -> Result<PathBuf> {
    let triple = triple()?;
    let flags = [std::env::var("RUSTFLAGS").unwrap_or_default(), "-C target-feature=+crt-static".to_owned()].join(" ");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build.args(["build", "--quiet", "--package", program.package, "--target", triple, "--target-dir"]).arg(target);
    build.current_dir(root).env("RUSTFLAGS", flags.trim());
    match profile {
        Profile::Release => build.arg("--release"),
        // Symbols would make nine tenths of the image.
        Profile::Dev => build.env("CARGO_PROFILE_DEV_DEBUG", "false").env("CARGO_PROFILE_DEV_STRIP", "symbols"),
    };
    let status = build.status().context("starting cargo")?;
    ensure!(status.success(), "{} could not be built: {status}", program.name);
    Ok(target.join(triple).join(profile.directory()).join(program.name))
}

/// Named, even when it is the machine's own: otherwise the flags would reach procedural macros, which
/// must be shared libraries.
pub fn triple() -> Result<&'static str> {
    match std::env::consts::ARCH {
        "x86_64" => Ok("x86_64-unknown-linux-gnu"),
        "aarch64" => Ok("aarch64-unknown-linux-gnu"),
        other => bail!("no static build is known for {other}; build it yourself and name it with --binary"),
    }
}
