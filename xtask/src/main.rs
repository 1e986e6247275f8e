//! `cargo run -p xtask -- docs [--check]`, `… tidy` and `… image`.

mod docs;
mod image;
mod tidy;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

const USAGE: &str = "usage: xtask docs [--check] | xtask tidy | xtask image [--program agent|aggregator] [--profile dev|release] [--binary FILE] [--output FILE]";

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let root = repository()?;
    match arguments[..] {
        ["docs"] => docs::write(&root),
        ["docs", "--check"] => docs::check(&root),
        ["tidy"] => tidy::run(&root),
        ["image", ref flags @ ..] => image::run(&root, flags),
        _ => bail!(USAGE),
    }
}

fn repository() -> Result<PathBuf> {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    Ok(xtask.parent().context("xtask stands in no repository")?.to_owned())
}
