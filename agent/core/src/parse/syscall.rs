//! `/proc/<pid>/syscall` and `/proc/<pid>/stack`.

use procfs::FromRead;

use crate::observation::Syscall;

/// The system call a task is in; `None` for a running task or one outside a system call.
pub fn syscall(bytes: &[u8]) -> Option<Syscall> {
    match procfs::process::Syscall::from_read(bytes).ok()? {
        procfs::process::Syscall::Blocked { syscall_number, argument_registers, .. } if syscall_number >= 0 => {
            Some(Syscall { number: syscall_number, first_argument: argument_registers[0] })
        }
        _ => None,
    }
}

/// The descriptor a system call works on, for the calls whose first argument is one.
pub fn descriptor(call: &Syscall) -> Option<u32> {
    const ON_DESCRIPTOR: [i64; 21] = [
        libc::SYS_read,
        libc::SYS_write,
        libc::SYS_readv,
        libc::SYS_writev,
        libc::SYS_pread64,
        libc::SYS_pwrite64,
        libc::SYS_preadv,
        libc::SYS_pwritev,
        libc::SYS_fstat,
        libc::SYS_lseek,
        libc::SYS_ioctl,
        libc::SYS_fcntl,
        libc::SYS_flock,
        libc::SYS_fsync,
        libc::SYS_fdatasync,
        libc::SYS_ftruncate,
        libc::SYS_fallocate,
        libc::SYS_getdents64,
        libc::SYS_fchdir,
        libc::SYS_fchmod,
        libc::SYS_close,
    ];
    ON_DESCRIPTOR.contains(&call.number).then(|| u32::try_from(call.first_argument).ok()).flatten()
}

/// The functions of a kernel stack, innermost first, at most 32.
pub fn stack(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let function = |line: &str| {
        let after = line.split_once("] ").map_or(line, |(_, after)| after);
        let name = after.split(['+', ' ']).next().unwrap_or(after);
        (!name.is_empty()).then(|| findings::clean(name, 80))
    };
    text.lines().filter_map(function).take(32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_a_recorded_call() {
        let call =
            syscall(b"262 0xffffff9c 0x7c0fb90 0x7fff30ccd858 0x0 0x7fff30ccd8c0 0x5e2768 0x7fff30ccd848 0x47b3ba")
                .unwrap();
        assert_eq!(call, Syscall { number: 262, first_argument: 0xffff_ff9c });
        assert_eq!(descriptor(&call), None);
        assert_eq!(descriptor(&Syscall { number: libc::SYS_read, first_argument: 3 }), Some(3));
        assert_eq!(syscall(b"running\n"), None);
    }

    #[test]
    fn reads_a_recorded_stack() {
        let file = b"[<0>] request_wait_answer+0x11a/0x2b0\n[<0>] __fuse_simple_request+0xe3/0x2e0\n";
        assert_eq!(stack(file), ["request_wait_answer", "__fuse_simple_request"]);
    }

    proptest! {
        #[test]
        fn never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = syscall(&bytes);
            let _ = stack(&bytes);
        }
    }
}
