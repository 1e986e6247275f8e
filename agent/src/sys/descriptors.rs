//! Letting go of unused descriptors.

use std::os::fd::RawFd;

/// Kernels without `close_range` (< 5.9) are asked for each descriptor up to this one.
const MAX_COMMON_DESCRIPTOR: RawFd = 1024;

/// Closes the descriptors `first` to `last`; one that does not exist is no error. Only for a process
/// that will never use, or drop, what owns one of them. Allocates nothing.
pub fn close_range(first: RawFd, last: RawFd) {
    if last < first {
        return;
    }
    // SAFETY: the caller answers for it that no owner of these descriptors is used any more.
    #[allow(unsafe_code)]
    unsafe {
        if libc::syscall(libc::SYS_close_range, first, last, 0_u32) < 0 {
            (first..=last.min(MAX_COMMON_DESCRIPTOR)).for_each(|descriptor| {
                libc::close(descriptor);
            });
        }
    }
}
