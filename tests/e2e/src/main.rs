//! Acceptance on a real cluster whose node is this machine: installs what `deploy/` says, makes things stick as a real
//! kubelet and API server let them, asks agent, plugin and service, types a step of theirs, and sees everything go.
//!
//! `tests/e2e/run.sh` finds or starts the cluster.

mod answers;
mod api_set;
mod cluster;
mod container;
mod install;
mod pod;
mod process;
mod seen;
mod server;
mod situation;
mod situations;
mod thrown_away;
mod traces;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use cluster::Cluster;
use install::Installed;
use situation::{Seen, Situation, Turn};
use traces::Traces;

fn main() -> anyhow::Result<ExitCode> {
    if let Some(ended) = lab::standin::take_over() {
        return ended.map(|()| ExitCode::SUCCESS);
    }
    let mut wanted: Vec<String> = std::env::args().skip(1).collect();
    if wanted.first().is_some_and(|set| set == "api") {
        return api_set::run(&wanted.split_off(1));
    }
    let chosen = situations::all().into_iter().filter(|one| wanted.is_empty() || wanted.contains(&one.name.to_owned()));
    let chosen: Vec<_> = chosen.collect();
    anyhow::ensure!(!chosen.is_empty(), "none of {wanted:?} is a situation");
    if let Some(times) = number("PATIENCE") {
        lab::be_patient(u32::try_from(times)?);
    }
    let cluster = Cluster::connect()?;
    println!("on {}", cluster.versions());
    let before = Traces::look(&cluster)?;
    let installed = install::install(&cluster)?;
    let (counted, others): (Vec<_>, Vec<_>) = chosen.iter().partition(|one| one.with_counters);
    let mut seen = tried(&cluster, &installed, &others);
    if !counted.is_empty() {
        installed.let_read_counters(&cluster)?;
        seen.extend(tried(&cluster, &installed, &counted));
    }
    let failed = chosen.len() - seen.len();
    installed.remove(&cluster)?;
    if let Some(path) = std::env::var_os("SEEN_ON").filter(|path| !path.is_empty()) {
        seen::write(Path::new(&path), &cluster, &seen)?;
    }
    println!("{} passed, {failed} failed", seen.len());
    before.wait_gone(&cluster)?;
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Those that went well: all that do not disturb each other at once, then the others.
fn tried(cluster: &Cluster, installed: &Installed, all: &[&Situation]) -> Vec<Seen> {
    let (alone, together): (Vec<&Situation>, Vec<_>) = all.iter().partition(|one| one.turn == Turn::Alone);
    let mut lanes: BTreeMap<&str, Vec<&Situation>> = BTreeMap::new();
    for situation in together {
        let lane = if let Turn::OneOf(these) = situation.turn { these } else { situation.name };
        lanes.entry(lane).or_default().push(situation);
    }
    let at_once = number("AT_ONCE").unwrap_or(lanes.len());
    let left = Mutex::new(lanes.into_values());
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    let mut seen: Vec<Seen> = std::thread::scope(|scope| {
        let lane = || std::iter::from_fn(next).flat_map(|lane| in_turn(cluster, installed, &lane)).collect::<Vec<_>>();
        let threads: Vec<_> = (0..at_once).map(|_| scope.spawn(lane)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
    });
    seen.extend(in_turn(cluster, installed, &alone));
    seen
}

fn number(variable: &str) -> Option<usize> {
    std::env::var(variable).ok()?.parse().ok()
}

fn in_turn(cluster: &Cluster, installed: &Installed, all: &[&Situation]) -> Vec<Seen> {
    let mut went_well = Vec::new();
    for situation in all {
        match situation.run(cluster, installed) {
            Ok(seen) => {
                let (told, gone) = (seen.told.as_secs(), seen.gone.as_secs());
                println!("ok      {}: {} after {told} s, gone {gone} s after the step", seen.name, seen.cause);
                went_well.push(seen);
            }
            Err(error) => println!("FAILED  {}: {error:#}", situation.name),
        }
    }
    went_well
}
