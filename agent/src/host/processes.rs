//! Processes and threads, from the files of `/proc` that answer at once.

use std::{collections::BTreeSet, io};

use super::seen;
use crate::{
    observation::{Fault, HostPath, OpenFile, Owner, Process, Seen, Syscall, Thread},
    parse,
    sys::{self, ProcDir},
};

/// Longest `/proc/<pid>/stat` and its like.
const SMALL: usize = 4 << 10;
/// Longest `/proc/<pid>/status` and `stack`.
const MEDIUM: usize = 64 << 10;
/// A process of a pod may have many threads; more than this are not looked at.
const MAX_THREADS: usize = 4096;
/// From here on a look at every process of the node is cheaper than a walk.
const MAX_DESCENDANTS: usize = 500;

/// How closely to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// The leader only.
    Leader,
    /// Every thread, with what it waits for.
    Threads,
}

/// Reads one process; `Missing` when it is gone.
pub fn process(pid: u32, depth: Depth) -> Seen<Process> {
    match read(pid, depth) {
        Ok(process) => Seen::Seen(process),
        Err(error) if sys::is_gone(&error) => Seen::Missing,
        Err(error) => Seen::Failed(Fault::new(format!("/proc/{pid}"), error)),
    }
}

fn read(pid: u32, depth: Depth) -> io::Result<Process> {
    let dir = ProcDir::open(pid)?;
    let stat = parse::stat(&dir.read("stat", SMALL)?).ok_or_else(|| odd(&dir, "stat"))?;
    let status = parse::status(&dir.read("status", MEDIUM)?);
    let threads = match depth {
        Depth::Threads => threads(pid, &dir)?,
        Depth::Leader => thread(pid, pid).into_iter().collect(),
    };
    let age_ms = sys::uptime_ms().saturating_sub(stat.start_ticks * 1000 / sys::ticks_per_second());
    Ok(Process {
        pid,
        start_ticks: stat.start_ticks,
        age_ms,
        state: stat.state,
        parent: stat.parent,
        thread_count: stat.threads,
        kill_pending: status.kill_pending_process,
        exiting: stat.exiting(),
        ns_pids: status.ns_pids,
        pid_ns: dir.namespace("pid").ok(),
        mount_ns: mount_namespace(pid, &dir, &threads),
        owner: owner(&dir, stat.exiting()),
        comm: stat.comm,
        threads,
    })
}

fn odd(dir: &ProcDir, file: &str) -> io::Error {
    io::Error::other(format!("{}/{file} has an unknown form", dir.path().display()))
}

/// Whom a process belongs to.
pub(super) fn owner(dir: &ProcDir, exiting: bool) -> Owner {
    let Ok(bytes) = dir.read("cgroup", MEDIUM) else { return Owner::Unknown };
    match parse::owner(&parse::cgroup_lines(&bytes)) {
        // On cgroup v1 a task that has begun to exit is shown in the root cgroup.
        Owner::Host if exiting => Owner::Unknown,
        owner => owner,
    }
}

/// A zombie leader has no mount namespace any more; its living threads have.
fn mount_namespace(pid: u32, leader: &ProcDir, threads: &[Thread]) -> Option<u64> {
    let through = |thread: &Thread| ProcDir::open_thread(pid, thread.tid).ok()?.namespace("mnt").ok();
    leader.namespace("mnt").ok().or_else(|| threads.iter().find_map(through))
}

fn threads(pid: u32, dir: &ProcDir) -> io::Result<Vec<Thread>> {
    let entries = dir.list("task")?;
    let tids = entries.iter().filter_map(|entry| entry.name.to_str()?.parse().ok());
    Ok(tids.take(MAX_THREADS).filter_map(|tid| thread(pid, tid)).collect())
}

/// One thread; `None` when it ended in between.
fn thread(pid: u32, tid: u32) -> Option<Thread> {
    let dir = ProcDir::open_thread(pid, tid).ok()?;
    let stat = parse::stat(&dir.read("stat", SMALL).ok()?)?;
    let status = parse::status(&dir.read("status", MEDIUM).ok()?);
    let asleep = matches!(stat.state, 'D' | 'S' | 'I' | 'T');
    let uninterruptible = stat.state == 'D';
    let killed = status.kill_pending_thread || status.kill_pending_process || stat.exiting();
    let wchan = if asleep { wchan(&dir) } else { Seen::Missing };
    let waits_for_fuse = wchan.get().is_some_and(|wchan| wchan == "request_wait_answer");
    let syscall = if uninterruptible || waits_for_fuse { syscall(&dir) } else { Seen::Missing };
    let works_on = syscall.get().and_then(parse::descriptor).and_then(|fd| open_file(&dir, fd));
    Some(Thread {
        tid,
        comm: stat.comm,
        state: stat.state,
        kill_pending: status.kill_pending_thread || status.kill_pending_process,
        wchan,
        switches: status.switches,
        steady: false,
        // A dying init sleeps in S; only its stack may say for what.
        stack: if uninterruptible || killed { stack(&dir) } else { Seen::Missing },
        syscall,
        works_on,
    })
}

/// Looks at the threads that wait once more. One that is still in the same place and has not run since
/// is steady; seconds in D are normal, but then a task runs now and then.
pub fn look_again(process: &mut Process) {
    let (pid, started) = (process.pid, process.start_ticks);
    let is_same = || {
        let stat = ProcDir::open(pid).and_then(|dir| dir.read("stat", SMALL)).ok();
        stat.and_then(|bytes| parse::stat(&bytes)).is_some_and(|stat| stat.start_ticks == started)
    };
    if !process.threads.iter().any(Thread::waits) || !is_same() {
        return;
    }
    for before in process.threads.iter_mut().filter(|thread| thread.waits()) {
        let Some(now) = thread(pid, before.tid) else { continue };
        before.steady = now.state == before.state && now.wchan == before.wchan && now.switches == before.switches;
        before.kill_pending |= now.kill_pending;
    }
}

