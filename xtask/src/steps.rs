//! Whether the tests have seen each step that depends on facts both given and left out.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, bail};

/// Compares the entries with what the tests of the plugin have noted.
pub fn check(file: &str) -> Result<()> {
    let noted = std::fs::read_to_string(Path::new(file))
        .with_context(|| format!("read {file}; STEPS_GIVEN={file} with the tests of the plugin writes it"))?;
    let noted: BTreeSet<&str> = noted.lines().collect();
    let conditional = findings::cause::all().flat_map(|cause| {
        let steps = cause.safe.iter().filter(|advice| !advice.when.is_empty());
        steps.flat_map(|advice| ["given", "left out"].map(|case| format!("{}\t{}\t{case}", cause.id, advice.text)))
    });
    let unseen: Vec<String> = conditional.filter(|line| !noted.contains(line.as_str())).collect();
    if !unseen.is_empty() {
        bail!("no test of the plugin has had these cases:\n{}", unseen.join("\n").replace('\t', ": "));
    }
    println!("steps: each that depends on facts was given in one test and left out in another");
    Ok(())
}
