//! `docs/causes.md` and a page for each cause, written from the cause registry: what an alert's `runbook_url` leads to.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use findings::cause::{Check, all, checks};
use findings::{Advice, Area, Cause, ClusterArea, Gate, Proven};

use super::examples::Example;
use super::{Page, cell, text};

const INDEX: &str = "docs/causes.md";
/// The table of contents of the book (`mdbook build`); what is not in it is not in the book.
const CONTENTS: &str = "docs/SUMMARY.md";
/// The causes end it, below this line.
const LISTED_BELOW: &str = "- [Causes](causes.md)\n";
/// Where the pages lie; nothing else does.
pub const FOLDER: &str = "docs/causes";
/// Written by `make e2e`.
const SEEN_ON: &str = "docs/evidence/seen-on.md";

const MADE: &str =
    "<!-- Written by `cargo run -p xtask -- docs` from the cause registry (findings/src/cause). Do not edit. -->";

const INTRODUCTION: &str = "\
# Causes

Everything that why-terminating can name as the reason why something does not go. The causes a node shows come first:
each sits at one of the kubelet's gates, in the kubelet's order, and only the first gate that is not met holds the pod.
Those the API shows follow, from what holds the whole cluster to what holds one volume.

In a command, `{pid}` and the like stand for names that a finding fills in. Commands are for sh. Do the steps in their
order: the safest is first, and you may be done before the last. A step marked *untested* follows from the reference, but
no test of this project has executed it. A `kill` is printed with a test that the process is still the one that was seen:
by the time it is typed, its pid may be another's (`{start}` is field 22 of its `/proc/PID/stat`). What `{crictl}`,
`{cri_endpoint}`, `{kubelet_journal}` and the like are on k3s, RKE2, k0s and MicroK8s is told in
[The agent on every node](agent.md#where-kubelet-and-runtime-are).

";

/// The index and the pages.
pub fn pages(root: &Path) -> Result<Vec<Page>> {
    let mut pages = vec![Page::new(INDEX, index()?), Page::new(CONTENTS, contents(root)?)];
    let table = std::fs::read_to_string(root.join(SEEN_ON)).context(SEEN_ON)?;
    for cause in listed() {
        let page = page(cause, &Example::of(root, cause)?, &on_clusters(&table, cause.id))?;
        pages.push(Page::new(format!("{FOLDER}/{}.md", cause.id), page));
    }
    Ok(pages)
}

/// All of them in the order of the index.
fn listed() -> impl Iterator<Item = &'static Cause> {
    areas().flat_map(causes_of)
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

fn index() -> Result<String> {
    let mut page = format!("{MADE}\n\n{INTRODUCTION}");
    writeln!(page, "| Place | Cause | What it is |\n|---|---|---|")?;
    for Cause { id, area, title, .. } in listed() {
        writeln!(page, "| {} | [{id}](causes/{id}.md) | {} |", name(*area), cell(title))?;
    }
    Ok(page)
}

/// The table of contents with each cause in it; the pages above are listed by hand.
fn contents(root: &Path) -> Result<String> {
    let contents = std::fs::read_to_string(root.join(CONTENTS)).context(CONTENTS)?;
    let (by_hand, _) = contents.split_once(LISTED_BELOW).with_context(|| format!("{CONTENTS} lists no causes"))?;
    let mut page = format!("{by_hand}{LISTED_BELOW}");
    for Cause { id, .. } in listed() {
        writeln!(page, "  - [{id}](causes/{id}.md)")?;
    }
    Ok(page)
}

fn page(cause: &'static Cause, Example { output, made }: &Example, on_clusters: &str) -> Result<String> {
    let Cause { id, area, title, meaning, proof, safe, danger, sources, event_reason, .. } = cause;
    let place = match area {
        Area::Gate(gate) => format!("Gate: {gate}."),
        Area::Node => "A state of the node; it may hold many pods.".to_owned(),
        Area::Cluster(area) => format!("Seen in the API ({}).", area.as_str()),
    };
    let mut page = format!("{MADE}\n\n# {id}\n\n");
    writeln!(page, "**{}.** {place} Event reason: `{event_reason}`.\n\n{}", text(title), text(meaning))?;
    writeln!(page, "\n## How it is proven\n\n{}", text(proof))?;
    writeln!(page, "\n## An answer\n\n{made}\n\n```\n{output}\n```")?;
    write!(page, "\n## What to check\n\n{}", look(cause))?;
    writeln!(page, "\n## Do\n")?;
    for (number, advice) in (1..).zip(safe.iter()) {
        step(&mut page, number, advice)?;
    }
    writeln!(page, "\n## Don't\n\n**{}.** {}", text(danger.action), text(&danger.breaks_and_when(danger.breaks)))?;
    writeln!(page, "\n## Seen in\n\n{}.", text(&sources.join("; ")))?;
    writeln!(page, "\n## Proven by\n\n{}{on_clusters}", proven_by(cause))?;
    writeln!(page, "\n[All causes](../causes.md), with what `{{…}}` and *untested* mean.")?;
    Ok(page)
}

/// The command that shows it, and its evidence, as it is now: what a metric or an Event says may be old.
fn look(cause: &'static Cause) -> String {
    let ask = match cause.area {
        Area::Cluster(_) => "kubectl why-terminating -o wide    # the chain of each root, with which object said what",
        Area::Gate(_) | Area::Node => {
            "sudo why-terminating-agent check -o wide    # on that node: every gate, and all evidence\n\
             kubectl why-terminating POD -n NAMESPACE -o wide    # from anywhere: the same as the agent last told"
        }
    };
    let ask = ask.replace("POD", "pod/NAME");
    let by_hand = match cause.area {
        Area::Cluster(_) => "By hand, only reading:",
        Area::Gate(_) | Area::Node => "By hand, only reading, and nothing that hangs at a dead mount:",
    };
    let mut look = format!(
        "```sh\n{ask}\n```\n\nWhat is proven and what is only probable is said there, and what could not be looked at. \
         {by_hand}\n"
    );
    for Check { shows, command } in checks(cause) {
        look.push_str(&format!("\n- {}:\n\n  ```sh\n  {command}\n  ```\n", text(shows)));
    }
    look
}

fn step(page: &mut String, number: usize, advice: &Advice) -> Result<()> {
    let mark = if advice.is_tested() { "" } else { " *(untested)*" };
    let when = advice.condition().map_or(String::new(), |when| format!(" *When {}.*", text(&when)));
    writeln!(page, "{number}. {}.{when}{mark}", text(advice.text))?;
    let commands: Vec<_> = advice.shown_commands().collect();
    if !commands.is_empty() {
        let indent = " ".repeat(format!("{number}. ").len());
        let commands = commands.join(&format!("\n{indent}# or, where it writes a file:\n{indent}"));
        writeln!(page, "\n{indent}```sh\n{indent}{commands}\n{indent}```\n")?;
    }
    if let Some(command) = advice.entered_command() {
        let indent = " ".repeat(format!("{number}. ").len());
        writeln!(page, "{indent}Where the kubelet has a mount namespace of its own: `{command}`\n")?;
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
        Proven::Cluster(_) | Proven::Typed | Proven::Untested => {
            "Not diagnosed yet: the entry is here to be looked up.".to_owned()
        }
    };
    for (number, advice) in (1..).zip(cause.safe.iter()) {
        match advice.proven {
            Proven::Lab(scenario) => said.push_str(&format!(" Step {number}: lab scenario `{scenario}`.")),
            Proven::Cluster(name) => {
                said.push_str(&format!(" Step {number}: typed on a real cluster, situation `{name}`."));
            }
            Proven::Typed => said.push_str(&format!(" Step {number}: typed with the real kubectl.")),
            Proven::Recording(_) | Proven::Observation | Proven::Untested => {}
        }
    }
    said
}

/// In which situations which versions of Kubernetes showed it, after that table.
fn on_clusters(table: &str, id: &str) -> String {
    let link = format!("[{id}]");
    let mut seen: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for row in table.lines() {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        if let [_, situation, on, cause, ..] = *cells
            && cause.starts_with(&link)
        {
            let kubernetes = on.split(',').next().unwrap_or(on);
            seen.entry(situation).or_default().insert(kubernetes.trim_start_matches("Kubernetes "));
        }
    }
    if seen.is_empty() {
        return String::new();
    }
    let versions = |of: &BTreeSet<&str>| of.iter().copied().collect::<Vec<_>>().join(", ");
    let all: Vec<String> = seen.iter().map(|(name, of)| format!("{name} ({})", versions(of))).collect();
    format!(" Seen on real clusters (`docs/evidence/seen-on.md`), Kubernetes: {}.", all.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_has_its_page_and_its_line_in_the_index() {
        let pages = pages(&super::super::repository()).unwrap();
        let index = &pages[0].text;
        for cause in all() {
            let path = format!("docs/causes/{}.md", cause.id);
            assert_eq!(pages.iter().filter(|page| page.path == path).count(), 1, "{}", cause.id);
            assert_eq!(index.matches(&format!("(causes/{}.md)", cause.id)).count(), 1, "{}", cause.id);
        }
    }

    #[test]
    fn the_page_tells_on_which_versions_it_was_seen() {
        let table = "| situation | on | cause | told | gone |\n|---|---|---|---|---|\n\
            | `cni` | Kubernetes 1.25.9, Linux 6 | [A](causes/A.md) | 1 s | 1 s |\n\
            | `cni` | Kubernetes 1.36.2, Linux 6 | [A](causes/A.md) | 1 s | 1 s |\n\
            | `cni` | Kubernetes 1.36.2, Linux 6, cgroup v2 | [A](causes/A.md) | 1 s | 1 s | 1a2b |\n\
            | `b` | Kubernetes 1.36.2, Linux 6 | [AB](causes/AB.md) | 1 s | 1 s |\n";
        assert_eq!(
            on_clusters(table, "A"),
            " Seen on real clusters (`docs/evidence/seen-on.md`), Kubernetes: `cni` (1.25.9, 1.36.2)."
        );
        assert_eq!(on_clusters(table, "C"), "");
    }

    #[test]
    fn each_page_shows_an_answer_of_its_cause() {
        let pages = pages(&super::super::repository()).unwrap();
        for cause in all() {
            let page = pages.iter().find(|page| page.path == format!("docs/causes/{}.md", cause.id)).unwrap();
            // What terminates normally has no root.
            let is_shown = |text: &str| page.text.contains(text);
            let is_root = is_shown(&format!("{} {}:", cause.label(), cause.id));
            assert!(is_root || is_shown(" terminating normally"), "{}", cause.id);
        }
    }
}
