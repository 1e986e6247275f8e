//! Answers that tests hold, each to be shown on the page of the cause that it names as the root.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use findings::{Advice, Area, Cause, Proven, cause};

/// Where the answers to real threads are tested.
const THREADS: &str = "aggregator/plugin/tests/threads";

/// An answer.
pub struct Example {
    /// The part of it that is about this cause.
    pub output: String,
    /// How it came about, as a sentence that ends with a colon.
    pub made: String,
}

impl Example {
    /// The answer for this cause: of a pod that was really stuck, else of a recorded cluster, else of
    /// what a test made.
    pub fn of(root: &Path, cause: &Cause) -> Result<Self> {
        let best = match cause.diagnosis {
            Proven::Lab(name) => {
                let made = format!("Output of `check` on a node with lab scenario `{name}`, really stuck:");
                Some((format!("tests/answers/lab/{name}.txt"), made))
            }
            Proven::Recording(name) => {
                let made = format!("The plugin's output for a real API server's answers (`tests/recordings/{name}`):");
                Some((format!("aggregator/plugin/tests/golden/{name}.80.txt"), made))
            }
            Proven::Cluster(_) | Proven::Typed | Proven::Observation | Proven::Untested => None,
        };
        // A scenario or a recording may prove what something else outranks in its answer.
        let best = best.and_then(|(file, made)| Some((fs::read_to_string(root.join(file)).ok()?, made)));
        let best = best.filter(|(text, _)| block(text, cause.id).is_some());
        let (text, made) = best.map_or_else(|| kept(root, cause), Ok)?;
        // What terminates normally has no root, and no steps.
        if block(&text, cause.id).is_none() && text.contains(" terminating normally") {
            return Ok(Example { output: text.trim().to_owned(), made });
        }
        let output = block(&text, cause.id).with_context(|| format!("{}: its answer names another root", cause.id))?;
        if let Some(lack) = lacks(cause, &output) {
            bail!("{}: the answer that is kept is stale, it lacks {lack:?}: see tests/answers", cause.id);
        }
        Ok(Example { output, made })
    }
}

/// What a test of the judgement keeps, and how it came about.
fn kept(root: &Path, cause: &Cause) -> Result<(String, String)> {
    let kind = if matches!(cause.area, Area::Cluster(_)) { "cluster" } else { "node" };
    let file = format!("tests/answers/{kind}/{}.txt", cause.id);
    let text = fs::read_to_string(root.join(&file)).with_context(|| {
        format!("reading {file}: a test that names the cause keeps its answer with UPDATE_GOLDEN=1")
    })?;
    let (head, text) = text.split_once("\n\n").context("a kept answer has no head")?;
    let test = head.split(' ').nth(1).context("a kept answer names no test")?;
    let module = test.split("::").next().unwrap_or_default();
    let made = match fs::read_to_string(root.join(format!("{THREADS}/{module}.rs"))) {
        Ok(thread) => {
            let link = thread.strip_prefix("//! ").and_then(|rest| rest.split_once('>')).map_or("", |(link, _)| link);
            format!("The plugin's output for the objects of a user's thread, {link}>, set into a recorded cluster:")
        }
        Err(_) if kind == "cluster" => {
            format!("The plugin's output for a recorded cluster that test `{test}` changed:")
        }
        Err(_) => {
            format!("The agent's output for an observation that test `{test}` makes by hand; no scenario stages it:")
        }
    };
    Ok((text.to_owned(), made))
}

/// The part that names this cause as a root: parts begin at the left edge, below an empty line. What a test renders without
/// a head is one part.
fn block(text: &str, id: &str) -> Option<String> {
    let mut blocks: Vec<Vec<&str>> = vec![Vec::new()];
    let mut is_below_gap = false;
    for line in text.lines() {
        if is_below_gap && line.starts_with(|c: char| !c.is_whitespace()) {
            blocks.push(Vec::new());
        }
        is_below_gap = line.is_empty();
        blocks.last_mut()?.push(line);
    }
    let label = cause::find(id).map_or("ROOT CAUSE", Cause::label);
    let root = format!("{label} {id}:");
    let lines = blocks.into_iter().find(|lines| lines.iter().any(|line| line.contains(&root)))?;
    Some(lines.join("\n").trim_end().to_owned())
}

/// Words of the entry that its answer does not have: it was given before they were changed.
fn lacks<'a>(cause: &'a Cause, output: &str) -> Option<&'a str> {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown = words(output);
    let steps = cause.safe.iter().filter(|step| step.is_promised()).flat_map(fixed);
    // What a finalizer's removal breaks is said by the finalizer's own entry.
    let breaks = (!matches!(cause.area, Area::Cluster(_))).then_some(cause.danger.breaks);
    // Where nothing is left to clean up another act is warned of.
    let action = (!cause.danger.is_any_finalizer_by_hand()).then_some(cause.danger.action);
    steps.chain(action).chain(breaks).find(|part| !shown.contains(&words(part)))
}

/// What stands between the placeholders of a step's text.
fn fixed(step: &'static Advice) -> impl Iterator<Item = &'static str> {
    step.text.split('{').enumerate().map(|(at, part)| match at {
        0 => part,
        _ => part.split_once('}').map_or(part, |(_, rest)| rest),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "2 objects stuck\n\nPod a: Stuck\n\n  x   ROOT CAUSE One: it\n\n  Do  y\n\nPod b: Stuck\n  ROOT CAUSE \
        Two: it\n\nNote  z\n";

    #[test]
    fn an_answer_is_cut_to_what_its_root_is_about() {
        assert_eq!(block(TEXT, "One").unwrap(), "Pod a: Stuck\n\n  x   ROOT CAUSE One: it\n\n  Do  y");
        assert_eq!(block(TEXT, "Two").unwrap(), "Pod b: Stuck\n  ROOT CAUSE Two: it");
        assert_eq!(block(TEXT, "On"), None);
    }

    #[test]
    fn an_answer_with_other_words_than_the_entry_is_stale() {
        let cause = findings::cause::find("VolumeHeldByProcess").unwrap();
        let shown = Example::of(&super::super::repository(), cause).unwrap().output;
        assert_eq!(lacks(cause, &shown), None);
        assert_eq!(lacks(cause, &shown.replace("The mount vanishes", "x")), Some(cause.danger.breaks));
        assert!(lacks(cause, &shown.replace("wait: the", "x")).is_some());
    }
}
