//! The disposable child: whatever could block for ever is done in a process of its own, which is
//! killed at a deadline and, if even that does not help, abandoned.
//!
//! A thread does not protect: one that hangs in D makes the whole process unkillable, and then
//! the agent's own pod could not be removed any more. A `tokio` task with a timeout is such a
//! thread. A child that hangs in D still pins the agent's container, so at most
//! [`MAX_ABANDONED_CHILDREN`] may hang, and none is started without need.
//!
//! The child is a copy of the process, and no program is started: the reader may not.

mod file;
mod line;
mod listen;
mod maps;
mod probe;
mod run;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::BTreeSet;
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use nix::errno::Errno;

pub use file::Executable;
use line::{Line, lines};
pub use line::{Mapping, Place, RealPath};
use run::{Outcome, run};

use crate::observation::{Dev, Fault, FaultKind, FuseProbe, HostPath, Reason, Seen};
use crate::sys::{self, Running};

/// How many children may run or hang at a time.
pub const MAX_ABANDONED_CHILDREN: usize = 4;
/// The longest argument list that is read, in bytes.
const MAX_COMMAND_LINE_BYTES: usize = 128 << 10;

/// Starts the children and keeps count of those that hang. One for the whole agent.
#[derive(Default)]
pub struct Prober {
    children: Mutex<Children>,
}

/// The keys say what a child works on; there is at most one child per key.
#[derive(Default)]
struct Children {
    running: Vec<String>,
    abandoned: Vec<(String, Running)>,
}

/// The lines of a child, and why those may not be all.
type Said = (Vec<Line>, Option<ChildError>);

/// What a search for mappings found.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Mappings {
    pub found: Vec<Mapping>,
    /// Who was looked at to the end.
    pub looked_at: Vec<u32>,
    pub fault: Option<Fault>,
}

/// Why a child gave no full answer.
#[derive(Debug, thiserror::Error)]
enum ChildError {
    /// The bound is reached.
    #[error("too many probes hang")]
    TooMany,
    /// An earlier one for the same thing still hangs.
    #[error("an earlier probe of this still hangs")]
    StillHangs,
    /// It did not end in time.
    #[error("no answer within {0:?}")]
    Deadline(Duration),
    /// It could not be started.
    #[error("the probe could not be started: {0}")]
    Start(io::Error),
}

impl From<ChildError> for Reason {
    fn from(error: ChildError) -> Self {
        let kind = match &error {
            ChildError::TooMany => FaultKind::NotAsked,
            ChildError::StillHangs => FaultKind::Hung,
            ChildError::Deadline(_) => FaultKind::TimedOut,
            ChildError::Start(_) => FaultKind::Failed,
        };
        Reason::new(kind, error)
    }
}

impl Prober {
    /// How many children hang and could not be killed.
    pub fn abandoned(&self) -> usize {
        let mut children = self.children();
        children.reap();
        children.abandoned.len()
    }

    /// The arguments of a process. Only for the kubelet: others' may hold secrets.
    pub fn command_line(&self, pid: u32, deadline: Duration) -> Seen<Vec<String>> {
        let content = |path: &CStr, writer: &OwnedFd| file::write_content(path, MAX_COMMAND_LINE_BYTES, writer);
        self.file(format!("/proc/{pid}/cmdline"), deadline, content, |bytes| Some(arguments(bytes)))
    }

    /// Who may write the program of a process, and what it lies on. In a child, as the walk to it may ask
    /// a server.
    pub fn executable(&self, pid: u32, deadline: Duration) -> Seen<Executable> {
        self.file(format!("/proc/{pid}/exe"), deadline, file::write_facts, Executable::parse)
    }

    /// How the file system `dev` answers a plain `stat` of `path` (as the agent finds it). At
    /// most one such child per file system: while one hangs the answer stays `Silent`.
    pub fn stat(&self, dev: Dev, path: &Path, deadline: Duration) -> Seen<FuseProbe> {
        let source = format!("stat {}", HostPath::from(path.to_owned()).show());
        of_file_system(source, self.ask(&format!("stat {dev}"), deadline, |out| probe::stat(path, out)))
    }

    /// Which of `pids` have a file of `dev` mapped.
    pub fn mappings(&self, dev: Dev, pids: &[u32], deadline: Duration) -> Mappings {
        let search = |out: &_| probe::search_maps(&[dev], pids, probe::MAX_MAPS_BYTES, out, false);
        mappings(self.ask(&format!("mappings {dev}"), deadline, search))
    }

    /// Which files of `devs` each of `pids` can write to by a mapping.
    pub fn writable_mappings(&self, devs: &BTreeSet<Dev>, pids: &[u32], deadline: Duration) -> Mappings {
        let devs: Vec<Dev> = devs.iter().copied().collect();
        let search = |out: &_| probe::search_maps(&devs, pids, probe::MAX_MAPS_BYTES, out, true);
        mappings(self.ask("writable mappings", deadline, search))
    }

    /// Where links of processes (`cwd`, `fd/3`) lead, for mounts that stand in no table any
    /// more. Those that could not be read, or that came after a hang, are left out.
    pub fn places(&self, links: &[(u32, String)], deadline: Duration) -> Vec<Place> {
        let (said, _) = self.ask("places", deadline, |out| probe::places(links, out));
        let place = |line| match line {
            Line::Place(place) => Some(place),
            _ => None,
        };
        said.into_iter().filter_map(place).collect()
    }

