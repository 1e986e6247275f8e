//! `xtask image`: the container images, made without a container engine.
//!
//! An image is one static binary, the licences of what it is made of, and its bill of materials. The same binary of the
//! same sources gives the same bytes: no clock, no user and no machine name goes into it.

mod binary;
mod build;
mod components;
mod layer;
mod layout;
mod notices;
mod program;
mod sbom;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use binary::Binary;
use layer::File;
use program::{AGENT, Program};

const USAGE: &str =
    "usage: xtask image [--program agent|aggregator] [--profile dev|release] [--binary FILE] [--output FILE]";

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    program: Program,
    profile: build::Profile,
    binary: Option<PathBuf>,
    output: Option<PathBuf>,
}

/// Builds the image and says where it is.
pub fn run(root: &Path, arguments: &[&str]) -> Result<()> {
    let options = parse(arguments)?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let program = options.program;
    let file = match options.binary {
        Some(file) => file,
        None => build::program(program, root, &target.join("static"), options.profile)?,
    };
    let binary = Binary::read(&file)?;
    let output = options.output.unwrap_or_else(|| target.join(format!("{}.oci.tar", program.name)));
    let name = Name::of_deployment(root, program)?;
    layout::write(&output, program, &name, binary.architecture, &files(root, program, binary.bytes)?)?;
    println!("{} ({name}, {} KiB)", output.display(), std::fs::metadata(&output)?.len() / 1024);
    Ok(())
}

/// What is in the image.
fn files(root: &Path, program: Program, binary: Vec<u8>) -> Result<Vec<File>> {
    let components = components::of(root, program.package, build::triple()?)?;
    let libc = libc()?;
    let own = std::fs::read_to_string(root.join("LICENSE")).context("reading LICENSE")?;
    let notices = notices::text(program, &own, &libc, &components)?;
    let bill = serde_json::to_vec(&sbom::document(program, &libc, &components))?;
    Ok(vec![
        File { name: program.name, content: binary, mode: 0o755 },
        File { name: "licenses.txt", content: notices.into_bytes(), mode: 0o644 },
        File { name: "sbom.cdx.json", content: bill, mode: 0o644 },
    ])
}

/// The C library of this machine, which is linked into what is built on it.
fn libc() -> Result<String> {
    let asked = Command::new("getconf").arg("GNU_LIBC_VERSION").output().context("starting getconf")?;
    Ok(String::from_utf8(asked.stdout)?.trim().to_owned())
}

fn parse(arguments: &[&str]) -> Result<Options> {
    let mut options = Options { program: AGENT, profile: build::Profile::default(), binary: None, output: None };
    let mut words = arguments.iter();
    while let Some(flag) = words.next() {
        let value = *words.next().context(USAGE)?;
        match *flag {
            "--program" => options.program = Program::parse(value).context(USAGE)?,
            "--profile" => options.profile = build::Profile::parse(value).context(USAGE)?,
            "--binary" => options.binary = Some(value.into()),
            "--output" => options.output = Some(value.into()),
            _ => bail!(USAGE),
        }
    }
    Ok(options)
}

/// The image's name, as the deployment writes it: named there once, so that an image that was imported
/// by hand is the one the deployment asks for.
#[derive(Debug, PartialEq, Eq)]
struct Name {
    repository: String,
    tag: String,
}

impl Name {
    fn of_deployment(root: &Path, program: Program) -> Result<Self> {
        let file = root.join(program.kustomization);
        let text = std::fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))?;
        Self::in_kustomization(&text, program).with_context(|| format!("in {}", file.display()))
    }

    fn in_kustomization(text: &str, program: Program) -> Result<Self> {
        let kustomization: serde_json::Value = serde_saphyr::from_str(text)?;
        let images = kustomization["images"].as_array().context("there is no list `images`")?;
        let image =
            images.iter().find(|image| image["name"] == program.repository).context("its image is not listed")?;
        let word = |key: &str| image[key].as_str().map(str::to_owned).with_context(|| format!("it has no {key}"));
        Ok(Name { repository: word("newName")?, tag: word("newTag")? })
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.repository, self.tag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_in_any_order() {
        let options = parse(&["--output", "o", "--profile", "dev"]).unwrap();
        assert_eq!(
            options,
            Options { program: AGENT, profile: build::Profile::Dev, binary: None, output: Some("o".into()) }
        );
        assert!(parse(&["--profile", "fast"]).is_err());
        assert!(parse(&["--binary"]).is_err());
    }

    #[test]
    fn the_deployment_names_the_image_and_the_version() {
        for program in [AGENT, program::AGGREGATOR] {
            let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
            let name = Name::of_deployment(root, program).unwrap();
            assert_eq!(name.tag, env!("CARGO_PKG_VERSION"), "newTag in {}", program.kustomization);
            assert!(!name.repository.is_empty());
        }
    }

    #[test]
    fn a_kustomization_without_the_image_is_refused() {
        assert!(Name::in_kustomization("images: []", AGENT).is_err());
        assert!(Name::in_kustomization("resources: [a]", AGENT).is_err());
    }
}
