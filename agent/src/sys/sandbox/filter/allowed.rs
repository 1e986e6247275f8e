//! The system calls of each role, with those that another C library makes in place of them.

use libc::c_long;

use super::Role;
use crate::sys::listmount::SYS_LISTMOUNT;

macro_rules! calls {
    ($($name:ident)*) => { &[$(libc::$name),*] };
}

/// Memory, threads, time, signals, and what a process learns of itself. `clone` makes threads and the disposable copy;
/// `clone3`, whose flags stand in memory where no filter reads them, is not on the list, and C libraries go back to `clone`.
const PROCESS: &[c_long] = calls! {
    SYS_brk SYS_mmap SYS_munmap SYS_mprotect SYS_mremap SYS_madvise SYS_membarrier SYS_futex SYS_clone
    SYS_set_robust_list SYS_get_robust_list SYS_set_tid_address SYS_rseq SYS_sched_yield SYS_sched_getaffinity
    SYS_getcpu SYS_exit SYS_exit_group SYS_wait4 SYS_waitid SYS_kill SYS_tkill SYS_tgkill SYS_rt_sigaction
    SYS_rt_sigprocmask SYS_rt_sigreturn SYS_sigaltstack SYS_restart_syscall SYS_nanosleep SYS_clock_nanosleep
    SYS_clock_gettime SYS_clock_getres SYS_gettimeofday SYS_getrandom SYS_getpid SYS_getppid SYS_gettid SYS_getpgid
    SYS_setpgid SYS_getuid SYS_geteuid SYS_getgid SYS_getegid SYS_getgroups SYS_getrusage SYS_prlimit64 SYS_prctl
    SYS_capget SYS_uname SYS_sysinfo
};

/// Reads files and directories, and writes to what is open. `openat` opens to read only; `openat2`, whose flags stand in memory,
/// is not on the list.
const FILES: &[c_long] = calls! {
    SYS_openat SYS_close SYS_close_range SYS_read SYS_readv SYS_pread64 SYS_preadv SYS_write SYS_writev SYS_lseek
    SYS_fstat SYS_newfstatat SYS_statx SYS_statfs SYS_fstatfs SYS_getdents64 SYS_readlinkat SYS_faccessat SYS_faccessat2
    SYS_getcwd SYS_fadvise64 SYS_fcntl SYS_ioctl SYS_dup SYS_dup3 SYS_pipe2
};

/// Waits for descriptors.
const WAITING: &[c_long] = calls! {
    SYS_epoll_create1 SYS_epoll_ctl SYS_epoll_pwait SYS_epoll_pwait2 SYS_ppoll SYS_pselect6 SYS_eventfd2
    SYS_timerfd_create SYS_timerfd_settime
};

/// Speaks over sockets that are there, or that others connect to.
const CONVERSES: &[c_long] = calls! {
    SYS_accept SYS_accept4 SYS_socketpair SYS_recvfrom SYS_recvmsg SYS_sendto SYS_sendmsg SYS_shutdown SYS_getsockname
    SYS_getpeername SYS_getsockopt SYS_setsockopt
};

/// Nothing of it but reading, see the refused arguments.
const READS_THE_KERNEL_LOG: &[c_long] = &[libc::SYS_syslog];

const CONNECTS: &[c_long] = &[libc::SYS_socket, libc::SYS_connect];

/// Listens for scrapes, and finds the address of a name.
const SERVES: &[c_long] = calls! { SYS_bind SYS_listen SYS_sendmmsg SYS_recvmmsg };

/// Their predecessors, which newer architectures do not have. musl, and a static glibc in places, still calls them.
#[cfg(target_arch = "x86_64")]
const LEGACY: &[c_long] = calls! {
    SYS_arch_prctl SYS_fork SYS_getrlimit SYS_getpgrp SYS_time SYS_open SYS_stat SYS_lstat SYS_access SYS_readlink
    SYS_dup2 SYS_pipe SYS_poll SYS_select SYS_epoll_create SYS_epoll_wait SYS_eventfd
};
#[cfg(not(target_arch = "x86_64"))]
const LEGACY: &[c_long] = &[];

/// What this role may call.
pub fn calls(role: Role) -> impl Iterator<Item = c_long> {
    let own: &[&[c_long]] = match role {
        Role::Reader => &[READS_THE_KERNEL_LOG],
        Role::Broker => &[CONNECTS],
        Role::Talker => &[CONNECTS, SERVES],
    };
    [PROCESS, FILES, &[SYS_LISTMOUNT], WAITING, CONVERSES, LEGACY]
        .iter()
        .chain(own)
        .flat_map(|calls| calls.iter().copied())
}
