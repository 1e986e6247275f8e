//! The look at the node, in a thread of its own: what hangs there does not hang the agent.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use tokio::sync::mpsc::Sender;

use super::{
    brain::{Answer, Looked},
    clock,
    ledger::Sight,
    metrics::Metrics,
};
use crate::{
    gates,
    host::{child::Prober, scan},
    observation::{ApiFacts, Observation, PersistentVolume, Seen},
    sys,
};

/// One look that is asked for.
pub type Job = Option<Seen<ApiFacts>>;

/// Starts the thread; a job sent to it is one look, its answer goes to `tell`.
pub fn start(
    options: scan::Options,
    metrics: Arc<Metrics>,
    tell: Sender<Answer>,
) -> std::io::Result<std::sync::mpsc::Sender<Job>> {
    let (sender, jobs) = std::sync::mpsc::channel::<Job>();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::Builder::new().name("look".to_owned()).spawn(move || {
        let prober = Prober::new();
        let mut volumes = Vec::new();
        while let Ok(mut facts) = jobs.recv() {
            if let Some(Seen::Seen(facts)) = &mut facts {
                facts.volumes = std::mem::take(&mut volumes);
            }
            let (looked, known) = runtime.block_on(look_once(&options, facts, &prober, &metrics));
            volumes.extend(known);
            if tell.blocking_send(Answer::Looked(Box::new(looked))).is_err() {
                return;
            }
        }
    })?;
    Ok(sender)
}

/// A look, and the volumes that it has learnt of.
async fn look_once(
    options: &scan::Options,
    facts: Job,
    prober: &Prober,
    metrics: &Metrics,
) -> (Looked, Vec<PersistentVolume>) {
    let (began, cpu) = (clock::now(), sys::thread_cpu_ms());
    let api = facts.map_or(scan::ApiSource::Off, scan::ApiSource::Known);
    let options = scan::Options { api, ..options.clone() };
    let seen = scan::scan(&options, prober).await;
    let report = gates::judge(&seen);
    let at = clock::now();
    let complete = Sight::new(at, &seen, &report).complete;
    let forgotten = report.pods.iter().map(|pod| &pod.pod.uid).filter(|uid| is_forgotten(&seen, uid)).cloned();
    let forgotten: BTreeSet<_> = forgotten.collect();
    let took = Duration::from_millis(sys::thread_cpu_ms().saturating_sub(cpu));
    metrics.looked(at.since(began), &seen, &report, prober.abandoned());
    let volumes = match seen.api {
        Seen::Seen(api) => api.volumes,
        _ => Vec::new(),
    };
    (Looked { began, at, took, forgotten, complete, report }, volumes)
}

fn is_forgotten(seen: &Observation, uid: &findings::PodUid) -> bool {
    seen.api.get().is_some_and(|api| api.stale.is_none() && api.pods.iter().all(|pod| pod.uid != *uid))
}
