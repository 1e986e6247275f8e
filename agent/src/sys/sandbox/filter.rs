//! System calls that are given up for good, by seccomp.
//!
//! A list of what is refused and not of what is allowed: the runtime's own profile is the latter, and a C library
//! that calls something new is not to end the agent.

use std::collections::BTreeMap;

use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter_all_threads, sock_filter,
};

/// Who gives up system calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Looks at processes and files. Its broker connects for it.
    Reader,
    /// Connects for the reader.
    Broker,
    /// Talks with the API server.
    Talker,
}

// What is newer than the C library of some platform has the same number on every one (scripts/syscall.tbl).
const FCHMODAT2: c_long = 452;
const SETXATTRAT: c_long = 463;
const REMOVEXATTRAT: c_long = 466;
const OPEN_TREE_ATTR: c_long = 467;
const FILE_SETATTR: c_long = 469;

/// Into other processes, other programs, other namespaces, other places of the file system.
const NEVER: &[c_long] = &[
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_chroot,
    libc::SYS_pivot_root,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    OPEN_TREE_ATTR,
    libc::SYS_mount_setattr,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    // By a file's handle, CAP_DAC_READ_SEARCH opens whatever its file system has.
    libc::SYS_open_by_handle_at,
    // It opens and connects without a system call for it.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
];

/// What changes a file system.
const WRITES: &[c_long] = &[
    libc::SYS_truncate,
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    libc::SYS_mkdirat,
    libc::SYS_mknodat,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_unlinkat,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    SETXATTRAT,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    REMOVEXATTRAT,
    FILE_SETATTR,
    libc::SYS_utimensat,
];

/// Their predecessors, which newer architectures do not have.
#[cfg(target_arch = "x86_64")]
const LEGACY: &[c_long] = &[
    libc::SYS_creat,
    libc::SYS_mkdir,
    libc::SYS_rmdir,
    libc::SYS_mknod,
    libc::SYS_link,
    libc::SYS_symlink,
    libc::SYS_unlink,
    libc::SYS_rename,
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
];
#[cfg(not(target_arch = "x86_64"))]
const LEGACY: &[c_long] = &[];

/// By these flags `open` changes something, or lets a later call do so.
const OPENS_TO_WRITE: [i32; 4] = [libc::O_WRONLY, libc::O_RDWR, libc::O_CREAT, libc::O_TRUNC];

/// Gives up, for all threads of this process and for good, what `role` never does.
pub fn filter(role: Role) -> anyhow::Result<()> {
    // The newest is asked first, and the least that one of them allows is allowed.
    apply_filter_all_threads(&unknown_calls())?;
    apply_filter_all_threads(&refused_calls(role)?)?;
    Ok(())
}

/// What the kernel is to seem not to know, so that whoever calls it goes another way: the flags of `openat2` stand
/// in memory, where no filter reads them.
fn unknown_calls() -> BpfProgram {
    const LOAD_NUMBER: sock_filter = step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0);
    const ALLOW: sock_filter = step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW);
    const UNKNOWN: sock_filter = step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32);
    /// x86_64's second table of system calls (x32) has the numbers of the first from here on.
    const X32: u32 = 0x4000_0000;
    vec![
        LOAD_NUMBER,
        step(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 2, 0, X32),
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 1, 0, libc::SYS_openat2 as u32),
        ALLOW,
        UNKNOWN,
    ]
}

const fn step(code: u32, jt: u8, jf: u8, k: u32) -> sock_filter {
    sock_filter { code: code as u16, jt, jf, k }
}

fn refused_calls(role: Role) -> anyhow::Result<BpfProgram> {
    let mut refused: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    refused.extend(NEVER.iter().chain(WRITES).chain(LEGACY).map(|call| (*call, Vec::new())));
    refused.insert(libc::SYS_openat, flags_of(2)?);
    #[cfg(target_arch = "x86_64")]
    refused.insert(libc::SYS_open, flags_of(1)?);
    match role {
        Role::Reader => refused.extend([libc::SYS_socket, libc::SYS_connect].map(|call| (call, Vec::new()))),
        Role::Broker => refused.extend([(libc::SYS_socket, rules_except(&[libc::AF_UNIX, libc::AF_INET])?)]),
        Role::Talker => {}
    }
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let refuse = SeccompAction::Errno(libc::EPERM as u32);
    Ok(SeccompFilter::new(refused, SeccompAction::Allow, refuse, arch)?.try_into()?)
}

/// One rule for each flag by which an `open` whose flags are this argument would write.
fn flags_of(argument: u8) -> anyhow::Result<Vec<SeccompRule>> {
    let rule = |flag: i32| -> anyhow::Result<SeccompRule> {
        let flag = u64::from(flag.cast_unsigned());
        let is_set = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(flag), flag)?;
        Ok(SeccompRule::new(vec![is_set])?)
    };
    OPENS_TO_WRITE.into_iter().map(rule).collect()
}

/// A socket of another family.
fn rules_except(families: &[i32]) -> anyhow::Result<Vec<SeccompRule>> {
    let is_other = |family: &i32| {
        SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, u64::from(family.cast_unsigned()))
    };
    let conditions = families.iter().map(is_other).collect::<Result<Vec<_>, _>>()?;
    Ok(vec![SeccompRule::new(conditions)?])
}

#[cfg(test)]
mod tests;