    /// Where paths lead in the mount namespaces of processes, which tenants may have made. Those after a hang are left out.
    pub fn real_paths(&self, paths: &[(u32, &str)], deadline: Duration) -> Vec<RealPath> {
        let (said, _) = self.ask("real", deadline, |out| probe::real_paths(paths, out));
        let real = |line| match line {
            Line::Real(real) => Some(real),
            _ => None,
        };
        said.into_iter().filter_map(real).collect()
    }

    /// What a child finds out about the file at `path`.
    fn file<T>(
        &self,
        path: String,
        deadline: Duration,
        work: impl FnOnce(&CStr, &OwnedFd) -> Result<(), Errno>,
        parse: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Seen<T> {
        let name = CString::new(path.as_str()).map_err(|error| ChildError::Start(error.into()));
        let outcome = name.and_then(|name| self.run(&path, deadline, |writer| work(&name, writer)));
        let output = outcome.and_then(|outcome| {
            let status = outcome.status.ok_or(ChildError::Deadline(deadline))?;
            Ok(status.and_then(|()| parse(&outcome.output).ok_or(io::ErrorKind::UnexpectedEof.into())))
        });
        match output {
            Ok(Ok(answer)) => Seen::Seen(answer),
            Ok(Err(error)) if sys::is_gone(&error) => Seen::Missing,
            Ok(Err(error)) => Seen::failed(path, error),
            Err(error) => Seen::failed(path, error),
        }
    }

    /// What a child wrote, and why that may not be all.
    fn ask(&self, key: &str, deadline: Duration, work: impl FnOnce(&OwnedFd) -> io::Result<()>) -> Said {
        let work = |out: &_| work(out).map_err(|error| Errno::try_from(error).unwrap_or(Errno::EIO));
        match self.run(key, deadline, work) {
            Ok(Outcome { output, finished, .. }) => {
                (lines(&output), (!finished).then_some(ChildError::Deadline(deadline)))
            }
            Err(error) => (Vec::new(), Some(error)),
        }
    }

    fn run(
        &self,
        key: &str,
        deadline: Duration,
        work: impl FnOnce(&OwnedFd) -> Result<(), Errno>,
    ) -> Result<Outcome, ChildError> {
        self.children().begin(key)?;
        let outcome = run(deadline, work);
        self.children().end(key, outcome)
    }

    fn children(&self) -> std::sync::MutexGuard<'_, Children> {
        self.children.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Children {
    fn reap(&mut self) {
        self.abandoned.retain(|(_, child)| child.ended().is_none());
    }

    fn begin(&mut self, key: &str) -> Result<(), ChildError> {
        self.reap();
        let mut keys = self.running.iter().chain(self.abandoned.iter().map(|(key, _)| key));
        if keys.any(|busy| busy == key) {
            return Err(ChildError::StillHangs);
        }
        if self.running.len() + self.abandoned.len() >= MAX_ABANDONED_CHILDREN {
            return Err(ChildError::TooMany);
        }
        self.running.push(key.to_owned());
        Ok(())
    }

    /// Keeps the child that could not be killed.
    fn end(&mut self, key: &str, outcome: io::Result<Outcome>) -> Result<Outcome, ChildError> {
        self.running.retain(|running| running != key);
        let mut outcome = outcome.map_err(ChildError::Start)?;
        self.abandoned.extend(outcome.abandoned.take().map(|child| (key.to_owned(), child)));
        Ok(outcome)
    }
}

/// The arguments in a process's `cmdline`; each ends with a zero.
fn arguments(bytes: &[u8]) -> Vec<String> {
    let bytes = bytes.strip_suffix(b"\0").unwrap_or(bytes);
    bytes.split(|b| *b == 0).map(|arg| String::from_utf8_lossy(arg).into_owned()).collect()
}

/// What a search of one process after another found: what is mapped by those before one that cannot be read, even so.
fn mappings((lines, error): Said) -> Mappings {
    let mut mappings = Mappings::default();
    for line in lines {
        match line {
            Line::Mapping(mapping) => mappings.found.push(mapping),
            Line::Looked { pid } => mappings.looked_at.push(pid),
            Line::Failed(fault) => mappings.fault = Some(fault),
            _ => {}
        }
    }
    if let Some(error) = error {
        mappings.fault = Some(Fault::new("/proc/<pid>/maps", error));
    }
    mappings
}

/// How a file system answers: it, or the child, says one line.
fn of_file_system(source: String, (said, error): Said) -> Seen<FuseProbe> {
    match (said.into_iter().next(), error) {
        (Some(Line::Stat(probe)), _) => Seen::Seen(probe),
        (Some(Line::Missing), _) => Seen::Missing,
        (Some(Line::Failed(fault)), _) => Seen::Failed(fault),
        (None, Some(ChildError::Deadline(_) | ChildError::StillHangs)) => Seen::Seen(FuseProbe::Silent),
        (_, Some(error)) => Seen::failed(source, error),
        (_, None) => Seen::failed(source, (FaultKind::Failed, "the probe gave no answer")),
    }
}
