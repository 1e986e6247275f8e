//! `docs/causes.md`, written from the cause registry, `docs/finalizers.md`, the description of the service's API, and
//! the output that stands in other pages.

mod finalizers;
mod outputs;

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result, bail};
use findings::cause::all;
use findings::{Advice, Area, Cause, ClusterArea, Gate, Proven};

const PAGE: &str = "docs/causes.md";
const API: &str = "docs/schema/service.v1.openapi.json";

const INTRODUCTION: &str = "\
<!-- Written by `cargo run -p xtask -- docs` from the cause registry (findings/src/cause). Do not edit. -->

# Causes

Everything that why-terminating can name as the reason why something does not go. The causes a node shows come first:
each sits at one of the kubelet's gates, in the kubelet's order, and only the first gate that is not met holds the pod.
Those the API shows follow, from what holds the whole cluster to what holds one volume.

In a command, `{pid}` and the like stand for names that a finding fills in. Commands are for sh. Do the steps in their
order: the safest is first, and you may be done before the last. A step marked *untested* follows from the reference, but
no test of this project has executed it. A `kill` is printed with a test that the process is still the one that was seen:
by the time it is typed, its pid may be another's (`{start}` is field 22 of its `/proc/PID/stat`).

";

/// Each page and what it should say.
fn pages() -> Result<Vec<(&'static str, String)>> {
    let api = serde_json::to_string_pretty(&service::openapi())? + "\n";
    let mut pages = vec![(PAGE, page()?), (finalizers::PAGE, finalizers::page()?), (API, api)];
    pages.extend(outputs::pages(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")))?);
    Ok(pages)
}

/// Writes the pages.
pub fn write(root: &Path) -> Result<()> {
    for (name, page) in pages()? {
        let path = root.join(name);
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory).with_context(|| format!("making {}", directory.display()))?;
        }
        std::fs::write(&path, page).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}

/// Fails when a page is not what its registry says.
pub fn check(root: &Path) -> Result<()> {
    for (name, page) in pages()? {
        let path = root.join(name);
        let stored = std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        if stored != page {
            bail!("{name} is stale; write it again with: cargo run -p xtask -- docs");
        }
    }
    Ok(())
}

/// The areas in the order of the page.
fn areas() -> impl Iterator<Item = Area> {
    let cluster = ClusterArea::ALL.into_iter().map(Area::Cluster);
    Gate::ALL.into_iter().map(Area::Gate).chain([Area::Node]).chain(cluster)
}

fn causes_of(area: Area) -> impl Iterator<Item = &'static Cause> {
    all().filter(move |cause| cause.area == area)
}

fn name(area: Area) -> &'static str {
    match area {
        Area::Gate(gate) => gate.as_str(),
        Area::Node => "Node",
        Area::Cluster(area) => area.as_str(),
    }
}

fn page() -> Result<String> {
    let mut page = String::from(INTRODUCTION);
    index(&mut page)?;
    for cause in areas().flat_map(causes_of) {
        section(&mut page, cause)?;
    }
    Ok(page)
}

fn index(page: &mut String) -> Result<()> {
    writeln!(page, "| Place | Cause | What it is |\n|---|---|---|")?;
    for cause in areas().flat_map(causes_of) {
        let Cause { id, area, title, .. } = cause;
        writeln!(page, "| {} | [{id}](#{}) | {} |", name(*area), id.to_lowercase(), cell(title))?;
    }
    Ok(())
}

fn section(page: &mut String, cause: &Cause) -> Result<()> {
    let Cause { id, area, title, meaning, proof, safe, danger, sources, event_reason, .. } = cause;
    let place = match area {
        Area::Gate(gate) => format!("Gate: {gate}."),
        Area::Node => "A state of the node; it may hold many pods.".to_owned(),
        Area::Cluster(area) => format!("Seen in the API ({}).", area.as_str()),
    };
    writeln!(page, "\n## {id}\n\n**{}.** {place} Event reason: `{event_reason}`.", text(title))?;
    writeln!(page, "\n{}", text(meaning))?;
    writeln!(page, "\n### How it is proven\n\n{}", text(proof))?;
    writeln!(page, "\n### Do\n")?;
    for (number, advice) in (1..).zip(safe.iter()) {
        step(page, number, advice)?;
    }
    writeln!(page, "\n### Don't\n\n**{}.** {}", text(danger.action), text(danger.breaks))?;
    writeln!(page, "\n### Seen in\n\n{}.", text(&sources.join("; ")))?;
    writeln!(page, "\n### Proven by\n\n{}", proven_by(cause))?;
    Ok(())
}

fn step(page: &mut String, number: usize, advice: &Advice) -> Result<()> {
    let mark = if advice.is_tested() { "" } else { " *(untested)*" };
    writeln!(page, "{number}. {}.{mark}", text(advice.text))?;
    if let Some(command) = advice.shown_command() {
        let indent = " ".repeat(format!("{number}. ").len());
        writeln!(page, "\n{indent}```sh\n{indent}{command}\n{indent}```\n")?;
    }
    Ok(())
}

fn proven_by(cause: &Cause) -> String {
    let mut said = match cause.diagnosis {
        Proven::Lab(scenario) => format!("The diagnosis: lab scenario `{scenario}`."),
        Proven::Recording(name) => {
            format!("The diagnosis: what a real API server answered, recording `{name}`.")
        }
        Proven::Observation => "The diagnosis: a saved observation made after the reference; \
            the lab does not stage it."
            .to_owned(),
        Proven::Typed | Proven::Untested => "Not diagnosed yet: the entry is here to be looked up.".to_owned(),
    };
    for (number, advice) in (1..).zip(cause.safe.iter()) {
        match advice.proven {
            Proven::Lab(scenario) => said.push_str(&format!(" Step {number}: lab scenario `{scenario}`.")),
            Proven::Typed => said.push_str(&format!(" Step {number}: typed with the real kubectl.")),
            Proven::Recording(_) | Proven::Observation | Proven::Untested => {}
        }
    }
    said
}

/// Words of the registry as Markdown: what would be read as HTML, emphasis or a link is escaped.
fn text(words: &str) -> String {
    let mut escaped = String::with_capacity(words.len());
    for c in words.chars() {
        if matches!(c, '\\' | '<' | '>' | '*' | '_' | '`' | '[' | ']') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

fn cell(words: &str) -> String {
    text(words).replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_has_its_section_and_its_line_in_the_index() {
        let page = page().unwrap();
        for cause in all() {
            assert_eq!(page.matches(&format!("\n## {}\n", cause.id)).count(), 1, "{}", cause.id);
            assert!(page.contains(&format!("(#{})", cause.id.to_lowercase())), "{}", cause.id);
        }
    }

    #[test]
    fn a_stale_page_is_refused() {
        let root = std::env::temp_dir().join(format!("xtask-docs-{}", std::process::id()));
        write(&root).unwrap();
        check(&root).unwrap();
        std::fs::write(root.join(PAGE), "old").unwrap();
        let refused = check(&root).unwrap_err().to_string();
        std::fs::remove_dir_all(&root).unwrap();
        assert!(refused.contains("stale"), "{refused}");
    }

    #[test]
    fn words_are_not_markup() {
        assert_eq!(text("pods/<uid>/volumes/*"), r"pods/\<uid\>/volumes/\*");
    }
}
