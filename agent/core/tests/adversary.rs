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
const KNOWN_WRONG: &[(&str, &str)] = &[
    (
        "A-exiting-D",
        "FuseServerNotResponding, as with the SIGKILL pending: the kernel drops one sent to a task that exits",
    ),
    ("A2-zap-exiting-member", "FuseServerNotResponding"),
    ("A3-runtime-silent", "FuseServerNotResponding"),
    ("C-nfs-submount-server-hung", "NfsServerNotResponding: umount of the parent removes an automounted submount"),
    ("D-nested-pidns", "the inner parent, inside the container"),
    ("FB-fuseblk", "connection (7<<20)|41: the number is the whole dev_t"),
    ("FD-force-deleted-just-now", "Probable at most until the grace period has passed"),
    ("G-shared-pidns-pause-zap", "PidNamespaceZombieUnreaped"),
    ("HD-hidden", "proof below Linux 3.18 only"),
    ("I-fuse-no-request-waits", "throttled writeback of the device behind: no request waits at the server"),
    ("J-empty-csi-dir-finalizer", "the finalizer; a directory without mount is skipped by the kubelet"),
    ("J2-csi-dir-without-mount-finalizer", "the finalizer"),
    ("J3-emptydir-left-finalizer", "the finalizer; the directory at most Probable"),
    ("MS-sidecar-waits", "ordered termination of sidecars"),
    ("NA-late-learnt", "Progressing until first seen + grace"),
    ("PP-inline-vs-pv", "no step that writes another volume's JSON"),
    ("Q-kata", "a VM sandbox: ask the shim"),
    ("S-shim-thread-D", "Probable, with the thread and its kernel function named"),
    ("U-unknown-container", "the runtime's UNKNOWN"),
    ("V-mirror", "the task in D"),
    ("W-phase-running-volume-mounted", "at or before StopPodSandbox or DevicesUnprepared, no umount"),
    ("W2-phase-running-token-only", "at or before StopPodSandbox or DevicesUnprepared"),
    ("W3-phase-running-cgroup-full-cpu", "at or before StopPodSandbox or DevicesUnprepared"),
    ("Z-traced-zombie-init", "the tracer"),
];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/adversary")
}

fn situations() -> BTreeSet<String> {
    let entries = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    entries.filter_map(|name| name.strip_suffix(".json").map(str::to_owned)).collect()
}

fn observation(name: &str) -> Observation {
    let text = fs::read_to_string(folder().join(format!("{name}.json"))).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// What was judged, without the words around it.
fn answer(report: &NodeReport) -> String {
    let mut out = format!("{:?}\n", report.verdict);
    for pod in &report.pods {
        let gate = pod.gate.map_or("no gate".to_owned(), |gate| gate.to_string());
        writeln!(out, "pod {}: {:?} at {gate}", pod.pod, pod.verdict).unwrap();
        pod.findings.iter().for_each(|finding| one(&mut out, finding));
        pod.unknown.iter().for_each(|unknown| writeln!(out, "  unknown {}: {}", unknown.source, unknown.why).unwrap());
    }
    for node in &report.node_findings {
        writeln!(out, "node, holds {}", node.pods.len()).unwrap();
        one(&mut out, &node.finding);
    }
    report.unknown.iter().for_each(|unknown| writeln!(out, "unknown {}: {}", unknown.source, unknown.why).unwrap());
    out
}

fn one(out: &mut String, finding: &Finding) {
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
    assert!(there.len() >= 31, "{}", there.len());
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
