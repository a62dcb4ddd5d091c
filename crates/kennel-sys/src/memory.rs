//! Memory that was freed and is still ours.

/// Gives memory that the allocator holds for later back to the kernel: for a process that is about to wait for
/// a long time. Elsewhere than with glibc it does nothing.
pub fn give_back() {
    // SAFETY: it only touches what the allocator itself knows to be free.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0);
    }
}
