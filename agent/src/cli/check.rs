//! `check`, `judge` and `causes`.

use std::{sync::mpsc, time::Duration};

use anyhow::{Context, anyhow, bail};
use findings::{
    NodeReport, Verdict,
    render::{self, Detail, Style},
};
use tokio::runtime::Runtime;

use super::{
    ApiMode, Command, Output,
    args::{CheckArgs, JudgeArgs},
    run::credentials,
};
use crate::{
    gates,
    host::PodFilter,
    host::{child::Prober, scan},
    observation::Observation,
    reader::{self, ToTalker},
    report,
};

/// After this long the person at the terminal is told what is going on.
const PATIENCE: Duration = Duration::from_secs(1);
/// Every source has a deadline of its own; this one only guards against what nobody thought of,
/// such as a local disk that does not answer.
const GIVE_UP: Duration = Duration::from_secs(10);

/// Runs one command, and says what the process is to end with.
pub fn run(command: Command) -> anyhow::Result<u8> {
    match command {
        Command::Check(args) => check(args),
        Command::Run(args) => super::run::run(&args).map(|()| render::exit_code(Verdict::Clear)),
        Command::Reader(args) => super::run::read(args).map(|()| render::exit_code(Verdict::Clear)),
        Command::Judge(JudgeArgs { file, pod, output }) => answer(&scan::load(&file)?, pod.as_ref(), output),
        Command::Causes { id } => {
            print(&render::causes(id.as_deref())?, Style::Plain)?;
            Ok(render::exit_code(Verdict::Clear))
        }
    }
}

fn print(text: &str, style: Style) -> anyhow::Result<()> {
    render::print(text, style, std::io::stdout()).context("writing the answer")
}

fn check(args: CheckArgs) -> anyhow::Result<u8> {
    let CheckArgs { pod, output, node_name, save_observation, reader, .. } = &args;
    let scan: NodeScan = match reader {
        Some(socket) => {
            let credentials = credentials(args.api, args.kubeconfig.as_ref())?;
            let client = reader::Client::new(socket.clone(), PATIENCE, node_name.clone(), credentials);
            let scan = reader::Scan {
                api: if args.api == ApiMode::Auto { reader::Api::Ask } else { reader::Api::Off },
                only: pod.clone(),
                before: args.before,
                probe_fuse: true,
                list_all: save_observation.is_some(),
                wanted: reader::Wanted::Observation,
                ..Default::default()
            };
            Box::new(move |runtime| match runtime.block_on(client.scan(scan)) {
                Ok(ToTalker::Observation(seen)) => Ok(*seen),
                Ok(_) => Err(anyhow!("the reader tells of something else")),
                Err(fault) => Err(anyhow!(fault.to_string())),
            })
        }
        None => {
            if !nix::unistd::geteuid().is_root() {
                bail!(
                    "run it as root (sudo): other users' processes and the runtime's socket are not readable otherwise"
                );
            }
            let options = scan::Options {
                node_name: node_name.clone(),
                kubelet_pid: args.kubelet_pid,
                kubelet_root: args.kubelet_root.clone(),
                cri_socket: args.cri_endpoint.clone(),
                host_root: args.host_root.clone(),
                api: if args.api == ApiMode::Auto { scan::ApiSource::Ask } else { scan::ApiSource::Off },
                kubeconfig: args.kubeconfig.clone(),
                probe_fuse: true,
                only: pod.clone(),
                before: args.before,
                list_all: save_observation.is_some(),
                ..scan::Options::default()
            };
            Box::new(move |runtime| Ok(runtime.block_on(scan::scan(&options, &Prober::new()))))
        }
    };
    let seen = scan_in_time(scan)?;
    let exit = answer(&seen, pod.as_ref(), *output)?;
    // The answer first: a full disk must not keep it back.
    if let Some(file) = save_observation {
        scan::save(&seen, file)?;
    }
    Ok(exit)
}

/// One way of scanning the node.
type NodeScan = Box<dyn FnOnce(&Runtime) -> anyhow::Result<Observation> + Send>;

/// Looks in a thread of its own, so that not even a read that never returns keeps the answer back.
fn scan_in_time(scan: NodeScan) -> anyhow::Result<Observation> {
    let (sender, receiver) = mpsc::sync_channel(1);
    std::thread::Builder::new().name("scan".to_owned()).spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let seen = runtime.context("starting the runtime").and_then(|runtime| scan(&runtime));
        // The receiver is gone only when it has given up.
        let _ = sender.send(seen);
    })?;
    let first = receiver.recv_timeout(PATIENCE);
    let seen = match first {
        Err(mpsc::RecvTimeoutError::Timeout) => {
            eprintln!("looking at the node; a source is slow to answer …");
            receiver.recv_timeout(GIVE_UP)
        }
        seen => seen,
    };
    seen.context("the scan of this node did not end; a local disk or /proc may be hanging")?
}

fn answer(seen: &Observation, only: Option<&PodFilter>, output: Output) -> anyhow::Result<u8> {
    let mut report = gates::judge(seen);
    if let Some(only) = only {
        narrow(&mut report, seen, only);
        let all_seen = report.unknown.is_empty();
        if let ([], true, false, Some(note)) =
            (report.pods.as_slice(), all_seen, output == Output::Json, report.notes.last())
        {
            print(&format!("{note}\n"), Style::Plain)?;
            return Ok(render::exit_code(report.verdict));
        }
    }
    let style = match anstream::AutoStream::choice(&std::io::stdout()) {
        anstream::ColorChoice::Never => Style::Plain,
        _ => Style::Coloured,
    };
    let text = match output {
        Output::Table => report::tree(&report, Detail::Short, style),
        Output::Wide => report::tree(&report, Detail::Wide, style),
        Output::Json => render::json(&report).context("writing JSON")?,
    };
    print(&text, style)?;
    Ok(render::exit_code(report.verdict))
}

/// Leaves one pod and what holds it.
fn narrow(report: &mut NodeReport, seen: &Observation, only: &PodFilter) {
    report.pods.retain(|pod| only.matches(&pod.pod));
    report.node_findings.retain(|found| found.pods.iter().any(|pod| only.matches(pod)));
    let Some(worst) = report.pods.iter().map(|pod| pod.verdict).max() else {
        let known = is_known(seen, only);
        let says = match (known, report.unknown.is_empty()) {
            (true, true) if seen.before => "nobody outside of it holds its volumes".to_owned(),
            (true, true) => "it is not being deleted".to_owned(),
            (true, false) => "whether it should go cannot be told, see what is unknown".to_owned(),
            (false, _) => format!("no such pod was found on node {}", report.node),
        };
        report.notes.push(format!("Pod {only}: {says}. Other pods were not judged."));
        report.verdict = if known && report.unknown.is_empty() { Verdict::Clear } else { Verdict::CannotTell };
        return;
    };
    report.verdict = worst;
}

/// Whether the API server or the runtime knows this pod on this node.
fn is_known(seen: &Observation, only: &PodFilter) -> bool {
    let of_api = seen.api.get().into_iter().flat_map(|api| &api.pods).any(|pod| only.matches(&pod.to_ref()));
    of_api
        || seen
            .runtime
            .get()
            .into_iter()
            .flat_map(|runtime| &runtime.sandboxes)
            .any(|sandbox| only.matches(&sandbox.pod))
}
