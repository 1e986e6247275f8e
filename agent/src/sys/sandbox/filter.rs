//! System calls that are given up for good, by seccomp.
//!
//! A list of what each role may call. Any other call answers as if the kernel did not know it, so that a C library that tries
//! something new goes another way; nothing ends the agent. Of some calls on the list certain arguments are refused.

mod allowed;

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter_all_threads,
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

/// By these flags `open` changes something, or lets a later call do so.
const OPENS_TO_WRITE: [i32; 4] = [libc::O_WRONLY, libc::O_RDWR, libc::O_CREAT, libc::O_TRUNC];

/// By these flags `clone` makes a namespace.
const NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// What may be asked of a descriptor: the number of a mount namespace; how it behaves; whether it is a terminal; how much there
/// is to read. Others change the file, as `FS_IOC_SETFLAGS` does although it was opened to read.
const REQUESTS: [u64; 6] = [
    crate::sys::listmount::NS_GET_MNTNS_ID as u64,
    libc::FIONBIO,
    libc::FIOCLEX,
    libc::FIONREAD,
    libc::TCGETS,
    libc::TIOCGWINSZ,
];

/// The types of socket that a path in `sendto` reaches: of pairs there are streams only.
const NOT_STREAMS: [i32; 4] = [libc::SOCK_DGRAM, libc::SOCK_RAW, libc::SOCK_RDM, libc::SOCK_SEQPACKET];
const SOCKET_TYPE: u64 = 0xf;

/// Gives up, for all threads of this process and for good, what `role` never does.
pub fn filter(role: Role) -> anyhow::Result<()> {
    // The least that one of them allows is allowed; the other one cannot be added after the list.
    apply_filter_all_threads(&refused_arguments(role)?)?;
    apply_filter_all_threads(&allowed_calls(role)?)?;
    Ok(())
}

/// Also x86's second table of system calls (x32), whose numbers are on no list.
fn allowed_calls(role: Role) -> anyhow::Result<BpfProgram> {
    let allowed: BTreeMap<i64, Vec<SeccompRule>> = allowed::calls(role).map(|call| (call, Vec::new())).collect();
    let unknown = SeccompAction::Errno(libc::ENOSYS as u32);
    Ok(SeccompFilter::new(allowed, unknown, SeccompAction::Allow, arch()?)?.try_into()?)
}

fn refused_arguments(role: Role) -> anyhow::Result<BpfProgram> {
    let mut refused: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    refused.insert(libc::SYS_openat, any_flag(2, &OPENS_TO_WRITE)?);
    #[cfg(target_arch = "x86_64")]
    refused.insert(libc::SYS_open, any_flag(1, &OPENS_TO_WRITE)?);
    refused.insert(libc::SYS_clone, any_flag(0, &NAMESPACES)?);
    refused.insert(libc::SYS_ioctl, none_of(1, &REQUESTS)?);
    let not_streams = NOT_STREAMS.iter().map(|kind| one(1, SeccompCmpOp::MaskedEq(SOCKET_TYPE), *kind));
    refused.insert(libc::SYS_socketpair, not_streams.collect::<Result<_, _>>()?);
    refused.insert(libc::SYS_syslog, none_of(0, &[crate::sys::SYSLOG_READ_ALL])?);
    if role != Role::Talker {
        let address = SeccompCondition::new(4, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?;
        refused.insert(libc::SYS_sendto, vec![SeccompRule::new(vec![address])?]);
    }
    if role == Role::Broker {
        let families = [libc::AF_UNIX, libc::AF_INET].map(|family| u64::from(family.cast_unsigned()));
        refused.insert(libc::SYS_socket, none_of(0, &families)?);
    }
    let refuse = SeccompAction::Errno(libc::EPERM as u32);
    Ok(SeccompFilter::new(refused, SeccompAction::Allow, refuse, arch()?)?.try_into()?)
}

fn arch() -> anyhow::Result<TargetArch> {
    Ok(TargetArch::try_from(std::env::consts::ARCH)?)
}

/// One rule for each of these flags that this argument has.
fn any_flag(argument: u8, flags: &[i32]) -> anyhow::Result<Vec<SeccompRule>> {
    flags.iter().map(|flag| one(argument, SeccompCmpOp::MaskedEq(u64::from(flag.cast_unsigned())), *flag)).collect()
}

fn one(argument: u8, operator: SeccompCmpOp, value: i32) -> anyhow::Result<SeccompRule> {
    let value = u64::from(value.cast_unsigned());
    Ok(SeccompRule::new(vec![SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)?])?)
}

/// One rule where this argument is another than these.
fn none_of(argument: u8, values: &[u64]) -> anyhow::Result<Vec<SeccompRule>> {
    let is_other = |value: &u64| SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, *value);
    Ok(vec![SeccompRule::new(values.iter().map(is_other).collect::<Result<Vec<_>, _>>()?)?])
}

#[cfg(test)]
mod tests;
