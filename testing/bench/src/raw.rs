//! Floors: the fewest system calls with which the kernel can do the same.
//!
//! The one module with unsafe code: a clone3 with the semantics of vfork, a posix_spawn and a fork,
//! none of which std or rustix offers as a safe call; and the CPU clock of another process.
#![expect(
    unsafe_code,
    reason = "clone3 with CLONE_VFORK, posix_spawn, fork and CPU clocks have no safe wrapper"
)]

use std::arch::asm;
use std::ffi::{CStr, c_char};
use std::time::Duration;
use std::{io, ptr};

use rustix::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};
use rustix::process::Pid;

/// The program that all contenders run.
pub(crate) const TRUE: &CStr = c"/bin/true";

/// libc's constant of this name is truncated to 32 bits.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// The arguments of `clone3`, as the kernel lays them out (size 88, since Linux 5.7).
#[repr(C)]
#[derive(Default)]
struct CloneArgs {
    flags: u64,
    pidfd: u64,
    child_tid: u64,
    parent_tid: u64,
    exit_signal: u64,
    stack: u64,
    stack_size: u64,
    tls: u64,
    set_tid: u64,
    set_tid_size: u64,
    cgroup: u64,
}

/// A stack for the processes of [`vfork_true`], one after the other.
#[repr(align(16))]
pub(crate) struct Stack([u8; 16 * 1024]);

impl Stack {
    pub(crate) fn new() -> Box<Self> {
        Box::new(Self([0; 16 * 1024]))
    }
}

/// Starts `/bin/true` with an empty environment in `cgroup`, as `vfork` does: in the caller's
/// memory, with the caller suspended until the exec. Returns its pidfd.
pub(crate) fn vfork_true(cgroup: Option<BorrowedFd<'_>>, stack: &mut Stack) -> io::Result<OwnedFd> {
    let argv = [TRUE.as_ptr(), ptr::null()];
    let env: [*const c_char; 1] = [ptr::null()];
    let mut pidfd: i32 = -1;
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD;
    let args = CloneArgs {
        flags: u64::from(flags.cast_unsigned()) | cgroup.map_or(0, |_| CLONE_INTO_CGROUP),
        pidfd: &raw mut pidfd as u64,
        exit_signal: u64::from(libc::SIGCHLD.cast_unsigned()),
        stack: stack.0.as_mut_ptr() as u64,
        stack_size: stack.0.len() as u64,
        cgroup: cgroup.map_or(0, |fd| u64::from(fd.as_raw_fd().cast_unsigned())),
        ..CloneArgs::default()
    };
    let result: isize;
    // SAFETY: in the caller this is one system call with valid arguments, which outlive it. The
    // child has the same registers except rax (0) and rsp (a stack of its own, borrowed by us until
    // the call returns, that is until the child has left our memory). It makes two system calls
    // with what lies in r12 to r14 (valid, since we are suspended meanwhile) and touches no memory
    // itself: it either becomes another program or ends. Nothing is returned to in the child.
    unsafe {
        asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "mov rdi, r12",
            "mov rsi, r13",
            "mov rdx, r14",
            "mov eax, {execve}",
            "syscall",
            "mov edi, 127",
            "mov eax, {exit_group}",
            "syscall",
            "ud2",
            "2:",
            execve = const libc::SYS_execve,
            exit_group = const libc::SYS_exit_group,
            inlateout("rax") libc::SYS_clone3 as isize => result,
            in("rdi") &raw const args,
            in("rsi") size_of::<CloneArgs>(),
            in("r12") TRUE.as_ptr(),
            in("r13") argv.as_ptr(),
            in("r14") env.as_ptr(),
            lateout("rcx") _,
            lateout("r11") _,
        );
    }
    if result < 0 {
        let errno = i32::try_from(-result).unwrap_or(libc::EINVAL);
        return Err(io::Error::from_raw_os_error(errno));
    }
    // SAFETY: the call succeeded, so the kernel put a new descriptor there, which is ours alone.
    Ok(unsafe { OwnedFd::from_raw_fd(pidfd) })
}

/// Starts `/bin/true` with an empty environment by `posix_spawn`.
pub(crate) fn posix_spawn_true() -> io::Result<Pid> {
    let argv = [TRUE.as_ptr().cast_mut(), ptr::null_mut()];
    let env: [*mut c_char; 1] = [ptr::null_mut()];
    let mut pid: libc::pid_t = 0;
    // SAFETY: a NUL-terminated path, null-terminated lists of such strings (which the call does not
    // write to) and a place for the pid; no actions and no attributes is a valid choice.
    let errno = unsafe {
        libc::posix_spawn(
            &raw mut pid,
            TRUE.as_ptr(),
            ptr::null(),
            ptr::null(),
            argv.as_ptr(),
            env.as_ptr(),
        )
    };
    if errno != 0 {
        return Err(io::Error::from_raw_os_error(errno));
    }
    Ok(Pid::from_raw(pid).expect("a child's pid is above zero"))
}

/// Starts `/bin/true` with an empty environment by a plain `fork` and `execve`.
pub(crate) fn fork_true() -> io::Result<Pid> {
    let argv = [TRUE.as_ptr(), ptr::null()];
    let env: [*const c_char; 1] = [ptr::null()];
    // SAFETY: the child only makes system calls that are safe after a fork of whatever process.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            // SAFETY: a NUL-terminated path and null-terminated lists of such strings.
            unsafe { libc::execve(TRUE.as_ptr(), argv.as_ptr(), env.as_ptr()) };
            // SAFETY: ends the child at once; nothing of the caller's runs in it.
            unsafe { libc::_exit(127) }
        }
        pid => Ok(Pid::from_raw(pid).expect("a child's pid is above zero")),
    }
}

/// Returns the CPU time of a process in nanoseconds, ended threads included.
pub(crate) fn process_cpu(pid: i32) -> io::Result<Duration> {
    let mut clock: libc::clockid_t = 0;
    // SAFETY: a place for the clock's number, which is all that the call writes to.
    let errno = unsafe { libc::clock_getcpuclockid(pid, &raw mut clock) };
    if errno != 0 {
        return Err(io::Error::from_raw_os_error(errno));
    }
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a place for a time, which is all that the call writes to.
    if unsafe { libc::clock_gettime(clock, &raw mut time) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let (seconds, nanoseconds) = (time.tv_sec.cast_unsigned(), time.tv_nsec.cast_unsigned());
    Ok(Duration::from_secs(seconds) + Duration::from_nanos(nanoseconds))
}
