//! `/proc/<pid>/syscall` and `/proc/<pid>/stack`.

use procfs::FromRead;

use crate::observation::Syscall;

/// The system call a task is in; `None` for a running task or one outside a system call.
pub fn syscall(bytes: &[u8]) -> Option<Syscall> {
    match procfs::process::Syscall::from_read(bytes).ok()? {
        procfs::process::Syscall::Blocked { syscall_number, argument_registers, .. } if syscall_number >= 0 => {
            let name = known(syscall_number).map(|(_, name, _)| name.trim_start_matches("SYS_").to_owned());
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

/// Its number, the name of that, and what its first argument is.
type Call = (i64, &'static str, First);

macro_rules! calls {
    ($($first:ident: $($name:ident)*;)*) => { &[$($((libc::$name, stringify!($name), First::$first)),*),*] };
}

/// The calls in which a task waits for files.
const CALLS: &[Call] = calls! {
    Descriptor:
        SYS_read SYS_write SYS_readv SYS_writev SYS_pread64 SYS_pwrite64 SYS_preadv SYS_pwritev SYS_preadv2 SYS_pwritev2
        SYS_fstat SYS_lseek SYS_ioctl SYS_fcntl SYS_flock SYS_fsync SYS_fdatasync SYS_syncfs SYS_ftruncate SYS_fallocate
        SYS_getdents64 SYS_fchdir SYS_fchmod SYS_fchown SYS_fstatfs SYS_fsetxattr SYS_fgetxattr SYS_copy_file_range
        SYS_splice SYS_sync_file_range SYS_close;
    Path:
        SYS_openat SYS_openat2 SYS_newfstatat SYS_statx SYS_statfs SYS_faccessat SYS_faccessat2 SYS_readlinkat
        SYS_mkdirat SYS_unlinkat SYS_renameat2 SYS_linkat SYS_symlinkat SYS_mknodat SYS_fchmodat SYS_fchownat
        SYS_utimensat SYS_chdir SYS_chroot SYS_truncate SYS_execve SYS_execveat SYS_umount2 SYS_mount SYS_setxattr
        SYS_getxattr;
    Other:
        SYS_sync SYS_msync SYS_mmap SYS_munmap SYS_exit_group SYS_exit SYS_io_submit;
};

/// Those that only x86 has.
#[cfg(target_arch = "x86_64")]
const OLD_CALLS: &[Call] = calls! {
    Descriptor: SYS_getdents;
    Path:
        SYS_open SYS_creat SYS_stat SYS_lstat SYS_access SYS_readlink SYS_mkdir SYS_rmdir SYS_unlink SYS_rename SYS_link
        SYS_symlink SYS_chmod SYS_chown;
};
#[cfg(not(target_arch = "x86_64"))]
const OLD_CALLS: &[Call] = &[];

fn known(number: i64) -> Option<&'static Call> {
    CALLS.iter().chain(OLD_CALLS).find(|(known, ..)| *known == number)
}

/// The descriptor a system call works on, for the calls whose first argument is one.
pub fn descriptor(call: &Syscall) -> Option<u32> {
    let (.., first) = known(call.number)?;
    (*first == First::Descriptor).then(|| u32::try_from(call.first_argument).ok()).flatten()
}

/// Whether a call of this name changes files, so that it waits for a frozen file system.
pub fn writes(name: &str) -> bool {
    const WRITES: &str = "\
        write writev pwrite64 pwritev pwritev2 ftruncate truncate fallocate fchmod fchown fsetxattr setxattr \
        copy_file_range splice mkdirat unlinkat renameat2 linkat symlinkat mknodat fchmodat fchownat utimensat \
        creat mkdir rmdir unlink rename link symlink";
    WRITES.split(' ').any(|call| call == name)
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
        let names: std::collections::BTreeSet<&str> = CALLS.iter().chain(OLD_CALLS).map(|(_, name, _)| *name).collect();
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
