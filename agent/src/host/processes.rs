//! Processes and threads, from the files of `/proc` that answer at once.

mod threads;

use std::collections::BTreeSet;
use std::io;
use std::time::{Duration, Instant};

pub use agent_core::observation::Depth;
pub use threads::read_again;
pub(super) use threads::wchan;
use threads::{Standing, other_threads};

use super::descriptors::walk;
use super::seen_at;

use crate::observation::{Owner, Process, Seen, Source, Thread};
use crate::parse;
use crate::sys::limits::{MAX_LINE_BYTES, MAX_LINES_BYTES};
use crate::sys::{self, ProcDir};

/// From here on a look at every process of the node is cheaper than a walk.
const MAX_DESCENDANTS: usize = 500;
/// What many processes have open below `/dev`, and what is no device there.
const COMMON_DEVICES: [&str; 11] =
    ["null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts/", "console", "shm/", "mqueue/"];
/// The descriptors of a process in D are read for so long.
const DEVICES_TIMEOUT: Duration = Duration::from_millis(50);
/// It is read for so long which processes of the pods were killed: of a million.
const KILLED_TIMEOUT: Duration = Duration::from_secs(10);

/// Reads one process; `Missing` when it is gone.
pub fn process(pid: u32, depth: Depth) -> Seen<Process> {
    seen_at(Source::Process(pid), ProcDir::open(pid).and_then(|dir| read(&dir, depth)))
}

/// Reads the process of which more was read through the same directory.
pub fn read(dir: &ProcDir, depth: Depth) -> io::Result<Process> {
    let pid = dir.pid();
    let standing = Standing::read(dir)?;
    // The files of a process are those of its first thread.
    let mut threads = vec![standing.thread(dir, pid)];
    if depth != Depth::Leader && standing.stat.threads > 1 {
        threads.extend(other_threads(pid, dir, depth)?);
    }
    let Standing { stat, status, .. } = standing;
    let age_ms = match threads[0].in_exec {
        true => 0,
        false => sys::uptime_ms().saturating_sub(stat.start_ticks * 1000 / sys::ticks_per_second()),
    };
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
        mount_ns: mount_namespace(pid, dir, &threads),
        owner: owner(dir, stat.exiting()),
        comm: stat.comm,
        devices: if threads.iter().any(|thread| thread.state == 'D' && !thread.in_exec) {
            devices(dir)
        } else {
            Vec::new()
        },
        threads,
    })
}

/// What a process has open below `/dev`, by the links alone: nothing is opened or asked.
fn devices(dir: &ProcDir) -> Vec<String> {
    const MAX_DEVICES: usize = 8;
    let mut devices: Vec<String> = Vec::new();
    walk(dir, Instant::now() + DEVICES_TIMEOUT, |_, link| {
        let path = String::from_utf8_lossy(link);
        let is_common = |name: &str| COMMON_DEVICES.iter().any(|common| name.starts_with(common));
        let is_device = path.strip_prefix("/dev/").is_some_and(|name| !is_common(name));
        if is_device && devices.len() < MAX_DEVICES && !devices.iter().any(|known| **known == path) {
            devices.push(path.into_owned());
        }
    });
    devices
}

