//! Looking at a process whose first thread may already be dead.

use std::io;

use crate::sys::ProcDir;

/// The directory through which a process's files and mounts can be seen, and the inode of its
/// mount namespace.
///
/// A zombie shows neither. A process whose leader is a zombie may still have threads that live,
/// and those hold its files.
pub(in crate::host) fn living(pid: u32) -> io::Result<(ProcDir, u64)> {
    let leader = ProcDir::open(pid)?;
    match leader.namespace("mnt") {
        Ok(ns) => Ok((leader, ns)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => living_thread(pid, &leader, error),
        Err(error) => Err(error),
    }
}

fn living_thread(pid: u32, leader: &ProcDir, error: io::Error) -> io::Result<(ProcDir, u64)> {
    let threads = leader.list("task")?;
    let tids = threads.iter().filter_map(|entry| entry.name.to_str()?.parse().ok());
    for tid in tids.filter(|tid| *tid != pid) {
        if let Ok(thread) = ProcDir::open_thread(pid, tid)
            && let Ok(ns) = thread.namespace("mnt")
        {
            return Ok((thread, ns));
        }
    }
    Err(error)
}
