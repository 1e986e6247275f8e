//! Situations that once got a wrong answer, made by hand after the source of kernel and kubelet.
//!
//! Beside each observation in `tests/adversary` stands its answer today; those that are still wrong are
//! listed here with what is right. `UPDATE_GOLDEN=1 cargo test` writes the answers again: read the
//! difference, and take a situation off the list when its answer has become right.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::{collections::BTreeSet, fmt::Write as _, fs, path::PathBuf};

use agent_core::{gates, observation::Observation};
use findings::{Finding, NodeReport};

/// Situation, and what is right.
const KNOWN_WRONG: &[(&str, &str)] = &[];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/adversary")
}

fn situations() -> BTreeSet<String> {
    let entries = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    entries.filter_map(|name| name.strip_suffix(".json").map(str::to_owned)).collect()
}

fn observation(name: &str) -> Observation {
    let saved = fs::read(folder().join(format!("{name}.json"))).unwrap();
    Observation::read(&saved).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// What was judged, without the words around it.
fn answer(report: &NodeReport) -> String {
    let mut out = format!("{:?}\n", report.verdict);
    for pod in &report.pods {
        let gate = pod.gate.map_or("no gate".to_owned(), |gate| gate.to_string());
        writeln!(out, "pod {}: {:?} at {gate}", pod.pod, pod.verdict).unwrap();
        pod.findings.iter().for_each(|finding| write_finding(&mut out, finding));
        pod.unknown.iter().for_each(|unknown| writeln!(out, "  unknown {}: {}", unknown.source, unknown.why).unwrap());
    }
    for node in &report.node_findings {
        writeln!(out, "node, holds {}", node.pods.len()).unwrap();
        write_finding(&mut out, &node.finding);
    }
    report.unknown.iter().for_each(|unknown| writeln!(out, "unknown {}: {}", unknown.source, unknown.why).unwrap());
    out
}

fn write_finding(out: &mut String, finding: &Finding) {
    writeln!(out, "  {} {:?}", finding.cause.id, finding.confidence).unwrap();
    for link in &finding.chain {
        writeln!(out, "    {}{}: {}", if link.root { "ROOT " } else { "" }, link.subject, link.state).unwrap();
    }
    for step in &finding.remedy.steps {
        writeln!(out, "    do: {}", step.command.as_ref().unwrap_or(&step.text)).unwrap();
    }
}

#[test]
fn answers_are_as_kept() {
    let mut changed = Vec::new();
    for name in situations() {
        let mark = KNOWN_WRONG.iter().find(|(wrong, _)| *wrong == name);
        let mark = mark.map_or("right".to_owned(), |(_, right)| format!("KNOWN WRONG; right is: {right}"));
        let now = format!("{mark}\n\n{}", answer(&gates::judge(&observation(&name))));
        let golden = folder().join(format!("{name}.answer"));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&golden, &now).unwrap();
        }
        if fs::read_to_string(&golden).unwrap_or_default() != now {
            changed.push(format!("{name} is now:\n{now}"));
        }
    }
    assert!(changed.is_empty(), "{}", changed.join("\n"));
}

#[test]
fn the_list_names_only_what_is_there() {
    let there = situations();
    assert!(there.len() >= 37, "{}", there.len());
    for (name, _) in KNOWN_WRONG {
        assert!(there.contains(*name), "{name}");
    }
}

#[test]
fn no_step_is_left_out_that_its_entry_promises() {
    let mut lacking = BTreeSet::new();
    for name in situations() {
        let report = gates::judge(&observation(&name));
        let of_pods = report.pods.iter().flat_map(|pod| &pod.findings);
        for finding in of_pods.chain(report.node_findings.iter().map(|node| &node.finding)) {
            lacking.extend(finding.lacks().into_iter().map(|step| format!("{name}: {}: {step}", finding.cause.id)));
        }
    }
    assert!(lacking.is_empty(), "{lacking:#?}");
}
