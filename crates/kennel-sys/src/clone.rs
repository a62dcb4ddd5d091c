//! Starting a program behind a gate.
//!
//! [`start`] clones a process that shares the caller's memory, so no page table of a large caller
//! is copied. Unlike `vfork`, this does not suspend the caller. The new process prepares itself and
//! waits at its gate, a pipe. [`GatedChild::open`] sends the one byte that lets it exec. When the
//! pipe closes, for whatever reason, it exits. It closes all inherited descriptors before it waits,
//! so no launch holds another's gate open for more than a few microseconds.
//!
//! The kernel clears a word and wakes the caller when the process leaves the shared memory, by exec
//! or exit (`CLONE_CHILD_CLEARTID`). Then its stack and orders may be freed. This is also how an
//! exec is noticed without another descriptor.

use std::ffi::CString;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use std::{io, ptr};

use rustix::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags};
use rustix::pipe::PipeFlags;
use rustix::process::{Pid, Signal};
use rustix::thread::futex;
use serde::{Deserialize, Serialize};

use crate::child::{ChildOrders, ChildReport, ChildStep, GO, KernelLimit, main};
use crate::fault::{self, CallError, call};
use crate::raw::{self, CloneArgs};
use crate::signals::AllBlocked;

/// Enough for the few frames of [`main`], also in unoptimised builds.
const STACK: usize = 64 * 1024;

/// The exit code of a process that was dismissed at its gate and never ran its program.
pub const DISMISSED: i32 = 126;
const PAGE: usize = 4096;
/// The new process starts without handlers. Signals that the caller ignores stay ignored at first.
const CLONE_CLEAR_SIGHAND: u64 = 0x1_0000_0000;
/// libc's constant of this name is truncated to 32 bits.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// One resource limit for the new process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceLimit {
    /// The kernel's number of the resource, for instance `libc::RLIMIT_NOFILE`.
    pub resource: u32,
    /// The soft limit; `u64::MAX` for unlimited.
    pub soft: u64,
    /// The hard limit; `u64::MAX` for unlimited.
    pub hard: u64,
}

/// The program to start, and its environment.
#[derive(Debug)]
pub struct ChildSpec<'a> {
    /// The file to execute.
    pub path: CString,
    /// Its arguments, beginning with its name.
    pub argv: Vec<CString>,
    /// Its environment, as `NAME=value`.
    pub env: Vec<CString>,
    /// The folder to start in, if it is not the caller's.
    pub folder: Option<CString>,
    /// Its umask, if it is not the caller's.
    pub umask: Option<u32>,
    /// The resource limits that differ from the caller's.
    pub limits: Vec<ResourceLimit>,
    /// Its descriptors 0, 1 and 2.
    pub streams: [BorrowedFd<'a>; 3],
    /// Whether descriptor 0 becomes its controlling terminal.
    pub terminal: bool,
    /// The folder of the cgroup (v2) that it is created in.
    pub cgroup: Option<BorrowedFd<'a>>,
}

