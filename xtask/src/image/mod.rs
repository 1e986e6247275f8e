//! `xtask image`: the container images, made without a container engine.
//!
//! An image is one static binary, the licences of what it is made of, and its bill of materials. The same binary of the
//! same sources gives the same bytes: no clock, no user and no machine name goes into it.

mod binary;
mod layer;
mod layout;
mod name;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use crate::bill::Bill;
use crate::build::{self, AGENT, Platform, Profile, Program};
use binary::Binary;
use layer::File;
use layout::Variant;
use name::Name;

pub const USAGE: &str = "xtask image [--program agent|aggregator|plugin] [--arch amd64,arm64] [--profile dev|release] \
    [--binary FILE]... [--output FILE]";

pub const BILL_USAGE: &str = "xtask bill agent|aggregator|plugin BINARY FOLDER";

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    program: Program,
    profile: Profile,
    /// To be built, unless there are binaries.
    platforms: Vec<Platform>,
    binaries: Vec<PathBuf>,
    output: Option<PathBuf>,
}

/// Builds the image and says where it is.
pub fn run(root: &Path, arguments: &[&str]) -> Result<()> {
    let Options { program, profile, platforms, mut binaries, output } = parse(arguments)?;
    if binaries.is_empty() {
        for platform in platforms {
            binaries.push(build::program(program, root, platform, profile)?);
        }
    }
    let output = output.unwrap_or_else(|| build::target(root).join(format!("{}.oci.tar", program.name)));
    println!("{}", write(root, program, profile, &binaries, &output)?);
    Ok(())
}

/// Writes the image of a program, one variant for each binary of it, and tells its name and size.
pub fn write(root: &Path, program: Program, profile: Profile, binaries: &[PathBuf], output: &Path) -> Result<String> {
    let mut variants = Vec::new();
    for file in binaries {
        let binary = Binary::read(file)?;
        profile.weigh(&format!("{} for {}", program.name, binary.architecture), binary.bytes.len())?;
        let is_second = variants.iter().any(|variant: &Variant| variant.architecture == binary.architecture);
        ensure!(!is_second, "{}: a second one for {}", file.display(), binary.architecture);
        let architecture = binary.architecture;
        let files = files(root, program, binary)?;
        let bytes = files.iter().map(|file| file.content.len()).sum();
        profile.weigh(&format!("the image of {} for {architecture}", program.name), bytes)?;
        variants.push(Variant { architecture, files });
    }
    let name = Name::of(root, program)?;
    layout::write(output, program, &name, &variants)?;
    Ok(format!("{} ({}, {} KiB)", output.display(), name.reference(), std::fs::metadata(output)?.len() / 1024))
}

/// Writes what lies beside a program in its image; for who makes the image with something else.
pub fn write_bill(root: &Path, program: &str, binary: &Path, folder: &Path) -> Result<()> {
    let program = Program::parse(program).context(BILL_USAGE)?;
    std::fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    for file in files(root, program, Binary::read(binary)?)?.iter().filter(|file| file.name != program.name) {
        let path = folder.join(file.name);
        std::fs::write(&path, &file.content).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}

/// What is in the image.
fn files(root: &Path, program: Program, binary: Binary) -> Result<Vec<File>> {
    let platform = Platform::linux(binary.architecture).context("for no Linux that is known")?;
    let bill = Bill::of(root, program, platform, &binary.bytes)?;
    Ok(vec![
        File { name: program.name, content: binary.bytes, mode: 0o755 },
        File { name: "licenses.txt", content: bill.notices.into_bytes(), mode: 0o644 },
        File { name: "sbom.cdx.json", content: bill.materials, mode: 0o644 },
    ])
}

fn parse(arguments: &[&str]) -> Result<Options> {
    let own = Platform::own().into_iter().collect();
    let mut options =
        Options { program: AGENT, profile: Profile::default(), platforms: own, binaries: Vec::new(), output: None };
    let mut words = arguments.iter();
    while let Some(flag) = words.next() {
        let value = *words.next().context(USAGE)?;
        match *flag {
            "--program" => options.program = Program::parse(value).context(USAGE)?,
            "--arch" => {
                options.platforms = value.split(',').map(Platform::linux).collect::<Option<_>>().context(USAGE)?
            }
            "--profile" => options.profile = Profile::parse(value).context(USAGE)?,
            "--binary" => options.binaries.push(value.into()),
            "--output" => options.output = Some(value.into()),
            _ => bail!(USAGE),
        }
    }
    if options.platforms.is_empty() && options.binaries.is_empty() {
        bail!("no static build is known for {}; name a binary with --binary", std::env::consts::ARCH);
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_in_any_order() {
        let options = parse(&["--output", "o", "--profile", "dev", "--arch", "amd64,arm64"]).unwrap();
        assert_eq!((options.program, options.profile, options.output), (AGENT, Profile::Dev, Some("o".into())));
        let platforms: Vec<String> = options.platforms.iter().map(ToString::to_string).collect();
        assert_eq!(platforms, ["linux-amd64", "linux-arm64"]);
        for wrong in [["--profile", "fast"], ["--arch", "amd64,"], ["--program", "page"]] {
            assert!(parse(&wrong).is_err(), "{wrong:?}");
        }
        assert!(parse(&["--binary"]).is_err());
    }
}
