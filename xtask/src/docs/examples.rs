//! Answers that tests hold, to be shown on the page of the cause that they name.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use findings::Cause;

/// What the plugin says of what real API servers answered.
const CLUSTER: (&str, &str) = ("aggregator/tests/golden", ".80.txt");
/// What the agent's judgement says of saved observations.
const NODE: (&str, &str) = ("tests/adversary", ".answer");

/// An answer.
pub struct Example {
    pub output: String,
    /// Where it stands, relative to the repository.
    pub file: String,
}

/// The shortest answer for each cause.
pub struct Examples(BTreeMap<String, Example>);

impl Examples {
    pub fn read(root: &Path) -> Result<Self> {
        let mut shortest: BTreeMap<String, Example> = BTreeMap::new();
        let mut keep = |id: &str, output: &str, file: &str| {
            if shortest.get(id).is_none_or(|known| output.len() < known.output.len()) {
                let example = Example { output: output.trim_end().to_owned(), file: file.to_owned() };
                shortest.insert(id.to_owned(), example);
            }
        };
        for (file, text) in texts(root, NODE)? {
            // The first line says whether the answer is the right one.
            let Some(answer) = text.strip_prefix("right\n\n") else { continue };
            for id in answer.lines().filter_map(found) {
                keep(id, answer, &file);
            }
        }
        for (file, text) in texts(root, CLUSTER)?.into_iter().filter(|(file, _)| !file.contains(".screen.")) {
            for rest in text.split("ROOT CAUSE ").skip(1) {
                keep(rest.split([':', '\n']).next().unwrap_or_default(), &text, &file);
            }
        }
        Ok(Examples(shortest))
    }

    pub fn of(&self, cause: &Cause) -> Option<&Example> {
        self.0.get(cause.id)
    }
}

/// The cause in a line like `  ZombieHeldByTracer Proven`.
fn found(line: &str) -> Option<&str> {
    let (id, confidence) = line.strip_prefix("  ")?.split_once(' ')?;
    matches!(confidence, "Proven" | "Probable").then_some(id)
}

/// The files with this ending, in the order of their names.
fn texts(root: &Path, (folder, ending): (&str, &str)) -> Result<BTreeMap<String, String>> {
    let mut texts = BTreeMap::new();
    for entry in std::fs::read_dir(root.join(folder)).with_context(|| format!("reading {folder}"))? {
        let file = format!("{folder}/{}", entry?.file_name().to_string_lossy());
        if file.ends_with(ending) {
            let text = std::fs::read_to_string(root.join(&file)).with_context(|| format!("reading {file}"))?;
            texts.insert(file, text);
        }
    }
    Ok(texts)
}
