//! `/proc/<pid>/status` (proc_pid_status(5)).
//!
//! Not by the procfs crate: it refuses the whole file because of a name that is no UTF-8, so that
//! any process could hide its pending signals.

/// The fields that are used.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Status {
    /// Its name (`Name`), with what cannot be seen escaped by the kernel.
    pub comm: String,
    pub state: char,
    pub parent: u32,
    pub threads: u32,
    /// The pids from the reader's namespace inwards (`NSpid`, Linux ≥ 4.1).
    pub ns_pids: Vec<u32>,
    /// The process that a thread is of (`Tgid`).
    pub process: Option<u32>,
    /// The process that traces it, 0 for none.
    pub tracer: u32,
    /// SIGKILL pending for this thread.
    pub kill_pending_thread: bool,
    /// SIGKILL pending for the whole process.
    pub kill_pending_process: bool,
    /// The effective capabilities (`CapEff`), a bit each.
    pub capabilities: u64,
    /// Voluntary and other context switches together.
    pub switches: u64,
}

/// Bit of SIGKILL (9) in a signal mask.
const SIGKILL: u64 = 1 << (9 - 1);

/// Parses the file; a field that is absent or odd stays at its default.
pub fn status(bytes: &[u8]) -> Status {
    let mut parsed = Status::default();
    for line in bytes.split(|b| *b == b'\n') {
        let Some(colon) = line.iter().position(|b| *b == b':') else { continue };
        let (name, value) = (&line[..colon], String::from_utf8_lossy(&line[colon + 1..]));
        let mask = || u64::from_str_radix(value.trim(), 16).unwrap_or(0);
        let kill_pending = || mask() & SIGKILL != 0;
        match name {
            b"Name" => parsed.comm = value.trim().to_owned(),
            b"State" => parsed.state = value.trim().chars().next().unwrap_or_default(),
            b"PPid" => parsed.parent = value.trim().parse().unwrap_or(0),
            b"Threads" => parsed.threads = value.trim().parse().unwrap_or(0),
            b"NSpid" => parsed.ns_pids = value.split_whitespace().filter_map(|pid| pid.parse().ok()).collect(),
            b"Tgid" => parsed.process = value.trim().parse().ok(),
            b"TracerPid" => parsed.tracer = value.trim().parse().unwrap_or(0),
            b"SigPnd" => parsed.kill_pending_thread = kill_pending(),
            b"ShdPnd" => parsed.kill_pending_process = kill_pending(),
            b"CapEff" => parsed.capabilities = mask(),
            b"voluntary_ctxt_switches" | b"nonvoluntary_ctxt_switches" => {
                parsed.switches = parsed.switches.saturating_add(value.trim().parse().unwrap_or(0));
            }
            _ => {}
        }
    }
    parsed
}

/// All of its user and group ids (`Uid`, `Gid`): real, effective, saved, of the file system.
pub fn ids(bytes: &[u8]) -> Vec<u32> {
    let lines = bytes.split(|b| *b == b'\n');
    let of_ids = lines.filter_map(|line| line.strip_prefix(b"Uid:").or_else(|| line.strip_prefix(b"Gid:")));
    let text = of_ids.map(String::from_utf8_lossy);
    text.flat_map(|ids| ids.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<u32>>()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_a_recorded_task() {
        let file = b"Name:\tls\nState:\tD (disk sleep)\nTgid:\t15730\nTracerPid:\t4242\nNSpid:\t15731\t7\nSigPnd:\t0000000000000100\nShdPnd:\t0000000000000000\nCapEff:\t0000000000080004\n";
        let parsed = status(file);
        assert_eq!((parsed.ns_pids.as_slice(), parsed.tracer), ([15731, 7].as_slice(), 4242));
        assert_eq!(parsed.process, Some(15730));
        assert_eq!(parsed.capabilities, 1 << 19 | 1 << 2);
        assert!(parsed.kill_pending_thread && !parsed.kill_pending_process);
    }

    #[test]
    fn a_name_cannot_forge_a_field() {
        // The kernel escapes newlines in Name.
        let parsed = status(b"Name:\ta\\nShdPnd:\t0000000000000100\nShdPnd:\t0000000000000000\n");
        assert!(!parsed.kill_pending_process);
    }

    #[test]
    fn reads_all_ids() {
        let file = b"Name:\tpasswd\nUid:\t1000\t0\t0\t0\nGid:\t100\t100\t100\t100\nGroups:\t27\n";
        assert_eq!(ids(file), [1000, 0, 0, 0, 100, 100, 100, 100]);
        assert!(ids(b"Name:\tUid:\\n0\n").is_empty());
    }

    proptest! {
        #[test]
        fn never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = status(&bytes);
            let _ = ids(&bytes);
        }
    }
}
