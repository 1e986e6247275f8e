//! The threads of a process, and what they wait for.

use std::io;

use super::Depth;
use crate::host::process_index::FUSE_WAIT;
use crate::host::seen;
use crate::observation::{HostPath, OpenFile, Process, Seen, Syscall, Thread};
use crate::parse::{self, Stat, Status};
use crate::sys::ProcDir;
use crate::sys::limits::{MAX_LINE_BYTES, MAX_LINES_BYTES};

/// A process of a pod may have many threads; more than this are not looked at.
const MAX_THREADS: usize = 4096;

/// How a thread stands. What a process's own files say is that of its first thread.
pub(super) struct Standing {
    pub stat: Stat,
    pub status: Status,
    in_exec: bool,
}

impl Standing {
    pub(super) fn read(dir: &ProcDir) -> io::Result<Self> {
        let stat = dir.read("stat", MAX_LINE_BYTES);
        let status = parse::status(&dir.read("status", MAX_LINES_BYTES)?);
        let in_exec = stat.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::TimedOut);
        let stat = match in_exec {
            true => stat_from_status(dir.pid(), &status),
            false => parse::stat(&stat?).ok_or_else(|| odd(dir, "stat"))?,
        };
        Ok(Standing { stat, status, in_exec })
    }

    pub(super) fn kill_pending(&self) -> bool {
        self.status.kill_pending_thread || self.status.kill_pending_process
    }

    /// What it waits for, if it waits.
    fn wchan(&self, dir: &ProcDir) -> Seen<String> {
        let asleep = matches!(self.stat.state, 'D' | 'S' | 'I' | 'T');
        if asleep && !self.in_exec { wchan(dir) } else { Seen::Missing }
    }

    /// The thread, with what it waits for.
    pub(super) fn thread(&self, dir: &ProcDir, tid: u32) -> Thread {
        let Standing { stat, status, .. } = self;
        let uninterruptible = stat.state == 'D' && !self.in_exec;
        let killed = self.kill_pending() || stat.exiting();
        let wchan = self.wchan(dir);
        let waits_for_fuse = wchan.get().is_some_and(|wchan| wchan == FUSE_WAIT);
        let syscall = if uninterruptible || waits_for_fuse { syscall(dir) } else { Seen::Missing };
        let works_on = syscall.get().and_then(parse::descriptor).and_then(|fd| open_file(dir, fd));
        Thread {
            tid,
            comm: stat.comm.clone(),
            state: stat.state,
            kill_pending: self.kill_pending(),
            exiting: stat.exiting(),
            tracer: Some(status.tracer).filter(|tracer| *tracer > 0),
            wchan,
            switches: status.switches,
            steady: false,
            // A dying init sleeps in S; only its stack may say for what.
            stack: if uninterruptible || (killed && !self.in_exec) { stack(dir) } else { Seen::Missing },
            syscall,
            works_on,
            in_exec: self.in_exec,
        }
    }
}

/// What `status` shows of a process without a readable `stat`: not when it started.
fn stat_from_status(pid: u32, status: &Status) -> Stat {
    let Status { comm, state, parent, threads, .. } = status.clone();
    Stat { pid, comm, state, parent, flags: 0, threads, start_ticks: 0 }
}

fn odd(dir: &ProcDir, file: &str) -> io::Error {
    io::Error::other(format!("{}/{file} has an unknown form", dir.path().display()))
}

/// The threads beside the first one: all, or those in D.
pub(super) fn other_threads(pid: u32, process: &ProcDir, depth: Depth) -> io::Result<Vec<Thread>> {
    let entries = process.list("task")?;
    let tids = entries.iter().filter_map(|entry| entry.name.to_str()?.parse().ok()).filter(|tid| *tid != pid);
    let wanted = tids.take(MAX_THREADS).filter(|tid| depth == Depth::Threads || is_uninterruptible(process, *tid));
    // One that has ended in between is left out.
    Ok(wanted.filter_map(|tid| thread(pid, tid)).collect())
}

fn is_uninterruptible(process: &ProcDir, tid: u32) -> bool {
    let stat = process.read(&format!("task/{tid}/stat"), MAX_LINE_BYTES).ok();
    stat.and_then(|bytes| parse::stat(&bytes)).is_some_and(|stat| stat.state == 'D')
}

fn thread(pid: u32, tid: u32) -> Option<Thread> {
    let dir = ProcDir::open_thread(pid, tid).ok()?;
    Some(Standing::read(&dir).ok()?.thread(&dir, tid))
}

/// Looks once more at the threads that wait and at zombies. One that is still in the same place and has not run since
/// is steady; seconds in D are normal, but then a task runs now and then, and each process is a zombie for a moment.
pub fn read_again(process: &mut Process) {
    if !process.threads.iter().any(Thread::may_pass) {
        return;
    }
    let Ok(leader) = ProcDir::open(process.pid) else { return };
    // Another process may have got the number.
    let Some(now) = Standing::read(&leader).ok().filter(|now| now.stat.start_ticks == process.start_ticks) else {
        return;
    };
    for before in process.threads.iter_mut().filter(|thread| thread.may_pass()) {
        if before.tid == process.pid {
            compare(before, &now, &leader);
        } else if let Ok(dir) = ProcDir::open_thread(process.pid, before.tid)
            && let Ok(now) = Standing::read(&dir)
        {
            compare(before, &now, &dir);
        }
    }
}

