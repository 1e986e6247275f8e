//! `run`.

use std::{path::PathBuf, time::Duration};

use anyhow::bail;

use super::ApiMode;
use super::args::{Listen, LookArgs, ReaderArgs, RunArgs};
use crate::host::api::Credentials;
use crate::host::scan;
use crate::reader;
use crate::run::{self, Scanner, logs};
use crate::sys::sandbox;
use reconcile::{Settings, schedule::Intervals, tracker::Rules};

/// A reader that starts anew is there again by then; a scan in vain is a fault, and comes again.
const READER_START_TIMEOUT: Duration = Duration::from_secs(20);

/// Reads for the talker, until it is killed.
pub fn read(args: ReaderArgs) -> anyhow::Result<()> {
    logs::start(args.log_format);
    reader::run(reader::Options { socket: args.socket, look: args.look.into() })
}

impl From<LookArgs> for scan::Options {
    fn from(args: LookArgs) -> Self {
        let LookArgs { kubelet_root, cri_endpoint: cri_socket, host_root, kernel_log } = args;
        scan::Options { kubelet_root, cri_socket, host_root, kernel_log, ..scan::Options::default() }
    }
}

/// Runs until SIGTERM or SIGINT.
pub fn run(args: &RunArgs) -> anyhow::Result<()> {
    let node = match &args.node_name {
        Some(name) => name.clone(),
        None => sysinfo::System::host_name().unwrap_or_default().to_lowercase(),
    };
    if node.is_empty() {
        bail!("the node has no name; give --node-name or set NODE_NAME");
    }
    logs::start(args.log_format);
    let credentials = credentials(args.api, args.kubeconfig.as_ref())?;
    // A kubeconfig may name files and a program that are unknown here.
    if args.reader.is_some() && !matches!(credentials, Some(Credentials::Kubeconfig(_))) {
        sandbox::confine_talker()?;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let scanner = match &args.reader {
        Some(socket) => Scanner::Reader(Box::new(reader::Client::new(
            socket.clone(),
            READER_START_TIMEOUT,
            Some(node.clone()),
            credentials.clone(),
        ))),
        None => {
            Scanner::Own(Box::new(scan::Options { kubeconfig: args.kubeconfig.clone(), ..args.look.clone().into() }))
        }
    };
    let options = run::Options {
        credentials,
        listen: match args.listen {
            Listen::At(address) => Some(address),
            Listen::Off => None,
        },
        settings: settings(args),
        scanner,
        node,
    };
    let ended = runtime.block_on(run::run(options));
    // A name that is being looked up is not waited for: a dead DNS server takes longer than the
    // kubelet or a service manager is to wait.
    runtime.shutdown_background();
    ended
}

/// With which credentials the API server is asked.
pub(super) fn credentials(api: ApiMode, kubeconfig: Option<&PathBuf>) -> anyhow::Result<Option<Credentials>> {
    match (api, kubeconfig) {
        (ApiMode::Off, _) => Ok(None),
        (ApiMode::Auto, Some(path)) => Ok(Some(Credentials::Kubeconfig(path.clone()))),
        (ApiMode::Auto, None) if std::env::var_os("KUBERNETES_SERVICE_HOST").is_some() => {
            Ok(Some(Credentials::InCluster))
        }
        (ApiMode::Auto, None) => {
            bail!("this is no pod of a cluster: name a kubeconfig with --kubeconfig, or use --api off")
        }
    }
}

pub(super) fn settings(args: &RunArgs) -> Settings {
    Settings {
        intervals: Intervals {
            first: args.first_scan,
            next: args.scan_interval,
            longest: args.scan_interval_max.max(args.scan_interval),
            sweep: args.sweep_interval,
        },
        rules: Rules {
            fan_in: args.fan_in,
            scans: args.scans,
            d_state_scans: args.d_state_scans,
            renewal: args.event_renewal,
            update: args.event_update,
            capacity: args.max_findings,
        },
        burst: args.event_burst,
        refill: args.event_refill,
        spread: args.event_spread,
    }
}
