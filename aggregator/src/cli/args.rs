//! Flags.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};

/// Says what holds whatever is stuck in Terminating, and what to do about it.
///
/// Without an argument: everything that is stuck in the cluster. With one: that object, as in
/// `ns/shop`, `pod/db-0 -n shop`, `pvc/data`, `pv/…`, `crd/…`, `node/…`, or TYPE/NAME of any resource
/// the server knows; or all of one type, as in `pods`. It reads and explains; it never deletes, patches or evicts.
#[derive(Debug, Parser)]
#[command(
    name = "kubectl-why_terminating",
    bin_name = "kubectl why-terminating",
    version,
    args_conflicts_with_subcommands = true,
    after_help = findings::render::AFTER_HELP
)]
pub struct Args {
    /// What to do instead of looking at the cluster.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// TYPE/NAME, TYPE NAME, or TYPE
    #[arg(num_args = 0..=2, value_name = "TYPE/NAME")]
    pub object: Vec<String>,
    /// How to look and how to answer.
    #[command(flatten)]
    pub flags: Flags,
}

/// What to do instead of looking at the cluster.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Explain one cause, or list all of them
    Causes {
        /// For example ApiServiceWithoutEndpoints
        id: Option<String>,
    },
    /// Print a completion script for this shell
    Completion {
        /// bash, zsh, fish
        shell: clap_complete::Shell,
    },
    /// Judge a saved state, without a cluster
    Judge {
        /// What --save-state wrote
        file: PathBuf,
        /// How to answer
        #[command(flatten)]
        answer: AnswerFlags,
    },
}

/// Flags of a look at the cluster.
#[derive(Debug, clap::Args)]
pub struct Flags {
    /// Only this namespace
    #[arg(short, long)]
    pub namespace: Option<String>,
    /// All namespaces; so it is without -n
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    pub all_namespaces: bool,
    /// Look at every kind that the server serves, by its metadata (not at Secrets and Events)
    #[arg(long)]
    pub all_kinds: bool,
    /// The kubeconfig's context to use
    #[arg(long)]
    pub context: Option<String>,
    /// The kubeconfig to use
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The user to act as
    #[arg(long = "as", value_name = "USER")]
    pub impersonate: Option<String>,
    /// How long one request may take: 10s, 1m
    #[arg(long, default_value = "10s", value_parser = seconds)]
    pub request_timeout: Duration,
    /// Look again every five seconds, and answer again when something changed
    #[arg(short, long, conflicts_with = "save_state")]
    pub watch: bool,
    /// Keep what was asked and answered, for `judge`
    #[arg(long, value_name = "FILE")]
    pub save_state: Option<PathBuf>,
    /// How to answer
    #[command(flatten)]
    pub answer: AnswerFlags,
}

/// How to answer.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct AnswerFlags {
    /// The form of the answer; without it a screen of all root causes, or the tree of the object that was named
    #[arg(short, long, value_enum)]
    pub output: Option<Output>,
    /// The whole chain and all steps of the root cause with this number on the first screen
    #[arg(long, value_name = "N", conflicts_with_all = ["no_headers"])]
    pub explain: Option<usize>,
    /// Leave out the table's head
    #[arg(long)]
    pub no_headers: bool,
    /// Whether to use colour
    #[arg(long, value_enum, default_value_t = Colour::Auto, value_name = "WHEN")]
    pub color: Colour,
}

/// The form of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// A few lines for each root cause, the oldest first
    Screen,
    /// What holds it, and what to do
    Tree,
    /// One line per root cause
    Table,
    /// The tree with its evidence
    Wide,
    /// The stable schema
    Json,
    /// The stable schema
    Yaml,
    /// What is stuck, one name per line
    Name,
    /// A drawing for Graphviz
    Dot,
    /// A drawing for Markdown
    Mermaid,
}

/// Whether to use colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Colour {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// `10s`, `2m`, or plain seconds, as kubectl has it.
fn seconds(text: &str) -> Result<Duration, String> {
    let (number, unit) = match text.strip_suffix('s') {
        Some(number) => (number, 1),
        None => text.strip_suffix('m').map_or((text, 1), |number| (number, 60)),
    };
    match number.parse::<u64>() {
        Ok(count) if count > 0 && count <= 3600 => Ok(Duration::from_secs(count * unit)),
        _ => Err("give seconds or minutes, for example 10s or 1m".to_owned()),
    }
}
