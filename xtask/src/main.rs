//! `cargo run -p xtask -- docs [--check]`, `… tidy` and `… steps FILE`.

mod docs;
mod steps;
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
        ["steps", file] => steps::check(file),
        _ => bail!("usage: xtask docs [--check] | xtask tidy | xtask steps FILE"),
    }
}

fn repository() -> Result<PathBuf> {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    Ok(xtask.parent().context("xtask stands in no repository")?.to_owned())
}
