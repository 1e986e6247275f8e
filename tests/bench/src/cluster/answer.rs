//! Whether an answer is right: a fast one that is wrong is no measurement.

use std::collections::BTreeSet;

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::trouble::{ALL, Trouble};

/// A root of the answer.
struct Root<'a> {
    cause: &'a str,
    /// What the chain ends with.
    last: &'a str,
    /// The namespaces it holds.
    namespaces: BTreeSet<&'a str>,
}

fn roots(report: &Value) -> anyhow::Result<Vec<Root<'_>>> {
    let each = report["roots"].as_array().context("an answer without roots")?.iter().map(|root| Root {
        cause: root["finding"]["cause"].as_str().unwrap_or_default(),
        last: root["finding"]["chain"]
            .as_array()
            .and_then(|chain| chain.last()?["subject"].as_str())
            .unwrap_or_default(),
        namespaces: root["victims"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|victim| victim["thing"]["kind"] == "Namespace")
            .filter_map(|victim| victim["thing"]["name"].as_str())
            .collect(),
    });
    Ok(each.collect())
}

fn read(text: &str) -> anyhow::Result<Value> {
    serde_json::from_str(text).context("the answer is no JSON")
}

/// That each root is named once, and with all of its namespaces, and that nothing else is.
pub fn names_everything(text: &str) -> anyhow::Result<()> {
    let report = read(text)?;
    ensure!(report["verdict"] == "Stuck", "the verdict is {}", report["verdict"]);
    let roots = roots(&report)?;
    let all: BTreeSet<String> = ALL.iter().flat_map(Trouble::names).collect();
    ensure!(all.len() == 50, "{} namespaces are staged", all.len());
    for trouble in ALL {
        let fits = |root: &&Root| root.cause == trouble.cause && root.last.contains(trouble.root);
        let found: Vec<&Root> = roots.iter().filter(fits).collect();
        let namespaces: BTreeSet<&str> = found.iter().flat_map(|root| root.namespaces.iter().copied()).collect();
        // A dead API holds every namespace.
        let is_everywhere = trouble.name == "dead-api";
        let expected: BTreeSet<String> = if is_everywhere { all.clone() } else { trouble.names().collect() };
        ensure!(
            found.len() == 1 && namespaces.iter().copied().eq(expected.iter().map(String::as_str)),
            "{} at {}: {} roots with {namespaces:?} instead of 1 with {expected:?}",
            trouble.cause,
            trouble.root,
            found.len()
        );
    }
    let others = roots.iter().filter(|root| !root.namespaces.is_empty()).count();
    ensure!(others == ALL.len(), "{others} roots hold namespaces instead of {}", ALL.len());
    ensure!(
        roots.iter().any(|root| root.cause == "VolumeDetachFails"),
        "the volume that cannot be detached is missing"
    );
    Ok(())
}

/// That the text names every cause.
pub fn tells_every_cause(text: &str) -> anyhow::Result<()> {
    for trouble in ALL {
        ensure!(text.contains(trouble.cause), "the answer does not name {}:\n{text}", trouble.cause);
    }
    Ok(())
}

/// That the answer about one object names its root.
pub fn names(text: &str, trouble: &Trouble) -> anyhow::Result<()> {
    let report = read(text)?;
    let found = roots(&report)?.iter().any(|root| root.cause == trouble.cause && root.last.contains(trouble.root));
    ensure!(found, "the answer does not name {} at {}:\n{text}", trouble.cause, trouble.root);
    Ok(())
}
