//! Flags and subcommands.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use clap::{Parser, Subcommand, ValueEnum};
use findings::PodUid;

use crate::{host::PodFilter, run::logs};

/// Show what keeps pods of this node in Terminating.
///
/// It only reads; it never deletes, unmounts or kills.
#[derive(Debug, Parser)]
#[command(version, about, after_help = findings::render::AFTER_HELP)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Scan this node and show what holds its pods (needs root)
    Check(CheckArgs),
    /// Watch this node and report what holds its pods as Events and metrics (the DaemonSet's program)
    Run(Box<RunArgs>),
    /// Scan this node for a `run --reader`, without credentials and without a network (the DaemonSet's other
    /// container)
    Reader(ReaderArgs),
    /// Explain a saved observation, on any machine
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
    /// For a pod that is not being deleted: show which processes outside it would hold its volumes
    #[arg(long, requires = "pod")]
    pub before: bool,
    /// How to answer
    #[arg(short, long, value_enum, default_value_t = Output::Table)]
    pub output: Output,
    /// Whether to query the API server for the pods in deletion
    #[arg(long, value_enum, default_value_t = ApiMode::Auto)]
    pub api: ApiMode,
    /// Credentials for the API server [default: $KUBECONFIG, the kubelet's own, the service account]
    #[arg(long)]
    pub kubeconfig: Option<PathBuf>,
    /// The node's name [default: the kubelet's]
    #[arg(long, env = "NODE_NAME")]
    pub node_name: Option<String>,
    /// Where several kubelets run: the one whose pods are judged [default: each in turn, with its own]
    #[arg(long)]
    pub kubelet_pid: Option<u32>,
    /// The kubelet's directory [default: the kubelet's --root-dir]
    #[arg(long)]
    pub kubelet_root: Option<PathBuf>,
    /// The runtime's socket [default: the kubelet's, else the usual places]
    #[arg(long, value_parser = cri_endpoint)]
    pub cri_endpoint: Option<PathBuf>,
    /// Where the host's root directory is mounted [default: the kubelet's view of it]
    #[arg(long)]
    pub host_root: Option<PathBuf>,
    /// For a task in D, also show what the kernel logged about it (needs CAP_SYSLOG)
    #[arg(long)]
    pub kernel_log: bool,
    /// The socket of the `reader` that scans the node [default: this process scans]
    #[arg(long, env = "READER", requires = "node_name", conflicts_with_all = ["kubelet_pid", "kubelet_root", "cri_endpoint", "host_root", "kernel_log"])]
    pub reader: Option<PathBuf>,
    /// Also save what was seen to this file, for `judge` or a bug report
    #[arg(long)]
    pub save_observation: Option<PathBuf>,
}

/// Where things are on the node.
#[derive(Clone, Debug, clap::Args)]
pub struct LookArgs {
    /// The kubelet's directory [default: the kubelet's --root-dir]
    #[arg(long, env = "KUBELET_ROOT")]
    pub kubelet_root: Option<PathBuf>,
    /// The runtime's socket [default: the kubelet's, else the usual places]
    #[arg(long, env = "CRI_ENDPOINT", value_parser = cri_endpoint)]
    pub cri_endpoint: Option<PathBuf>,
    /// Where the host's root directory is mounted [default: the kubelet's view of it]
    #[arg(long, env = "HOST_ROOT")]
    pub host_root: Option<PathBuf>,
    /// For a task in D, also report what the kernel logged about it (needs CAP_SYSLOG)
    #[arg(long, env = "KERNEL_LOG")]
    pub kernel_log: bool,
}

/// Flags of `reader`; each is an environment variable too.
#[derive(Debug, clap::Args)]
pub struct ReaderArgs {
    /// The socket on which it serves `run`
    #[arg(long, env = "READER")]
    pub socket: PathBuf,
    /// How log lines are written; RUST_LOG sets the level
    #[arg(long, env = "LOG_FORMAT", value_enum, default_value_t = logs::Format::Text)]
    pub log_format: logs::Format,
    /// Where things are.
    #[command(flatten)]
    pub look: LookArgs,
}

