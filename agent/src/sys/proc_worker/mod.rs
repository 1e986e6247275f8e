//! What the kernel shows of a process only under that one's `exec_update_lock`: `stat`, `wchan`, `syscall`, `stack` and
//! `io`, and where its links lead (`ptrace_may_access`, kernel/ptrace.c, since "proc: protect ptrace_may_access() with
//! exec_update_lock" of 2026, in all stable kernels; of `syscall`, `stack` and `io` always).
//!
//! A process that runs another program holds that lock while it closes its files (`begin_new_exec`, fs/exec.c), and so for
//! ever where the FUSE server of one is silent. A reader waits meanwhile, and only SIGKILL ends that. So a copy of this
//! process reads, and is killed when it does not answer.

mod each;
mod shared;
mod wire;

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::fcntl::{OFlag, open};
use nix::sys::stat::Mode;

use super::{Running, copy};
pub(super) use each::read_each;
pub use each::{Visit, pids_where};
use wire::Answer;
pub(super) use wire::{Kind, Question};

/// How long a look at one file of `/proc` may take: it answers at once, or waits for a lock that may never be free.
pub const FILE_TIMEOUT: Duration = Duration::from_millis(300);
/// The same where many processes have been silent.
const SHORT_FILE_TIMEOUT: Duration = Duration::from_millis(20);
const MANY_SILENT_PROCESSES: usize = 8;
/// A process that was silent is not asked again for so long.
const SILENT_RETRY_INTERVAL: Duration = Duration::from_secs(10);
/// More copies that cannot be killed are not made.
const MAX_ABANDONED_COPIES: usize = 4;
/// So many questions are asked at a time: each time costs two changes of the running process.
const MAX_QUESTIONS_AT_ONCE: usize = 64;

static WORKER: Mutex<ProcWorker> =
    Mutex::new(ProcWorker { copy: None, silent: BTreeMap::new(), abandoned: Vec::new() });

/// Asks about files below `dir`, which are those of the process `pid`.
pub(super) fn query(dir: &impl AsFd, pid: u32, questions: &[Question]) -> Vec<Answer> {
    let mut worker = worker();
    let mut answers = Vec::with_capacity(questions.len());
    for some in questions.chunks(MAX_QUESTIONS_AT_ONCE) {
        answers.extend(worker.query(dir, pid, some));
    }
    answers
}

/// Asks about one file below `dir`, which is one of the process `pid`.
pub(super) fn query_one(dir: &impl AsFd, pid: u32, question: &Question) -> Answer {
    worker().query(dir, pid, std::slice::from_ref(question)).remove(0)
}

/// Ends the copy that asks: there is nothing to ask for a while.
pub fn stop_proc_worker() {
    worker().dismiss();
}

/// `/proc` itself.
pub(super) fn proc() -> io::Result<OwnedFd> {
    Ok(open(Path::new("/proc"), OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC, Mode::empty())?)
}

fn worker() -> MutexGuard<'static, ProcWorker> {
    WORKER.lock().unwrap_or_else(PoisonError::into_inner)
}

struct ProcWorker {
    copy: Option<(Running, UnixStream)>,
    silent: BTreeMap<u32, Instant>,
    abandoned: Vec<Running>,
}

impl ProcWorker {
    fn query(&mut self, dir: &impl AsFd, pid: u32, questions: &[Question]) -> Vec<Answer> {
        let answers = if self.is_silent(pid) { Err(silence()) } else { self.exchange(dir, questions) };
        answers.unwrap_or_else(|error| {
            if error.kind() == io::ErrorKind::TimedOut {
                self.silent.entry(pid).or_insert_with(Instant::now);
            }
            questions.iter().map(|_| Err(io::Error::new(error.kind(), error.to_string()))).collect()
        })
    }

    fn is_silent(&mut self, pid: u32) -> bool {
        self.forget_old();
        self.silent.contains_key(&pid)
    }

    fn forget_old(&mut self) {
        self.silent.retain(|_, since| since.elapsed() < SILENT_RETRY_INTERVAL);
    }

