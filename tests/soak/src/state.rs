//! What all threads share.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{
        Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Instant,
};

use crate::incidents::Incident;

/// The state of one soak.
#[derive(Debug)]
pub struct State {
    /// The program of the agent that runs; nobody else runs it.
    pub agent: PathBuf,
    /// The same program under another name, for `check`.
    pub check: PathBuf,
    /// When the last pod is made.
    pub end: Instant,
    /// Held by who needs the runtime; whoever ends it waits for them.
    pub runtime: RwLock<()>,
    /// Held while the API server fails.
    pub api: Mutex<()>,
    /// What was staged.
    incidents: Mutex<Vec<Incident>>,
    /// What is stuck and was told: the pod's uid and its cause.
    held: Mutex<BTreeMap<String, &'static str>>,
    /// How many threads still have a pod.
    busy: AtomicUsize,
    /// Whether something went so wrong that it is of no use to go on.
    failed: AtomicBool,
}

impl State {
    /// With so many threads that make pods.
    pub fn new(agent: PathBuf, check: PathBuf, end: Instant, threads: usize) -> Self {
        Self {
            agent,
            check,
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

    /// Lets all threads end early where one has failed.
    pub fn watched<T>(&self, outcome: anyhow::Result<T>) -> anyhow::Result<T> {
        if outcome.is_err() {
            self.failed.store(true, Ordering::SeqCst);
        }
        outcome
    }

    /// Whether the last pod is gone and its end is told.
    pub fn pods_done(&self) -> bool {
        self.busy.load(Ordering::SeqCst) == 0
    }

    /// One of the threads has ended.
    pub fn thread_done(&self) {
        self.busy.fetch_sub(1, Ordering::SeqCst);
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
