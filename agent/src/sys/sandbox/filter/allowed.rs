//! The system calls of each role, with those that another C library makes in place of them.

use libc::c_long;

use super::Role;

// The same number on every architecture (scripts/syscall.tbl of Linux).
const LISTMOUNT: c_long = 458;

/// Memory, threads, time, signals, and what a process learns of itself. `clone` makes threads and the disposable copy;
/// `clone3`, whose flags stand in memory where no filter reads them, is not on the list, and C libraries go back to `clone`.
const PROCESS: &[c_long] = &[
    libc::SYS_brk,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_membarrier,
    libc::SYS_futex,
    libc::SYS_clone,
    libc::SYS_set_robust_list,
    libc::SYS_get_robust_list,
    libc::SYS_set_tid_address,
    libc::SYS_rseq,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_getcpu,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_wait4,
    libc::SYS_waitid,
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_tgkill,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_nanosleep,
    libc::SYS_clock_nanosleep,
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_gettimeofday,
    libc::SYS_getrandom,
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_gettid,
    libc::SYS_getpgid,
    libc::SYS_setpgid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_getgroups,
    libc::SYS_getrusage,
    libc::SYS_prlimit64,
    libc::SYS_prctl,
    libc::SYS_capget,
    libc::SYS_uname,
    libc::SYS_sysinfo,
];

/// Reads files and directories, and writes to what is open. `openat` opens to read only; `openat2`, whose flags stand in memory,
/// is not on the list.
const FILES: &[c_long] = &[
    libc::SYS_openat,
    libc::SYS_close,
    libc::SYS_close_range,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_pread64,
    libc::SYS_preadv,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_lseek,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_statfs,
    libc::SYS_fstatfs,
    LISTMOUNT,
    libc::SYS_getdents64,
    libc::SYS_readlinkat,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_getcwd,
    libc::SYS_fadvise64,
    libc::SYS_fcntl,
    libc::SYS_ioctl,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_pipe2,
];

/// Waits for descriptors.
const WAITING: &[c_long] = &[
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    libc::SYS_eventfd2,
    libc::SYS_timerfd_create,
    libc::SYS_timerfd_settime,
];

/// Speaks over sockets that are there, or that others connect to.
const CONVERSES: &[c_long] = &[
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_socketpair,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_shutdown,
    libc::SYS_getsockname,
    libc::SYS_getpeername,
    libc::SYS_getsockopt,
    libc::SYS_setsockopt,
];

/// Nothing of it but reading, see the refused arguments.
const READS_THE_KERNEL_LOG: &[c_long] = &[libc::SYS_syslog];

const CONNECTS: &[c_long] = &[libc::SYS_socket, libc::SYS_connect];

/// Listens for scrapes, and finds the address of a name.
const SERVES: &[c_long] = &[libc::SYS_bind, libc::SYS_listen, libc::SYS_sendmmsg, libc::SYS_recvmmsg];

/// Their predecessors, which newer architectures do not have. musl, and a static glibc in places, still calls them.
#[cfg(target_arch = "x86_64")]
const LEGACY: &[c_long] = &[
    libc::SYS_arch_prctl,
    libc::SYS_fork,
    libc::SYS_getrlimit,
    libc::SYS_getpgrp,
    libc::SYS_time,
    libc::SYS_open,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_access,
    libc::SYS_readlink,
    libc::SYS_dup2,
    libc::SYS_pipe,
    libc::SYS_poll,
    libc::SYS_select,
    libc::SYS_epoll_create,
    libc::SYS_epoll_wait,
    libc::SYS_eventfd,
];
#[cfg(not(target_arch = "x86_64"))]
const LEGACY: &[c_long] = &[];

/// What this role may call.
pub fn calls(role: Role) -> impl Iterator<Item = c_long> {
    let own: &[&[c_long]] = match role {
        Role::Reader => &[READS_THE_KERNEL_LOG],
        Role::Broker => &[CONNECTS],
        Role::Talker => &[CONNECTS, SERVES],
    };
    [PROCESS, FILES, WAITING, CONVERSES, LEGACY].iter().chain(own).flat_map(|calls| calls.iter().copied())
}
