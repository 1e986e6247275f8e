//! `docs/finalizers.md` and its sources, written from the registry of finalizers.

use std::fmt::Write as _;

use aggregator_core::KnownFinalizer;
use anyhow::Result;

use super::{Page, cell};

const PAGE: &str = "docs/finalizers.md";
/// Beside the book, for those that check the registry.
const SOURCES: &str = "docs/evidence/finalizers.md";

const MADE: &str =
    "<!-- Written by `cargo run -p xtask -- docs` from aggregator/core/src/rules/finalizer/registry. Do not edit. -->";

const INTRODUCTION: &str = "\
# Finalizers

Find yours by its name (`s` searches the book). Each row says which program removes the finalizer, when, and what is lost
if you remove it by hand. Repair that program first: it then removes the finalizer itself. `*` stands for any text. For a
finalizer that is not listed, `kubectl why-terminating TYPE/NAME` shows who set it and which accounts can change the object.

Some finalizers have [causes](causes.md) of their own: `kubernetes` of a Namespace, `foregroundDeletion`, `orphan`,
`kubernetes.io/pvc-protection`, `kubernetes.io/pv-protection`, `external-attacher/*`,
`external-provisioner.volume.kubernetes.io/finalizer` and `customresourcecleanup.apiextensions.k8s.io`. The source of each
row is in `docs/evidence/finalizers.md`.
";

pub fn pages() -> Result<[Page; 2]> {
    Ok([Page::new(PAGE, page()?), Page::new(SOURCES, sources()?)])
}

/// A table for each cause.
fn page() -> Result<String> {
    let mut page = format!("{MADE}\n\n{INTRODUCTION}");
    let mut causes: Vec<&str> = Vec::new();
    for known in aggregator_core::known_finalizers() {
        if !causes.contains(&known.cause.id) {
            causes.push(known.cause.id);
        }
    }
    for id in causes {
        let title = findings::cause::find(id).map_or("", |cause| cause.title);
        writeln!(page, "\n## {}\n\nCause: [{id}](causes/{id}.md)\n", cell(title))?;
        writeln!(page, "| Finalizer | On | Removed by | When | Lost if removed by hand |")?;
        writeln!(page, "|---|---|---|---|---|")?;
        for known in aggregator_core::known_finalizers().filter(|known| known.cause.id == id) {
            writeln!(page, "{}", row(known))?;
        }
    }
    Ok(page)
}

/// Which file of which repository each row was read in.
fn sources() -> Result<String> {
    let mut page = format!("{MADE}\n\n# Sources of the finalizers\n\n| Finalizer | On | Source |\n|---|---|---|\n");
    for known in aggregator_core::known_finalizers() {
        let (repository, path) = known.source.split_once(": ").unwrap_or((known.source, ""));
        writeln!(page, "| {} | {} | {} {} |", names(known), cell(&known.kinds()), cell(repository), code(path))?;
    }
    Ok(page)
}

fn row(known: &KnownFinalizer) -> String {
    let owner = match known.runs {
        "" => known.released_by.to_owned(),
        runs => format!("{}, {runs}", known.released_by),
    };
    let lost = match known.by_mistake {
        "" => known.lost.to_owned(),
        by_mistake => format!("{}. If it was deleted by mistake: {by_mistake}", known.lost),
    };
    format!(
        "| {} | {} | {} | {} | {} |",
        names(known),
        cell(&known.kinds()),
        cell(&owner),
        cell(known.when),
        cell(&lost)
    )
}

fn names(known: &KnownFinalizer) -> String {
    let names: Vec<String> =
        known.names.iter().flat_map(|name| name.to_string().split(", ").map(code).collect::<Vec<_>>()).collect();
    names.join(", ")
}

fn code(words: &str) -> String {
    format!("`{words}`")
}
