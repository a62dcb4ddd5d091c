//! Starting a program behind a gate.
//!
//! [`start`] clones a process that shares the caller's memory (so a large caller costs nothing: no
//! page table is copied) but, unlike `vfork`, does not suspend the caller. The new process prepares
//! itself and waits at its gate, a pipe. [`GatedChild::open`] sends the one byte that lets it exec; the end
//! of the pipe, for whatever reason, lets it die. It closes all inherited descriptors before it waits,
//! so no launch holds another's gate open for longer than those few microseconds.
//!
//! The kernel clears a word and wakes us when the process leaves the shared memory, by exec or by its
//! end (`CLONE_CHILD_CLEARTID`): that is when its stack and orders may be freed, and how an exec is
//! seen without another descriptor.

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

/// Enough for the few frames of [`main`], unoptimised builds included.
const STACK: usize = 64 * 1024;

/// The exit code of a process that found end-of-file at its gate, and never became its program.
pub const DISMISSED: i32 = 126;
const PAGE: usize = 4096;
/// No handler of ours is left in the new process; what we ignore, it ignores, until it resets that.
const CLONE_CLEAR_SIGHAND: u64 = 0x1_0000_0000;
/// libc's constant of this name is cut to 32 bits.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// One resource limit for the new process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceLimit {
    /// The kernel's number of the resource, for instance `libc::RLIMIT_NOFILE`.
    pub resource: u32,
    /// The soft limit; `u64::MAX` is none.
    pub soft: u64,
    /// The hard limit; `u64::MAX` is none.
    pub hard: u64,
}

/// What to start, and how.
#[derive(Debug)]
pub struct ChildSpec<'a> {
    /// The file to execute.
    pub path: CString,
    /// Its arguments, the name first.
    pub argv: Vec<CString>,
    /// Its environment, `NAME=value`.
    pub env: Vec<CString>,
    /// Its folder; `None` is the caller's.
    pub folder: Option<CString>,
    /// Its umask; `None` is the caller's.
    pub umask: Option<u32>,
    /// Its limits; those not named are the caller's.
    pub limits: Vec<ResourceLimit>,
    /// What becomes its descriptors 0, 1 and 2.
    pub streams: [BorrowedFd<'a>; 3],
    /// Whether descriptor 0 is a terminal that becomes its controlling one.
    pub terminal: bool,
    /// The cgroup v2 folder that it is born into.
    pub cgroup: Option<BorrowedFd<'a>>,
}

impl<'a> ChildSpec<'a> {
    /// A program with an empty environment. Everything else is inherited from the caller.
    #[must_use]
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

/// A process that exists and waits at its gate. Dropping it ends it.
#[derive(Debug)]
#[must_use]
pub struct GatedChild {
    pid: Pid,
    pidfd: OwnedFd,
    gate: OwnedFd,
    /// Our copy of the reading end: with it open, opening the gate of a dead process is no SIGPIPE.
    gate_reader: OwnedFd,
    memory: SharedMapping,
}

/// What came of opening the gate.
#[derive(Debug)]
#[must_use]
pub enum GateOutcome {
    /// The program runs (or a signal ended it on its way there, which its status will tell).
    Running(OwnedFd),
    /// A call failed in the new process, before or at its exec; it is ending, not yet reaped.
    Failed(OwnedFd, ChildError),
    /// It ended before it came to the exec, by a signal; not yet reaped.
    Died(OwnedFd),
    /// The deadline passed with the exec under way (a file system that hangs).
    Pending(Box<Opening>),
}

/// A process whose gate is open and that has not yet left our memory.
#[derive(Debug)]
pub struct Opening {
    pidfd: OwnedFd,
    memory: SharedMapping,
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

/// Starts `start` behind a gate.
///
/// # Errors
/// The call that failed; nothing is left then.
pub fn start(start: ChildSpec<'_>) -> Result<GatedChild, CallError> {
    // A gate that can be looked at without going to sleep; see `child.rs`.
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
        // has left; `main` keeps to the rules of its module; all signals are blocked, so no handler
        // of ours runs in the child.
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
    // SAFETY: the kernel put a new descriptor there, which is ours alone.
    let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
    let pid = Pid::from_raw(pid).expect("the kernel gives no pid 0");
    Ok(GatedChild { pid, pidfd, gate, gate_reader: reader, memory })
}

impl GatedChild {
    /// Its pid, valid as long as nobody reaps it: use it for the record, not for signals.
    #[must_use]
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// The handle on it.
    #[must_use]
    pub fn pidfd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }

