//! `/proc/<pid>/stat` and `/proc/<pid>/task/<tid>/stat` (proc_pid_stat(5)).
//!
//! Not by the procfs crate: its parser takes the place of a parenthesis for granted and panics on a
//! cut line, and it reads all 52 fields of every process.

/// The fields that are used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    pub pid: u32,
    /// Name, between the first `(` and the last `)`; it may hold anything, also `)` and newlines.
    pub comm: String,
    pub state: char,
    pub parent: u32,
    /// Kernel flags of the task.
    pub flags: u64,
    pub threads: u32,
    /// Clock ticks after boot.
    pub start_ticks: u64,
}

/// `PF_EXITING` of `include/linux/sched.h`.
const PF_EXITING: u64 = 0x4;
/// `PF_KTHREAD`.
const PF_KTHREAD: u64 = 0x0020_0000;

impl Stat {
    /// The task has begun to exit.
    pub fn exiting(&self) -> bool {
        self.flags & PF_EXITING != 0
    }

    pub fn is_kernel_thread(&self) -> bool {
        self.flags & PF_KTHREAD != 0
    }
}

/// Parses one line; `None` when it is not of the documented form.
pub fn stat(bytes: &[u8]) -> Option<Stat> {
    let open = bytes.iter().position(|b| *b == b'(')?;
    let close = bytes.iter().rposition(|b| *b == b')')?;
    let pid = number(bytes.get(..open)?.trim_ascii())?;
    let comm = String::from_utf8_lossy(bytes.get(open + 1..close)?).into_owned();
    let rest = bytes.get(close + 1..)?;
    // Field 3 (state) is the first after the name.
    let mut fields = rest.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
    let state = *fields.next()?.first()? as char;
    let parent = number(fields.next()?)?;
    let flags = number::<u64>(fields.nth(4)?)?;
    let threads = number(fields.nth(10)?)?;
    let start_ticks = number(fields.nth(1)?)?;
    Some(Stat { pid, comm, state, parent, flags, threads, start_ticks })
}

fn number<N: std::str::FromStr>(field: &[u8]) -> Option<N> {
    std::str::from_utf8(field).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RECORDED: &[u8] =
        b"15731 (ls) D 15719 15719 15719 0 -1 4194368 26 0 0 0 0 0 0 0 20 0 1 0 451690 2322432 250 \
        18446744073709551615 4198400 5785993 140734012121552 0 0 256 0 0 65538 1 0 0 17 0 0 0 0 0 0 6141704 6178576";

    #[test]
    fn reads_a_recorded_task() {
        let task = stat(RECORDED).unwrap();
        assert_eq!((task.pid, task.comm.as_str(), task.state, task.parent), (15731, "ls", 'D', 15719));
        assert_eq!((task.threads, task.start_ticks), (1, 451_690));
        assert!(!task.exiting() && !task.is_kernel_thread());
    }

    #[test]
    fn a_name_may_hold_parentheses_and_newlines() {
        let line = String::from_utf8_lossy(RECORDED).replace("(ls)", "(a) R 1 (\n)");
        let task = stat(line.as_bytes()).unwrap();
        assert_eq!((task.comm.as_str(), task.state), ("a) R 1 (\n", 'D'));
    }

    #[test]
    fn a_cut_line_is_none() {
        for end in [0, 1, 5, 10, 40] {
            assert_eq!(stat(&RECORDED[..end]), None);
        }
    }

    proptest! {
        #[test]
        fn never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = stat(&bytes);
        }

        #[test]
        fn any_name_is_kept(name in "[^\u{0}]{0,15}") {
            let line = String::from_utf8_lossy(RECORDED).replace("(ls)", &format!("({name})"));
            prop_assert_eq!(stat(line.as_bytes()).unwrap().comm, name);
        }
    }
}
