//! When components last wrote: the holders of Leases, and the controller manager.

use jiff::Timestamp;

use super::Lister;
use crate::access::Access;
use crate::state::{Kind as _, Lease, Meta, Namespace, Node, ObjectRef, Question, Scope, known};

impl<'a> Lister<'a> {
    /// Seconds since a Lease of the state was renewed when it was read, where it had run out by then.
    pub fn expired_for(&self, lease: &Lease) -> Option<u64> {
        lease.expired_for(self.read_at(lease))
    }

    /// When a Lease of the state was read.
    pub fn read_at(&self, lease: &Lease) -> Timestamp {
        let known = |(question, at): &'a (Question, Timestamp)| {
            let facts = self.state.answers.get(question)?.answer.as_ref().seen()?;
            Some((Lease::among(facts)?, *at))
        };
        let all = self.leases.get_or_init(|| self.state.leases_at.iter().filter_map(known).collect());
        // One Lease may stand in two answers.
        let its = all.iter().find(|(leases, _)| leases.as_ptr_range().contains(&std::ptr::from_ref(lease)));
        its.map_or(self.state.at, |(_, at)| *at)
    }

    /// When kube-controller-manager last wrote the status of an object that was met, and of which.
    pub fn controllers_wrote(&self) -> Option<&(Timestamp, ObjectRef)> {
        self.trace.borrow_mut().depends_on_all = true;
        for known in [known::NAMESPACES, known::NODES] {
            self.reads(Access::list(&known.into(), &Scope::All));
        }
        let look = || {
            let wrote = |known, meta: &Meta| {
                let shown = ObjectRef::cluster_wide(known, &meta.name);
                meta.controllers_wrote_at().map(|at| (at, shown))
            };
            let namespaces =
                self.met::<Namespace>(known::NAMESPACES).filter_map(|one| wrote(known::NAMESPACES, &one.metadata));
            let nodes = self.met::<Node>(known::NODES).filter_map(|one| wrote(known::NODES, &one.metadata));
            namespaces.chain(nodes).max()
        };
        self.controllers_wrote.get_or_init(look).as_ref()
    }
}
