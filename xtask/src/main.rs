//! `cargo run -p xtask -- docs [--check]`, `… tidy`, `… bill`, `… image` and `… release`.

mod bill;
mod build;
mod docs;
mod image;
mod release;
mod tidy;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let root = repository()?;
    match arguments[..] {
        ["docs"] => docs::write(&root),
        ["docs", "--check"] => docs::check(&root),
        ["tidy"] => tidy::run(&root),
        ["bill", program, binary, folder] => image::write_bill(&root, program, binary.as_ref(), folder.as_ref()),
        ["image", ref flags @ ..] => image::run(&root, flags),
        ["release", ref flags @ ..] => release::run(&root, flags),
        _ => bail!(
            "usage: xtask docs [--check] | xtask tidy | {} | {} | {}",
            image::BILL_USAGE,
            image::USAGE,
            release::USAGE
        ),
    }
}

fn repository() -> Result<PathBuf> {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    Ok(xtask.parent().context("xtask stands in no repository")?.to_owned())
}
