//! A keeper's own surroundings. It was forked from the yard, so it has the yard's to begin with.

use std::ffi::CString;
use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::path::Path;

use kennel_pen::holder::HeldKind;
use kennel_pen::namespace::{NamespaceInit, enter_new_pid_namespace, settle_as_init};
use kennel_pen::oom::{self, OomScore};
use kennel_pen::{Birth, ProcessIdentity};
use kennel_sys::fork::{Forked, fork_alone};
use kennel_sys::title::TitleArea;
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions};

use crate::protocol::LaunchOrder;

/// How much likelier a keeper is to be chosen by the OOM killer than the yard.
const LIKELIER_THAN_THE_YARD: i32 = 50;

/// What a keeper knows of the yard that it was forked from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct YardFacts {
    /// Where its command line is, if that could be found.
    title: Option<TitleArea>,
    /// Its score with the OOM killer, if that could be told.
    oom_score: Option<i32>,
}

impl YardFacts {
    /// Found out once, by the yard.
    pub(crate) fn look() -> Self {
        Self { title: TitleArea::find().ok(), oom_score: oom::own_score() }
    }

    /// Raises our score for the birth of the agent; a keeper's own comes when that is dropped.
    pub(super) fn raise_for_agent(&self) -> Option<OomScore> {
        OomScore::raised_from(self.oom_score?.saturating_add(LIKELIER_THAN_THE_YARD))
    }
}

/// What others see of this process. Its command line is still the yard's; without the right to change it, it
/// stays so.
pub(super) fn call_ourselves(name: &str, legacy: &YardFacts) -> io::Result<()> {
    rustix::thread::set_name(&CString::new(name)?)?;
    legacy.title.map(|title| title.write(name).ok());
    Ok(())
}

pub(super) fn settle_in() -> io::Result<()> {
    // A session of its own is a share of the CPU of its own: a busy neighbour takes none of it.
    rustix::process::setsid()?;
    // We go when our pen is empty, and not because somebody ended a whole group politely. The yard ignores the
    // rest of the polite signals already, and this one it reads from a descriptor.
    kennel_sys::signals::ignore(&[Signal::TERM.as_raw()])
}

/// What can wait until the agent runs.
pub(super) fn settle_down() {
    // Root may; others get their share.
    fs::write("/proc/self/autogroup", "-20").ok();
}

pub(super) fn read_order(memfd: OwnedFd) -> io::Result<LaunchOrder> {
    let mut file = File::from(memfd);
    file.rewind()?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    LaunchOrder::decode(&bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Which namespace we are the init of.
#[derive(Debug)]
pub(super) enum Namespace {
    /// None was asked for.
    None,
    /// A new one.
    New(NamespaceInit),
    /// A new one could not be made.
    Failed(io::Error),
}

/// On which side of a new namespace this process is.
#[derive(Debug)]
pub(super) enum NamespaceSide {
    /// This is the keeper.
    Inside(Namespace),
    /// The keeper is that child, the init of a new pid namespace.
    Outside(Pid),
}

/// Makes a pid namespace, if the pen is to be one: from here on there are two processes.
pub(super) fn enter_namespace(kind: HeldKind) -> NamespaceSide {
    if kind != HeldKind::Namespace {
        return NamespaceSide::Inside(Namespace::None);
    }
    let with_user = !rustix::process::geteuid().is_root();
    let forked = enter_new_pid_namespace(with_user).and_then(|()| fork_alone());
    match forked {
        Err(error) => NamespaceSide::Inside(Namespace::Failed(error)),
        Ok(Forked::Child) => {
            NamespaceSide::Inside(settle_as_init().map_or_else(Namespace::Failed, Namespace::New))
        }
        Ok(Forked::Parent(init)) => match Pid::from_raw(init) {
            Some(init) => NamespaceSide::Outside(init),
            None => NamespaceSide::Inside(Namespace::Failed(io::ErrorKind::InvalidData.into())),
        },
    }
}

/// Waits for the end of the keeper inside. If we are killed, it falls to the yard, which ends it, and with
/// it the kernel ends everyone in the namespace.
pub(super) fn stand_by(init: Pid) -> io::Result<()> {
    loop {
        match rustix::process::waitpid(Some(init), WaitOptions::empty()) {
            Ok(_) | Err(Errno::CHILD) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// For those who have nothing but the folder: who we are. It goes into the file of the lock, which is there
/// anyway: another file would have to be made and removed for each session. Not synced, since it is void after
/// the next boot.
pub(super) fn note_keeper(lock: BorrowedFd<'_>) -> io::Result<()> {
    let own = rustix::process::getpid().as_raw_pid();
    add_to(lock, &format!("keeper {own}\n"))
}

/// And who the agent is.
pub(super) fn note_agent(
    lock: BorrowedFd<'_>,
    identity: &ProcessIdentity,
    cgroup: Option<&Path>,
) -> io::Result<()> {
    let pen = cgroup.map_or_else(|| "subtree".into(), Path::to_string_lossy);
    let ProcessIdentity { boot, pid_namespace, pid, birth } = identity;
    let birth = match birth {
        Birth::Inode(inode) => format!("inode {inode}"),
        Birth::Tick(tick) => format!("tick {tick}"),
    };
    let agent = format!("agent {pid} {birth} boot {boot} namespace {pid_namespace}");
    add_to(lock, &format!("{agent}\npen {pen}\n"))
}

/// Goes on where the last one to write stopped: all share one descriptor.
fn add_to(lock: BorrowedFd<'_>, text: &str) -> io::Result<()> {
    let mut left = text.as_bytes();
    while !left.is_empty() {
        match rustix::io::write(lock, left) {
            Ok(written) => left = &left[written..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