    fn deadline(&self) -> Duration {
        if self.silent.len() < MANY_SILENT_PROCESSES { FILE_TIMEOUT } else { SHORT_FILE_TIMEOUT }
    }

    /// All answers; an error when there are none, and `TimedOut` when the kernel gives none.
    fn exchange(&mut self, dir: &impl AsFd, questions: &[Question]) -> io::Result<Vec<Answer>> {
        let deadline = self.deadline();
        let mut again = true;
        loop {
            match wire::exchange(self.stream()?, dir, questions, deadline) {
                // The copy ends with the thread that made it.
                Err(error) if again && !is_late(&error) => {
                    self.dismiss();
                    again = false;
                }
                Err(error) => {
                    self.dismiss();
                    return Err(if is_late(&error) { silence() } else { error });
                }
                answers => return answers,
            }
        }
    }

    fn stream(&mut self) -> io::Result<&UnixStream> {
        if self.copy.is_none() {
            self.make_room()?;
            let (ours, theirs) = UnixStream::pair()?;
            let running = copy(&theirs, || wire::serve(&theirs))?;
            self.copy = Some((running, ours));
        }
        match &self.copy {
            Some((_, stream)) => Ok(stream),
            None => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    fn make_room(&mut self) -> io::Result<()> {
        self.abandoned.retain(|copy| copy.ended().is_none());
        if self.abandoned.len() >= MAX_ABANDONED_COPIES {
            return Err(io::Error::other("too many copies that asked before hang"));
        }
        Ok(())
    }

    fn dismiss(&mut self) {
        let left = self.copy.take().and_then(|(running, _)| running.kill());
        self.abandoned.extend(left);
    }
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

pub(super) fn silence() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "no answer, as while a process runs another program")
}

#[cfg(test)]
mod tests {
    use nix::unistd::mkfifo;

    use super::*;

    fn file(name: &str) -> Question {
        Question { kind: Kind::File { cap: 4096 }, name: name.into() }
    }

    /// Opening a FIFO without a writer waits, as for the lock; the next one is asked all the same.
    #[test]
    fn one_that_is_silent_is_left_and_the_others_are_asked() {
        let dir = tempfile::tempdir().unwrap();
        mkfifo(&dir.path().join("stat"), Mode::S_IRWXU).unwrap();
        std::fs::write(dir.path().join("wchan"), "here").unwrap();
        let fd = open(dir.path(), OFlag::O_PATH | OFlag::O_CLOEXEC, Mode::empty()).unwrap();
        let mut worker = ProcWorker { copy: None, silent: BTreeMap::new(), abandoned: Vec::new() };
        let began = Instant::now();
        let kinds = |answers: Vec<Answer>| answers.into_iter().map(|one| one.map_err(|error| error.kind())).collect();
        let answers: Vec<_> = kinds(worker.query(&fd, 7, &[file("wchan"), file("stat")]));
        assert_eq!(answers, [Err(io::ErrorKind::TimedOut), Err(io::ErrorKind::TimedOut)]);
        assert!(began.elapsed() >= FILE_TIMEOUT && worker.abandoned.is_empty());
        let again = Instant::now();
        assert!(worker.query(&fd, 7, &[file("wchan")])[0].is_err() && again.elapsed() < FILE_TIMEOUT);
        let answers: Vec<_> = kinds(worker.query(&fd, 8, &[file("wchan"), file("nothing")]));
        assert_eq!(answers, [Ok(b"here".to_vec()), Err(io::ErrorKind::NotFound)]);
        worker.dismiss();
    }

    /// The copy ends with the thread that made it.
    #[test]
    fn asks_again_when_the_copy_has_ended() {
        let mut worker = ProcWorker { copy: None, silent: BTreeMap::new(), abandoned: Vec::new() };
        let dir = proc().unwrap();
        let asked = |worker: &mut ProcWorker| worker.query(&dir, 1, &[file("self/stat")]).remove(0).is_ok();
        assert!(std::thread::scope(|scope| scope.spawn(|| asked(&mut worker)).join().unwrap()));
        std::thread::sleep(Duration::from_millis(50));
        assert!(asked(&mut worker));
        worker.dismiss();
    }
}
