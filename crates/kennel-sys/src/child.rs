//! The code that the new process runs between the clone and the exec.
//!
//! It runs in the caller's memory, on a stack of its own, with the caller's thread pointer, while
//! the caller's threads run on. So it makes raw system calls only: no allocation, no lock, no libc,
//! no indexing or arithmetic that could panic. All signals are blocked from before the clone until
//! just before the exec, so no handler of the caller can run here.
//!
//! ```text
//! streams to 0-2, gate to 3 -> close the rest -> session -> terminal -> umask -> limits -> folder
//!    -> signals to default -> GATE (a byte: continue; end-of-file: exit) -> unblock -> exec
//! ```
//! Everything else that can fail comes before the gate, so after the gate only the exec can fail.
//! The clone itself clears handlers, but ignored signals stay ignored, so all are reset.

use core::ffi::{c_char, c_void};
use core::sync::atomic::{AtomicI32, AtomicU32, Ordering::Relaxed};

use crate::raw::syscall;

pub(crate) const GO: u8 = b'g';
/// The descriptor of the gate. The exec closes it.
const GATE: usize = 3;
/// The lowest temporary descriptor, above 0-3.
const SCRATCH: usize = 10;
/// The result of `read` at a closed gate.
const NOTHING_YET: isize = -(libc::EAGAIN as isize);
/// How often to poll the gate before sleeping: some microseconds. A caller that opens it at once
/// does so by then, and a sleep and a wake-up on another core cost ten times that.
const GATE_POLLS: u32 = 100;
/// The size of the kernel's signal set, in bytes.
const SIGSET: usize = 8;
/// The highest signal, including those that libc reserves.
const LAST_SIGNAL: usize = 64;

/// The steps of the new process, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum ChildStep {
    Born = 0,
    Streams,
    Descriptors,
    Session,
    Terminal,
    Umask,
    Limits,
    Folder,
    Gate,
    Exec,
}

impl ChildStep {
    /// Each step with the name of its call.
    const ALL: [(Self, &'static str); 10] = [
        (Self::Born, "clone3"),
        (Self::Streams, "dup"),
        (Self::Descriptors, "close_range"),
        (Self::Session, "setsid"),
        (Self::Terminal, "TIOCSCTTY"),
        (Self::Umask, "umask"),
        (Self::Limits, "setrlimit"),
        (Self::Folder, "chdir"),
        (Self::Gate, "gate"),
        (Self::Exec, "execve"),
    ];

    /// Returns the step with this number, and the name of its call.
    pub(crate) fn from_number(number: u32) -> (Self, &'static str) {
        Self::ALL.into_iter().find(|(step, _)| *step as u32 == number).unwrap_or(Self::ALL[0])
    }
}

/// One resource limit, as `prlimit64` takes it.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct KernelLimit {
    pub(crate) soft: u64,
    pub(crate) hard: u64,
    pub(crate) resource: u32,
}

/// The memory that parent and child share.
#[repr(C)]
pub(crate) struct ChildReport {
    /// 1 until the kernel clears it, when the child leaves this memory by exec or exit.
    pub(crate) here: AtomicU32,
    pub(crate) step: AtomicU32,
    pub(crate) errno: AtomicI32,
    /// The index of the limit that is being set.
    pub(crate) detail: AtomicU32,
    pub(crate) calls: AtomicU32,
    pub(crate) orders: ChildOrders,
}

/// Plain values, and pointers into memory that the parent keeps until `here` is 0.
pub(crate) struct ChildOrders {
    pub(crate) streams: [i32; 3],
    pub(crate) gate: i32,
    pub(crate) terminal: bool,
    pub(crate) umask: Option<u32>,
    pub(crate) limits: *const KernelLimit,
    pub(crate) limit_count: usize,
    pub(crate) folder: *const c_char,
    pub(crate) path: *const c_char,
    pub(crate) argv: *const *const c_char,
    pub(crate) env: *const *const c_char,
    /// For tests: the number of the call that fails, counted from 1, and its errno.
    pub(crate) fail: (u32, i32),
}

