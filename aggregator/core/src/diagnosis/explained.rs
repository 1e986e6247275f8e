//! An object, what is known of it, and its links in chains: made once, and shared by all that it holds.

use std::sync::{Arc, OnceLock};

use findings::{Finding, Link};

use super::{Diagnosis, RootCause, Step};
use crate::access::Reads;
use crate::state::ObjectRef;

/// What leads from a victim to the object that a cause was found at, which is the last of them. Of a long way the middle is
/// left out.
#[derive(Debug)]
pub struct Way<'g> {
    /// What is kept of it: its begin and its end.
    pub objects: Vec<&'g Explained>,
    /// How many objects are left out, after how many.
    pub gap: Option<(usize, usize)>,
}

/// An object and what is known of it.
#[derive(Debug)]
pub struct Explained {
    pub object: ObjectRef,
    /// What is known of it.
    pub diagnosis: Diagnosis,
    pub reads: Reads,
    link: OnceLock<Arc<Link>>,
    /// For each cause.
    down: OnceLock<Vec<Vec<Arc<Link>>>>,
}

impl Explained {
    /// Keeps all three.
    pub fn new(object: ObjectRef, diagnosis: Diagnosis, reads: Reads) -> Self {
        Explained { object, diagnosis, reads, link: OnceLock::new(), down: OnceLock::new() }
    }

    /// The same with one more cause.
    pub fn with(&self, cause: RootCause) -> Self {
        let mut diagnosis = self.diagnosis.clone();
        diagnosis.causes.push(cause);
        Explained::new(self.object.clone(), diagnosis, self.reads.clone())
    }

    fn link(&self) -> &Arc<Link> {
        self.link.get_or_init(|| Arc::new(Step::about(&self.object, &self.diagnosis.words).link(false)))
    }

    /// From here to the root of a cause that was found here, counted from 0.
    fn down(&self, cause: usize) -> &[Arc<Link>] {
        let links = |cause: &RootCause| {
            let own = (!cause.here).then(|| Arc::clone(self.link()));
            own.into_iter().chain(cause.links().map(Arc::new)).collect()
        };
        let all = self.down.get_or_init(|| self.diagnosis.causes.iter().map(links).collect());
        all.get(cause).map_or(&[], Vec::as_slice)
    }
}

/// A cause, and how a victim comes to it.
#[derive(Clone, Copy, Debug)]
pub struct Found<'g, 'w> {
    pub cause: &'g RootCause,
    /// Which of those that were found at the last object of the way.
    pub index: usize,
    /// From the victim to where it was found.
    pub way: &'w Way<'g>,
}

impl Found<'_, '_> {
    /// From the victim to the root.
    pub fn chain(&self) -> Vec<Arc<Link>> {
        let Some((last, above)) = self.way.objects.split_last() else { return Vec::new() };
        let chain = above.iter().map(|explained| explained.link()).chain(last.down(self.index));
        let mut chain: Vec<Arc<Link>> = chain.map(Arc::clone).collect();
        if let Some((at, left_out)) = self.way.gap {
            chain.insert(at, Arc::new(Step::left_out(left_out).link(false)));
        }
        chain
    }

    /// The finding for the victim.
    pub fn finding(&self) -> Finding {
        let chain: Vec<Link> = self.chain().iter().map(|link| Link::clone(link)).collect();
        self.cause.finding(&chain)
    }
}
