//! The stand-in's process: its command line, and one worker per pod.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{fs, thread};

use anyhow::Context as _;

use super::{log::Log, orphans, reconstruction::Remembered, worker::Worker};
use crate::{Layout, node::default_dir, pod::Record};

/// How often it looks for pods to be ended.
const SYNC: Duration = Duration::from_millis(200);

/// The command line of a kubelet. The stand-in finds its node by the environment; the flags are
/// there for those who look at the process.
#[derive(Debug, clap::Parser)]
#[command(name = "kubelet", disable_version_flag = true)]
pub struct Kubelet {
    #[arg(long)]
    root_dir: Option<PathBuf>,
    #[arg(long)]
    config: Option<PathBuf>,
    #[arg(long)]
    container_runtime_endpoint: Option<String>,
    #[arg(long)]
    cgroup_root: Option<String>,
    #[arg(long)]
    hostname_override: Option<String>,
    #[arg(long)]
    kubeconfig: Option<PathBuf>,
}

impl Kubelet {
    /// Runs until it is killed.
    pub fn run(self) -> anyhow::Result<()> {
        let layout = Layout::new(default_dir());
        let log = Arc::new(Log::open(&layout)?);
        let workers = Arc::new(Mutex::new(HashSet::new()));
        let remembered = Arc::new(Remembered::read(&layout));
        // Who waits for it to start may change what it has read.
        fs::write(layout.kubelet_pid(), std::process::id().to_string()).context("write the pid")?;
        let housekeeping = (layout.clone(), Arc::clone(&log), Arc::clone(&remembered));
        thread::spawn(move || orphans::sweep_forever(&housekeeping.0, &housekeeping.1, &housekeeping.2));
        let reconciler = (layout.clone(), Arc::clone(&log));
        thread::spawn(move || remembered.reconcile_forever(&reconciler.0, &reconciler.1));
        loop {
            for record in records(&layout)? {
                start_worker(&layout, &log, &workers, record);
            }
            thread::sleep(SYNC);
        }
    }
}

/// One thread per pod, so that a pod that is held does not hold up another.
fn start_worker(layout: &Layout, log: &Arc<Log>, workers: &Arc<Mutex<HashSet<String>>>, record: Record) {
    let uid = record.pod.uid.clone();
    let begun = |workers: &Mutex<HashSet<String>>| workers.lock().is_ok_and(|mut set| set.insert(uid.clone()));
    if !record.terminating || !begun(workers) {
        return;
    }
    let (layout, log, workers) = (layout.clone(), Arc::clone(log), Arc::clone(workers));
    thread::spawn(move || {
        let pod = record.pod.clone();
        if let Err(error) = Worker::new(layout, Arc::clone(&log), record).run() {
            log.error("Error syncing pod, skipping", &format!("{error:#}"), &pod);
        }
        // A later pod of the same uid gets a new worker.
        if let Ok(mut set) = workers.lock() {
            set.remove(&pod.uid);
        }
    });
}

fn records(layout: &Layout) -> anyhow::Result<Vec<Record>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(layout.records()).context("list the pods' records")? {
        let path = entry?.path();
        if path.extension().is_some_and(|suffix| suffix == "json")
            && let Ok(bytes) = fs::read(&path)
        {
            found.push(serde_json::from_slice(&bytes).with_context(|| format!("parse {}", path.display()))?);
        }
    }
    Ok(found)
}
