//! Flags.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{EnumValueParser, PossibleValue, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Parser, Subcommand, ValueEnum};

use client::Connection;
use findings::RootId;

use crate::report::{Columns, Template};

const AFTER_HELP: &str = "Exit codes: 0 nothing is stuck, 1 usage or failure, 2 something is stuck,
3 unknown, 4 nothing is stuck in what was scanned, and not everything was
Commands in an answer are POSIX sh";

/// Show what keeps objects in Terminating, and what to do about it.
///
/// Without an argument: everything that is stuck in the cluster. With one: that object, as in
/// `ns/shop`, `pod/db-0 -n shop`, `pvc/data`, `pv/…`, `crd/…`, `node/…`, or TYPE/NAME of any resource
/// the server knows; several of them; or all of one type, as in `pods`. It only reads; it never deletes,
/// patches or evicts anything but the pod that --on-node makes after it has asked.
#[derive(Debug, Parser)]
#[command(
    name = "kubectl-why_terminating",
    bin_name = "kubectl why-terminating",
    version,
    args_conflicts_with_subcommands = true,
    after_help = AFTER_HELP
)]
pub struct Args {
    /// What to do instead of looking at the cluster.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// TYPE/NAME …, TYPE NAME …, or TYPE
    #[arg(num_args = 0.., value_name = "TYPE/NAME")]
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
    /// Wait until an object is deleted, as `kubectl wait --for=delete` does; on timeout show what holds it
    Wait {
        /// TYPE/NAME, or TYPE NAME
        #[arg(num_args = 1.., required = true, value_name = "TYPE/NAME")]
        object: Vec<String>,
        /// How long: 30s, 5m; 0 checks once, a negative time waits for a week
        #[arg(long, default_value = "30s", value_parser = waiting, allow_hyphen_values = true)]
        timeout: Duration,
        /// How to look and how to answer
        #[command(flatten)]
        flags: Box<Flags>,
    },
    /// Show the versions of the plugin, the API server, the agents and the service
    Version {
        /// Only the plugin's, without a cluster
        #[arg(long)]
        client: bool,
        /// How to say it
        #[arg(short, long, value_enum, default_value_t)]
        output: VersionOutput,
        /// How to reach the cluster
        #[command(flatten)]
        flags: Box<Connection>,
    },
    /// Answer an AI agent that speaks the Model Context Protocol, over standard input and output; it only reads
    Mcp {
        /// How to reach the cluster
        #[command(flatten)]
        flags: Box<Connection>,
    },
    /// Open the service's page in a browser, with the permissions of a ServiceAccount
    Ui(Box<UiFlags>),
    /// Explain a saved state, without a cluster
    Judge {
        /// A file that --save-state wrote
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
    /// All namespaces (the default, if you have permission to list them)
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    pub all_namespaces: bool,
    /// Only objects with these labels, as `kubectl get -l` selects them; with a TYPE, or several: pods,svc
    #[arg(short = 'l', long, value_name = "LABELS", conflicts_with = "before")]
    pub selector: Option<String>,
    /// Scan every kind to its end, Secrets too (metadata only); without it large kinds are scanned for 3 s and 20 MB in
    /// all
    #[arg(long)]
    pub all_kinds: bool,
    /// Read what kubelets logged about pods that they do not finish (NodeLogQuery through the API server; needs your
    /// right to get nodes/proxy, which is root on the node: do not grant it for this)
    #[arg(long)]
    pub kubelet_log: bool,
    /// Run `check` in the agents' pods now, instead of reading their last Events; with --before, also name the processes
    /// that hold the volumes of running pods (needs your right to create pods/exec in their namespace, which is root on
    /// the nodes: do not grant it for this)
    #[arg(long, conflicts_with = "watch")]
    pub live: bool,
    /// Check the node of pod/NAME now, where no agent runs: creates a privileged pod there for about 10 s, after asking,
    /// and deletes it (needs your right to create, get and delete pods and get pods/log in its namespace; a pod that sees
    /// the node is root on it)
    #[arg(long, conflicts_with_all = ["watch", "live", "before", "all_namespaces", "selector"])]
    pub on_node: bool,
    /// With --on-node: do not ask
    #[arg(long, requires = "on_node")]
    pub yes: bool,
    /// With --on-node: the namespace of the pod; it has to admit privileged pods
    #[arg(long, value_name = "NAMESPACE", default_value = "kube-system", requires = "on_node")]
    pub on_node_namespace: String,
    /// With --on-node: the agent's image
    #[arg(long, value_name = "IMAGE", default_value_t = findings::agent_image(), requires = "on_node")]
    pub agent_image: String,
    /// Show what would hold TYPE/NAME, and what would be lost, if it were deleted (a node: drained) now
    #[arg(long, conflicts_with = "watch")]
    pub before: bool,
    /// Follow a Machine (Cluster API, NodeClaim) whose node is in another cluster to that node, with this kubeconfig
    #[arg(long, value_name = "FILE", conflicts_with_all = ["watch", "before", "on_node", "save_state"])]
    pub workload_kubeconfig: Option<PathBuf>,
    /// How to reach the cluster
    #[command(flatten)]
    pub connection: Connection,
    /// Follow, and answer again after each change
    #[arg(short, long, conflicts_with = "save_state")]
    pub watch: bool,
    /// Save all answers of the API server to this file, for `judge`
    #[arg(long, value_name = "FILE")]
    pub save_state: Option<PathBuf>,
    /// How to answer
    #[command(flatten)]
    pub answer: AnswerFlags,
}

impl Flags {
    /// The default flags, for this cluster.
    pub fn of(connection: Connection) -> Flags {
        Flags { connection, ..Args::parse_from([""]).flags }
    }
}

/// How to answer.
#[derive(Clone, Debug, clap::Args)]
pub struct AnswerFlags {
    /// Output format [default: a screen of all root causes, or the tree of a named object]
    #[arg(short, long, value_parser = OutputParser)]
    pub output: Option<Output>,
    /// The whole chain and all steps of one root cause: its eight digits on the first screen, in an alert or on the page
    #[arg(long, value_name = "ID", conflicts_with_all = ["no_headers"])]
    pub explain: Option<RootId>,
    /// Leave out the header of the table
    #[arg(long)]
    pub no_headers: bool,
    /// Print Markdown for a ticket: the answer, with the time and the versions of the plugin and the cluster
    #[arg(
        long,
        value_enum,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "names",
        value_name = "NAMES",
        conflicts_with = "no_headers"
    )]
    pub share: Option<Share>,
    /// Whether to use colour
    #[arg(long, value_enum, default_value_t = Colour::Auto, value_name = "WHEN")]
    pub color: Colour,
}

