//! The scan of the node, in a thread of its own: what hangs there does not hang the agent.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use reconcile::reconciler::{Input, Scan};
use tokio::sync::mpsc::Sender;

use super::metrics::Metrics;
use crate::clock;
use crate::host::prober::Prober;
use crate::host::scan::{self, ApiSource, ScanOptions};
use crate::observation::{ApiFacts, Fault, FaultKind, Seen};
use crate::reader::{self, Judged, ToTalker, Wanted};

/// One scan that is asked for, with the API server's word.
pub type Request = Option<Seen<ApiFacts>>;

/// Who looks at the node.
pub enum Scanner {
    Own(Box<scan::Options>),
    Reader(Box<reader::Client>),
}

impl Scanner {
    async fn scan(&self, node: &str, facts: Request, prober: &Prober) -> Result<Judged, Fault> {
        let (node_name, api) = (Some(node.to_owned()), facts.map_or(ApiSource::Off, ApiSource::Known));
        let scan = ScanOptions { node_name, api, ..ScanOptions::default() };
        match self {
            Scanner::Own(options) => Ok(Judged::scan(&scan::Options { scan, ..(**options).clone() }, prober).await),
            Scanner::Reader(reader) => match reader.scan(scan, Wanted::Judged).await? {
                ToTalker::Judged(judged) if judged.report.node == node => Ok(*judged),
                _ => Err(Fault::new("reader", (FaultKind::Malformed, "its answer is of another kind"))),
            },
        }
    }
}

/// The thread that has the node scanned.
pub struct Scans {
    /// A request sent to it is one scan.
    pub requests: std::sync::mpsc::Sender<Request>,
    /// Whether the last one was in vain: the reader did not answer.
    pub unanswered: Arc<AtomicBool>,
}

/// Starts the thread; the outcomes go to `inputs`.
pub fn start(scanner: Scanner, node: String, metrics: Arc<Metrics>, inputs: Sender<Input>) -> std::io::Result<Scans> {
    let unanswered = Arc::<AtomicBool>::default();
    let is_unanswered = unanswered.clone();
    let (sender, requests) = std::sync::mpsc::channel::<Request>();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::Builder::new().name("scan".to_owned()).spawn(move || {
        let prober = Prober::default();
        let mut volumes = Vec::new();
        while let Ok(mut facts) = requests.recv() {
            if let Some(Seen::Seen(facts)) = &mut facts {
                facts.volumes = std::mem::take(&mut volumes);
            }
            let began = clock::now();
            let scanned = runtime.block_on(scanner.scan(&node, facts, &prober));
            let judged = scanned.unwrap_or_else(|fault| Judged::nothing(&node, &fault));
            let at = clock::now();
            metrics.scanned(at.duration_since(began), &judged);
            is_unanswered.store(!judged.is_of_a_scan(), Ordering::Relaxed);
            let Judged { report, complete, forgotten, cpu_ms, volumes: known, .. } = judged;
            volumes.extend(known);
            let scan = Scan { began, at, took: Duration::from_millis(cpu_ms), forgotten, complete, report };
            if inputs.blocking_send(Input::Scanned(Box::new(scan))).is_err() {
                return;
            }
        }
    })?;
    Ok(Scans { requests: sender, unanswered })
}
