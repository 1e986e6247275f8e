//! `/proc/<pid>/fdinfo/<fd>` (proc_pid_fdinfo(5)).

/// The fields that are used; all others, which depend on the kind of file, are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Fdinfo {
    /// The flags it was opened with.
    pub flags: Option<u32>,
    /// The mount it was opened through; unique in the system (Linux ≥ 3.15).
    pub mount_id: Option<u32>,
    /// On a descriptor of `/dev/fuse`: the connection it serves. Seen on Linux 6.18; older
    /// kernels do not tell.
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

    proptest! {
        #[test]
        fn never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = fdinfo(&bytes);
        }

        #[test]
        fn any_mount_id_survives(id: u32) {
            prop_assert_eq!(fdinfo(format!("mnt_id:\t{id}\n").as_bytes()).mount_id, Some(id));
        }
    }
}
