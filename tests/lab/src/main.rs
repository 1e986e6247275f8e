//! The lab's command line.

mod down;
mod page;
mod prove;

use std::{io::Write, path::Path, process::ExitCode};

use anyhow::{Context as _, anyhow};
use clap::{Parser, Subcommand};
use lab::scenario::{self, Note, Scenario, Staged};
use lab::{Layout, Node, PodRef};

/// Makes pods really stuck on this machine.
#[derive(Debug, Parser)]
#[command(name = "lab")]
struct Cli {
    /// The node's directory.
    #[arg(long, env = "WHY_TERMINATING_LAB_DIR", default_value = "/run/why-terminating-lab", global = true)]
    dir: std::path::PathBuf,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show all scenarios.
    List,
    /// Make a node and stage scenarios on it.
    Up {
        /// Scenarios, see `lab list`; none for an empty node.
        names: Vec<String>,
    },
    /// Take single scenarios down: cure them and see the pods go.
    Down {
        /// The scenarios.
        #[arg(required_unless_present = "all")]
        names: Vec<String>,
        /// Instead of that, take the node away with everything on it, also after a crash.
        #[arg(long, conflicts_with = "names")]
        all: bool,
    },
    /// Show the flags with which the agent looks at the node.
    Env,
    /// Stage scenarios, run a command line on them, and take the node away. Other labs wait.
    With {
        /// The scenarios.
        #[arg(required = true)]
        names: Vec<String>,
        /// For `sh -c`; `$LAB_AGENT_ARGS` are the flags with which the agent looks at the node.
        #[arg(long)]
        run: String,
    },
    /// Run the agent on the node, serve its findings as the page, and take a picture of it.
    Page {
        /// Where the picture is written.
        #[arg(long)]
        picture: std::path::PathBuf,
    },
    /// Stage scenarios one by one, cure each with what the lab knows to work, and see the pods go.
    Prove {
        /// Scenarios; none for all.
        names: Vec<String>,
    },
}

fn main() -> ExitCode {
    let outcome = lab::standin::take_over().unwrap_or_else(|| run(Cli::parse()));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("lab: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: Cli) -> anyhow::Result<()> {
    match cli.command {
        Command::List => {
            for scenario in scenario::all() {
                // A reader that has gone away (`| head`) is no failure.
                let _ = writeln!(std::io::stdout(), "{:<22} {}", scenario.name, scenario.about);
            }
            Ok(())
        }
        Command::Up { names } => up(&cli.dir, &named(&names)?),
        Command::Down { all: true, .. } => Node::remove(&cli.dir),
        Command::Down { names, .. } => down::down(&cli.dir, &named(&names)?),
        Command::Env => env(&cli.dir),
        Command::With { names, run } => with(&cli.dir, &named(&names)?, &run),
        Command::Page { picture } => page::page(&cli.dir, &picture),
        Command::Prove { names } => prove::prove(&cli.dir, &chosen(&names)?),
    }
}

fn named(names: &[String]) -> anyhow::Result<Vec<&'static Scenario>> {
    let find = |name: &String| {
        let scenario = scenario::find(name).with_context(|| format!("no scenario {name:?}: see `lab list`"))?;
        match scenario.obstacle() {
            Some(why) => Err(anyhow!("{name}: {why}")),
            None => Ok(scenario),
        }
    };
    names.iter().map(find).collect()
}

fn chosen(names: &[String]) -> anyhow::Result<Vec<&'static Scenario>> {
    if !names.is_empty() {
        return named(names);
    }
    let (possible, not): (Vec<&Scenario>, Vec<&Scenario>) =
        scenario::all().partition(|scenario| scenario.obstacle().is_none());
    for scenario in not {
        eprintln!("not staged: {}: {}", scenario.name, scenario.obstacle().unwrap_or_default());
    }
    Ok(possible)
}

fn up(dir: &Path, scenarios: &[&Scenario]) -> anyhow::Result<()> {
    let node = Node::up(dir)?;
    for scenario in scenarios {
        let staged = (scenario.stage)(&node).with_context(|| format!("stage {}", scenario.name))?;
        Note::of(&staged).write(node.layout(), scenario.name)?;
        describe(scenario, &staged);
    }
    println!("why-terminating-agent check {}", node.agent_args().join(" "));
    node.keep();
    Ok(())
}

fn with(dir: &Path, scenarios: &[&Scenario], command: &str) -> anyhow::Result<()> {
    let node = Node::up(dir)?;
    for scenario in scenarios {
        (scenario.stage)(&node).with_context(|| format!("stage {}", scenario.name))?;
    }
    let status = std::process::Command::new("sh")
        .args(["-c", command])
        .env("LAB_AGENT_ARGS", node.agent_args().join(" "))
        .env("KUBECONFIG", node.layout().kubeconfig())
        .status()
        .context("run sh")?;
    node.down()?;
    anyhow::ensure!(status.success(), "`{command}` ended with {status}");
    Ok(())
}

fn describe(scenario: &Scenario, staged: &Staged) {
    println!("{}: {}", scenario.name, scenario.about);
    for PodRef { namespace, name, uid } in &staged.pods {
        println!("  pod {namespace}/{name} {uid}");
    }
    for expect in &staged.expect {
        let (gate, cause) = (expect.gate.unwrap_or("-"), expect.cause.unwrap_or("-"));
        println!("  expect {} {gate} {cause}, naming {}", expect.verdict, expect.names.join(" "));
    }
    println!("  cure {:?}", staged.cure);
    for command in &staged.known_good {
        println!("  known to work: {command}");
    }
}

fn env(dir: &Path) -> anyhow::Result<()> {
    let node = Node::open(dir)?;
    let layout: &Layout = node.layout();
    println!("export WHY_TERMINATING_LAB_DIR='{}'", layout.dir().display());
    println!("export KUBECONFIG='{}'", layout.kubeconfig().display());
    println!("export LAB_AGENT_ARGS='{}'", node.agent_args().join(" "));
    Ok(())
}
