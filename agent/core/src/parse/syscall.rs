//! `/proc/<pid>/syscall` and `/proc/<pid>/stack`.

use procfs::FromRead;

use crate::observation::Syscall;

/// The system call a task is in; `None` for a running task or one outside a system call.
pub fn syscall(bytes: &[u8]) -> Option<Syscall> {
    match procfs::process::Syscall::from_read(bytes).ok()? {
        procfs::process::Syscall::Blocked { syscall_number, argument_registers, .. } if syscall_number >= 0 => {
            let name = known(syscall_number).map(|(_, name, _)| (*name).to_owned());
            Some(Syscall { number: syscall_number, first_argument: argument_registers[0], name })
        }
        _ => None,
    }
}

/// What the first argument of a call is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum First {
    /// The descriptor that it works on.
    Descriptor,
    /// A path, or a descriptor that a path may begin at.
    Path,
    Other,
}

type Call = (i64, &'static str, First);

/// The calls in which a task waits for files.
const CALLS: [Call; 64] = [
    (libc::SYS_read, "read", First::Descriptor),
    (libc::SYS_write, "write", First::Descriptor),
    (libc::SYS_readv, "readv", First::Descriptor),
    (libc::SYS_writev, "writev", First::Descriptor),
    (libc::SYS_pread64, "pread64", First::Descriptor),
    (libc::SYS_pwrite64, "pwrite64", First::Descriptor),
    (libc::SYS_preadv, "preadv", First::Descriptor),
    (libc::SYS_pwritev, "pwritev", First::Descriptor),
    (libc::SYS_preadv2, "preadv2", First::Descriptor),
    (libc::SYS_pwritev2, "pwritev2", First::Descriptor),
    (libc::SYS_fstat, "fstat", First::Descriptor),
    (libc::SYS_lseek, "lseek", First::Descriptor),
    (libc::SYS_ioctl, "ioctl", First::Descriptor),
    (libc::SYS_fcntl, "fcntl", First::Descriptor),
    (libc::SYS_flock, "flock", First::Descriptor),
    (libc::SYS_fsync, "fsync", First::Descriptor),
    (libc::SYS_fdatasync, "fdatasync", First::Descriptor),
    (libc::SYS_syncfs, "syncfs", First::Descriptor),
    (libc::SYS_ftruncate, "ftruncate", First::Descriptor),
    (libc::SYS_fallocate, "fallocate", First::Descriptor),
    (libc::SYS_getdents64, "getdents64", First::Descriptor),
    (libc::SYS_fchdir, "fchdir", First::Descriptor),
    (libc::SYS_fchmod, "fchmod", First::Descriptor),
    (libc::SYS_fchown, "fchown", First::Descriptor),
    (libc::SYS_fstatfs, "fstatfs", First::Descriptor),
    (libc::SYS_fsetxattr, "fsetxattr", First::Descriptor),
    (libc::SYS_fgetxattr, "fgetxattr", First::Descriptor),
    (libc::SYS_copy_file_range, "copy_file_range", First::Descriptor),
    (libc::SYS_splice, "splice", First::Descriptor),
    (libc::SYS_sync_file_range, "sync_file_range", First::Descriptor),
    (libc::SYS_close, "close", First::Descriptor),
    (libc::SYS_openat, "openat", First::Path),
    (libc::SYS_openat2, "openat2", First::Path),
    (libc::SYS_newfstatat, "newfstatat", First::Path),
    (libc::SYS_statx, "statx", First::Path),
    (libc::SYS_statfs, "statfs", First::Path),
    (libc::SYS_faccessat, "faccessat", First::Path),
    (libc::SYS_faccessat2, "faccessat2", First::Path),
    (libc::SYS_readlinkat, "readlinkat", First::Path),
    (libc::SYS_mkdirat, "mkdirat", First::Path),
    (libc::SYS_unlinkat, "unlinkat", First::Path),
    (libc::SYS_renameat2, "renameat2", First::Path),
    (libc::SYS_linkat, "linkat", First::Path),
    (libc::SYS_symlinkat, "symlinkat", First::Path),
    (libc::SYS_mknodat, "mknodat", First::Path),
    (libc::SYS_fchmodat, "fchmodat", First::Path),
    (libc::SYS_fchownat, "fchownat", First::Path),
    (libc::SYS_utimensat, "utimensat", First::Path),
    (libc::SYS_chdir, "chdir", First::Path),
    (libc::SYS_chroot, "chroot", First::Path),
    (libc::SYS_truncate, "truncate", First::Path),
    (libc::SYS_execve, "execve", First::Path),
    (libc::SYS_execveat, "execveat", First::Path),
    (libc::SYS_umount2, "umount2", First::Path),
    (libc::SYS_mount, "mount", First::Path),
    (libc::SYS_setxattr, "setxattr", First::Path),
    (libc::SYS_getxattr, "getxattr", First::Path),
    (libc::SYS_sync, "sync", First::Other),
    (libc::SYS_msync, "msync", First::Other),
    (libc::SYS_mmap, "mmap", First::Other),
    (libc::SYS_munmap, "munmap", First::Other),
    (libc::SYS_exit_group, "exit_group", First::Other),
    (libc::SYS_exit, "exit", First::Other),
    (libc::SYS_io_submit, "io_submit", First::Other),
];

/// Those that only x86 has.
#[cfg(target_arch = "x86_64")]
const OLD_CALLS: [Call; 15] = [
    (libc::SYS_open, "open", First::Path),
    (libc::SYS_creat, "creat", First::Path),
    (libc::SYS_stat, "stat", First::Path),
    (libc::SYS_lstat, "lstat", First::Path),
    (libc::SYS_access, "access", First::Path),
    (libc::SYS_readlink, "readlink", First::Path),
    (libc::SYS_mkdir, "mkdir", First::Path),
    (libc::SYS_rmdir, "rmdir", First::Path),
    (libc::SYS_unlink, "unlink", First::Path),
    (libc::SYS_rename, "rename", First::Path),
    (libc::SYS_link, "link", First::Path),
    (libc::SYS_symlink, "symlink", First::Path),
    (libc::SYS_chmod, "chmod", First::Path),
    (libc::SYS_chown, "chown", First::Path),
    (libc::SYS_getdents, "getdents", First::Descriptor),
];
#[cfg(not(target_arch = "x86_64"))]
const OLD_CALLS: [Call; 0] = [];

fn known(number: i64) -> Option<&'static Call> {
    CALLS.iter().chain(&OLD_CALLS).find(|(known, ..)| *known == number)
}