impl<'a> ChildSpec<'a> {
    /// Describes a program with an empty environment that inherits everything else from the caller.
    pub fn new(path: CString, argv: Vec<CString>, streams: [BorrowedFd<'a>; 3]) -> Self {
        Self {
            path,
            argv,
            env: Vec::new(),
            folder: None,
            umask: None,
            limits: Vec::new(),
            streams,
            terminal: false,
            cgroup: None,
        }
    }
}

/// A process that waits at its gate. Dropping this ends it.
#[derive(Debug)]
#[must_use]
pub struct GatedChild {
    pid: Pid,
    pidfd: OwnedFd,
    gate: OwnedFd,
    /// A copy of the reading end, so that opening a dead process's gate raises no SIGPIPE.
    gate_reader: OwnedFd,
    memory: SharedMapping,
}

/// The result of opening the gate.
#[derive(Debug)]
#[must_use]
pub enum GateOutcome {
    /// The program runs, unless a signal has ended it meanwhile, which its status shows.
    Running(OwnedFd),
    /// A call failed in the new process, before or at its exec. It exits and is not yet reaped.
    Failed(OwnedFd, ChildError),
    /// A signal ended it before its exec. It is not yet reaped.
    Died(OwnedFd),
    /// The deadline passed during the exec, for instance on a file system that hangs. The process
    /// was killed and is not yet reaped.
    Pending(OwnedFd),
}

/// A call that failed in the new process.
#[derive(Debug)]
pub struct ChildError {
    /// The call and its error.
    pub error: CallError,
    /// Whether it was the exec itself.
    pub at_exec: bool,
    /// Whether it was the change of folder.
    pub at_folder: bool,
}

/// Starts a program behind a gate. If a call fails, nothing is left.
pub fn start(start: ChildSpec<'_>) -> Result<GatedChild, CallError> {
    // The child polls the gate before it sleeps, so the gate must not block.
    let flags = PipeFlags::CLOEXEC | PipeFlags::NONBLOCK;
    let (reader, gate) = call("pipe2", || rustix::pipe::pipe_with(flags))?;
    let mut memory = SharedMapping::new(&start, reader.as_fd())?;
    let mut pidfd: i32 = -1;
    let args = CloneArgs {
        flags: (libc::CLONE_VM | libc::CLONE_PIDFD | libc::CLONE_CHILD_CLEARTID) as u64
            | CLONE_CLEAR_SIGHAND
            | if start.cgroup.is_some() { CLONE_INTO_CGROUP } else { 0 },
        pidfd: &raw mut pidfd as u64,
        child_tid: memory.shared().here.as_ptr() as u64,
        exit_signal: libc::SIGCHLD as u64,
        stack: memory.stack as u64 + PAGE as u64,
        stack_size: STACK as u64,
        cgroup: start.cgroup.map_or(0, |fd| fd.as_raw_fd() as u64),
        ..CloneArgs::default()
    };
    let arg = memory.shared.cast();
    let pid = call("clone3", || {
        let blocked = AllBlocked::new();
        // SAFETY: the stack and the orders belong to `memory`, which frees them only once the child
        // has left it; `main` follows the rules of its module; all signals are blocked, so no
        // handler of this process runs in the child.
        let result = unsafe { raw::clone3(&args, main, arg) };
        drop(blocked);
        if result < 0 {
            Err(io::Error::from_raw_os_error(-(result as i32)))
        } else {
            Ok(result as i32)
        }
    });
    let pid = match pid {
        Ok(pid) => pid,
        Err(error) => {
            memory.never_used();
            return Err(error);
        }
    };
    // SAFETY: the kernel stored a new descriptor there, which has no other owner.
    let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
    let pid = Pid::from_raw(pid).expect("the kernel never assigns pid 0");
    Ok(GatedChild { pid, pidfd, gate, gate_reader: reader, memory })
}

impl GatedChild {
    /// Its pid, valid until it is reaped: for records, not for signals.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Its pidfd.
    pub fn pidfd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }

    /// Lets it exec, and waits for the result.
    ///
    /// # Errors
    /// The gate could not be opened. The process is then ended, as on drop.
    pub fn open(self, deadline: Instant) -> Result<GateOutcome, CallError> {
        call("write gate", || rustix::io::write(&self.gate, &[GO]))?;
        let Self { pidfd, memory, gate, gate_reader, .. } = self;
        drop((gate, gate_reader));
        if !memory.left(deadline) {
            kill(&pidfd);
            return Ok(GateOutcome::Pending(pidfd));
        }
        Ok(outcome(pidfd, &memory))
    }

    /// Opens the gate of a program that must run, and returns its pidfd.
    ///
    /// # Errors
    /// The program does not run. The caller must reap its process with its other children.
    pub fn run(self, deadline: Instant) -> io::Result<OwnedFd> {
        match self.open(deadline).map_err(io::Error::other)? {
            GateOutcome::Running(pidfd) => Ok(pidfd),
            GateOutcome::Failed(_, error) => Err(io::Error::other(error.error)),
            GateOutcome::Died(_) => Err(io::Error::other("it was killed")),
            GateOutcome::Pending(_) => Err(io::Error::other("it could not be loaded in time")),
        }
    }