fn compare(before: &mut Thread, now: &Standing, dir: &ProcDir) {
    before.exiting |= now.stat.exiting();
    let has_not_run = now.stat.state == before.state && now.status.switches == before.switches;
    before.steady = has_not_run && now.wchan(dir) == before.wchan;
    before.kill_pending |= now.kill_pending();
}

/// The kernel function the task sleeps in; empty where the kernel does not show it.
pub(in crate::host) fn wchan(dir: &ProcDir) -> Seen<String> {
    let words = dir.read("wchan", MAX_LINE_BYTES).map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned());
    // "0" is what a reader without the right to see it gets, what a running task shows, and what x86
    // kernels before 5.16 that unwind by ORC always say (get_wchan followed frame pointers only). The
    // stack begins with the same function.
    seen(words.map(|word| match word.as_str() {
        "0" => stack(dir).get().and_then(|stack| stack.first().cloned()).unwrap_or_default(),
        _ => word,
    }))
}

fn syscall(dir: &ProcDir) -> Seen<Syscall> {
    match dir.read("syscall", MAX_LINE_BYTES) {
        Ok(bytes) => parse::syscall(&bytes).map_or(Seen::Missing, Seen::Seen),
        Err(error) => seen(Err(error)),
    }
}

fn stack(dir: &ProcDir) -> Seen<Vec<String>> {
    match dir.read("stack", MAX_LINES_BYTES) {
        Ok(bytes) => Seen::Seen(parse::stack(&bytes)),
        Err(error) => seen(Err(error)),
    }
}

/// What a descriptor is, without touching the file behind it.
fn open_file(dir: &ProcDir, fd: u32) -> Option<OpenFile> {
    let link = dir.link(&format!("fd/{fd}")).ok()?;
    let info = dir.fdinfo(fd, &link).ok();
    let mount_id = info.and_then(|bytes| parse::fdinfo(&bytes).mount_id);
    Some(OpenFile { fd, path: HostPath::new(link), mount_id })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::processes::process;
    use std::sync::atomic::{AtomicI32, Ordering};
    use std::sync::mpsc;
    use std::time::Duration;

    use nix::sys::signal::{Signal, kill};
    use nix::sys::wait::waitpid;
    use nix::unistd::{Pid, gettid};

    /// A thread that has made a copy with CLONE_VFORK waits in D until the copy runs a program or ends.
    #[test]
    #[allow(unsafe_code)]
    fn a_thread_in_d_is_seen_beside_the_leader() {
        static COPY: AtomicI32 = AtomicI32::new(0);
        let tid = || gettid().as_raw().unsigned_abs();
        let (sender, receiver) = mpsc::channel();
        let (stop, stopped) = mpsc::channel::<()>();
        let ready = sender.clone();
        let asleep = std::thread::spawn(move || ready.send(tid()).map(|()| stopped.recv()));
        let asleep_tid = receiver.recv().unwrap();
        let blocked = std::thread::spawn(move || {
            sender.send(tid()).unwrap();
            let flags = libc::CLONE_VFORK | libc::CLONE_PARENT_SETTID | libc::SIGCHLD;
            // SAFETY: the copy has memory of its own, only sleeps, and ends without running anything else.
            match unsafe { libc::syscall(libc::SYS_clone, flags, 0, COPY.as_ptr(), 0, 0) } {
                // SAFETY: neither call touches anything but this copy.
                0 => unsafe {
                    libc::sleep(60);
                    libc::_exit(0)
                },
                pid => waitpid(Pid::from_raw(pid.try_into().unwrap()), None),
            }
        });
        let (me, blocked_tid) = (std::process::id(), receiver.recv().unwrap());
        while thread(me, blocked_tid).unwrap().state != 'D' {
            std::thread::sleep(Duration::from_millis(5));
        }
        let tids = |depth| {
            let process = process(me, depth).get().cloned().unwrap();
            process.threads.iter().map(|thread| thread.tid).collect::<Vec<u32>>()
        };
        let (some, all) = (tids(Depth::Blocked), tids(Depth::Threads));
        kill(Pid::from_raw(COPY.load(Ordering::SeqCst)), Signal::SIGKILL).unwrap();
        blocked.join().unwrap().unwrap();
        drop(stop);
        asleep.join().unwrap().unwrap().unwrap_err();
        assert!([me, blocked_tid].iter().all(|tid| some.contains(tid)), "{blocked_tid}: {some:?}");
        assert!(all.contains(&asleep_tid) && !some.contains(&asleep_tid), "{asleep_tid}: {some:?} of {all:?}");
    }
}
