//! `xtask release`: every program for every platform that is asked for, put together by `deploy/release.sh`.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::bill::Bill;
use crate::build::{self, AGENT, AGGREGATOR, PLUGIN, Platform, Profile};
use crate::image;

pub const USAGE: &str = "xtask release [--platforms linux-amd64,linux-arm64,windows-amd64,…] [--output DIRECTORY]";

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    platforms: Vec<Platform>,
    output: Option<PathBuf>,
}

/// Builds all of it: the plugin for each platform, and for those that are Linux the images too.
pub fn run(root: &Path, arguments: &[&str]) -> Result<()> {
    let options = parse(arguments)?;
    let target = build::target(root);
    let mut together = Command::new("sh");
    together.arg(root.join("deploy/release.sh")).arg(options.output.unwrap_or_else(|| target.join("release-files")));
    let linux: Vec<Platform> = options.platforms.iter().copied().filter(|platform| platform.os == "linux").collect();
    for platform in options.platforms {
        let file = build::program(PLUGIN, root, platform, Profile::Release)?;
        describe(root, platform, &file)?;
        together.arg(format!("{platform}={}", file.display()));
    }
    together.arg("--");
    for program in [AGENT, AGGREGATOR, PLUGIN].into_iter().filter(|_| !linux.is_empty()) {
        let built = linux.iter().map(|platform| build::program(program, root, *platform, Profile::Release));
        let archive = target.join(format!("{}.oci.tar", program.name));
        println!("{}", image::write(root, program, Profile::Release, &built.collect::<Result<Vec<_>>>()?, &archive)?);
        together.arg(archive);
    }
    ensure!(together.status().context("starting sh")?.success(), "deploy/release.sh failed");
    Ok(())
}

/// Puts beside a plugin what its archive says of it.
fn describe(root: &Path, platform: Platform, file: &Path) -> Result<()> {
    let bytes = std::fs::read(file).with_context(|| format!("reading {}", file.display()))?;
    Profile::Release.weigh(&format!("{} for {platform}", PLUGIN.name), bytes.len())?;
    let bill = Bill::of(root, PLUGIN, platform, &bytes)?;
    let write = |name: &str, content: &[u8]| {
        let beside = file.with_file_name(name);
        std::fs::write(&beside, content).with_context(|| format!("writing {}", beside.display()))
    };
    write("licenses.txt", bill.notices.as_bytes())?;
    write("sbom.cdx.json", &bill.materials)
}

fn parse(arguments: &[&str]) -> Result<Options> {
    let mut options = Options { platforms: Platform::own().into_iter().collect(), output: None };
    let mut words = arguments.iter();
    while let Some(flag) = words.next() {
        let value = *words.next().context(USAGE)?;
        match *flag {
            "--platforms" => {
                options.platforms = value.split(',').map(Platform::parse).collect::<Option<_>>().context(USAGE)?;
            }
            "--output" => options.output = Some(value.into()),
            _ => bail!(USAGE),
        }
    }
    ensure!(!options.platforms.is_empty(), "name the platforms to release for: {USAGE}");
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn platforms_are_named_as_go_names_them() {
        let options = parse(&["--platforms", "linux-arm64,windows-amd64", "--output", "o"]).unwrap();
        let platforms: Vec<&str> = options.platforms.iter().map(|platform| platform.triple).collect();
        assert_eq!(platforms, ["aarch64-unknown-linux-gnu", "x86_64-pc-windows-gnu"]);
        assert!(parse(&["--platforms", "linux/arm64"]).is_err() && parse(&["--platforms"]).is_err());
    }
}