    /// Ends the process and returns its pidfd for reaping.
    pub fn dismiss(self) -> OwnedFd {
        let Self { pidfd, gate, .. } = self;
        drop(gate);
        kill(&pidfd);
        pidfd
    }
}

fn kill(pidfd: &OwnedFd) {
    // This fails only if it has already been reaped.
    let _gone = rustix::process::pidfd_send_signal(pidfd, Signal::KILL);
}

/// Returns the outcome of a process that has left the caller's memory.
fn outcome(pidfd: OwnedFd, memory: &SharedMapping) -> GateOutcome {
    let shared = memory.shared();
    let (step, call) = ChildStep::from_number(shared.step.load(Ordering::Acquire));
    let errno = shared.errno.load(Ordering::Acquire);
    fault::child_spent(shared.calls.load(Ordering::Relaxed), (errno != 0).then_some(call));
    match (errno, step) {
        (0, ChildStep::Exec) => GateOutcome::Running(pidfd),
        (0, _) => GateOutcome::Died(pidfd),
        (errno, step) => {
            let mut error = CallError::new(call, io::Error::from_raw_os_error(errno));
            if step == ChildStep::Limits {
                let which = shared.detail.load(Ordering::Relaxed) as usize;
                error.on = memory.limits.get(which).map(|l| format!("resource {}", l.resource));
            }
            let (at_exec, at_folder) = (step == ChildStep::Exec, step == ChildStep::Folder);
            GateOutcome::Failed(pidfd, ChildError { error, at_exec, at_folder })
        }
    }
}

/// The caller's memory that the new process uses until it execs or exits.
#[derive(Debug)]
struct SharedMapping {
    stack: *mut libc::c_void,
    shared: *mut ChildReport,
    limits: Vec<KernelLimit>,
    /// `shared` points into these.
    _strings: Vec<CString>,
    _pointers: Vec<Vec<*const libc::c_char>>,
}

// SAFETY: the raw pointers are to heap and mapped memory that this value owns, not tied to a
// thread; both sides write only atomics.
unsafe impl Send for SharedMapping {}

impl SharedMapping {
    fn new(start: &ChildSpec<'_>, gate: BorrowedFd<'_>) -> Result<Self, CallError> {
        let kernel_limit = |&ResourceLimit { resource, soft, hard }: &ResourceLimit| KernelLimit {
            soft,
            hard,
            resource,
        };
        let limits: Vec<_> = start.limits.iter().map(kernel_limit).collect();
        // The bytes of a CString stay where they are when the CString itself is moved.
        let strings = [&start.path].into_iter().chain(&start.folder);
        let strings: Vec<_> = strings.chain(&start.argv).chain(&start.env).cloned().collect();
        let folders = usize::from(start.folder.is_some());
        let (head, rest) = strings.split_at(1 + folders);
        let (argv, env) = rest.split_at(start.argv.len());
        let pointers = vec![null_terminated(argv), null_terminated(env)];
        let stack = take_stack()?;
        let shared = ChildReport {
            here: AtomicU32::new(1),
            step: AtomicU32::new(ChildStep::Born as u32),
            errno: AtomicI32::new(0),
            detail: AtomicU32::new(0),
            calls: AtomicU32::new(0),
            orders: ChildOrders {
                streams: start.streams.map(|fd| fd.as_raw_fd()),
                gate: gate.as_raw_fd(),
                terminal: start.terminal,
                umask: start.umask,
                limits: limits.as_ptr(),
                limit_count: limits.len(),
                folder: head.get(1).map_or(ptr::null(), |folder| folder.as_ptr()),
                path: head[0].as_ptr(),
                argv: pointers[0].as_ptr(),
                env: pointers[1].as_ptr(),
                fail: fault::child_budget(),
            },
        };
        let shared = Box::into_raw(Box::new(shared));
        Ok(Self { stack, shared, limits, _strings: strings, _pointers: pointers })
    }

