//! Which steps that depend on facts were given, and which were left out: `cargo run -p xtask -- steps FILE` compares that with
//! the entries.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::sync::{Mutex, PoisonError};

use aggregator_core::report::ClusterReport;

static NOTED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Adds each to the file that `STEPS_GIVEN` names, once for each process. What an agent reports has the agent's steps.
pub fn note(report: &ClusterReport) {
    let Some(file) = std::env::var_os("STEPS_GIVEN") else { return };
    let own = report.roots.iter().filter(|root| root.told_by.is_none());
    for finding in own.flat_map(|root| root.also.iter().chain([&root.finding])) {
        for (text, is_given) in finding.conditional_steps() {
            let line = format!("{}\t{text}\t{}\n", finding.cause.id, if is_given { "given" } else { "left out" });
            if NOTED.lock().unwrap_or_else(PoisonError::into_inner).insert(line.clone()) {
                let mut file = OpenOptions::new().create(true).append(true).open(&file).unwrap();
                file.write_all(line.as_bytes()).unwrap();
            }
        }
    }
}
