//! The number by which `listmount` knows a mount namespace (Linux ≥ 6.11); nix and rustix do not ask for it.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

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
