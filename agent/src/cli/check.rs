//! `check`, `judge` and `causes`.

use std::{
    io::{IsTerminal, Write},
    sync::mpsc,
    time::Duration,
};

use anyhow::{Context, bail};
use findings::{NodeReport, Style, Verdict};

use super::{
    ApiMode, Command, Output,
    args::{CheckArgs, JudgeArgs},
};
use crate::{
    gates,
    host::{
        child::Prober,
        scan::{self, PodFilter},
    },
    observation::Observation,
    report::{self, Detail},
};

/// After this long the person at the terminal is told what is going on.
const PATIENCE: Duration = Duration::from_secs(1);
/// Every source has a deadline of its own; this one only guards against what nobody thought of,
/// such as a local disk that does not answer.
const GIVE_UP: Duration = Duration::from_secs(10);

/// The process's exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Nothing is stuck.
    Clear = 0,
    /// Something is stuck.
    Stuck = 2,
    /// It cannot be told.
    CannotTell = 3,
}

impl From<Verdict> for Exit {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Clear | Verdict::Progressing => Exit::Clear,
            Verdict::Stuck => Exit::Stuck,
            Verdict::CannotTell => Exit::CannotTell,
        }
    }
}

/// Runs one command.
pub fn run(command: Command) -> anyhow::Result<Exit> {
    match command {
        Command::Check(args) => check(args),
        Command::Run(args) => super::run::run(&args).map(|()| Exit::Clear),
        Command::Judge(JudgeArgs { file, pod, output }) => answer(&scan::load(&file)?, pod.as_ref(), output),
        Command::Causes { id: None } => {
            let list: String =
                findings::cause::all().map(|cause| format!("{:<28} {}\n", cause.id, cause.title)).collect();
            print(&list)
        }
        Command::Causes { id: Some(id) } => {
            match findings::cause::all().find(|cause| cause.id.eq_ignore_ascii_case(&id)) {
                Some(cause) => print(&report::explain(cause)),
                None => bail!(
                    "no cause is called {:?}; `why-terminating-agent causes` lists them all",
                    findings::clean(&id, 60)
                ),
            }
        }
    }
}

fn print(text: &str) -> anyhow::Result<Exit> {
    write(text)?;
    Ok(Exit::Clear)
}

/// Writes to standard output; a reader that has gone away (`| head`) is no failure.
fn write(text: &str) -> anyhow::Result<()> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error).context("writing the answer"),
        _ => Ok(()),
    }
}

fn check(args: CheckArgs) -> anyhow::Result<Exit> {
    let CheckArgs { pod, output, api, kubeconfig, node_name, kubelet_root, cri_endpoint, host_root, save_observation } =
        args;
    if !rustix::process::geteuid().is_root() {
        bail!("run it as root (sudo): other users' processes and the runtime's socket are not readable otherwise");
    }
    let options = scan::Options {
        node_name,
        kubelet_root,
        cri_socket: cri_endpoint,
        host_root,
        api: if api == ApiMode::Auto { scan::ApiSource::Ask } else { scan::ApiSource::Off },
        kubeconfig,
        probe_fuse: true,
        only: pod.clone(),
        list_all: save_observation.is_some(),
    };
    let seen = look_in_time(options)?;
    let exit = answer(&seen, pod.as_ref(), output)?;
    // The answer first: a full disk must not keep it back.
    if let Some(file) = save_observation {
        scan::save(&seen, &file)?;
    }
    Ok(exit)
}

/// Looks in a thread of its own, so that not even a read that never returns keeps the answer back.
fn look_in_time(options: scan::Options) -> anyhow::Result<Observation> {
    let (sender, receiver) = mpsc::sync_channel(1);
    std::thread::Builder::new().name("look".to_owned()).spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let seen = runtime.map(|runtime| runtime.block_on(scan::scan(&options, &Prober::new())));
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
    seen.context("the look at this node did not end; a local disk or /proc may be hanging")?
        .context("starting the runtime")
}

fn answer(seen: &Observation, only: Option<&PodFilter>, output: Output) -> anyhow::Result<Exit> {
    let mut report = gates::judge(seen);
    if let Some(only) = only {
        narrow(&mut report, seen, only);
        let all_seen = report.unknown.is_empty();
        if let ([], true, false, Some(note)) =
            (report.pods.as_slice(), all_seen, output == Output::Json, report.notes.last())
        {
            write(&format!("{note}\n"))?;
            return Ok(report.verdict.into());
        }
    }
    let style = Style::choose(std::io::stdout().is_terminal(), std::env::var_os("NO_COLOR").as_deref());
    let text = match output {
        Output::Table => report::tree(&report, Detail::Short, style),
        Output::Wide => report::tree(&report, Detail::Wide, style),
        Output::Json => report::json(&report).context("writing JSON")?,
    };
    write(&text)?;
    Ok(report.verdict.into())
}

/// Leaves one pod and what holds it.
fn narrow(report: &mut NodeReport, seen: &Observation, only: &PodFilter) {
    report.pods.retain(|pod| only.matches(&pod.pod));
    report.node_findings.retain(|found| found.pods.iter().any(|pod| only.matches(pod)));
    let Some(worst) = report.pods.iter().map(|pod| pod.verdict).max() else {
        let known = is_known(seen, only);
        let says = match (known, report.unknown.is_empty()) {
            (true, true) => "nothing asks for it to go".to_owned(),
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
