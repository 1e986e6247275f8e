//! Each call is tried from inside, in a copy of this process that has given up what its role does not do.

use std::{ffi::CString, io::Read as _, os::fd::FromRawFd as _};

use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, fork};

use libc::c_long;

use super::*;

/// A call by its name.
type Tried = (&'static str, fn() -> i64);

/// What the calls that `tried` makes come to inside, by name: an error number, 0 where a call went through.
fn inside(role: Role, tried: &[Tried]) -> Vec<(&'static str, i32)> {
    let mut pipe = [0; 2];
    // SAFETY: plain system calls; the copy makes its own and ends.
    #[allow(unsafe_code)]
    let (mut told, status) = unsafe {
        assert_eq!(libc::pipe(pipe.as_mut_ptr()), 0);
        match fork().unwrap() {
            ForkResult::Child => {
                let applied = filter(role).is_ok();
                for (_, call) in tried {
                    *libc::__errno_location() = 0;
                    let errno = if call() < 0 { *libc::__errno_location() } else { 0 };
                    libc::write(pipe[1], (&raw const errno).cast(), size_of::<i32>());
                }
                libc::_exit(i32::from(!applied))
            }
            ForkResult::Parent { child } => {
                libc::close(pipe[1]);
                (std::fs::File::from_raw_fd(pipe[0]), waitpid(child, None).unwrap())
            }
        }
    };
    assert!(matches!(status, WaitStatus::Exited(_, 0)), "{role:?}: {status:?}");
    let mut bytes = Vec::new();
    told.read_to_end(&mut bytes).unwrap();
    let errnos = bytes.chunks_exact(4).map(|errno| i32::from_ne_bytes(errno.try_into().unwrap()));
    tried.iter().map(|(name, _)| *name).zip(errnos).collect()
}

/// Arguments that would do no harm if the call went through: most are no valid ones.
macro_rules! call {
    (ours $name:ident $(, $argument:expr)*) => {
        (stringify!($name), || {
            // SAFETY: the kernel checks what it is given.
            #[allow(unsafe_code)]
            unsafe { libc::syscall($name $(, $argument)*) }
        })
    };
    ($name:ident $(, $argument:expr)*) => {{
        use libc::$name;
        call!(ours $name $(, $argument)*)
    }};
}

// The same numbers on every architecture (scripts/syscall.tbl of Linux).
const FCHMODAT2: c_long = 452;
const SETXATTRAT: c_long = 463;
const REMOVEXATTRAT: c_long = 466;
const OPEN_TREE_ATTR: c_long = 467;
const FILE_SETATTR: c_long = 469;

const NOWHERE: *const libc::c_char = c"/nothing-here".as_ptr();

#[test]
fn every_call_that_is_given_up_is_refused() {
    let tried: Vec<Tried> = vec![
        call!(SYS_execve, c"/bin/true".as_ptr(), 0, 0),
        call!(SYS_execveat, libc::AT_FDCWD, c"/bin/true".as_ptr(), 0, 0, 0),
        call!(SYS_ptrace, libc::PTRACE_TRACEME, 0, 0, 0),
        call!(SYS_process_vm_readv, 1, 0, 0, 0, 0, 0),
        call!(SYS_process_vm_writev, 1, 0, 0, 0, 0, 0),
        call!(SYS_pidfd_getfd, -1, 0, 0),
        call!(SYS_kcmp, 1, 1, 0, 0, 0),
        call!(SYS_setns, -1, 0),
        call!(SYS_unshare, 0),
        call!(SYS_chroot, NOWHERE),
        call!(SYS_mount, NOWHERE, NOWHERE, 0, 0, 0),
        call!(SYS_umount2, NOWHERE, 0),
        call!(SYS_move_mount, -1, NOWHERE, -1, NOWHERE, 0),
        call!(SYS_open_tree, -1, NOWHERE, 0),
        call!(SYS_fsopen, NOWHERE, 0),
        call!(SYS_open_by_handle_at, -1, 0, 0),
        call!(SYS_io_uring_setup, 1, 0),
        call!(SYS_bpf, 0, 0, 0),
        call!(SYS_unlinkat, libc::AT_FDCWD, NOWHERE, 0),
        call!(SYS_mkdirat, libc::AT_FDCWD, c"/nothing/here".as_ptr(), 0),
        call!(SYS_renameat2, libc::AT_FDCWD, NOWHERE, libc::AT_FDCWD, NOWHERE, 0),
        call!(SYS_fchmodat, libc::AT_FDCWD, NOWHERE, 0),
        call!(ours FCHMODAT2, libc::AT_FDCWD, NOWHERE, 0, 0),
        call!(ours SETXATTRAT, libc::AT_FDCWD, NOWHERE, 0, NOWHERE, 0, 0),
        call!(ours REMOVEXATTRAT, libc::AT_FDCWD, NOWHERE, 0, NOWHERE),
        call!(ours FILE_SETATTR, libc::AT_FDCWD, NOWHERE, 0, 0, 0),
        call!(ours OPEN_TREE_ATTR, -1, NOWHERE, 0, 0, 0),
        call!(SYS_fchownat, libc::AT_FDCWD, NOWHERE, 0, 0, 0),
        call!(SYS_truncate, NOWHERE, 0),
        call!(SYS_openat, libc::AT_FDCWD, NOWHERE, libc::O_WRONLY),
        call!(SYS_openat, libc::AT_FDCWD, NOWHERE, libc::O_RDWR),
        call!(SYS_openat, libc::AT_FDCWD, c"/proc/self/mem".as_ptr(), libc::O_RDWR),
        call!(SYS_openat, libc::AT_FDCWD, c"/nothing/here".as_ptr(), libc::O_CREAT, 0),
        call!(SYS_openat, libc::AT_FDCWD, NOWHERE, libc::O_TRUNC),
        call!(SYS_openat, libc::AT_FDCWD, c"/tmp".as_ptr(), libc::O_TMPFILE | libc::O_WRONLY, 0),
        call!(SYS_socket, libc::AF_INET6, libc::SOCK_STREAM, 0),
        // What the console shows; of the kernel's log only reading is left.
        call!(SYS_syslog, 8, 0, 0),
        #[cfg(target_arch = "x86_64")]
        call!(SYS_open, NOWHERE, libc::O_WRONLY),
        #[cfg(target_arch = "x86_64")]
        call!(SYS_creat, c"/nothing/here".as_ptr(), 0),
    ];
    for role in [Role::Reader, Role::Broker] {
        let answers = inside(role, &tried);
        let is_through = |errno: i32| errno != libc::EPERM && errno != libc::ENOSYS;
        let through: Vec<_> = answers.iter().filter(|(_, errno)| is_through(*errno)).collect();
        assert!(answers.len() == tried.len() && through.is_empty(), "{role:?}: {through:?}");
    }
}

/// Over such a pair a path in `sendto` reaches any socket of the node, without `connect`.
#[test]
fn no_socket_is_reached_by_a_path_without_connecting() {
    static ADDRESS: [u8; 110] = {
        let mut address = [0; 110];
        address[0] = libc::AF_UNIX as u8;
        address[2] = b'/';
        address
    };
    let tried: Vec<Tried> = vec![
        call!(SYS_socketpair, libc::AF_UNIX, libc::SOCK_DGRAM, 0, [0_i32; 2].as_mut_ptr()),
        call!(SYS_socketpair, libc::AF_UNIX, libc::SOCK_SEQPACKET, 0, [0_i32; 2].as_mut_ptr()),
        call!(SYS_sendto, 0, ADDRESS.as_ptr(), 1, 0, ADDRESS.as_ptr(), ADDRESS.len()),
    ];
    for role in [Role::Reader, Role::Broker] {
        assert!(
            inside(role, &tried).iter().all(|(_, errno)| *errno == libc::EPERM),
            "{role:?}: {:?}",
            inside(role, &tried)
        );
    }
    let stream: Vec<Tried> =
        vec![call!(SYS_socketpair, libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0, [0_i32; 2].as_mut_ptr())];
    assert_eq!(inside(Role::Reader, &stream)[0].1, 0, "the runtime of a thread waits for signals by one");
}

/// A descriptor that was opened to read is enough to make a file immutable.
#[test]
fn no_request_to_a_descriptor_changes_its_file() {
    const FS_IOC_SETFLAGS: u64 = 0x4008_6602;
    let tried: Vec<Tried> = vec![call!(SYS_ioctl, -1, FS_IOC_SETFLAGS, 0), call!(SYS_ioctl, -1, libc::TIOCSTI, 0)];
    for role in [Role::Reader, Role::Broker, Role::Talker] {
        assert_eq!(inside(role, &tried).iter().map(|(_, errno)| *errno).collect::<Vec<_>>(), [libc::EPERM; 2]);
    }
}

#[test]
fn no_namespace_is_made() {
    fn clone(flags: libc::c_int) -> i64 {
        // SAFETY: the copy ends at once.
        #[allow(unsafe_code)]
        unsafe {
            match libc::syscall(libc::SYS_clone, flags | libc::SIGCHLD, 0, 0, 0, 0) {
                0 => libc::_exit(0),
                pid => pid,
            }
        }
    }
    let tried: Vec<Tried> = vec![
        ("CLONE_NEWUSER", || clone(libc::CLONE_NEWUSER)),
        ("CLONE_NEWNS", || clone(libc::CLONE_NEWNS)),
        call!(SYS_clone3, 0, 0),
        ("a copy", || clone(0)),
    ];
    for role in [Role::Reader, Role::Broker, Role::Talker] {
        let errnos: Vec<i32> = inside(role, &tried).into_iter().map(|(_, errno)| errno).collect();
        assert_eq!(errnos, [libc::EPERM, libc::EPERM, libc::ENOSYS, 0], "{role:?}");
    }
}

#[test]
fn who_may_connect() {
    let tried: Vec<Tried> = vec![
        call!(SYS_socket, libc::AF_UNIX, libc::SOCK_STREAM, 0),
        call!(SYS_socket, libc::AF_INET, libc::SOCK_STREAM, 0),
        call!(SYS_connect, -1, 0, 0),
    ];
    let errnos = |role| inside(role, &tried).into_iter().map(|(_, errno)| errno).collect::<Vec<_>>();
    assert_eq!(errnos(Role::Reader), [libc::ENOSYS; 3]);
    assert_eq!(errnos(Role::Broker), [0, 0, libc::EBADF]);
    assert_eq!(errnos(Role::Talker), [0, 0, libc::EBADF]);
}

#[test]
fn what_cannot_be_inspected_is_unknown() {
    let tried: Vec<Tried> = vec![
        call!(SYS_openat2, libc::AT_FDCWD, NOWHERE, 0, 0),
        #[cfg(target_arch = "x86_64")]
        ("x32 socket", || {
            // SAFETY: the kernel checks what it is given.
            #[allow(unsafe_code)]
            unsafe {
                libc::syscall(libc::SYS_socket | 0x4000_0000, libc::AF_UNIX, libc::SOCK_STREAM, 0)
            }
        }),
    ];
    assert!(inside(Role::Reader, &tried).iter().all(|(_, errno)| *errno == libc::ENOSYS));
}

/// The reader's work still succeeds: files are read, children are forked, connections are served.
#[test]
fn what_it_does_still_works() {
    let path = CString::new(std::env::temp_dir().join(format!("filter-{}", std::process::id())).to_str().unwrap());
    static SOCKET: std::sync::OnceLock<(CString, i32)> = std::sync::OnceLock::new();
    let path = path.unwrap();
    let listener = std::os::unix::net::UnixListener::bind(path.to_str().unwrap()).unwrap();
    let caller = std::os::unix::net::UnixStream::connect(path.to_str().unwrap()).unwrap();
    std::fs::remove_file(path.to_str().unwrap()).unwrap();
    SOCKET.set((path, std::os::fd::AsRawFd::as_raw_fd(&listener))).unwrap();
    let tried: Vec<Tried> = vec![
        call!(SYS_openat, libc::AT_FDCWD, c"/proc/self/status".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC),
        call!(SYS_openat, libc::AT_FDCWD, c"/proc".as_ptr(), libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW),
        call!(SYS_accept4, SOCKET.get().unwrap().1, 0, 0, libc::SOCK_CLOEXEC),
        call!(SYS_pipe2, [0_i32; 2].as_mut_ptr(), libc::O_CLOEXEC),
        ("fork", || {
            // SAFETY: the copy ends at once.
            #[allow(unsafe_code)]
            unsafe {
                match libc::fork() {
                    0 => libc::_exit(0),
                    pid => i64::from(libc::waitpid(pid, std::ptr::null_mut(), 0)),
                }
            }
        }),
    ];
    let answers = inside(Role::Reader, &tried);
    drop(caller);
    assert!(answers.iter().all(|(_, errno)| *errno == 0), "{answers:?}");
}
