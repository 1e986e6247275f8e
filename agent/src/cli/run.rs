//! `run`.

use anyhow::bail;

use super::{
    ApiMode,
    args::{Listen, RunArgs},
};
use crate::{
    host::{api::Credentials, scan},
    run::{self, logs},
};
use reconcile::{Settings, schedule::Intervals, tracker::Rules};

/// Runs until it is told to end.
pub fn run(args: &RunArgs) -> anyhow::Result<()> {
    let node = match &args.node_name {
        Some(name) => name.clone(),
        None => sysinfo::System::host_name().unwrap_or_default().to_lowercase(),
    };
    if node.is_empty() {
        bail!("the node has no name; give --node-name or set NODE_NAME");
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    logs::start(args.log_format);
    let options = run::Options {
        credentials: credentials(args)?,
        listen: match args.listen {
            Listen::At(address) => Some(address),
            Listen::Off => None,
        },
        settings: settings(args),
        scan: scan::Options {
            node_name: Some(node.clone()),
            kubelet_root: args.kubelet_root.clone(),
            cri_socket: args.cri_endpoint.clone(),
            host_root: args.host_root.clone(),
            kubeconfig: args.kubeconfig.clone(),
            ..scan::Options::default()
        },
        node,
    };
    let ended = runtime.block_on(run::run(options));
    // A name that is being looked up is not waited for: a dead DNS server takes longer than the
    // kubelet or a service manager is to wait.
    runtime.shutdown_background();
    ended
}

fn credentials(args: &RunArgs) -> anyhow::Result<Option<Credentials>> {
    match (args.api, &args.kubeconfig) {
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

/// What the flags say.
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