/// Which page to open, and with whose permissions.
#[derive(Debug, clap::Args)]
pub struct UiFlags {
    /// The account whose permissions decide what the page shows (needs your right to create serviceaccounts/token)
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = account)]
    pub serviceaccount: (String, String),
    /// The namespace of the service (needs your right to create pods/portforward there)
    #[arg(short, long, default_value = "why-terminating")]
    pub namespace: String,
    /// Only print the address
    #[arg(long)]
    pub no_browser: bool,
    /// How to reach the cluster
    #[command(flatten)]
    pub connection: Connection,
}

/// What becomes of the names in a ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Share {
    /// They are kept
    Names,
    /// Those of objects, namespaces, nodes and ServiceAccounts are replaced by a kind and a number; kinds, API groups,
    /// finalizers, files, users and addresses stay: read it before you publish it
    Redacted,
}

/// How to say versions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum VersionOutput {
    /// A line for each
    #[default]
    Text,
    /// For scripts
    Json,
}

/// The form of the answer.
#[derive(Clone, Debug, PartialEq, ValueEnum)]
pub enum Output {
    /// A few lines for each root cause, the oldest first
    Screen,
    /// What holds it, and what to do
    Tree,
    /// One line per root cause
    Table,
    /// The tree with its evidence
    Wide,
    /// For scripts, by a stable schema
    Json,
    /// The same as YAML
    Yaml,
    /// What is stuck, one name per line
    Name,
    /// A graph for Graphviz
    Dot,
    /// A graph for Markdown
    Mermaid,
    /// What a template of kubectl selects
    #[value(skip)]
    JsonPath(Template),
    /// A row for each root cause
    #[value(skip)]
    CustomColumns(Columns),
}

