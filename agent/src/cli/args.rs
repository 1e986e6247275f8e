//! Flags and subcommands.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use findings::PodUid;

use crate::host::look::PodFilter;

/// Says what holds every pod of this node that should be gone.
///
/// It reads and explains; it never deletes, unmounts or kills.
#[derive(Debug, Parser)]
#[command(
    version,
    about,
    after_help = "Exit codes: 0 nothing is stuck, 1 usage or failure, 2 something is stuck, 3 cannot tell"
)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Look at this node and say what holds its pods (needs root)
    Check(CheckArgs),
    /// Judge a saved observation, on any machine
    Judge(JudgeArgs),
    /// Explain one cause, or list all of them
    Causes {
        /// For example FuseServerNotResponding
        id: Option<String>,
    },
}

/// Flags of `check`.
#[derive(Debug, clap::Args)]
pub struct CheckArgs {
    /// Only this pod: NAMESPACE/NAME or its uid
    #[arg(long, value_parser = pod_filter)]
    pub pod: Option<PodFilter>,
    /// How to answer
    #[arg(short, long, value_enum, default_value_t = Output::Table)]
    pub output: Output,
    /// Whether to ask the API server which pods should be gone
    #[arg(long, value_enum, default_value_t = ApiMode::Auto)]
    pub api: ApiMode,
    /// Credentials for the API server [default: $KUBECONFIG, the service account, the kubelet's own]
    #[arg(long)]
    pub kubeconfig: Option<PathBuf>,
    /// The node's name [default: the kubelet's]
    #[arg(long, env = "NODE_NAME")]
    pub node_name: Option<String>,
    /// The kubelet's directory [default: the kubelet's --root-dir]
    #[arg(long)]
    pub kubelet_root: Option<PathBuf>,
    /// The runtime's socket [default: the kubelet's, else the usual places]
    #[arg(long, value_parser = cri_endpoint)]
    pub cri_endpoint: Option<PathBuf>,
    /// Where the host's root directory is mounted [default: the kubelet's view of it]
    #[arg(long)]
    pub host_root: Option<PathBuf>,
    /// Also write what was seen to this file, to judge it again or to report a fault
    #[arg(long)]
    pub save_observation: Option<PathBuf>,
}

/// Flags of `judge`.
#[derive(Debug, clap::Args)]
pub struct JudgeArgs {
    /// A file that `check --save-observation` wrote
    pub file: PathBuf,
    /// Only this pod: NAMESPACE/NAME or its uid
    #[arg(long, value_parser = pod_filter)]
    pub pod: Option<PodFilter>,
    /// How to answer
    #[arg(short, long, value_enum, default_value_t = Output::Table)]
    pub output: Output,
}

/// How to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// What holds each pod, and what to do
    Table,
    /// The same with every gate and the evidence
    Wide,
    /// The stable schema, for scripts
    Json,
}

/// Whether to ask the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ApiMode {
    /// Ask it, and say so when it does not answer
    Auto,
    /// Judge by what the node itself shows
    Off,
}

fn pod_filter(text: &str) -> Result<PodFilter, String> {
    if let Some(uid) = PodUid::parse(text) {
        return Ok(PodFilter::Uid(uid));
    }
    match text.split_once('/') {
        Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() && !name.contains('/') => {
            Ok(PodFilter::Name(namespace.to_owned(), name.to_owned()))
        }
        _ => Err("give NAMESPACE/NAME or the pod's uid".to_owned()),
    }
}

fn cri_endpoint(text: &str) -> Result<PathBuf, String> {
    let path = text.strip_prefix("unix://").unwrap_or(text);
    if path.starts_with('/') { Ok(PathBuf::from(path)) } else { Err("give unix:///path/to/the.sock".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_flags_are_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn a_pod_by_name_or_uid() {
        assert_eq!(pod_filter("shop/db-0"), Ok(PodFilter::Name("shop".into(), "db-0".into())));
        assert!(matches!(pod_filter("96fb425e-919e-44f9-8b42-b1254a602ba1"), Ok(PodFilter::Uid(_))));
        for bad in ["db-0", "/db-0", "shop/", "a/b/c"] {
            assert!(pod_filter(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_endpoint_with_and_without_its_scheme() {
        assert_eq!(cri_endpoint("unix:///run/x.sock"), Ok(PathBuf::from("/run/x.sock")));
        assert_eq!(cri_endpoint("/run/x.sock"), Ok(PathBuf::from("/run/x.sock")));
        assert!(cri_endpoint("tcp://x").is_err());
    }
}
