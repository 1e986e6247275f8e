//! `listmount(2)` (Linux ≥ 6.8; of another namespace ≥ 6.11), which no crate offers yet.
//!
//! A mount table costs 1.85 µs per mount to read; whether a namespace has any mount newer than a
//! given one costs a single call.

use std::os::fd::{AsRawFd, BorrowedFd};
use std::{io, os::fd::AsFd, path::Path};

use super::linux::{AtFlags, StatxFlags, statx};

/// `struct mnt_id_req` of `include/uapi/linux/mount.h`, version 1.
#[repr(C)]
struct Request {
    size: u32,
    spare: u32,
    mnt_id: u64,
    param: u64,
    mnt_ns_id: u64,
}

/// The root of the namespace, instead of a mount (`LSMT_ROOT`).
const ROOT: u64 = u64::MAX;
/// `listmount` has the same number on every architecture.
pub(super) const SYS_LISTMOUNT: libc::c_long = 458;
/// `STATX_MNT_ID_UNIQUE` (Linux ≥ 6.8).
const STATX_MNT_ID_UNIQUE: StatxFlags = StatxFlags::from_bits_retain(0x4000);

/// The number of the mount at `path`, seen from `dir`, that is never used again; later mounts have larger ones.
/// Asks no server, but walks the path: not for NFS and its like.
pub(super) fn unique_mount_id(dir: impl AsFd, path: &Path) -> io::Result<u64> {
    let flags = AtFlags::STATX_DONT_SYNC | AtFlags::NO_AUTOMOUNT | AtFlags::SYMLINK_NOFOLLOW;
    let answer = statx(dir, path, flags, STATX_MNT_ID_UNIQUE)?;
    if answer.stx_mask & STATX_MNT_ID_UNIQUE.bits() == 0 {
        return Err(io::Error::from(io::ErrorKind::Unsupported));
    }
    Ok(answer.stx_mnt_id)
}

/// Whether a mount namespace has a mount whose unique number is larger than `after`.
pub(super) fn has_mount_after(namespace: impl AsFd, after: u64) -> io::Result<bool> {
    let mnt_ns_id = namespace_id(namespace.as_fd())?;
    let request = Request { size: size(), spare: 0, mnt_id: ROOT, param: after, mnt_ns_id };
    let mut found = [0_u64; 1];
    // SAFETY: `request` has the layout and says the size of the kernel's structure, and the kernel
    // writes at most the one number that `found` has room for.
    #[allow(unsafe_code)]
    let count = unsafe { libc::syscall(SYS_LISTMOUNT, &raw const request, found.as_mut_ptr(), found.len(), 0) };
    if count < 0 { Err(io::Error::last_os_error()) } else { Ok(count > 0) }
}

fn size() -> u32 {
    u32::try_from(size_of::<Request>()).unwrap_or(u32::MAX)
}

/// `NS_GET_MNTNS_ID`, `_IOR(0xb7, 0x5, __u64)`.
pub(crate) const NS_GET_MNTNS_ID: u32 = 0x8008_b705;

/// The number that the kernel knows a mount namespace by.
pub(super) fn namespace_id(fd: BorrowedFd<'_>) -> io::Result<u64> {
    let mut id = 0_u64;
    // SAFETY: this request writes one u64, which `id` is.
    #[allow(unsafe_code)]
    let done = unsafe { libc::ioctl(fd.as_raw_fd(), NS_GET_MNTNS_ID.into(), &raw mut id) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(id) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::linux::CWD;

    /// The kernel that runs the tests may be too old; then it must say so and nothing else.
    #[test]
    fn tells_newer_mounts_or_that_it_cannot() {
        let own = std::fs::File::open("/proc/self/ns/mnt").unwrap();
        match unique_mount_id(CWD, Path::new("/proc")) {
            Ok(id) => {
                assert!(has_mount_after(&own, 0).unwrap());
                assert!(!has_mount_after(&own, u64::MAX - 1).unwrap());
                assert!(id > 0);
            }
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::Unsupported),
        }
    }
}
