//! One heap for all threads.

/// Lets the threads that start later share the first one's heap. They take turns anyway, and glibc
/// grows every other heap by a page or two at a time, each with a call to the kernel: a twentieth
/// of what a look costs.
pub fn share_one_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: sets one number in the allocator, before any other thread exists.
    #[allow(unsafe_code)]
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}