    /// Lets it exec, and waits until it has or has failed to.
    ///
    /// # Errors
    /// The byte could not be written; the process is then dismissed, and ended as on drop.
    pub fn open(self, deadline: Instant) -> Result<GateOutcome, CallError> {
        call("write gate", || rustix::io::write(&self.gate, &[GO]))?;
        let Self { pidfd, memory, gate, gate_reader, .. } = self;
        drop((gate, gate_reader));
        Ok(Opening { pidfd, memory }.wait(deadline))
    }

    /// Opens the gate of a program that must run, and returns its pidfd.
    ///
    /// # Errors
    /// The program does not run. Its process, if any is left, is reaped with the caller's other children.
    pub fn run(self, deadline: Instant) -> io::Result<OwnedFd> {
        match self.open(deadline).map_err(io::Error::other)? {
            GateOutcome::Running(pidfd) => Ok(pidfd),
            GateOutcome::Failed(_, error) => Err(io::Error::other(error.error)),
            GateOutcome::Died(_) => Err(io::Error::other("it was killed")),
            GateOutcome::Pending(opening) => {
                drop(opening.give_up());
                Err(io::Error::other("it could not be loaded in time"))
            }
        }
    }

    /// Ends the process and returns its pidfd for reaping, together with the memory that the process may
    /// still be using.
    #[must_use]
    pub fn dismiss(self) -> (OwnedFd, ChildMemory) {
        let Self { pidfd, memory, gate, .. } = self;
        drop(gate);
        // Fails only if it has been reaped already, and then there is nothing to end.
        let _gone = rustix::process::pidfd_send_signal(&pidfd, Signal::KILL);
        (pidfd, ChildMemory(memory))
    }
}

/// Memory of ours that an ending process may still be using; freed once it is not.
#[derive(Debug)]
pub struct ChildMemory(#[expect(dead_code, reason = "held for its drop")] SharedMapping);

impl Opening {
    /// Kills it, and hands over the handle: whoever reaps children will see it.
    #[must_use]
    pub fn give_up(self) -> (OwnedFd, ChildMemory) {
        let Self { pidfd, memory } = self;
        // Fails only if it has been reaped already, and then there is nothing to end.
        let _gone = rustix::process::pidfd_send_signal(&pidfd, Signal::KILL);
        (pidfd, ChildMemory(memory))
    }

    /// Waits until the process has left our memory.
    pub fn wait(self, deadline: Instant) -> GateOutcome {
        if !self.memory.left(deadline) {
            return GateOutcome::Pending(Box::new(self));
        }
        let Self { pidfd, memory } = self;
        let shared = memory.shared();
        let step = ChildStep::from_number(shared.step.load(Ordering::Acquire));
        let errno = shared.errno.load(Ordering::Acquire);
        fault::child_spent(shared.calls.load(Ordering::Relaxed), (errno != 0).then(|| step.call()));
        match (errno, step) {
            (0, ChildStep::Exec) => GateOutcome::Running(pidfd),
            (0, _) => GateOutcome::Died(pidfd),
            (errno, step) => {
                let mut error = CallError::new(step.call(), io::Error::from_raw_os_error(errno));
                if step == ChildStep::Limits {
                    let which = shared.detail.load(Ordering::Relaxed) as usize;
                    error.on = memory.limits.get(which).map(|l| format!("resource {}", l.resource));
                }
                let at_exec = step == ChildStep::Exec;
                GateOutcome::Failed(
                    pidfd,
                    ChildError { error, at_exec, at_folder: step == ChildStep::Folder },
                )
            }
        }
    }
}

/// What the new process uses of ours until it execs or ends.
#[derive(Debug)]
struct SharedMapping {
    stack: *mut libc::c_void,
    shared: *mut ChildReport,
    limits: Vec<KernelLimit>,
    /// Only kept alive: `shared` points into them.
    _strings: Vec<CString>,
    _pointers: Vec<Vec<*const libc::c_char>>,
}

// SAFETY: the raw pointers are to heap and mapped memory that this value owns, none of it tied to a
// thread; what two sides write are atomics.
unsafe impl Send for SharedMapping {}

impl SharedMapping {
    fn new(start: &ChildSpec<'_>, gate: BorrowedFd<'_>) -> Result<Self, CallError> {
        let limits = start
            .limits
            .iter()
            .map(|l| KernelLimit { soft: l.soft, hard: l.hard, resource: l.resource })
            .collect::<Vec<_>>();
        // A CString's bytes stay where they are when the CString itself is moved.
        let strings = [&start.path]
            .into_iter()
            .chain(&start.folder)
            .chain(&start.argv)
            .chain(&start.env)
            .cloned()
            .collect::<Vec<_>>();
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
        // SAFETY: a live allocation until drop; never handed out mutably.
        unsafe { &*self.shared }
    }

    /// No process was made.
    fn never_used(&mut self) {
        self.shared().here.store(0, Ordering::Release);
    }

    /// Waits until the process has left this memory; says whether it has.
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
            // Not a private futex: the kernel's wake at the end of a process is not one either.
            // Whatever the wait returns (changed, woken, timed out, interrupted), we look again.
            let _again = futex::wait(here, futex::Flags::empty(), 1, Some(&timeout));
        }
        true
    }
}

