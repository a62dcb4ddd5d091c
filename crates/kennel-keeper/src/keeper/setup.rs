//! The setup of a keeper's own process, which begins as a copy of the yard.

use std::ffi::CString;
use std::{fs, io};

use kennel_pen::oom::{self, OomScore};
use kennel_sys::namespace::{NamespaceInit, enter_new_pid_namespace, settle_as_init};
use kennel_sys::process::{Forked, fork_alone};
use kennel_sys::title::TitleArea;
use kennel_types::PenKind;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions};

/// How much higher the OOM score of a keeper is than that of the yard.
const KEEPER_OFFSET: i32 = 50;

#[derive(Debug, Clone, Copy)]
pub(crate) struct YardFacts {
    title: Option<TitleArea>,
    oom_score: Option<i32>,
}

impl YardFacts {
    pub(crate) fn collect() -> Self {
        Self { title: TitleArea::find().ok(), oom_score: oom::own_score() }
    }

    /// Raises the OOM score for the agent. Dropping the result sets the keeper's own score.
    pub(super) fn raise_for_agent(&self) -> Option<OomScore> {
        OomScore::raised_from(self.oom_score?.saturating_add(KEEPER_OFFSET))
    }

    /// Sets the name that `ps` shows, and the command line where it may be changed.
    pub(super) fn set_name(&self, name: &str) -> io::Result<()> {
        rustix::thread::set_name(&CString::new(name)?)?;
        self.title.map(|title| title.write(name).ok());
        Ok(())
    }
}

/// Detaches this process from the session and the signals of the yard.
pub(super) fn detach() -> io::Result<()> {
    // A session of its own has a CPU share of its own, which a busy neighbour can't take.
    rustix::process::setsid()?;
    // A keeper exits when its pen is empty, not because a whole group got a TERM. The yard already
    // ignores the other termination signals; it reads this one from a descriptor.
    kennel_sys::signals::ignore(&[Signal::TERM.as_raw()])
}

/// Raises the CPU priority once the agent runs. Only root may do this.
pub(super) fn raise_priority() {
    fs::write("/proc/self/autogroup", "-20").ok();
}

/// The side of the new namespace that this process is on.
#[derive(Debug)]
pub(super) enum NamespaceSide {
    /// This process is the keeper, and the init of the namespace if one was requested.
    Inside(io::Result<Option<NamespaceInit>>),
    /// The keeper is this child, the init of the new namespace.
    Outside(Pid),
}

/// Creates a pid namespace if the pen needs one. Then there are two processes.
pub(super) fn enter_namespace(kind: PenKind) -> NamespaceSide {
    if kind != PenKind::Pidns {
        return NamespaceSide::Inside(Ok(None));
    }
    let with_user = !rustix::process::geteuid().is_root();
    let forked = enter_new_pid_namespace(with_user).and_then(|()| fork_alone());
    match forked {
        Err(error) => NamespaceSide::Inside(Err(error)),
        Ok(Forked::Child) => NamespaceSide::Inside(settle_as_init().map(Some)),
        Ok(Forked::Parent(init)) => match Pid::from_raw(init) {
            Some(init) => NamespaceSide::Outside(init),
            None => NamespaceSide::Inside(Err(io::ErrorKind::InvalidData.into())),
        },
    }
}

/// Waits for the keeper inside to exit. If this process is killed, that keeper is reparented to the
/// yard, which ends it, and the kernel kills every process in the namespace.
pub(super) fn wait_for_init(init: Pid) -> io::Result<()> {
    loop {
        match rustix::process::waitpid(Some(init), WaitOptions::empty()) {
            Ok(_) | Err(Errno::CHILD) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
