//! Measures `check` on a crowded node, beside `lsof` and `fuser`; what `run` costs when nothing is stuck; and the plugin
//! and the service on a large cluster.

mod cluster;
mod compare;
mod crowd;
mod floor;
mod fork;
mod hold;
mod idle;
mod interrupt;
mod machine;
mod measure;
mod overlooked;
mod report;
mod service;
mod stage;
mod stats;

use clap::{Parser, Subcommand};

use compare::Compare;

/// Measures the agent on a crowded node and prints Markdown.
#[derive(Debug, Parser)]
struct Args {
    #[command(subcommand)]
    command: Option<Part>,
    #[command(flatten)]
    compare: Compare,
}

/// What else is measured, and the parts of this program's own processes.
#[derive(Debug, Subcommand)]
enum Part {
    /// What `run` costs on a full node of which no pod is to go, beside prometheus-node-exporter
    Idle(idle::Idle),
    /// What the plugin costs on a large cluster, beside the loop of kubectl that people use
    Cluster(cluster::Cluster),
    /// What the service costs in a large cluster in which much goes on
    Service(service::Bench),
    /// Takes away what an earlier run left
    Clean {
        /// End with the code of an interrupted program
        #[arg(long, hide = true)]
        interrupted: bool,
    },
    #[command(hide = true)]
    ServeCluster(cluster::Serve),
    #[command(hide = true)]
    Crowd,
    #[command(hide = true)]
    Measure(measure::Measure),
    #[command(hide = true)]
    Hold(hold::Hold),
}

fn main() -> anyhow::Result<()> {
    if let Some(outcome) = lab::standin::take_over() {
        return outcome;
    }
    let Args { command, compare } = Args::parse();
    match command {
        None => {
            interrupt::watch(compare.dir.clone())?;
            print!("{}", compare.run()?);
            Ok(())
        }
        Some(Part::Idle(part)) => {
            interrupt::watch(compare.dir.clone())?;
            let (report, met) = part.run(&compare.dir, &compare.agent, compare.size)?;
            print!("{report}");
            anyhow::ensure!(met, "a target is missed: see the last column of the table");
            Ok(())
        }
        Some(Part::Cluster(part)) => {
            let (report, met) = part.run()?;
            print!("{report}");
            anyhow::ensure!(met, "a target is missed: see the last column of the table");
            Ok(())
        }
        Some(Part::Service(part)) => {
            let (report, met) = part.run()?;
            print!("{report}");
            anyhow::ensure!(met, "a target is missed: see the last column of the table");
            Ok(())
        }
        Some(Part::ServeCluster(part)) => part.run(),
        Some(Part::Clean { interrupted }) => {
            compare::clean(&compare.dir)?;
            if interrupted {
                std::process::exit(130);
            }
            Ok(())
        }
        Some(Part::Crowd) => crowd::run(),
        Some(Part::Measure(part)) => part.run(),
        Some(Part::Hold(part)) => part.run(),
    }
}
