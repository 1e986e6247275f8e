//! The scan of the node, in a thread of its own: what hangs there does not hang the agent.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use reconcile::{
    reconciler::{Input, Scan},
    tracker::Snapshot,
};
use tokio::sync::mpsc::Sender;

use super::{clock, metrics::Metrics};
use crate::{
    gates,
    host::{child::Prober, scan},
    observation::{ApiFacts, Observation, PersistentVolume, Seen},
    sys,
};

/// One scan that is asked for, with the API server's word.
pub type Request = Option<Seen<ApiFacts>>;

/// Starts the thread; a request sent to it is one scan, whose outcome goes to `inputs`.
pub fn start(
    options: scan::Options,
    metrics: Arc<Metrics>,
    inputs: Sender<Input>,
) -> std::io::Result<std::sync::mpsc::Sender<Request>> {
    let (sender, requests) = std::sync::mpsc::channel::<Request>();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::Builder::new().name("scan".to_owned()).spawn(move || {
        let prober = Prober::new();
        let mut volumes = Vec::new();
        while let Ok(mut facts) = requests.recv() {
            if let Some(Seen::Seen(facts)) = &mut facts {
                facts.volumes = std::mem::take(&mut volumes);
            }
            let (scan, known) = runtime.block_on(scan_once(&options, facts, &prober, &metrics));
            volumes.extend(known);
            if inputs.blocking_send(Input::Scanned(Box::new(scan))).is_err() {
                return;
            }
        }
    })?;
    Ok(sender)
}

/// A scan, and the volumes that it has learnt of.
async fn scan_once(
    options: &scan::Options,
    facts: Request,
    prober: &Prober,
    metrics: &Metrics,
) -> (Scan, Vec<PersistentVolume>) {
    let (began, cpu) = (clock::now(), sys::thread_cpu_ms());
    let api = facts.map_or(scan::ApiSource::Off, scan::ApiSource::Known);
    let options = scan::Options { api, ..options.clone() };
    let seen = scan::scan(&options, prober).await;
    let report = gates::judge(&seen);
    let at = clock::now();
    let complete = Snapshot::new(at, &seen, &report).complete;
    let forgotten = report.pods.iter().map(|pod| &pod.pod.uid).filter(|uid| is_forgotten(&seen, uid)).cloned();
    let forgotten: BTreeSet<_> = forgotten.collect();
    let took = Duration::from_millis(sys::thread_cpu_ms().saturating_sub(cpu));
    metrics.scanned(at.since(began), &seen, &report, prober.abandoned());
    let volumes = match seen.api {
        Seen::Seen(api) => api.volumes,
        _ => Vec::new(),
    };
    (Scan { began, at, took, forgotten, complete, report }, volumes)
}

fn is_forgotten(seen: &Observation, uid: &findings::PodUid) -> bool {
    seen.api.get().is_some_and(|api| api.stale.is_none() && api.pods.iter().all(|pod| pod.uid != *uid))
}
