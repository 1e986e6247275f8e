//! Which process lives in which namespaces: taken once per look, used by several searches.

use std::{borrow::Cow, collections::BTreeMap};

use super::mounts::living_in;
use crate::{
    observation::Fault,
    sys::{self, ProcDir},
};

/// All processes but this one.
#[derive(Clone, Debug, Default)]
pub struct Census {
    /// Those that may hold something, by mount namespace (that of a living thread).
    pub by_mount_ns: BTreeMap<u64, Vec<u32>>,
    /// Every process, zombies included, with its pid namespace.
    pub pid_ns: Vec<(u32, u64)>,
    /// How many could not be looked at.
    pub unreadable: u32,
    /// Why there is no list at all.
    pub fault: Option<Fault>,
}

impl Census {
    /// Reads two links per process.
    pub fn take() -> Self {
        let mut census = Census::default();
        let me = std::process::id();
        let pids = match sys::pids() {
            Ok(pids) => pids,
            Err(error) => {
                census.fault = Some(Fault::new("/proc", error));
                return census;
            }
        };
        for pid in pids.into_iter().filter(|pid| *pid != me) {
            let dir = ProcDir::open(pid);
            if let Some(ns) = dir.as_ref().ok().and_then(|dir| dir.namespace("pid").ok()) {
                census.pid_ns.push((pid, ns));
            }
            match dir.and_then(|dir| living_in(pid, dir)) {
                Ok((_, ns)) => census.by_mount_ns.entry(ns).or_default().push(pid),
                // Gone, or a zombie that holds nothing.
                Err(error) if sys::is_gone(&error) => {}
                Err(_) => census.unreadable += 1,
            }
        }
        census
    }

    /// The one that is known already, or a new one.
    pub fn known_or_taken(known: Option<&Census>) -> Cow<'_, Census> {
        known.map_or_else(|| Cow::Owned(Census::take()), Cow::Borrowed)
    }

    /// The members of these pid namespaces: the only way to find, on cgroup v1, the exiting
    /// processes of a container and the children that somebody outside put into it.
    pub fn members(&self, pid_namespaces: &[u64]) -> impl Iterator<Item = u32> {
        self.pid_ns.iter().filter(|(_, ns)| pid_namespaces.contains(ns)).map(|(pid, _)| *pid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_members_of_a_namespace() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let own = ProcDir::open(std::process::id()).unwrap();
        let census = Census::take();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(census.members(&[own.namespace("pid").unwrap()]).any(|pid| pid == child.id()));
        assert!(census.by_mount_ns[&own.namespace("mnt").unwrap()].contains(&child.id()));
        assert_eq!(census.members(&[1]).count(), 0);
    }
}