/// Flags of `run`; each is an environment variable too.
#[derive(Debug, clap::Args)]
pub struct RunArgs {
    /// The node's name [default: the host's name]
    #[arg(long, env = "NODE_NAME")]
    pub node_name: Option<String>,
    /// Whether to query the API server and to write Events
    #[arg(long, env = "API", value_enum, default_value_t = ApiMode::Auto)]
    pub api: ApiMode,
    /// Credentials for the API server [default: the service account]
    #[arg(long, env = "KUBECONFIG")]
    pub kubeconfig: Option<PathBuf>,
    /// Address of /metrics, /healthz and /readyz; `off` for none
    #[arg(long, env = "LISTEN", default_value = "127.0.0.1:9753", value_parser = listen)]
    pub listen: Listen,
    /// How log lines are written; RUST_LOG sets the level
    #[arg(long, env = "LOG_FORMAT", value_enum, default_value_t = logs::Format::Text)]
    pub log_format: logs::Format,
    /// Where things are.
    #[command(flatten)]
    pub look: LookArgs,
    /// The socket of the `reader` that scans the node [default: this process scans]
    #[arg(long, env = "READER", conflicts_with_all = ["kubelet_root", "cri_endpoint", "host_root", "kernel_log"])]
    pub reader: Option<PathBuf>,
    /// Delay of the first scan after a pod's deadline
    #[arg(long, env = "FIRST_SCAN", default_value = "15s", value_parser = interval)]
    pub first_scan: Duration,
    /// Interval to the next scan; it grows by half each time
    #[arg(long, env = "SCAN_INTERVAL", default_value = "30s", value_parser = interval)]
    pub scan_interval: Duration,
    /// Longest interval between scans for one pod
    #[arg(long, env = "SCAN_INTERVAL_MAX", default_value = "5m", value_parser = interval)]
    pub scan_interval_max: Duration,
    /// Interval between scans of a node without pods in deletion
    #[arg(long, env = "SWEEP_INTERVAL", default_value = "10m", value_parser = interval)]
    pub sweep_interval: Duration,
    /// How often a holder of a volume, or an unproven finding, is seen before it is reported
    #[arg(long, env = "SCANS", default_value_t = 2)]
    pub scans: u32,
    /// How often a task in D is seen before it is reported
    #[arg(long, env = "D_STATE_SCANS", default_value_t = 3)]
    pub d_state_scans: u32,
    /// With more pods than this behind one root cause, the node reports it once
    #[arg(long, env = "FAN_IN", default_value_t = 5)]
    pub fan_in: usize,
    /// Renewal interval of an Event that still holds (Events expire after an hour)
    #[arg(long, env = "EVENT_RENEWAL", default_value = "30m", value_parser = interval)]
    pub event_renewal: Duration,
    /// Interval after which an Event of the node is written again when its pods have changed
    #[arg(long, env = "EVENT_UPDATE", default_value = "5m", value_parser = interval)]
    pub event_update: Duration,
    /// Number of Events that can be written at once
    #[arg(long, env = "EVENT_BURST", default_value_t = 10)]
    pub event_burst: u32,
    /// Interval for each further Event
    #[arg(long, env = "EVENT_REFILL", default_value = "30s", value_parser = interval)]
    pub event_refill: Duration,
    /// Writes wait for a random part of this, so that nodes with the same problem do not write together
    #[arg(long, env = "EVENT_SPREAD", default_value = "30s", value_parser = spread)]
    pub event_spread: Duration,
    /// Highest number of findings in memory
    #[arg(long, env = "MAX_FINDINGS", default_value_t = 1000)]
    pub max_findings: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listen {
    /// At this address.
    At(SocketAddr),
    /// Nowhere.
    Off,
}

fn listen(text: &str) -> Result<Listen, String> {
    if text == "off" {
        return Ok(Listen::Off);
    }
    // `$(POD_IP):9753` in a manifest has no brackets around an IPv6 address.
    let apart = || {
        let (address, port) = text.rsplit_once(':')?;
        Some(SocketAddr::new(address.parse().ok()?, port.parse().ok()?))
    };
    let address = text.parse().ok().or_else(apart);
    address.map(Listen::At).ok_or_else(|| "give ADDRESS:PORT, [IPV6]:PORT or off".to_owned())
}

/// As an interval, and `0s` for none.
fn spread(text: &str) -> Result<Duration, String> {
    if text == "0s" { Ok(Duration::ZERO) } else { interval(text) }
}

/// `90s`, `15m`, `2h`: at least a millisecond, so that nothing turns without a pause.
fn interval(text: &str) -> Result<Duration, String> {
    let help = || "give a time such as 90s, 15m or 2h".to_owned();
    let time: Duration =
        text.parse::<jiff::SignedDuration>().ok().and_then(|time| time.try_into().ok()).ok_or_else(help)?;
    if time < Duration::from_millis(1) { Err(help()) } else { Ok(time) }
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
    /// Query it, and report when it does not answer
    Auto,
    /// Use only what the node itself shows
    Off,
}

fn pod_filter(text: &str) -> Result<PodFilter, String> {
    if let Some(uid) = PodUid::parse(text) {
        return Ok(PodFilter::Uid(uid));
    }
    match text.split_once('/') {
        Some((namespace, name)) if is_name(namespace) && is_name(name) => {
            Ok(PodFilter::Name(namespace.to_owned(), name.to_owned()))
        }
        _ => Err("give NAMESPACE/NAME or the pod's uid".to_owned()),
    }
}

/// What the API server lets a pod or a namespace be called (`IsDNS1123Subdomain`), roughly: enough that it
/// means nothing else in a path or a selector.
fn is_name(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.');
    let is_end = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    bytes.len() <= 253 && bytes.iter().copied().all(is_allowed) && is_end(bytes.first()) && is_end(bytes.last())
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
        for bad in ["db-0", "/db-0", "shop/", "a/b/c", "shop/a,spec.nodeName=b", "shop/Db", "../x", "shop/.."] {
            assert!(pod_filter(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_defaults_are_those_of_the_settings() {
        let Ok(Args { command: Command::Run(args) }) = Args::try_parse_from(["x", "run"]) else { unreachable!() };
        assert_eq!(super::super::run::settings(&args), reconcile::Settings::default());
        assert!(interval("0s").is_err() && interval("soon").is_err() && interval("-5s").is_err());
        assert_eq!(interval("1h30m"), Ok(Duration::from_secs(5400)));
        assert_eq!(listen("off"), Ok(Listen::Off));
        assert!(listen("localhost").is_err());
    }

    #[test]
    fn an_address_with_and_without_brackets() {
        let at = |text: &str| Ok(Listen::At(text.parse().unwrap()));
        assert_eq!(listen("10.0.0.7:9753"), at("10.0.0.7:9753"));
        assert_eq!(listen("[fd00::7]:9753"), at("[fd00::7]:9753"));
        assert_eq!(listen("fd00::7:9753"), at("[fd00::7]:9753"));
        assert_eq!(listen("off"), Ok(Listen::Off));
        assert!(listen("9753").is_err() && listen("node-7:9753").is_err() && listen(":9753").is_err());
    }

    /// So they are given to the reader, and the chart has values for it.
    #[test]
    fn where_things_are_is_said_to_who_looks() {
        for flag in ["--kubelet-root=/k", "--cri-endpoint=/run/x.sock", "--host-root=/host", "--kernel-log"] {
            Args::try_parse_from(["x", "reader", "--socket=/s", flag]).unwrap();
            let refused = Args::try_parse_from(["x", "run", "--reader=/s", flag]).unwrap_err();
            assert_eq!(refused.kind(), clap::error::ErrorKind::ArgumentConflict, "{flag}");
        }
    }

    #[test]
    fn an_endpoint_with_and_without_its_scheme() {
        assert_eq!(cri_endpoint("unix:///run/x.sock"), Ok(PathBuf::from("/run/x.sock")));
        assert_eq!(cri_endpoint("/run/x.sock"), Ok(PathBuf::from("/run/x.sock")));
        assert!(cri_endpoint("tcp://x").is_err());
    }
}
