//! Which process lives in which namespaces: each kind asked of all processes at most once per
//! look, and only when it is needed.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::{Duration, Instant};

use super::mounts::living;
use crate::observation::Fault;
use crate::parse;
use crate::sys::limits::MAX_LINE_BYTES;
use crate::sys::{self, Visit};

/// A file or a link of each process is read for so long: of a million.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// Where a task waits for the answer of a FUSE server (fs/fuse/dev.c).
pub const FUSE_WAIT: &str = "request_wait_answer";

/// All processes but this one.
#[derive(Clone, Debug, Default)]
pub struct ProcessIndex {
    /// Why there is no list at all.
    pub fault: Option<Fault>,
    pids: Vec<u32>,
    group_by_mount_ns: OnceCell<ByMountNamespace>,
    pid_ns: OnceCell<Vec<(u32, u64)>>,
}

/// The processes that may hold something.
#[derive(Clone, Debug, Default)]
pub struct ByMountNamespace {
    /// Their pids, by the mount namespace of a living thread.
    pub pids: BTreeMap<u64, Vec<u32>>,
    /// How many could not be looked at.
    pub unreadable: u32,
}

impl ProcessIndex {
    /// Lists the processes and asks them nothing yet.
    pub fn read() -> Self {
        let me = std::process::id();
        match sys::pids() {
            Ok(pids) => {
                ProcessIndex { pids: pids.into_iter().filter(|pid| *pid != me).collect(), ..Default::default() }
            }
            Err(error) => ProcessIndex { fault: Some(Fault::new("/proc", error)), ..Default::default() },
        }
    }

    /// The one that is known already, or a new one.
    pub fn known_or_read(known: Option<&ProcessIndex>) -> Cow<'_, ProcessIndex> {
        known.map_or_else(|| Cow::Owned(ProcessIndex::read()), Cow::Borrowed)
    }

    /// Who lives in which mount namespace; one link per process.
    pub fn group_by_mount_ns(&self) -> &ByMountNamespace {
        self.group_by_mount_ns.get_or_init(|| {
            let mut groups = ByMountNamespace::default();
            self.for_each_namespace("mnt", |pid, ns| {
                // A zombie shows none, but its threads may live.
                match ns.or_else(|_| living(pid).map(|(_, ns)| ns)) {
                    Ok(ns) => groups.pids.entry(ns).or_default().push(pid),
                    // Gone, or a zombie that holds nothing.
                    Err(error) if sys::is_gone(&error) => {}
                    Err(_) => groups.unreadable += 1,
                }
            });
            groups
        })
    }

    /// The members of these pid namespaces, zombies included: the only way to find, on cgroup v1, the children that an
    /// outside process put into a container. One link per process.
    pub fn members(&self, pid_namespaces: &BTreeSet<u64>) -> impl Iterator<Item = u32> {
        let all = self.pid_ns.get_or_init(|| {
            let mut members = Vec::new();
            self.for_each_namespace("pid", |pid, ns| members.extend(ns.ok().map(|ns| (pid, ns))));
            members
        });
        all.iter().filter(|(_, ns)| pid_namespaces.contains(ns)).map(|(pid, _)| *pid)
    }

    /// Those whose names begin like this, in D, or in S while they wait for a FUSE server; so many at most. Anybody can
    /// call what merely sleeps so.
    pub fn blocked(&self, name: &str, most: usize) -> Vec<u32> {
        self.pids_where(most, |visit| {
            let stat = parse::stat(&visit.read("stat", MAX_LINE_BYTES)?);
            let Some(stat) = stat.filter(|stat| stat.comm.starts_with(name)) else { return Ok(false) };
            Ok(stat.state == 'D' || (stat.state == 'S' && waits_in(visit, FUSE_WAIT)?))
        })
    }

    /// Those whose leader waits in this function of the kernel, so many at most.
    pub fn waiting_in(&self, function: &str, most: usize) -> Vec<u32> {
        self.pids_where(most, |visit| waits_in(visit, function))
    }

    /// Those whose working directory is `is_meant`.
    pub fn standing_in(&self, is_meant: impl Fn(&[u8]) -> bool) -> Vec<u32> {
        self.pids_where(usize::MAX, |visit| Ok(is_meant(&visit.link("cwd")?)))
    }

    fn pids_where(&self, most: usize, is_one: impl Fn(&Visit<'_>) -> io::Result<bool>) -> Vec<u32> {
        sys::pids_where(&self.pids, Instant::now() + READ_TIMEOUT, is_one).into_iter().take(most).collect()
    }

    fn for_each_namespace(&self, kind: &str, mut see: impl FnMut(u32, io::Result<u64>)) {
        let namespaces = sys::namespaces_of(&self.pids, kind);
        self.pids.iter().zip(namespaces).for_each(|(pid, ns)| see(*pid, ns));
    }
}

fn waits_in(visit: &Visit<'_>, function: &str) -> io::Result<bool> {
    Ok(visit.read("wchan", MAX_LINE_BYTES)? == function.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::ProcDir;

    #[test]
    fn finds_the_members_of_a_namespace() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let own = ProcDir::open(std::process::id()).unwrap();
        let process_index = ProcessIndex::read();
        let members: Vec<u32> = process_index.members(&[own.namespace("pid").unwrap()].into()).collect();
        let neighbours = process_index.group_by_mount_ns().pids[&own.namespace("mnt").unwrap()].clone();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(members.contains(&child.id()) && neighbours.contains(&child.id()));
        assert_eq!(process_index.members(&[1].into()).count(), 0);
    }

    /// A parent waits in D for its `vfork` to end. The child, of the same name, merely sleeps.
    #[test]
    fn finds_who_waits_by_its_name() {
        let script = "import ctypes, os; libc = ctypes.CDLL(None); open('/proc/self/comm', 'w').write('umount.x'); \
                      libc.vfork() == 0 and libc.pause()";
        let mut child = std::process::Command::new("python3").args(["-c", script]).spawn().unwrap();
        let has_it = || ProcessIndex::read().blocked("umount", 4).contains(&child.id());
        let came = (0..50).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(100));
            has_it()
        });
        let none = ProcessIndex::read().blocked("umount", 0);
        let all = ProcessIndex::read().blocked("umount", 64);
        let children = crate::host::processes::children(child.id());
        let sleeps = children.iter().any(|pid| all.contains(pid));
        for pid in children {
            let _ = nix::sys::signal::kill(
                nix::unistd::Pid::from_raw(pid.try_into().unwrap()),
                nix::sys::signal::Signal::SIGKILL,
            );
        }
        child.wait().unwrap();
        assert!(came && none.is_empty() && !sleeps);
    }
}
