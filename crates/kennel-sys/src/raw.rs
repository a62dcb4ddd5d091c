//! System calls by inline assembly, without libc and thread-local storage.
//!
//! The new process of a launch shares the caller's memory *and its thread pointer* until it execs,
//! so a libc wrapper that sets `errno` would set that of the caller's thread.

use core::arch::asm;
use core::ffi::c_void;

/// The arguments of `clone3`, in the kernel's layout (size 88, since Linux 5.7).
#[repr(C)]
#[derive(Debug, Default)]
pub(crate) struct CloneArgs {
    pub(crate) flags: u64,
    pub(crate) pidfd: u64,
    pub(crate) child_tid: u64,
    pub(crate) parent_tid: u64,
    pub(crate) exit_signal: u64,
    pub(crate) stack: u64,
    pub(crate) stack_size: u64,
    pub(crate) tls: u64,
    pub(crate) set_tid: u64,
    pub(crate) set_tid_size: u64,
    pub(crate) cgroup: u64,
}

/// Makes one system call. Returns a negative errno on failure.
///
/// # Safety
/// The arguments must be valid for the call `number`.
#[inline(always)]
pub(crate) unsafe fn syscall(number: libc::c_long, args: [usize; 6]) -> isize {
    let [a, b, c, d, e, f] = args;
    let result: isize;
    // SAFETY: the x86_64 convention: number in rax, arguments in rdi, rsi, rdx, r10, r8, r9; rcx
    // and r11 are clobbered. The caller guarantees that the arguments are valid.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// Calls `clone3`. The child runs `entry(arg)` on the stack in `args`, and never returns here.
///
/// # Safety
/// The stack in `args` must be the child's own, and stay mapped until the child has exited or
/// exec'ed. `entry` must never return, unwind, or use thread-local storage.
pub(crate) unsafe fn clone3(
    args: &CloneArgs,
    entry: unsafe extern "C" fn(*mut c_void) -> !,
    arg: *mut c_void,
) -> isize {
    let result: isize;
    // SAFETY: in the parent this is one system call. The child gets a copy of all registers except
    // rax (0) and rsp (the top of its own stack, 16-aligned), so it finds `entry` and `arg` in r12
    // and r13. It calls `entry`, which does not return. A zero frame pointer ends backtraces.
    unsafe {
        asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "xor ebp, ebp",
            "mov rdi, r13",
            "call r12",
            "ud2",
            "2:",
            inlateout("rax") libc::SYS_clone3 as isize => result,
            in("rdi") args as *const CloneArgs,
            in("rsi") size_of::<CloneArgs>(),
            in("r12") entry,
            in("r13") arg,
            lateout("rcx") _, lateout("r11") _,
        );
    }
    result
}
