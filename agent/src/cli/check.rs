//! `check`, `judge` and `causes`.

use std::{sync::mpsc, time::Duration};

use anyhow::{Context, anyhow, bail};
use findings::render::{self, Detail, Style};
use findings::{NodeReport, Verdict};
use tokio::runtime::Runtime;

use super::args::{CheckArgs, JudgeArgs};
use super::run::credentials;
use super::{ApiMode, Command, Output};
use crate::host::kubelet::KubeletChoice;
use crate::host::prober::Prober;
use crate::host::{PodFilter, scan};
use crate::observation::{Disbelief, Observation};
use crate::reader::{self, ToTalker, Wanted};
use crate::{gates, report};

/// After this long the terminal shows what the program is waiting for.
const NOTICE_DELAY: Duration = Duration::from_secs(1);
/// Every source has a deadline of its own; this one only guards against the unforeseen, such as a local disk that does not
/// answer.
const SCAN_TIMEOUT: Duration = Duration::from_secs(10);

/// Runs one command, and says what the process is to end with.
pub fn run(command: Command) -> anyhow::Result<u8> {
    match command {
        Command::Check(args) => check(args),
        Command::Run(args) => super::run::run(&args).map(|()| render::exit_code(Verdict::Clear)),
        Command::Reader(args) => super::run::read(args).map(|()| render::exit_code(Verdict::Clear)),
        Command::Judge(JudgeArgs { file, pod, output }) => answer(&[scan::load(&file)?], pod.as_ref(), output),
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
    let scan = scan::ScanOptions {
        node_name: node_name.clone(),
        api: if args.api == ApiMode::Auto { scan::ApiSource::Ask } else { scan::ApiSource::Off },
        only: pod.clone(),
        before: args.before,
        watches_counters: true,
        probe_fuse: true,
        list_all: save_observation.is_some(),
    };
    let mut options = None;
    let scan: NodeScan = match reader {
        Some(socket) => {
            let credentials = credentials(args.api, args.kubeconfig.as_ref())?;
            let client = reader::Client::new(socket.clone(), NOTICE_DELAY, node_name.clone(), credentials);
            Box::new(move |runtime| match runtime.block_on(client.scan(scan, Wanted::Observation)) {
                Ok(ToTalker::Observation(seen)) => Ok(*seen),
                Ok(_) => Err(anyhow!("the reader's answer is of another kind")),
                Err(fault) => Err(anyhow!(fault.to_string())),
            })
        }
        None => {
            if !nix::unistd::geteuid().is_root() {
                bail!(
                    "run it as root (sudo): other users' processes and the runtime's socket are not readable otherwise"
                );
            }
            let options = options.insert(scan::Options {
                scan,
                kubelet: KubeletChoice { wanted: args.kubelet_pid, every: judges_each_kubelet(&args) && pod.is_none() },
                kubelet_root: args.kubelet_root.clone(),
                cri_socket: args.cri_endpoint.clone(),
                host_root: args.host_root.clone(),
                kernel_log: args.kernel_log,
                kubeconfig: args.kubeconfig.clone(),
                ..scan::Options::default()
            });
            node_scan(options.clone())
        }
    };
    let mut seen = vec![scan_in_time(scan)?];
    if let Some(options) = options.filter(|_| judges_each_kubelet(&args)) {
        let of = |kubelet: KubeletChoice| scan_in_time(node_scan(scan::Options { kubelet, ..options.clone() }));
        // A look at one pod costs less than the search for kubelets outside of the usual units.
        if pod.as_ref().is_some_and(|only| !is_known(&seen[0], only)) {
            seen = vec![of(KubeletChoice { every: true, ..options.kubelet })?];
        }
        for pid in other_kubelets(&seen[0]) {
            let other = of(KubeletChoice { wanted: Some(pid), every: true })?;
            take(&mut seen, other);
        }
    }
    let exit = answer(&seen, pod.as_ref(), *output)?;
    // The answer first: a full disk must not keep it back.
    if let (Some(file), [seen, ..]) = (save_observation, seen.as_slice()) {
        scan::save(seen, file)?;
    }
    Ok(exit)
}

fn node_scan(options: scan::Options) -> NodeScan {
    Box::new(move |runtime| Ok(runtime.block_on(scan::scan(&options, &Prober::default()))))
}

/// Whether no flag is set that would be wrong for another kubelet.
fn judges_each_kubelet(args: &CheckArgs) -> bool {
    let CheckArgs { kubelet_pid, kubelet_root, cri_endpoint, node_name, save_observation, .. } = args;
    let is_configured = [kubelet_root, cri_endpoint, save_observation].into_iter().any(Option::is_some);
    kubelet_pid.is_none() && node_name.is_none() && !is_configured
}

/// Those that could be the node's as well as the one whose pods were looked at.
fn other_kubelets(seen: &Observation) -> Vec<u32> {
    let others = seen.node.false_kubelets.iter();
    others.filter(|other| matches!(other.why, Disbelief::AnotherIsJudged(_))).map(|other| other.pid).collect()
}

/// Adds what was seen of another kubelet: each has the pods below its own directory. One that shares it stays a doubt.
fn take(seen: &mut Vec<Observation>, mut other: Observation) {
    let Some(pid) = other.node.kubelet.get().map(|kubelet| kubelet.pid) else { return };
    let is_same = |known: &Observation| {
        (&known.node.kubelet_root, kubelet_ns(known)) == (&other.node.kubelet_root, kubelet_ns(&other))
    };
    if seen.iter().any(is_same) {
        return;
    }
    let judged: Vec<u32> = seen.iter().filter_map(|seen| Some(seen.node.kubelet.get()?.pid)).chain([pid]).collect();
    other.node.false_kubelets.clone_from(&seen[0].node.false_kubelets);
    seen.push(other);
    seen.iter_mut().for_each(|seen| seen.node.false_kubelets.retain(|other| !judged.contains(&other.pid)));
}

/// The same path may be another directory.
fn kubelet_ns(seen: &Observation) -> Option<u64> {
    seen.node.kubelet.get().and_then(|kubelet| kubelet.mount_ns)
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
    let first = receiver.recv_timeout(NOTICE_DELAY);
    let seen = match first {
        Err(mpsc::RecvTimeoutError::Timeout) => {
            eprintln!("looking at the node; a source is slow to answer …");
            receiver.recv_timeout(SCAN_TIMEOUT)
        }
        seen => seen,
    };
    seen.context("the scan of this node did not end; a local disk or /proc may be hanging")?
}

/// Of each kubelet in turn; of one pod that of the kubelet that has it.
fn answer(seen: &[Observation], only: Option<&PodFilter>, output: Output) -> anyhow::Result<u8> {
    let has = |seen: &&Observation| only.is_none_or(|only| is_known(seen, only));
    let mut meant: Vec<&Observation> = seen.iter().filter(has).collect();
    if meant.is_empty() {
        meant.extend(seen.first());
    }
    let mut worst = Verdict::Clear;
    for one in meant {
        worst = worst.max(answer_of(one, seen.len(), only, output)?);
    }
    Ok(render::exit_code(worst))
}

fn answer_of(seen: &Observation, kubelets: usize, only: Option<&PodFilter>, output: Output) -> anyhow::Result<Verdict> {
    let mut report = gates::judge(seen);
    if let (Some(kubelet), 2..) = (seen.node.kubelet.get(), kubelets) {
        let root = seen.node.kubelet_root.show();
        let note = format!(
            "{kubelets} kubelets run here; this is of pid {} ({}), whose pods are below {root}",
            kubelet.pid, kubelet.comm
        );
        report.notes.insert(0, findings::clean(&note, 300));
    }
    if let Some(only) = only {
        narrow(&mut report, seen, only);
        let all_seen = report.unknown.is_empty();
        if let ([], true, false, Some(note)) =
            (report.pods.as_slice(), all_seen, output == Output::Json, report.notes.last())
        {
            print(&format!("{note}\n"), Style::Plain)?;
            return Ok(report.verdict);
        }
    }
    let style = match anstream::AutoStream::choice(&std::io::stdout()) {
        anstream::ColorChoice::Never => Style::Plain,
        _ => Style::Coloured,
    };
    let verdict = report.verdict;
    let text = match output {
        Output::Table => report::tree(&report, Detail::Short, style),
        Output::Wide => report::tree(&report, Detail::Wide, style),
        Output::Json => render::json(&report).context("writing JSON")?,
    };
    print(&text, style)?;
    Ok(verdict)
}

/// Leaves one pod and what holds it.
fn narrow(report: &mut NodeReport, seen: &Observation, only: &PodFilter) {
    report.pods.retain(|pod| only.matches(&pod.pod));
    report.node_findings.retain(|found| found.pods.iter().any(|pod| only.matches(pod)));
    let Some(worst) = report.pods.iter().map(|pod| pod.verdict).max() else {
        let known = is_known(seen, only);
        let says = match (known, report.unknown.is_empty()) {
            (true, true) if seen.before => "no process outside of it holds its volumes".to_owned(),
            (true, true) => "it is not being deleted".to_owned(),
            (true, false) => "whether it is being deleted is unknown, see below".to_owned(),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::{FalseKubelet, HostPath, Seen, sample};

    fn observation(pid: u32, root: &str, others: &[u32]) -> Observation {
        let mut seen = sample::deleted();
        seen.node.kubelet.get_mut().unwrap().pid = pid;
        seen.node.kubelet_root = HostPath::from(root);
        let other =
            |other: &u32| FalseKubelet { pid: *other, comm: "kubelet".into(), why: Disbelief::AnotherIsJudged(pid) };
        seen.node.false_kubelets = others.iter().map(other).collect();
        seen
    }

    fn pids(seen: &[Observation]) -> Vec<(u32, Vec<u32>)> {
        let others = |seen: &Observation| seen.node.false_kubelets.iter().map(|other| other.pid).collect();
        seen.iter().map(|seen| (seen.node.kubelet.get().unwrap().pid, others(seen))).collect()
    }

    #[test]
    fn each_kubelet_has_the_pods_below_its_own_directory() {
        let mut seen = vec![observation(7, "/var/lib/kubelet", &[8, 9])];
        assert_eq!(other_kubelets(&seen[0]), [8, 9]);
        take(&mut seen, observation(8, "/var/lib/other", &[7, 9]));
        assert_eq!(pids(&seen), [(7, vec![9]), (8, vec![9])]);
        // It has the same pods, or another reader's: which is not known.
        take(&mut seen, observation(9, "/var/lib/other", &[7, 8]));
        assert_eq!(pids(&seen), [(7, vec![9]), (8, vec![9])]);
        // The same path in another mount namespace is another directory.
        let mut other = observation(9, "/var/lib/kubelet", &[7, 8]);
        other.node.kubelet.get_mut().unwrap().mount_ns = Some(2);
        take(&mut seen, other);
        assert_eq!(pids(&seen), [(7, vec![]), (8, vec![]), (9, vec![])]);
        // It has ended meanwhile.
        let mut gone = observation(10, "/x", &[]);
        gone.node.kubelet = Seen::Missing;
        take(&mut seen, gone);
        assert_eq!(seen.len(), 3);
    }
}
