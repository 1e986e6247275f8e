//! What a program can be built for.

use std::path::Path;
use std::process::Command;

use super::rustc;

/// An operating system and a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Platform {
    /// As Go, and so OCI and krew, name the system.
    pub os: &'static str,
    /// As they name the machine.
    pub architecture: &'static str,
    /// As Rust names both.
    pub triple: &'static str,
    /// What links for it on another machine, where the compiler does not know; and the package that has it in Debian.
    linker: Option<(&'static str, &'static str)>,
}

const ALL: [Platform; 6] = [
    Platform {
        os: "linux",
        architecture: "amd64",
        triple: "x86_64-unknown-linux-gnu",
        linker: Some(("x86_64-linux-gnu-gcc", "gcc-x86-64-linux-gnu")),
    },
    Platform {
        os: "linux",
        architecture: "arm64",
        triple: "aarch64-unknown-linux-gnu",
        linker: Some(("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu")),
    },
    Platform {
        os: "windows",
        architecture: "amd64",
        triple: "x86_64-pc-windows-gnu",
        linker: Some(("x86_64-w64-mingw32-gcc", "gcc-mingw-w64-x86-64")),
    },
    Platform { os: "windows", architecture: "arm64", triple: "aarch64-pc-windows-gnullvm", linker: None },
    Platform { os: "darwin", architecture: "amd64", triple: "x86_64-apple-darwin", linker: None },
    Platform { os: "darwin", architecture: "arm64", triple: "aarch64-apple-darwin", linker: None },
];

impl Platform {
    /// The one that is meant by `linux-arm64`.
    pub fn parse(word: &str) -> Option<Self> {
        ALL.into_iter().find(|platform| platform.to_string() == word)
    }

    /// A Linux, by its machine alone: what images are for.
    pub fn linux(architecture: &str) -> Option<Self> {
        Self::parse(&format!("linux-{architecture}"))
    }

    /// Where this runs.
    pub fn own() -> Option<Self> {
        let starts = |platform: &Platform| platform.triple.starts_with(std::env::consts::ARCH);
        ALL.into_iter().find(|platform| platform.os == "linux" && starts(platform))
    }

    /// Its variable of cargo, with the linker, unless somebody has set it or cargo needs none.
    pub fn linker(self) -> Option<(String, &'static str)> {
        let (program, _) = self.linker.filter(|_| Some(self) != Self::own())?;
        let variable = self.variable();
        std::env::var_os(&variable).is_none().then_some((variable, program))
    }

    fn variable(self) -> String {
        format!("CARGO_TARGET_{}_LINKER", self.triple.to_uppercase().replace('-', "_"))
    }

    /// What a build for it asks of this machine, to be told when one has failed.
    pub fn needs(self) -> String {
        let mut needs = Vec::new();
        if !has_library(self.triple) {
            needs.push(format!("Rust's library for it (rustup target add {})", self.triple));
        }
        if let (Some((_, program)), Some((_, package))) = (self.linker(), self.linker)
            && Command::new(program).arg("--version").output().is_err()
        {
            needs.push(format!("{program} (Debian: {package}), or another linker in {}", self.variable()));
        }
        if needs.is_empty() { String::new() } else { format!("; this machine lacks {}", needs.join(" and ")) }
    }
}

/// Without it, cargo can only build it too (`-Z build-std`).
fn has_library(triple: &str) -> bool {
    let asked = rustc().args(["--print", "target-libdir", "--target", triple]).output();
    asked.is_ok_and(|answer| Path::new(String::from_utf8_lossy(&answer.stdout).trim()).is_dir())
}

impl std::fmt::Display for Platform {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.os, self.architecture)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_found_by_its_word() {
        assert_eq!(Platform::parse("linux-arm64").unwrap().triple, "aarch64-unknown-linux-gnu");
        assert_eq!(Platform::linux("amd64").unwrap().triple, "x86_64-unknown-linux-gnu");
        assert!(Platform::parse("arm64").is_none() && Platform::linux("riscv64").is_none());
        assert!(ALL.into_iter().all(|platform| Platform::parse(&platform.to_string()) == Some(platform)));
    }

    #[test]
    fn what_a_build_lacks_is_told_with_how_to_get_it() {
        let nowhere =
            Platform { os: "linux", architecture: "none", triple: "nowhere", linker: Some(("no-cc", "gcc-no")) };
        let needs = nowhere.needs();
        assert!(needs.contains("rustup target add nowhere") && needs.contains("Debian: gcc-no"), "{needs}");
        assert_eq!(Platform::own().unwrap().needs(), "");
    }
}
