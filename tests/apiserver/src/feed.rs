//! What changes, for those who watch.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use tokio::sync::mpsc;

use crate::{object::Object, selector::Selection};

/// Changes that are remembered for a watch to begin at.
const REMEMBERED: usize = 200_000;

/// A watcher that is this far behind is dropped, as a real server does.
const PATIENCE: usize = 20_000;

/// One change of one object.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) version: u64,
    /// Which resource.
    pub(crate) home: usize,
    pub(crate) old: Option<Arc<Object>>,
    pub(crate) new: Option<Arc<Object>>,
}

/// How a change looks to one watcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Added,
    Modified,
    Deleted,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}

/// A change that a watcher receives.
#[derive(Clone, Debug)]
pub(crate) struct Signal {
    pub(crate) kind: Kind,
    pub(crate) object: Arc<Object>,
}

impl Change {
    /// Who leaves the selection is deleted for the watcher, who enters it is added.
    fn seen_by(&self, selection: &Selection) -> Option<Signal> {
        let selected = |object: &&Arc<Object>| selection.matches(&object.value);
        match (self.old.as_ref().filter(selected), self.new.as_ref().filter(selected)) {
            (None, Some(new)) => Some(Signal { kind: Kind::Added, object: Arc::clone(new) }),
            (Some(_), Some(new)) => Some(Signal { kind: Kind::Modified, object: Arc::clone(new) }),
            (Some(old), None) => Some(Signal { kind: Kind::Deleted, object: Arc::new(old.at(self.version)) }),
            (None, None) => None,
        }
    }
}

#[derive(Debug)]
struct Watcher {
    selection: Selection,
    sender: mpsc::Sender<Signal>,
}

/// The changes so far and who wants the next ones.
#[derive(Debug)]
pub(crate) struct Feed {
    changes: VecDeque<Change>,
    /// Every change after this version is remembered.
    complete_after: u64,
    watchers: HashMap<usize, HashMap<u64, Watcher>>,
    next_watcher: u64,
}

impl Feed {
    /// Begins at `version`.
    pub(crate) fn new(version: u64) -> Self {
        Self { changes: VecDeque::new(), complete_after: version, watchers: HashMap::new(), next_watcher: 0 }
    }

    /// The oldest version a watch can begin at.
    pub(crate) fn complete_after(&self) -> u64 {
        self.complete_after
    }

    pub(crate) fn tell(&mut self, change: Change) {
        if let Some(watchers) = self.watchers.get_mut(&change.home) {
            watchers.retain(|_, watcher| match change.seen_by(&watcher.selection) {
                Some(signal) => watcher.sender.try_send(signal).is_ok(),
                None => !watcher.sender.is_closed(),
            });
        }
        self.changes.push_back(change);
        if self.changes.len() > REMEMBERED
            && let Some(oldest) = self.changes.pop_front()
        {
            self.complete_after = oldest.version;
        }
    }

    /// What `selection` saw change after `version`.
    pub(crate) fn since(&self, version: u64, home: usize, selection: &Selection) -> Vec<Signal> {
        let first = self.changes.partition_point(|change| change.version <= version);
        let later = self.changes.range(first..).filter(|change| change.home == home);
        later.filter_map(|change| change.seen_by(selection)).collect()
    }

    /// Signals every further change of the resource.
    pub(crate) fn watch(&mut self, home: usize, selection: Selection) -> (u64, mpsc::Receiver<Signal>) {
        let (sender, receiver) = mpsc::channel(PATIENCE);
        self.next_watcher += 1;
        self.watchers.entry(home).or_default().insert(self.next_watcher, Watcher { selection, sender });
        (self.next_watcher, receiver)
    }

    pub(crate) fn forget(&mut self, home: usize, watcher: u64) {
        if let Some(watchers) = self.watchers.get_mut(&home) {
            watchers.remove(&watcher);
        }
    }
}
