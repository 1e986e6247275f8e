//! A source that gave no answer.

use std::{fmt, io};

pub use findings::FaultKind;
use findings::{Unknown, clean, errno};
use serde::{Deserialize, Serialize};

use super::HostPath;

/// A source that gave no answer, as a value: causes and gates look at the kind and the source, never
/// into the words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    pub source: Source,
    /// What kind of failure it was.
    pub kind: FaultKind,
    /// The system call's error number, when one failed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub errno: Option<i32>,
    /// For people: what went wrong, in the words of who noticed.
    pub says: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Source {
    /// A file or directory of the host.
    Path(HostPath),
    /// A process, by its pid as the agent sees it: several of its files.
    Process(u32),
    /// The container runtime, at its socket.
    Runtime(HostPath),
    ApiServer,
    /// Anything else, named for people: a call, an address.
    Other(String),
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    pub kind: FaultKind,
    /// The system call's error number.
    pub errno: Option<i32>,
    pub says: String,
}

impl Fault {
    /// A fault of `source`.
    pub fn new(source: impl Into<Source>, reason: impl Into<Reason>) -> Self {
        let Reason { kind, errno, says } = reason.into();
        Fault { source: source.into(), kind, errno, says }
    }

    /// Whether a file system has failed: EIO, and EUCLEAN or EBADMSG where its data makes no sense.
    pub fn is_of_failed_file_system(&self) -> bool {
        matches!(self.errno, Some(5 | 74 | 117))
    }

    /// As a report shows it; `hides` says what it keeps from being known.
    pub fn unknown(&self, hides: impl Into<String>) -> Unknown {
        Unknown {
            source: clean(&self.source.to_string(), 200),
            kind: Some(self.kind),
            why: clean(&self.says, 300),
            hides: hides.into(),
        }
    }
}

impl Reason {
    /// A reason that is no error of a system call.
    pub fn new(kind: FaultKind, says: impl fmt::Display) -> Self {
        Reason { kind, errno: None, says: says.to_string() }
    }
}

impl<T: fmt::Display> From<(FaultKind, T)> for Reason {
    fn from((kind, says): (FaultKind, T)) -> Self {
        Reason::new(kind, says)
    }
}

impl From<&io::Error> for Reason {
    fn from(error: &io::Error) -> Self {
        Reason { kind: FaultKind::from_io(error), errno: errno(error), says: error.to_string() }
    }
}

impl From<io::Error> for Reason {
    fn from(error: io::Error) -> Self {
        Reason::from(&error)
    }
}

impl From<HostPath> for Source {
    fn from(path: HostPath) -> Self {
        Source::Path(path)
    }
}

impl From<&HostPath> for Source {
    fn from(path: &HostPath) -> Self {
        Source::Path(path.clone())
    }
}

impl From<&std::path::Path> for Source {
    fn from(path: &std::path::Path) -> Self {
        Source::Path(HostPath::from(path.to_owned()))
    }
}

impl From<&str> for Source {
    fn from(name: &str) -> Self {
        Source::from(name.to_owned())
    }
}

impl From<String> for Source {
    fn from(name: String) -> Self {
        if name.starts_with('/') { Source::Path(HostPath::from(name.as_str())) } else { Source::Other(name) }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Path(path) => f.write_str(&path.show()),
            Source::Process(pid) => write!(f, "/proc/{pid}"),
            Source::Runtime(socket) => write!(f, "CRI unix://{}", socket.show()),
            Source::ApiServer => f.write_str("API server"),
            Source::Other(name) => f.write_str(name),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.source, self.says)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("/x: {source}")]
    struct Wrapped {
        source: io::Error,
    }

    #[test]
    fn an_error_keeps_its_number_below_a_path() {
        let inner = io::Error::from_raw_os_error(116);
        let error = io::Error::new(inner.kind(), Wrapped { source: inner });
        let reason = Reason::from(&error);
        assert_eq!((reason.kind, reason.errno), (FaultKind::Stale, Some(116)));
    }

    #[test]
    fn it_is_told_as_it_was_seen() {
        let fault = Fault::new(Source::Process(7), io::Error::from_raw_os_error(13));
        assert_eq!((fault.kind, fault.source.to_string().as_str()), (FaultKind::Denied, "/proc/7"));
        assert_eq!(fault.unknown("x").why, "Permission denied (os error 13)");
    }
}
