//! Ending one thread and not the process: for tests of supervisors, which must not take a process
//! whose first thread has ended (it shows as a zombie) for a dead one.

/// Ends the calling thread and leaves the others running; nothing is dropped, no exit handler runs.
pub fn end_this_thread_only() -> ! {
    // SAFETY: SYS_exit ends just this thread; no Rust code runs in it afterwards, and its stack is
    // never freed since nobody joins it.
    unsafe { libc::syscall(libc::SYS_exit, 0) };
    unreachable!("a thread does not return from exit")
}
