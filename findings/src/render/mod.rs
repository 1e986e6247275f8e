//! The words of every answer at a terminal. Both programs answer through this, so that the same finding reads the
//! same from either. It writes to strings; who has a terminal prints them.

mod cause;
mod finding;
mod page;
mod style;
mod table;

use std::io;

use serde::Serialize;

use crate::Verdict;

pub use cause::{NoSuchCause, causes};
pub use finding::{evidence, finding, remedy, unknown};
pub use page::Page;
pub use style::Style;
pub use table::{Table, cut};

/// Which verdict gives which exit code, for the help of both programs; see [`exit_code`].
pub const EXIT_CODES: &str = "Exit codes: 0 nothing is stuck, 1 usage or failure, 2 something is stuck, 3 cannot tell";

/// How much to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// What holds it and what to do.
    Short,
    /// Also the evidence.
    Wide,
}

/// What the process ends with after this answer. 1 is left for usage and failure.
pub fn exit_code(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Clear | Verdict::Progressing => 0,
        Verdict::Stuck => 2,
        Verdict::CannotTell => 3,
    }
}

/// A report as scripts take it: indented, with a final newline.
pub fn json(report: &impl Serialize) -> serde_json::Result<String> {
    serde_json::to_string_pretty(report).map(|text| text + "\n")
}

/// Writes an answer; a reader that has seen enough (`| head`) is no failure.
pub fn print(text: &str, mut to: impl io::Write) -> io::Result<()> {
    match to.write_all(text.as_bytes()).and_then(|()| to.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Gone(io::ErrorKind);

    impl io::Write for Gone {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_went_away_is_no_failure_and_a_full_disk_is() {
        assert!(print("x", Gone(io::ErrorKind::BrokenPipe)).is_ok());
        assert!(print("x", Gone(io::ErrorKind::StorageFull)).is_err());
    }
}
