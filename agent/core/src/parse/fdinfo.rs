//! `/proc/<pid>/fdinfo/<fd>` (proc_pid_fdinfo(5)).

use super::escape::unescape;
use crate::observation::HostPath;

/// The fields that are used; all others, which depend on the kind of file, are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Fdinfo {
    /// The flags it was opened with.
    pub flags: Option<u32>,
    /// The mount it was opened through; unique in the system (Linux ≥ 3.15).
    pub mount_id: Option<u32>,
    /// On a descriptor of `/dev/fuse`: the connection it serves. Seen on Linux 6.18; older kernels do not show it.
    pub fuse_connection: Option<u32>,
    /// On a unix socket: how many descriptors were sent to it and not yet received (Linux ≥ 5.12).
    pub scm_fds: Option<u32>,
}

/// Parses the file; a field that is absent or odd stays `None`.
pub fn fdinfo(bytes: &[u8]) -> Fdinfo {
    let mut parsed = Fdinfo::default();
    for line in bytes.split(|b| *b == b'\n') {
        let Some(colon) = line.iter().position(|b| *b == b':') else { continue };
        let value = std::str::from_utf8(&line[colon + 1..]).unwrap_or_default().trim();
        match &line[..colon] {
            b"flags" => parsed.flags = u32::from_str_radix(value, 8).ok(),
            b"mnt_id" => parsed.mount_id = value.parse().ok(),
            b"scm_fds" => parsed.scm_fds = value.parse().ok(),
            b"fuse_connection" => parsed.fuse_connection = value.parse().ok(),
            _ => {}
        }
    }
    parsed
}

/// The files that are registered with an io_uring, by their paths: those whose descriptors may be closed. Kernels before
/// Linux 6.12 show their names only, which say nothing of where they are (`io_uring_show_fdinfo`).
pub fn registered_files(bytes: &[u8]) -> Vec<HostPath> {
    let mut lines = bytes.split(|b| *b == b'\n').skip_while(|line| !line.starts_with(b"UserFiles:")).skip(1);
    let path = |line: &[u8]| -> Option<Option<HostPath>> {
        let line = line.trim_ascii_start();
        let colon = line.iter().position(|b| *b == b':').filter(|at| line[..*at].iter().all(u8::is_ascii_digit))?;
        let path = line[colon + 1..].trim_ascii_start();
        Some(path.starts_with(b"/").then(|| HostPath::new(unescape(path))))
    };
    std::iter::from_fn(|| lines.next().and_then(path)).flatten().collect()
}

/// The files that are swapped to (`/proc/swaps`).
pub fn swap_files(bytes: &[u8]) -> Vec<HostPath> {
    let lines = bytes.split(|b| *b == b'\n').skip(1);
    let file = |line: &[u8]| {
        let mut fields = line.split(|b| b.is_ascii_whitespace()).filter(|field| !field.is_empty());
        let (path, kind) = (fields.next()?, fields.next()?);
        (kind == b"file").then(|| HostPath::new(unescape(path)))
    };
    lines.filter_map(file).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_a_recorded_fuse_descriptor() {
        let parsed = fdinfo(b"pos:\t0\nflags:\t02100002\nmnt_id:\t58\nino:\t90\nfuse_connection:\t39\n");
        assert_eq!(parsed.flags, Some(0o2_100_002));
        assert_eq!((parsed.mount_id, parsed.fuse_connection), (Some(58), Some(39)));
    }

    #[test]
    fn leaves_out_what_it_does_not_know() {
        let parsed =
            fdinfo(b"pos:\t0\nflags:\t02\nmnt_id:\t9\nino:\t7\neventfd-count:                0\nlock:\t1: POSIX\n");
        assert_eq!((parsed.mount_id, parsed.fuse_connection), (Some(9), None));
        assert_eq!(fdinfo(b""), Fdinfo::default());
    }

    #[test]
    fn reads_a_recorded_socket() {
        assert_eq!(fdinfo(b"pos:\t0\nflags:\t02\nmnt_id:\t9\nino:\t7\nscm_fds: 1\n").scm_fds, Some(1));
    }

    #[test]
    fn reads_a_recorded_ring() {
        let ring =
            b"SqMask:\t0x0\nCqTail:\t0\nUserFiles:\t3\n    0: /var/lib/k/vol/a\\040b\n    1: <none>\n    2: /x\n\
            UserBufs:\t1\n    0: /no/file\nPollList:\n";
        assert_eq!(registered_files(ring), ["/var/lib/k/vol/a b", "/x"].map(HostPath::from));
        assert_eq!(registered_files(b"UserFiles:\t1\n    0: name\n"), [], "an older kernel");
        assert_eq!(registered_files(b"UserFiles:\t1\nUserBufs:\t0\n"), [], "its lock was taken");
    }

    #[test]
    fn reads_recorded_swaps() {
        let swaps = b"Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n\
            /dev/vdb                                partition\t1048572\t\t0\t\t-2\n\
            /var/lib/k/a\\040b                        file    \t1020\t\t0\t\t-3\n";
        assert_eq!(swap_files(swaps), [HostPath::from("/var/lib/k/a b")]);
        assert_eq!(swap_files(b""), []);
    }

    proptest! {
        #[test]
        fn never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = fdinfo(&bytes);
            let _ = registered_files(&bytes);
            let _ = swap_files(&bytes);
        }

        #[test]
        fn any_mount_id_survives(id: u32) {
            prop_assert_eq!(fdinfo(format!("mnt_id:\t{id}\n").as_bytes()).mount_id, Some(id));
        }
    }
}
