//! Acceptance on a real cluster whose node is this machine: installs what `deploy/` says, makes things stick as a real
//! kubelet and API server let them, asks agent, plugin and service, types a step of theirs, and sees everything go.
//!
//! `tests/e2e/run.sh` finds or starts the cluster.

mod answers;
mod cluster;
mod container;
mod install;
mod situation;
mod situations;

use std::process::ExitCode;

use cluster::Cluster;

fn main() -> anyhow::Result<ExitCode> {
    if let Some(ended) = lab::standin::take_over() {
        return ended.map(|()| ExitCode::SUCCESS);
    }
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let chosen = situations::all().into_iter().filter(|one| wanted.is_empty() || wanted.contains(&one.name.to_owned()));
    let chosen: Vec<_> = chosen.collect();
    anyhow::ensure!(!chosen.is_empty(), "none of {wanted:?} is a situation");
    let cluster = Cluster::connect()?;
    println!("on Kubernetes {}, {}", cluster.version, cluster.runtime);
    let installed = install::install(&cluster)?;
    let mut failed = 0;
    for situation in &chosen {
        match situation.run(&cluster, &installed) {
            Ok(line) => println!("ok      {line}"),
            Err(error) => {
                failed += 1;
                println!("FAILED  {}: {error:#}", situation.name);
            }
        }
    }
    installed.remove(&cluster)?;
    println!("{} passed, {failed} failed", chosen.len() - failed);
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