/// The kernel function the task sleeps in; empty when nobody tells.
pub(super) fn wchan(dir: &ProcDir) -> Seen<String> {
    let words = dir.read("wchan", SMALL).map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned());
    // "0" is what a reader without the right to see it gets, what a running task shows, and what x86
    // kernels before 5.16 that unwind by ORC always say (get_wchan followed frame pointers only). The
    // stack begins with the same function.
    seen(words.map(|word| match word.as_str() {
        "0" => stack(dir).get().and_then(|stack| stack.first().cloned()).unwrap_or_default(),
        _ => word,
    }))
}

fn syscall(dir: &ProcDir) -> Seen<Syscall> {
    match dir.read("syscall", SMALL) {
        Ok(bytes) => parse::syscall(&bytes).map_or(Seen::Missing, Seen::Seen),
        Err(error) => seen(Err(error)),
    }
}

fn stack(dir: &ProcDir) -> Seen<Vec<String>> {
    match dir.read("stack", MEDIUM) {
        Ok(bytes) => Seen::Seen(parse::stack(&bytes)),
        Err(error) => seen(Err(error)),
    }
}

/// What a descriptor is, without touching the file behind it.
fn open_file(dir: &ProcDir, fd: u32) -> Option<OpenFile> {
    let path = HostPath::new(dir.link(&format!("fd/{fd}")).ok()?);
    let info = dir.read(&format!("fdinfo/{fd}"), SMALL).ok();
    let mount_id = info.and_then(|bytes| parse::fdinfo(&bytes).mount_id);
    Some(OpenFile { fd, path, mount_id })
}

/// Whether a SIGKILL is pending for a process or its leader: one read, to pick few among many.
pub fn is_killed(pid: u32) -> bool {
    let status = ProcDir::open(pid).and_then(|dir| dir.read("status", MEDIUM)).map(|bytes| parse::status(&bytes));
    status.is_ok_and(|status| status.kill_pending_process || status.kill_pending_thread)
}

/// The children of a process, where the kernel tells them (`CONFIG_PROC_CHILDREN`).
pub fn children(pid: u32) -> BTreeSet<u32> {
    let threads = ProcDir::open(pid).and_then(|dir| dir.list("task")).unwrap_or_default();
    let tids = threads.iter().filter_map(|entry| entry.name.to_str()?.parse::<u32>().ok());
    let lists = tids.filter_map(|tid| ProcDir::open_thread(pid, tid).ok()?.read("children", MEDIUM).ok());
    let numbers = lists.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    numbers.flat_map(|text| text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<u32>>()).collect()
}

/// The same, or `None` where the kernel does not tell: then nobody can be said to have none.
pub fn told_children(pid: u32) -> Option<BTreeSet<u32>> {
    tells_children().then(|| children(pid))
}

/// The descendants of these processes. `None` where the kernel does not tell, and of more than are
/// worth the walk: then all processes must be asked where they belong.
pub fn descendants(roots: &BTreeSet<u32>) -> Option<BTreeSet<u32>> {
    if !tells_children() {
        return None;
    }
    let mut found = BTreeSet::new();
    let mut open: Vec<u32> = roots.iter().copied().collect();
    while let Some(pid) = open.pop() {
        let children = children(pid);
        open.extend(children.into_iter().filter(|child| found.insert(*child)));
        if found.len() > MAX_DESCENDANTS {
            return None;
        }
    }
    Some(found)
}

fn tells_children() -> bool {
    let me = std::process::id();
    ProcDir::open_thread(me, me).and_then(|dir| dir.read("children", MEDIUM)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn sees_a_sleeping_child() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(50));
        let seen = process(child.id(), Depth::Threads);
        child.kill().unwrap();
        child.wait().unwrap();
        let process = seen.get().unwrap();
        assert_eq!((process.comm.as_str(), process.state, process.parent), ("sleep", 'S', std::process::id()));
        assert!(!process.kill_pending && process.mount_ns.is_some() && process.pid_ns.is_some());
    }

    #[test]
    fn sees_a_zombie_of_ours() {
        let mut child = Command::new("true").spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(100));
        let seen = process(child.id(), Depth::Threads);
        child.wait().unwrap();
        assert_eq!(seen.get().unwrap().state, 'Z');
    }

    #[test]
    fn descendants_are_followed_down() {
        let mut child = Command::new("sh").args(["-c", "sh -c 'sleep 60 & wait' & wait"]).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(100));
        let found = descendants(&[child.id()].into());
        let names = |pids: &BTreeSet<u32>| {
            let process = |pid: &u32| process(*pid, Depth::Leader).get().map(|process| process.comm.clone());
            pids.iter().filter_map(process).collect::<Vec<String>>()
        };
        let seen = found.as_ref().map(names);
        for pid in found.iter().flatten().copied().chain([child.id()]) {
            let _ = rustix::process::kill_process(
                rustix::process::Pid::from_raw(pid.try_into().unwrap()).unwrap(),
                rustix::process::Signal::KILL,
            );
        }
        child.wait().unwrap();
        if tells_children() {
            assert_eq!(seen.unwrap(), ["sh", "sleep"]);
        } else {
            assert_eq!(seen, None);
        }
    }

    #[test]
    fn a_process_that_is_gone_is_missing() {
        let mut child = Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        assert_eq!(process(child.id(), Depth::Threads), Seen::Missing);
    }
}