    fn shared(&self) -> &ChildReport {
        // SAFETY: allocated until drop, and never borrowed mutably.
        unsafe { &*self.shared }
    }

    /// Notes that no process was created.
    fn never_used(&mut self) {
        self.shared().here.store(0, Ordering::Release);
    }

    /// Waits until the process has left this memory. Returns whether it has before the deadline.
    fn left(&self, deadline: Instant) -> bool {
        let here = &self.shared().here;
        while here.load(Ordering::Acquire) != 0 {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let timeout = rustix::thread::Timespec {
                tv_sec: left.as_secs().try_into().unwrap_or(i64::MAX),
                tv_nsec: left.subsec_nanos().into(),
            };
            // Not a private futex: the kernel's wake-up at the exit of a process is not private
            // either. Whatever the wait returns, the loop checks again.
            let _again = futex::wait(here, futex::Flags::empty(), 1, Some(&timeout));
        }
        true
    }
}

impl Drop for SharedMapping {
    fn drop(&mut self) {
        // A process that was just killed leaves within microseconds. If one is stuck in the kernel,
        // some kilobytes are leaked, since it must not lose memory that it uses.
        const SHORTLY: std::time::Duration = std::time::Duration::from_millis(100);
        if !self.left(Instant::now() + SHORTLY) {
            std::mem::forget(std::mem::take(&mut self._strings));
            std::mem::forget(std::mem::take(&mut self._pointers));
            std::mem::forget(std::mem::take(&mut self.limits));
            return;
        }
        give_stack_back(self.stack);
        // SAFETY: from Box::into_raw, and no reference to it is left.
        drop(unsafe { Box::from_raw(self.shared) });
    }
}

fn null_terminated(strings: &[CString]) -> Vec<*const libc::c_char> {
    strings.iter().map(|string| string.as_ptr()).chain([ptr::null()]).collect()
}

/// Unused stacks. Unmapping one costs an interrupt on every core that its process ran on, so some
/// are kept.
static STACKS: Mutex<Vec<Stack>> = Mutex::new(Vec::new());
const MAX_KEPT_STACKS: usize = 4;

struct Stack(*mut libc::c_void);

// SAFETY: plain mapped memory, unused as long as it is in the list.
unsafe impl Send for Stack {}

fn take_stack() -> Result<*mut libc::c_void, CallError> {
    let kept = STACKS.lock().unwrap_or_else(PoisonError::into_inner).pop();
    kept.map_or_else(map_stack, |Stack(stack)| Ok(stack))
}

fn give_stack_back(stack: *mut libc::c_void) {
    let mut stacks = STACKS.lock().unwrap_or_else(PoisonError::into_inner);
    if stacks.len() < MAX_KEPT_STACKS {
        return stacks.push(Stack(stack));
    }
    drop(stacks);
    unmap_stack(stack);
}

fn unmap_stack(stack: *mut libc::c_void) {
    // SAFETY: mapped by `map_stack` with this size, and unused.
    let unmapped = unsafe { rustix::mm::munmap(stack, PAGE + STACK) };
    debug_assert!(unmapped.is_ok(), "it is a mapping of `map_stack`");
}

/// Maps a stack with a guard page below it.
fn map_stack() -> Result<*mut libc::c_void, CallError> {
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    let flags = MapFlags::PRIVATE | MapFlags::STACK | MapFlags::NORESERVE;
    let stack = call("mmap", || {
        // SAFETY: a new anonymous mapping.
        unsafe { rustix::mm::mmap_anonymous(ptr::null_mut(), PAGE + STACK, protection, flags) }
    })?;
    let guarded = call("mprotect", || {
        // SAFETY: the first page of the new mapping, unused.
        unsafe { rustix::mm::mprotect(stack, PAGE, MprotectFlags::empty()) }
    });
    if let Err(error) = guarded {
        unmap_stack(stack);
        return Err(error);
    }
    Ok(stack)
}
