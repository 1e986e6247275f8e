//! One heap for all threads.

/// What has so many bytes has pages of its own, which go back to the kernel when it is freed. Unless it is set, glibc raises this
/// to 32 MiB after the first long answer, and the next finds no room in the heap that it has left.
#[cfg(target_env = "gnu")]
const MIN_MAPPED_BYTES: libc::c_int = 1 << 20;

/// Lets the threads that start later share the first one's heap. They take turns anyway, and glibc
/// grows every other heap by a page or two at a time, each with a call to the kernel: a twentieth
/// of what a look costs.
pub fn share_one_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: sets two numbers in the allocator, before any other thread exists.
    #[allow(unsafe_code)]
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
        libc::mallopt(libc::M_MMAP_THRESHOLD, MIN_MAPPED_BYTES);
    }
}