/// The descriptor a system call works on, for the calls whose first argument is one.
pub fn descriptor(call: &Syscall) -> Option<u32> {
    let (.., first) = known(call.number)?;
    (*first == First::Descriptor).then(|| u32::try_from(call.first_argument).ok()).flatten()
}

/// Whether a call of this name changes files, so that it waits for a frozen file system.
pub fn writes(name: &str) -> bool {
    const WRITES: [&str; 30] = [
        "write",
        "writev",
        "pwrite64",
        "pwritev",
        "pwritev2",
        "ftruncate",
        "truncate",
        "fallocate",
        "fchmod",
        "fchown",
        "fsetxattr",
        "setxattr",
        "copy_file_range",
        "splice",
        "mkdirat",
        "unlinkat",
        "renameat2",
        "linkat",
        "symlinkat",
        "mknodat",
        "fchmodat",
        "fchownat",
        "utimensat",
        "creat",
        "mkdir",
        "rmdir",
        "unlink",
        "rename",
        "link",
        "symlink",
    ];
    WRITES.contains(&name)
}

/// Whether a call of this name may change files: a call that opens one makes it where it is not there.
pub fn may_write(name: &str) -> bool {
    writes(name) || ["open", "openat", "openat2"].contains(&name)
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
        assert_eq!(call, Syscall { number: 262, first_argument: 0xffff_ff9c, name: call.name.clone() });
        assert_eq!(descriptor(&call), None);
        let read = syscall(format!("{} 0x3 0x0 0x0 0x0 0x0 0x0 0x0 0x0", libc::SYS_read).as_bytes()).unwrap();
        assert_eq!((descriptor(&read), read.name.as_deref()), (Some(3), Some("read")));
        assert_eq!(syscall(b"running\n"), None);
    }

    #[test]
    fn each_call_is_listed_once_and_those_that_write_are_known() {
        let names: std::collections::BTreeSet<&str> =
            CALLS.iter().chain(&OLD_CALLS).map(|(_, name, _)| *name).collect();
        assert_eq!(names.len(), CALLS.len() + OLD_CALLS.len());
        assert!(writes("write") && writes("mkdir") && !writes("read"));
        assert!(may_write("unlink") && may_write("openat") && !writes("openat") && !may_write("execve"));
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
