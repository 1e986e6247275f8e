//! What all threads share.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread;
use std::time::{Duration, Instant};

use lab::{Node, PodRef, wait_for};

use crate::incidents::Incident;

/// What the agent saw a moment ago is reported within this time, or its end is.
const SETTLED: Duration = Duration::from_secs(20);

/// After a restart.
const ANSWERS: Duration = Duration::from_secs(30);

/// The state of one soak.
#[derive(Debug)]
pub struct State {
    /// The program of the agent. Reader and talker run copies of it.
    pub agent: PathBuf,
    /// When the last pod is made.
    pub end: Instant,
    /// Held by users of the runtime; a thread that stops it waits for them.
    runtime: RwLock<()>,
    /// Held while the API server fails.
    pub api: Mutex<()>,
    /// What was staged.
    incidents: Mutex<Vec<Incident>>,
    /// What is stuck and was reported: the pod's uid and its cause.
    held: Mutex<BTreeMap<String, &'static str>>,
    /// How many threads have not ended.
    busy: AtomicUsize,
    /// Whether something went so wrong that it is of no use to go on.
    failed: AtomicBool,
}

impl State {
    /// With so many threads that end by [`State::ended`].
    pub fn new(agent: PathBuf, end: Instant, threads: usize) -> Self {
        Self {
            agent,
            end,
            runtime: RwLock::default(),
            api: Mutex::default(),
            incidents: Mutex::default(),
            held: Mutex::default(),
            busy: AtomicUsize::new(threads),
            failed: AtomicBool::new(false),
        }
    }

    /// Whether no further pod is made.
    pub fn is_over(&self) -> bool {
        Instant::now() >= self.end || self.failed.load(Ordering::SeqCst)
    }

    /// Where something has failed, all threads end early.
    pub fn noted<T>(&self, outcome: anyhow::Result<T>) -> anyhow::Result<T> {
        if outcome.is_err() {
            self.failed.store(true, Ordering::SeqCst);
        }
        outcome
    }

    /// Ends a thread.
    pub fn ended<T>(&self, outcome: anyhow::Result<T>) -> anyhow::Result<T> {
        let outcome = self.noted(outcome);
        thread::sleep(SETTLED);
        self.busy.fetch_sub(1, Ordering::SeqCst);
        outcome
    }

    /// Whether the last pod is gone, nothing fails any more, and every report about it is written.
    pub fn is_settled(&self) -> bool {
        self.busy.load(Ordering::SeqCst) == 0
    }

    /// While this is held the runtime runs and answers `node`, which may have asked another one before.
    pub fn runtime(&self, node: &Node) -> anyhow::Result<RwLockReadGuard<'_, ()>> {
        let held = self.runtime.read().unwrap_or_else(PoisonError::into_inner);
        let nobody = PodRef::new("nobody");
        wait_for("the runtime answers", ANSWERS, || Ok(node.remains(&nobody).ok()))?;
        Ok(held)
    }

    /// While this is held no other thread needs the runtime.
    pub fn without_runtime(&self) -> RwLockWriteGuard<'_, ()> {
        self.runtime.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// All that was staged so far.
    pub fn incidents(&self) -> MutexGuard<'_, Vec<Incident>> {
        lock(&self.incidents)
    }

    /// What holds now.
    pub fn held(&self) -> MutexGuard<'_, BTreeMap<String, &'static str>> {
        lock(&self.held)
    }
}

/// A thread that panicked has left nothing half done.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
