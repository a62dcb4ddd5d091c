//! The process of a keeper, by a handle that is certain.
//!
//! A number is only believed while a connection proves that it is still the keeper's: the handle is opened
//! first, the connection looked at afterwards. A keeper that ends closes it.

use std::io;

use kennel_sys::pidfd;
use rustix::event::{PollFd, PollFlags};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::ready;

/// A handle on the keeper with this pid, which holds the other end of `connection`; none if it has ended.
pub(crate) fn open(pid: i32, connection: BorrowedFd<'_>) -> io::Result<Option<OwnedFd>> {
    let own = rustix::process::getpid().as_raw_pid();
    let parent = rustix::process::getppid().map_or(0, |pid| pid.as_raw_pid());
    if pid <= 1 || pid == own || pid == parent {
        return Err(io::Error::other(format!("pid {pid} can't be a keeper's")));
    }
    let handle = pidfd::open(pid)?;
    Ok(if has_hung_up(connection)? { None } else { handle })
}

/// Whether the keeper with this pid, which holds the other end of `connection`, is a child of this process.
pub(crate) fn is_child_of(parent: i32, pid: i32, connection: BorrowedFd<'_>) -> io::Result<bool> {
    let Some(handle) = open(pid, connection)? else { return Ok(false) };
    let info = pidfd::info(handle.as_fd(), pid)?;
    Ok(info.is_some_and(|info| info.parent == parent))
}

/// Whether the other side of a connection is gone.
pub(crate) fn has_hung_up(connection: BorrowedFd<'_>) -> io::Result<bool> {
    let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
    let mut end = [PollFd::new(&connection, PollFlags::empty())];
    rustix::event::poll(&mut end, Some(&now))?;
    Ok(end[0].revents().intersects(PollFlags::HUP | PollFlags::ERR))
}

/// Waits until the process behind the handle has ended.
pub(crate) async fn ended(handle: &OwnedFd) -> io::Result<()> {
    let handle = ready::watch_readable(handle.try_clone()?)?;
    handle.readable().await.map(drop)
}

#[cfg(test)]
mod tests {
    use kennel_pen::wire::Channel;

    use super::*;

    #[test]
    fn a_handle_is_given_only_while_the_connection_stands() {
        let mut child = std::process::Command::new("sleep").arg("30").spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let (ours, theirs) = Channel::pair().unwrap();
        assert!(open(pid, ours.as_fd()).unwrap().is_some());
        let own = rustix::process::getpid().as_raw_pid();
        assert!(is_child_of(own, pid, ours.as_fd()).unwrap());
        assert!(!is_child_of(1, pid, ours.as_fd()).unwrap());
        drop(theirs);
        assert!(!is_child_of(own, pid, ours.as_fd()).unwrap());
        assert!(open(pid, ours.as_fd()).unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn neither_we_nor_our_parent_nor_init_are_keepers() {
        let (ours, _theirs) = Channel::pair().unwrap();
        let own = rustix::process::getpid().as_raw_pid();
        let parent = rustix::process::getppid().unwrap().as_raw_pid();
        for pid in [0, 1, -1, own, parent] {
            assert!(open(pid, ours.as_fd()).is_err(), "{pid}");
        }
    }
}
