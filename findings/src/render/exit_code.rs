//! The status that both programs end with.

use crate::Verdict;

/// What the help of both programs ends with; see [`exit_code`].
pub const AFTER_HELP: &str = "Exit codes: 0 nothing is stuck, 1 usage or failure, 2 something is stuck, 3 unknown
Commands are POSIX sh";

/// What the process ends with after this answer. 1 is left for usage and failure.
pub fn exit_code(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Clear | Verdict::Progressing => 0,
        Verdict::Stuck => 2,
        Verdict::CannotTell => 3,
    }
}