/// Whom a process belongs to.
pub(super) fn owner(dir: &ProcDir, exiting: bool) -> Owner {
    let Ok(bytes) = dir.read("cgroup", MAX_LINES_BYTES) else { return Owner::Unknown };
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

/// Those for which or for whose leader a SIGKILL is pending, or whose leader is on its way out and no zombie: two reads of
/// each, to pick few among many.
pub fn killed(pids: &[u32]) -> BTreeSet<u32> {
    sys::pids_where(pids, Instant::now() + KILLED_TIMEOUT, |visit| {
        let status = parse::status(&visit.read("status", MAX_LINES_BYTES)?);
        if status.kill_pending_thread || status.kill_pending_process {
            return Ok(true);
        }
        let stat = parse::stat(&visit.read("stat", MAX_LINE_BYTES)?);
        Ok(stat.is_some_and(|stat| stat.exiting() && stat.state != 'Z'))
    })
}

/// The process that a thread is of.
pub fn process_of(tid: u32) -> Option<u32> {
    parse::status(&ProcDir::open(tid).ok()?.read("status", MAX_LINES_BYTES).ok()?).process
}

/// The children of a process, where the kernel shows them (`CONFIG_PROC_CHILDREN`), those of each thread in the order in
/// which it got them.
pub fn children(pid: u32) -> Vec<u32> {
    let Ok(dir) = ProcDir::open(pid) else { return Vec::new() };
    let threads = dir.list("task").unwrap_or_default();
    let tids = threads.iter().filter_map(|entry| entry.name.to_str()?.parse::<u32>().ok());
    let lists = tids.filter_map(|tid| dir.read(&format!("task/{tid}/children"), MAX_LINES_BYTES).ok());
    let numbers = lists.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    numbers.flat_map(|text| text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<u32>>()).collect()
}

/// The same, or `None` where the kernel does not show them: then no process is known to have none.
pub fn known_children(pid: u32) -> Option<Vec<u32>> {
    tells_children().then(|| children(pid))
}

/// The descendants of these processes. `None` where the kernel does not show them, and of more than are worth the walk: then
/// all processes must be asked where they belong.
pub fn descendants(roots: &BTreeSet<u32>) -> Option<BTreeSet<u32>> {
    if !tells_children() {
        return None;
    }
    let mut family = BTreeSet::new();
    let mut open: Vec<u32> = roots.iter().copied().collect();
    while let Some(pid) = open.pop() {
        let children = children(pid).into_iter().filter(|child| family.insert(*child));
        open.extend(children.filter(|child| !roots.contains(child)));
        if family.len() > MAX_DESCENDANTS {
            return None;
        }
    }
    Some(family)
}

fn tells_children() -> bool {
    let me = std::process::id();
    ProcDir::open_thread(me, me).and_then(|dir| dir.read("children", MAX_LINES_BYTES)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{process::Command, time::Duration};

    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;

    #[test]
    fn sees_a_sleeping_child() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        std::thread::sleep(Duration::from_millis(50));
        let seen = process(child.id(), Depth::Threads);
        child.kill().unwrap();
        child.wait().unwrap();
        let process = seen.get().unwrap();
        assert_eq!((process.comm.as_str(), process.state, process.parent), ("sleep", 'S', std::process::id()));
        assert!(!process.kill_pending && process.mount_ns.is_some() && process.pid_ns.is_some());
    }

    #[test]
    fn devices_are_what_is_open_below_dev_but_for_the_common_ones() {
        let open = ["/dev/null", "/dev/urandom", "/dev/kmsg", "/proc/self/stat"].map(std::fs::File::open);
        let devices = devices(&ProcDir::open(std::process::id()).unwrap());
        assert_eq!(devices.contains(&"/dev/kmsg".to_owned()), open[2].is_ok(), "{devices:?}");
        assert!(!devices.iter().any(|device| device.ends_with("null") || device.ends_with("random")), "{devices:?}");
    }

    #[test]
    fn sees_a_zombie_of_ours() {
        let mut child = Command::new("true").spawn().unwrap();
        std::thread::sleep(Duration::from_millis(100));
        let seen = process(child.id(), Depth::Threads);
        child.wait().unwrap();
        assert_eq!(seen.get().unwrap().state, 'Z');
    }

    #[test]
    fn descendants_are_followed_down() {
        let mut child = Command::new("sh").args(["-c", "sh -c 'sleep 60 & wait' & wait"]).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(100));
        let family = descendants(&[child.id()].into());
        let names = |pids: &BTreeSet<u32>| {
            let process = |pid: &u32| process(*pid, Depth::Leader).get().map(|process| process.comm.clone());
            pids.iter().filter_map(process).collect::<Vec<String>>()
        };
        let seen = family.as_ref().map(names);
        for pid in family.iter().flatten().copied().chain([child.id()]) {
            let _ = kill(Pid::from_raw(pid.try_into().unwrap()), Signal::SIGKILL);
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
