//! Memory that was freed and is still ours.

/// Has the allocator keep small pieces that were freed in fewer lists: for a process that forks. What is in those
/// lists gets put together at the next large request, which in a fork means to copy page after page of its
/// parent's. Elsewhere than with glibc it does nothing.
pub fn prepare_to_fork() {
    // SAFETY: it sets a number in the allocator, which takes it at any time.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::mallopt(libc::M_MXFAST, 0);
    }
}

/// Gives memory that the allocator holds for later back to the kernel: for a process that is about to wait for
/// a long time. Elsewhere than with glibc it does nothing.
pub fn give_back() {
    // SAFETY: it only touches what the allocator itself knows to be free.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0);
    }
}