#[repr(C)]
struct KernelAction {
    handler: usize,
    flags: usize,
    restorer: usize,
    mask: u64,
}

/// The entry point of the new process.
///
/// # Safety
/// `shared` must point to a [`ChildReport`] that stays valid, with its orders, until `here` is 0.
pub(crate) unsafe extern "C" fn main(shared: *mut c_void) -> ! {
    // SAFETY: as the caller guarantees; all fields that both sides write are atomics.
    let shared = unsafe { &*shared.cast::<ChildReport>() };
    let child = Child { shared };
    // SAFETY: the orders are valid, as the caller guarantees.
    let code = match unsafe { child.run() } {
        Ok(never) => match never {},
        Err(Stop::Failed(errno)) => {
            shared.errno.store(errno, Relaxed);
            127
        }
        Err(Stop::Dismissed) => crate::clone::DISMISSED as usize,
    };
    loop {
        // SAFETY: it takes no pointer.
        unsafe { syscall(libc::SYS_exit_group, [code, 0, 0, 0, 0, 0]) };
    }
}

enum Stop {
    Failed(i32),
    /// End-of-file at the gate: the parent is gone or has dismissed this process.
    Dismissed,
}

enum Never {}

struct Child<'a> {
    shared: &'a ChildReport,
}

impl Child<'_> {
    fn at(&self, step: ChildStep) {
        self.shared.step.store(step as u32, Relaxed);
    }

    /// Makes one system call, or returns the error that a test requested.
    ///
    /// # Safety
    /// As for [`syscall`].
    #[inline(always)]
    unsafe fn call(&self, number: libc::c_long, args: [usize; 6]) -> Result<usize, Stop> {
        let calls = self.shared.calls.load(Relaxed).wrapping_add(1);
        self.shared.calls.store(calls, Relaxed);
        let (nth, errno) = self.shared.orders.fail;
        if calls == nth {
            return Err(Stop::Failed(errno));
        }
        // SAFETY: as the caller guarantees.
        let result = unsafe { syscall(number, args) };
        if result < 0 {
            Err(Stop::Failed((result as i32).wrapping_neg()))
        } else {
            Ok(result as usize)
        }
    }

    unsafe fn run(&self) -> Result<Never, Stop> {
        let orders = &self.shared.orders;
        // All calls below are sound: the kernel checks descriptors, and pointers are to local
        // variables or to the orders, which outlive this process's use of the memory.
        self.at(ChildStep::Streams);
        // SAFETY: as above.
        unsafe { self.place_streams()? };
        self.at(ChildStep::Descriptors);
        // SAFETY: as above.
        unsafe { self.call(libc::SYS_close_range, [GATE + 1, u32::MAX as usize, 0, 0, 0, 0])? };
        self.at(ChildStep::Session);
        // SAFETY: as above.
        unsafe { self.call(libc::SYS_setsid, [0; 6])? };
        if orders.terminal {
            self.at(ChildStep::Terminal);
            // SAFETY: as above.
            unsafe { self.call(libc::SYS_ioctl, [0, libc::TIOCSCTTY as usize, 0, 0, 0, 0])? };
        }
        if let Some(umask) = orders.umask {
            self.at(ChildStep::Umask);
            // SAFETY: as above.
            unsafe { self.call(libc::SYS_umask, [umask as usize, 0, 0, 0, 0, 0])? };
        }
        self.at(ChildStep::Limits);
        // SAFETY: as above.
        unsafe { self.set_limits()? };
        if !orders.folder.is_null() {
            self.at(ChildStep::Folder);
            // SAFETY: as above.
            unsafe { self.call(libc::SYS_chdir, [orders.folder as usize, 0, 0, 0, 0, 0])? };
        }
        // SAFETY: as above.
        unsafe { self.reset_signals() };
        self.at(ChildStep::Gate);
        // SAFETY: as above.
        unsafe { self.wait_at_gate()? };
        self.at(ChildStep::Exec);
        let none = 0_u64;
        let set = [libc::SIG_SETMASK as usize, &raw const none as usize, 0, SIGSET, 0, 0];
        // SAFETY: as above; no handler is left that could run.
        unsafe { self.call(libc::SYS_rt_sigprocmask, set)? };
        let exec = [orders.path as usize, orders.argv as usize, orders.env as usize, 0, 0, 0];
        // SAFETY: as above.
        unsafe { self.call(libc::SYS_execve, exec)? };
        Err(Stop::Failed(libc::ENOEXEC)) // a successful exec does not return
    }

    /// This fails only for KILL and STOP, whose action is fixed.
    unsafe fn reset_signals(&self) {
        let default = KernelAction { handler: libc::SIG_DFL, flags: 0, restorer: 0, mask: 0 };
        let mut signal = 1_usize;
        while signal <= LAST_SIGNAL {
            // SAFETY: see `run`.
            unsafe {
                syscall(
                    libc::SYS_rt_sigaction,
                    [signal, &raw const default as usize, 0, SIGSET, 0, 0],
                )
            };
            signal = signal.wrapping_add(1);
        }
    }

    /// A source may itself be 0, 1 or 2, so all are first copied to higher descriptors.
    unsafe fn place_streams(&self) -> Result<(), Stop> {
        let [stdin, stdout, stderr] = self.shared.orders.streams;
        let sources = [stdin, stdout, stderr, self.shared.orders.gate];
        let mut copies = [0_usize; 4];
        for (copy, source) in copies.iter_mut().zip(sources) {
            let args = [source as usize, libc::F_DUPFD_CLOEXEC as usize, SCRATCH, 0, 0, 0];
            // SAFETY: see `run`.
            *copy = unsafe { self.call(libc::SYS_fcntl, args)? };
        }
        let mut target = 0;
        for copy in copies {
            let flags = if target == GATE { libc::O_CLOEXEC as usize } else { 0 };
            // SAFETY: see `run`.
            unsafe { self.call(libc::SYS_dup3, [copy, target, flags, 0, 0, 0])? };
            target = target.wrapping_add(1);
        }
        Ok(())
    }

    unsafe fn set_limits(&self) -> Result<(), Stop> {
        let mut next = 0;
        while next < self.shared.orders.limit_count {
            self.shared.detail.store(next as u32, Relaxed);
            // SAFETY: `next` is below the length of the array.
            let limit = unsafe { &*self.shared.orders.limits.wrapping_add(next) };
            let args = [0, limit.resource as usize, &raw const limit.soft as usize, 0, 0, 0];
            // SAFETY: see `run`; soft and hard are adjacent, as in the kernel's rlimit64.
            unsafe { self.call(libc::SYS_prlimit64, args)? };
            next = next.wrapping_add(1);
        }
        Ok(())
    }

    unsafe fn wait_at_gate(&self) -> Result<(), Stop> {
        let mut byte = 0_u8;
        // SAFETY: it takes no argument. It changes nothing, but lets a test fail this step.
        unsafe { self.call(libc::SYS_getpid, [0; 6])? };
        let mut polls = 0_u32;
        loop {
            let args = [GATE, &raw mut byte as usize, 1, 0, 0, 0];
            // SAFETY: see `run`; it writes one byte. All signals are blocked, so no EINTR.
            match unsafe { syscall(libc::SYS_read, args) } {
                1 if byte == GO => return Ok(()),
                NOTHING_YET if polls < GATE_POLLS => polls = polls.wrapping_add(1),
                NOTHING_YET => {
                    let mut ready =
                        libc::pollfd { fd: GATE as i32, events: libc::POLLIN, revents: 0 };
                    let args = [&raw mut ready as usize, 1, 0, 0, 0, 0];
                    // SAFETY: see `run`; without a timeout it returns at a byte or end-of-file.
                    unsafe { syscall(libc::SYS_ppoll, args) };
                }
                _ => return Err(Stop::Dismissed),
            }
        }
    }
}
