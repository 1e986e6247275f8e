//! Letting go of everything a process was started with.

/// Marks every descriptor except 0, 1 and 2 to be closed, and closes it. Only for a process that
/// has just begun and owns none of them yet.
pub fn close_all_but_stdio() {
    // SAFETY: the caller has just started, so no object of this program owns a descriptor above
    // 2; closing one that does not exist is no error. A kernel without the call (< 5.9) leaves
    // them open, which Rust's own CLOEXEC has already prevented for all but foreign ones.
    #[allow(unsafe_code)]
    unsafe {
        libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, 0_u32);
    }
}
