//! One heap for all threads.

/// What is returned to the kernel at the end of the heap, in bytes: glibc's own value, which it raises by itself after
/// each large list.
const TRIM_THRESHOLD_BYTES: nix::libc::c_int = 128 << 10;

/// Lets threads share the first one's heap, and gives back what lists took. They take turns anyway; with a heap each,
/// what one of them frees is no room for the others: a third of the resident memory of a large cluster.
pub fn share_and_give_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: sets two numbers in the allocator, before any other thread exists.
    #[allow(unsafe_code)]
    unsafe {
        nix::libc::mallopt(nix::libc::M_ARENA_MAX, 1);
        nix::libc::mallopt(nix::libc::M_TRIM_THRESHOLD, TRIM_THRESHOLD_BYTES);
    }
}
