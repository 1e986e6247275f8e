//! Why a source gave no answer.

use std::io;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What kind of failure it was: all that a cause, gate or rule may ask of one. Its words are for people.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum FaultKind {
    /// No process listens at the address, or there is no such address (`ECONNREFUSED`, a socket that is not there).
    Refused,
    /// It was reached and did not answer before the deadline.
    TimedOut,
    /// A right is missing (`EACCES`, `EPERM`, 401, 403).
    Denied,
    /// The file handle is stale (`ESTALE`), or the answer is too old to go on with (410) or to compare with.
    Stale,
    /// It was there and is not any more, or not where it was asked for (`ENOENT`, `ESRCH`, 404).
    Gone,
    /// It answered, in no known form.
    Malformed,
    /// It answered more than is read.
    TooLarge,
    /// A helper process that asked it hangs and cannot be killed.
    Hung,
    /// It was not asked: that could have blocked, or it is not to be believed.
    NotAsked,
    /// Any other failure; with the error number, if there is one.
    #[default]
    Failed,
}

impl FaultKind {
    /// The kind of a system call's error number (Linux, all architectures that Kubernetes runs on).
    pub fn from_errno(errno: i32) -> Self {
        match errno {
            1 | 13 => FaultKind::Denied,
            2 | 3 | 20 => FaultKind::Gone,
            27 => FaultKind::TooLarge,
            110 => FaultKind::TimedOut,
            111 => FaultKind::Refused,
            116 => FaultKind::Stale,
            _ => FaultKind::Failed,
        }
    }

    /// Whether a list must be read anew: its version is too old to go on from (410), or what came was not understood.
    pub fn needs_relist(self) -> bool {
        matches!(self, FaultKind::Stale | FaultKind::Gone | FaultKind::TooLarge | FaultKind::Malformed)
    }

    /// The kind of an I/O error, of the system or of the standard library.
    pub fn from_io(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::FileTooLarge => FaultKind::TooLarge,
            io::ErrorKind::TimedOut => FaultKind::TimedOut,
            io::ErrorKind::InvalidData => FaultKind::Malformed,
            _ => errno(error).map_or(FaultKind::Failed, FaultKind::from_errno),
        }
    }

    /// The kind of an HTTP status that is no success.
    pub fn from_status(status: u16) -> Self {
        match status {
            401 | 403 => FaultKind::Denied,
            404 => FaultKind::Gone,
            410 => FaultKind::Stale,
            408 | 504 => FaultKind::TimedOut,
            413 => FaultKind::TooLarge,
            _ => FaultKind::Failed,
        }
    }
}

/// The system's error number, also of an error that was wrapped to carry a path.
pub fn errno(error: &io::Error) -> Option<i32> {
    let wrapped = || error.get_ref()?.source()?.downcast_ref::<io::Error>()?.raw_os_error();
    error.raw_os_error().or_else(wrapped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_numbers_are_those_of_the_standard_library() {
        use std::io::{Error, ErrorKind};
        let kinds = [
            (FaultKind::Denied, ErrorKind::PermissionDenied),
            (FaultKind::Gone, ErrorKind::NotFound),
            (FaultKind::Gone, ErrorKind::NotADirectory),
            (FaultKind::TooLarge, ErrorKind::FileTooLarge),
            (FaultKind::TimedOut, ErrorKind::TimedOut),
            (FaultKind::Refused, ErrorKind::ConnectionRefused),
            (FaultKind::Stale, ErrorKind::StaleNetworkFileHandle),
        ];
        for (kind, of_std) in kinds {
            let numbers = (1..=133).filter(|errno| Error::from_raw_os_error(*errno).kind() == of_std);
            assert!(
                numbers.clone().count() > 0 && numbers.into_iter().all(|errno| FaultKind::from_errno(errno) == kind),
                "{of_std}"
            );
        }
    }
}
