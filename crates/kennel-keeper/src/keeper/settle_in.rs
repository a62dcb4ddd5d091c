//! A keeper's own surroundings. It was forked from the yard, so it has the yard's to begin with.

use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use kennel_pen::holder::HeldKind;
use kennel_pen::namespace::{NamespaceInit, enter_new_pid_namespace, settle_as_init};
use kennel_pen::{Birth, Identity, oom};
use kennel_sys::fork::{Forked, fork_alone};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions};

use crate::protocol::LaunchOrder;

/// How much likelier a keeper is to be chosen by the OOM killer than the yard.
const LIKELIER_THAN_THE_YARD: i32 = 50;

pub(super) fn settle_in() -> io::Result<()> {
    rustix::thread::set_name(c"kennel-keeper")?;
    // The command line is still the yard's; without the right to change it, it stays so.
    retitle("kennel-keeper").ok();
    // A session of its own is a share of the CPU of its own: a busy neighbour takes none of it.
    rustix::process::setsid()?;
    // We go when our pen is empty, and not because somebody ended a whole group politely.
    let polite = [Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT, Signal::USR1, Signal::USR2];
    kennel_sys::signals::ignore(&polite.map(Signal::as_raw))?;
    // Root may; others get their share.
    fs::write("/proc/self/autogroup", "-20").ok();
    oom::raise_by(LIKELIER_THAN_THE_YARD);
    Ok(())
}

/// Writes over our own command line, which people see in `ps`.
fn retitle(title: &str) -> io::Result<()> {
    const ARGUMENTS_START: usize = 45; // counted from the state letter
    let stat = fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let mut fields = fields.split_whitespace().skip(ARGUMENTS_START);
    let mut address = || fields.next().and_then(|field| field.parse::<u64>().ok());
    let (Some(start), Some(end)) = (address(), address()) else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    let room = usize::try_from(end.saturating_sub(start)).unwrap_or(0);
    let mut text = vec![0; room];
    let length = title.len().min(room.saturating_sub(1));
    text[..length].copy_from_slice(&title.as_bytes()[..length]);
    let memory = fs::OpenOptions::new().write(true).open("/proc/self/mem")?;
    memory.write_all_at(&text, start)
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
pub(super) enum Side {
    /// This is the keeper.
    Inside(Namespace),
    /// The keeper is that child, the init of a new pid namespace.
    Outside(Pid),
}

/// Makes a pid namespace, if the pen is to be one: from here on there are two processes.
pub(super) fn enter_namespace(kind: HeldKind) -> Side {
    if kind != HeldKind::Namespace {
        return Side::Inside(Namespace::None);
    }
    let with_user = !rustix::process::geteuid().is_root();
    let forked = enter_new_pid_namespace(with_user).and_then(|()| fork_alone());
    match forked {
        Err(error) => Side::Inside(Namespace::Failed(error)),
        Ok(Forked::Child) => {
            Side::Inside(settle_as_init().map_or_else(Namespace::Failed, Namespace::New))
        }
        Ok(Forked::Parent(init)) => match Pid::from_raw(init) {
            Some(init) => Side::Outside(init),
            None => Side::Inside(Namespace::Failed(io::ErrorKind::InvalidData.into())),
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

/// For those who have nothing but the folder: who we are, and who the agent is. Not synced, since it is void
/// after the next boot.
pub(super) fn write_identity(
    folder: &Path,
    agent: Option<(&Identity, Option<&Path>)>,
) -> io::Result<()> {
    let mut text = String::new();
    match agent {
        None => {
            let own = rustix::process::getpid().as_raw_pid();
            text.push_str(&format!("keeper {own}\n"));
        }
        Some((identity, cgroup)) => {
            let pen = cgroup.map_or_else(|| "subtree".into(), Path::to_string_lossy);
            let Identity { boot, pid_namespace, pid, birth } = identity;
            let birth = match birth {
                Birth::Inode(inode) => format!("inode {inode}"),
                Birth::Tick(tick) => format!("tick {tick}"),
            };
            text.push_str(&format!("agent {pid} {birth} boot {boot} namespace {pid_namespace}\n"));
            text.push_str(&format!("pen {pen}\n"));
        }
    }
    // Added to, never written anew: some file systems wait for the disk when an old text is replaced.
    let mut options = fs::OpenOptions::new();
    let mut file = options.append(true).create(true).mode(0o600).open(folder.join("identity"))?;
    file.write_all(text.as_bytes())
}