impl Drop for SharedMapping {
    fn drop(&mut self) {
        // A process that was just killed leaves within microseconds. One that can't (stuck in the
        // kernel) keeps what it uses: a leak of some kilobytes, against memory freed under its feet.
        const SHORTLY: std::time::Duration = std::time::Duration::from_millis(100);
        if !self.left(Instant::now() + SHORTLY) {
            std::mem::forget(std::mem::take(&mut self._strings));
            std::mem::forget(std::mem::take(&mut self._pointers));
            std::mem::forget(std::mem::take(&mut self.limits));
            return;
        }
        give_stack_back(self.stack);
        // SAFETY: came from Box::into_raw, and nobody else refers to it any more.
        drop(unsafe { Box::from_raw(self.shared) });
    }
}

fn null_terminated(strings: &[CString]) -> Vec<*const libc::c_char> {
    strings.iter().map(|string| string.as_ptr()).chain([ptr::null()]).collect()
}

/// Stacks that no process uses any more. Unmapping one costs an interrupt to every core that its process
/// ran on, so some are kept.
static STACKS: Mutex<Vec<Stack>> = Mutex::new(Vec::new());
const KEPT: usize = 4;

struct Stack(*mut libc::c_void);

// SAFETY: plain mapped memory that nobody uses as long as it is in the list.
unsafe impl Send for Stack {}

fn take_stack() -> Result<*mut libc::c_void, CallError> {
    let kept = STACKS.lock().unwrap_or_else(PoisonError::into_inner).pop();
    kept.map_or_else(map_stack, |Stack(stack)| Ok(stack))
}

fn give_stack_back(stack: *mut libc::c_void) {
    let mut stacks = STACKS.lock().unwrap_or_else(PoisonError::into_inner);
    if stacks.len() < KEPT {
        return stacks.push(Stack(stack));
    }
    drop(stacks);
    // SAFETY: mapped by `map_stack` with this size, used by nobody any more.
    let unmapped = unsafe { rustix::mm::munmap(stack, PAGE + STACK) };
    debug_assert!(unmapped.is_ok(), "the stack was mapped by us");
}

/// A stack with a page below it that faults.
fn map_stack() -> Result<*mut libc::c_void, CallError> {
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    let flags = MapFlags::PRIVATE | MapFlags::STACK | MapFlags::NORESERVE;
    let stack = call("mmap", || {
        // SAFETY: a new anonymous mapping, of which nobody else knows.
        unsafe { rustix::mm::mmap_anonymous(ptr::null_mut(), PAGE + STACK, protection, flags) }
    })?;
    let guarded = call("mprotect", || {
        // SAFETY: the first page of the mapping just made, in use by nobody.
        unsafe { rustix::mm::mprotect(stack, PAGE, MprotectFlags::empty()) }
    });
    if let Err(error) = guarded {
        // SAFETY: as above.
        let unmapped = unsafe { rustix::mm::munmap(stack, PAGE + STACK) };
        debug_assert!(unmapped.is_ok(), "the stack was mapped by us");
        return Err(error);
    }
    Ok(stack)
}