/// Also reads the two forms that take something.
#[derive(Clone)]
struct OutputParser;

impl TypedValueParser for OutputParser {
    type Value = Output;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<Output, clap::Error> {
        let made = match value.to_str().and_then(|text| text.split_once('=')) {
            Some(("jsonpath", template)) => template.parse().map(Output::JsonPath),
            Some(("custom-columns", columns)) => columns.parse().map(Output::CustomColumns),
            _ => return EnumValueParser::<Output>::new().parse_ref(command, arg, value),
        };
        made.map_err(|why: String| command.clone().error(ErrorKind::ValueValidation, why))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let more = [
            ("jsonpath=", "What this template selects of the JSON, as in kubectl"),
            ("custom-columns=", "HEADER:PATH,…: a row for each root cause, in which the paths begin"),
        ];
        let more = more.into_iter().map(|(name, help)| PossibleValue::new(name).help(help));
        Some(Box::new(Output::value_variants().iter().filter_map(ValueEnum::to_possible_value).chain(more)))
    }
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

/// As `kubectl wait` takes it: 0 looks once, less than that waits for a week.
fn waiting(text: &str) -> Result<Duration, String> {
    const WEEK: Duration = Duration::from_secs(7 * 24 * 3600);
    let whole = if text.bytes().all(|byte| byte.is_ascii_digit()) { format!("{text}s") } else { text.to_owned() };
    let Ok(parsed) = whole.parse::<jiff::SignedDuration>() else {
        return Err("give a time, for example 30s, 5m, or 0 to check once".to_owned());
    };
    Ok(if parsed.is_negative() { WEEK } else { Duration::try_from(parsed).unwrap_or(WEEK).min(WEEK) })
}

/// `shop/viewer`
fn account(text: &str) -> Result<(String, String), String> {
    let both = text.split_once('/').filter(|(namespace, name)| {
        let is_part =
            |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"-.".contains(&b));
        is_part(namespace) && is_part(name)
    });
    let (namespace, name) = both.ok_or("give NAMESPACE/NAME, for example why-terminating/viewer")?;
    Ok((namespace.to_owned(), name.to_owned()))
}

/// These flags, with the name of this program.
pub fn connection(flags: &Connection) -> Connection {
    Connection { user_agent: concat!("kubectl-why_terminating/", env!("CARGO_PKG_VERSION")), ..flags.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_kubectls() {
        for (text, expected) in [("10s", 10), ("1m30s", 90), ("2m", 120), ("7", 7), ("0", 3600), ("1h", 3600)] {
            let args = Args::try_parse_from(["x", "--request-timeout", text]).unwrap();
            assert_eq!(args.flags.connection.request_timeout, Duration::from_secs(expected), "{text}");
        }
        for (text, expected) in [("30s", 30), ("5m", 300), ("0", 0), ("-1s", 604_800), ("2h", 7200)] {
            assert_eq!(waiting(text), Ok(Duration::from_secs(expected)), "{text}");
        }
        assert!(waiting("soon").is_err());
        for odd in ["", "-1s", "soon", "2h", "10 years"] {
            assert!(Args::try_parse_from(["x", &format!("--request-timeout={odd}")]).is_err(), "{odd}");
        }
    }

    #[test]
    fn groups_need_a_user() {
        assert!(Args::try_parse_from(["x", "--as", "alice", "--as-group", "a", "--as-group", "b"]).is_ok());
        assert!(Args::try_parse_from(["x", "--as-group", "a"]).is_err());
        assert!(Args::try_parse_from(["x", "-s", "https://10.0.0.1:6443"]).is_ok());
        assert!(Args::try_parse_from(["x", "-s", "10.0.0.1:6443"]).is_ok());
        assert!(Args::try_parse_from(["x", "-s", "two words"]).is_err());
        assert!(Args::try_parse_from(["x", "--server", "ftp://x"]).is_err());
    }
}
