//! A pod that does its worst, and one whose files are not what they should be.

mod cgroups;
mod files;
mod process;

use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, thread};

use anyhow::{Context as _, ensure};
use lab::{Node, PodRef, PodSpec, cgroup, process::wait_end, wait_for};
use nix::sys::signal::Signal;

use crate::{asked::Answers, incidents::Told, state::State};
pub use files::swaps_files;
pub use process::take_over;

const PAUSE: Duration = Duration::from_secs(10);
const LIMIT: Duration = Duration::from_secs(120);
/// Pids that the hostile pod must leave to the node.
const OF_OTHERS: usize = 8192;

/// From `from` to `until` there are both pods, and `check` is asked again and again.
pub fn beside(state: &State, from: Instant, until: Instant) -> anyhow::Result<Answers> {
    let mut answers = Answers::default();
    if wait_until(state, from) {
        return Ok(answers);
    }
    let node = Node::open(&lab::default_dir())?;
    let busy = Busy::start(&node, state)?;
    let files = files::Files::stage(&node)?;
    while Instant::now() < until && !state.is_over() {
        answers.ask(&node, state, files::SECRET)?;
        wait_until(state, until.min(Instant::now() + PAUSE));
    }
    answers.faults.extend(files.remove(&node)?);
    busy.end(&node, state)?;
    wait_for("all that was reported of the hostile pods has ended", LIMIT, || {
        thread::sleep(Duration::from_secs(1));
        let told = node.store().events()?.iter().map(Told::read).collect::<anyhow::Result<Vec<_>>>()?;
        let of_them = told.iter().filter(|one| one.pod.as_deref().is_some_and(swaps_files));
        let (ends, opened): (Vec<_>, Vec<_>) = of_them.partition(|one| one.over);
        Ok((ends.len() >= opened.len()).then_some(()))
    })?;
    Ok(answers)
}

/// Returns early, and returns `true`, when the soak has ended.
fn wait_until(state: &State, moment: Instant) -> bool {
    while Instant::now() < moment {
        if state.is_over() {
            return true;
        }
        thread::sleep(Duration::from_millis(500));
    }
    false
}

/// As the kubelet limits a pod with `podPidsLimit`: the node keeps pids for all others.
fn limit_threads(pod: &PodRef) -> anyhow::Result<()> {
    let most = |file: &str| -> anyhow::Result<usize> {
        Ok(fs::read_to_string(format!("/proc/sys/kernel/{file}"))?.trim().parse()?)
    };
    let of_node = most("pid_max")?.min(most("threads-max")?).saturating_sub(OF_OTHERS);
    let most = of_node.min(process::THREADS + OF_OTHERS);
    cgroup::with_pids_limit(&pod.cgroup(), most)
}

/// The pod whose container runs [`process`].
struct Busy {
    spec: PodSpec,
    deepest: i32,
}

impl Busy {
    fn start(node: &Node, state: &State) -> anyhow::Result<Self> {
        let _runtime = state.runtime(node)?;
        let mut spec = PodSpec::new("hostile").container(&["/host/lab", "hostile", "/scratch"]);
        let volume = node.empty_dir(&mut spec, "scratch", false)?;
        let binaries = node.layout().binary();
        let binaries = binaries.parent().context("the lab's binary is in a directory")?;
        let mut spec = spec.mount(&volume, "/scratch").mount(binaries, "/host");
        for libraries in ["/lib", "/lib64", "/usr/lib"].map(Path::new).into_iter().filter(|path| path.exists()) {
            spec = spec.mount(libraries, &libraries.display().to_string());
        }
        limit_threads(&spec.pod)?;
        node.run(&spec)?;
        // A third of a soak is short; a hostile pod that is not ready is no test.
        wait_for("the hostile pod does its worst", LIMIT, || Ok(volume.join(process::READY).exists().then_some(())))
            .with_context(|| process::log(&volume))?;
        println!("hostile pod: {}", process::log(&volume).replace('\n', ", "));
        let deepest = cgroups::deep(node, &spec.pod)?;
        Ok(Self { spec, deepest })
    }

    fn end(self, node: &Node, state: &State) -> anyhow::Result<()> {
        let _runtime = state.runtime(node)?;
        lab::process::signal(self.deepest, Signal::SIGKILL)?;
        wait_end(self.deepest)?;
        cgroups::remove(&self.spec.pod)?;
        node.delete(&self.spec)?;
        node.wait_gone(&self.spec.pod, LIMIT)?;
        ensure!(!node.layout().pod_dir(&self.spec.pod.uid).exists(), "its directory is left");
        Ok(())
    }
}
