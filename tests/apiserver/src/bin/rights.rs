//! Compares the rights that the tests have used with those that the chart grants.

use std::process::ExitCode;

use anyhow::Context as _;

fn main() -> anyhow::Result<ExitCode> {
    let file = std::env::args().nth(1).context("name the file of the rights that were used")?;
    let used = std::fs::read_to_string(&file).with_context(|| format!("read {file}; RIGHTS_USED={file} writes it"))?;
    let differences = apiserver::differences(&used);
    for line in &differences {
        eprintln!("{line}");
    }
    if differences.is_empty() {
        println!("rights: each of the {} that the chart grants was used", used.lines().count());
    }
    Ok(if differences.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
