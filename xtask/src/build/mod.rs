//! Building a program that needs no shared library of others.

mod compiler;
mod platform;
mod program;

pub use compiler::rustc;
pub use platform::Platform;
pub use program::{AGENT, AGGREGATOR, PLUGIN, Program};

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use compiler::Sources;

/// How much the compiler shall do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// For tests: quick to build.
    Dev,
    /// For use.
    #[default]
    Release,
}

/// What a program for use may weigh, in bytes, and so may its image with all that is in it: it is pulled to every node.
const HEAVIEST: usize = 12 << 20;

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

    /// Refuses a program for use, or an image of one, that is too heavy.
    pub fn weigh(self, name: &str, bytes: usize) -> Result<()> {
        ensure!(
            self == Profile::Dev || bytes <= HEAVIEST,
            "{name} has {bytes} bytes, and {HEAVIEST} are the most that one for use may have"
        );
        Ok(())
    }
}

/// Where cargo's files go.
pub fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

/// Builds it, in a directory of its own: other flags would build everything there anew, again and again.
pub fn program(program: Program, root: &Path, platform: Platform, profile: Profile) -> Result<PathBuf> {
    let target = target(root).join("static");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let sources = Sources::find()?;
    let mut build = Command::new(cargo);
    build.args(["build", "--locked", "--quiet", "--package", program.package, "--bin", program.name]);
    // Named, even when it is the machine's own: otherwise the flags would reach procedural macros, which must be shared
    // libraries.
    build.args(["--target", platform.triple, "--target-dir"]).arg(&target);
    build.current_dir(root).env("RUSTFLAGS", flags(root, &target, &sources, platform, profile));
    // What `cargo run` tells of xtask. Build scripts that ask for them (ring's) would find others where xtask is started by
    // itself, and all would be built anew.
    for (variable, _) in std::env::vars_os().filter(|(variable, _)| is_of_our_package(&variable.to_string_lossy())) {
        build.env_remove(variable);
    }
    if let Some((variable, linker)) = platform.linker() {
        build.env(variable, linker);
    }
    match profile {
        Profile::Release => build.arg("--release"),
        // Symbols would make nine tenths of the image.
        Profile::Dev => build.env("CARGO_PROFILE_DEV_DEBUG", "false").env("CARGO_PROFILE_DEV_STRIP", "symbols"),
    };
    let status = build.status().context("starting cargo")?;
    ensure!(status.success(), "{} could not be built for {platform}: {status}{}", program.name, platform.needs());
    let mut built = target.join(platform.triple).join(profile.directory()).join(program.name);
    if platform.os == "windows" {
        built.set_extension("exe");
    }
    if profile == Profile::Release {
        sources.must_not_be_named(&built)?;
    }
    if Some(platform) == Platform::own() {
        // A glibc before 2.36 cannot start a static program with packed relocations.
        let started = Command::new(&built).arg("--help").output();
        ensure!(started.is_ok_and(|said| said.status.success()), "{} does not start", built.display());
    }
    Ok(built)
}

fn is_of_our_package(variable: &str) -> bool {
    ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|beginning| variable.starts_with(beginning))
}

fn flags(root: &Path, target: &Path, sources: &Sources, platform: Platform, profile: Profile) -> String {
    let mut flags = vec![std::env::var("RUSTFLAGS").unwrap_or_default()];
    // There, programs are always linked with the system's own library.
    if platform.os != "darwin" {
        flags.push("-C target-feature=+crt-static".to_owned());
    }
    if profile == Profile::Release {
        if platform.os == "linux" {
            // Relocations a bit each instead of 24 bytes; a linker that does not know them leaves them as they are.
            flags.push("-C link-arg=-Wl,-z,pack-relative-relocs".to_owned());
        }
        // What a panic names; otherwise who builds elsewhere would get another program. Of two that fit, the last holds.
        let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
        let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo")));
        let rust = (Some(&*sources.directory), &*sources.name);
        let places = [(Some(root), "/source"), (Some(target), "/target"), (home.as_deref(), "/cargo"), rust];
        let named = places.into_iter().filter_map(|(place, name)| Some((std::path::absolute(place?).ok()?, name)));
        flags.extend(named.map(|(place, name)| flag_for(&place, name)));
    }
    flags.join(" ").trim().to_owned()
}

/// Has the compiler write a directory by another name.
fn flag_for(place: &Path, name: &str) -> String {
    format!("--remap-path-prefix={}={name}", place.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_byte_too_many_is_refused_in_a_program_for_use() {
        assert!(Profile::Release.weigh("agent", HEAVIEST).is_ok());
        let error = Profile::Release.weigh("agent", HEAVIEST + 1).unwrap_err();
        assert!(error.to_string().contains("agent has 12582913 bytes"), "{error}");
        assert!(Profile::Dev.weigh("agent", HEAVIEST + 1).is_ok());
    }

    #[test]
    fn what_cargo_tells_of_xtask_is_kept_from_other_builds() {
        // Cargo sets them for a test as it does for a run.
        let own: Vec<_> = std::env::vars().map(|(variable, _)| variable).filter(|it| is_of_our_package(it)).collect();
        assert!(
            own.iter().any(|it| it == "CARGO_PKG_NAME") && own.iter().any(|it| it == "CARGO_MANIFEST_DIR"),
            "{own:?}"
        );
        assert!(
            !is_of_our_package("CARGO_HOME") && !is_of_our_package("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER")
        );
    }

    #[test]
    fn a_program_for_use_names_no_directory_of_this_machine() {
        let sources = Sources { directory: "/opt/rust/src".into(), name: "/rustc/1234".to_owned() };
        let flags = |profile| {
            let platform = Platform::linux("arm64").unwrap();
            flags(Path::new("/home/me/it"), Path::new("/home/me/it/target"), &sources, platform, profile)
        };
        for named in ["/home/me/it=/source", "/home/me/it/target=/target", "/opt/rust/src=/rustc/1234"] {
            let flag = format!(" --remap-path-prefix={named}");
            assert!(flags(Profile::Release).contains(&flag), "{flag}");
            assert!(!flags(Profile::Dev).contains(&flag), "{flag}");
        }
    }
}
