//! `docs/causes.md` and a page for each cause, written from the cause registry: what an alert's `runbook_url` leads to.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use findings::cause::{Check, all, checks};
use findings::{Advice, Area, Cause, ClusterArea, Gate, Proven};

use super::examples::Example;
use super::{Page, text};

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

Find yours by what you see, or search: press `s` in the book (`mdbook build`), or run
`kubectl why-terminating causes ID`. A pod on its node passes the kubelet's gates in the order below; only the first
gate that is not met holds it.

On the pages:

* `{pid}` and the like stand for values that an answer fills in. `{start}` is field 22 of `/proc/PID/stat`: a printed
  `kill` first compares it, because the pid may belong to another process by then.
* Commands are POSIX sh. Do the steps in their order: the safest comes first.
* *untested*: the step follows from the sources, and no test of this project has run it.
* [The agent's page](agent.md#where-kubelet-and-runtime-are) lists `{crictl}`, `{cri_endpoint}`, `{kubelet_journal}` on
  k3s, RKE2, k0s and MicroK8s.
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
    let cluster = ClusterArea::ALL.iter().copied().map(Area::Cluster);
    Gate::ALL.iter().copied().map(Area::Gate).chain([Area::Node]).chain(cluster)
}

fn causes_of(area: Area) -> impl Iterator<Item = &'static Cause> {
    all().filter(move |cause| cause.area == area)
}

/// What a reader sees where a cause of this area holds something.
fn symptom(area: Area) -> &'static str {
    match area {
        Area::Gate(Gate::ContainersStopped) => "On the node: containers of the pod still run",
        Area::Gate(Gate::SandboxStopped) => "On the node: the pod's sandbox or network is not removed",
        Area::Gate(Gate::DevicesUnprepared) => "On the node: a DRA device is not released",
        Area::Gate(Gate::VolumesUnmounted) => "On the node: a volume is still mounted, or its directory stays",
        Area::Gate(Gate::CgroupRemoved) => "On the node: the pod's cgroup stays",
        Area::Gate(Gate::StatusReported) => "On the node: the pod's end is not reported",
        Area::Gate(Gate::ObjectRemoved) => "On the node: all is cleaned up, the Pod object stays",
        Area::Node => "On the node: kubelet, runtime or network do not work",
        Area::Cluster(ClusterArea::Api) => "Many namespaces stay: an API does not answer",
        Area::Cluster(ClusterArea::ControlPlane) => "Nothing is deleted: the control plane does not work",
        Area::Cluster(ClusterArea::Namespace) => "One namespace stays",
        Area::Cluster(ClusterArea::Admission) => "Deletes or updates are refused: webhooks, policies, stored data",
        Area::Cluster(ClusterArea::Finalizer) => "An object stays: finalizers, owners, controllers",
        Area::Cluster(ClusterArea::Pod) => "A pod or node stays, or a drain hangs (from the API)",
        Area::Cluster(ClusterArea::Storage) => "A claim, volume or attachment stays",
    }
}

fn index() -> Result<String> {
    let mut page = format!("{MADE}\n\n{INTRODUCTION}");
    for area in areas() {
        writeln!(page, "\n## {}\n", symptom(area))?;
        for Cause { id, title, .. } in causes_of(area) {
            writeln!(page, "* [{id}](causes/{id}.md): {}", text(title))?;
        }
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
        Area::Node => "A state of the node; it can hold many pods.".to_owned(),
        Area::Cluster(_) => "Visible in the API.".to_owned(),
    };
    let mut page = format!("{MADE}\n\n# {id}\n\n");
    writeln!(page, "**{}.** {place} Event reason: `{event_reason}`.\n\n{}", text(title), text(meaning))?;
    writeln!(page, "\n## Do\n")?;
    for (number, advice) in (1..).zip(safe.iter()) {
        step(&mut page, number, advice)?;
    }
    writeln!(page, "\n## Warning\n\n**{}.** {}", text(danger.action), text(&danger.breaks_and_when(danger.breaks)))?;
    write!(page, "\n## How to check\n\n{}", checking(cause))?;
    writeln!(page, "\n## An answer\n\n{made}\n\n```\n{output}\n```")?;
    writeln!(page, "\n## What proves it\n\n{}", text(proof))?;
    writeln!(page, "\n{}{on_clusters}", proven_by(cause))?;
    writeln!(page, "\nSources: {}.", text(&sources.join("; ")))?;
    writeln!(page, "\n[All causes](../causes.md), with what `{{…}}` and *untested* mean.")?;
    Ok(page)
}

/// The command that shows it with its evidence, then what shows it by hand.
fn checking(cause: &'static Cause) -> String {
    let check = match cause.area {
        Area::Cluster(_) => "kubectl why-terminating -o wide    # the chain of each root cause, with its evidence",
        Area::Gate(_) | Area::Node => {
            "sudo why-terminating-agent check -o wide    # on that node: every gate, and all evidence\n\
             kubectl why-terminating pod/NAME -n NAMESPACE -o wide    # from anywhere: the agent's last report"
        }
    };
    let by_hand = match cause.area {
        Area::Cluster(_) => "By hand (these commands only read):",
        Area::Gate(_) | Area::Node => "By hand (these commands only read, and do not hang on a dead mount):",
    };
    let mut checks_of = format!("```sh\n{check}\n```\n\n{by_hand}\n");
    for Check { shows, command } in checks(cause) {
        checks_of.push_str(&format!("\n- {}:\n\n  ```sh\n  {command}\n  ```\n", text(shows)));
    }
    checks_of
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
        writeln!(page, "{indent}If the kubelet has its own mount namespace: `{command}`\n")?;
    }
    Ok(())
}

fn proven_by(cause: &Cause) -> String {
    let mut proofs = match cause.diagnosis {
        Proven::Lab(scenario) if scenario.starts_with("vm-") => {
            format!("The diagnosis: **vm**, lab scenario `{scenario}` in a virtual machine.")
        }
        Proven::Lab(scenario) => format!("The diagnosis: **lab**, scenario `{scenario}` on a real kernel."),
        Proven::Recording(name) => {
            format!("The diagnosis: **real**, a real API server's answers, recording `{name}`.")
        }
        Proven::Cluster(name) => format!("The diagnosis: **real**, seen on a real cluster, situation `{name}`."),
        Proven::Observation => "The diagnosis: **judged** from an observation made after the sources.".to_owned(),
        Proven::Typed | Proven::Untested => "Not diagnosed yet: this page is for reading only.".to_owned(),
    };
    for (number, advice) in (1..).zip(cause.safe.iter()) {
        match advice.proven {
            Proven::Lab(scenario) => proofs.push_str(&format!(" Step {number}: lab scenario `{scenario}`.")),
            Proven::Cluster(name) => {
                proofs.push_str(&format!(" Step {number}: typed on a real cluster, situation `{name}`."));
            }
            Proven::Typed => proofs.push_str(&format!(" Step {number}: typed with the real kubectl.")),
            Proven::Recording(_) | Proven::Observation | Proven::Untested => {}
        }
    }
    proofs
}

/// The situations that showed it on real clusters, with their versions of Kubernetes.
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
    fn the_page_names_the_versions_that_showed_it() {
        let table = "| situation | on | cause | reported | gone |\n|---|---|---|---|---|\n\
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
