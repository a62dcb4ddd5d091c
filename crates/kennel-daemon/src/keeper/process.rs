//! The process of a keeper, through a handle that can't refer to another process.
//!
//! A pid counts only while a connection proves that it is still the keeper's: first the handle is
//! opened, then the connection is checked. A keeper that ends closes it.

use std::io;

use kennel_sys::pidfd;
use rustix::event::{PollFd, PollFlags};
use rustix::fd::{BorrowedFd, OwnedFd};

use crate::os::async_fd;

/// Returns a handle to the keeper with this pid, which holds the other end of `connection`; none if
/// it has ended.
pub(crate) fn open(pid: i32, connection: BorrowedFd<'_>) -> io::Result<Option<OwnedFd>> {
    let own = rustix::process::getpid().as_raw_pid();
    let parent = rustix::process::getppid().map_or(0, |pid| pid.as_raw_pid());
    if pid <= 1 || pid == own || pid == parent {
        return Err(io::Error::other(format!("pid {pid} can't be a keeper")));
    }
    let handle = pidfd::open(pid)?;
    Ok(if has_hung_up(connection)? { None } else { handle })
}

pub(crate) fn has_hung_up(connection: BorrowedFd<'_>) -> io::Result<bool> {
    let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
    let mut end = [PollFd::new(&connection, PollFlags::empty())];
    rustix::event::poll(&mut end, Some(&now))?;
    Ok(end[0].revents().intersects(PollFlags::HUP | PollFlags::ERR))
}

pub(crate) async fn ended(handle: &OwnedFd) -> io::Result<()> {
    let handle = async_fd::watch_readable(handle.try_clone()?)?;
    handle.readable().await.map(drop)
}

#[cfg(test)]
mod tests {
    use kennel_pen::wire::Channel;
    use rustix::fd::AsFd;

    use super::*;

    #[test]
    fn returns_a_handle_only_while_the_connection_exists() {
        let mut child = std::process::Command::new("sleep").arg("30").spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let (ours, theirs) = Channel::pair().unwrap();
        assert!(open(pid, ours.as_fd()).unwrap().is_some());
        drop(theirs);
        assert!(open(pid, ours.as_fd()).unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn refuses_the_daemon_its_parent_and_init() {
        let (ours, _theirs) = Channel::pair().unwrap();
        let own = rustix::process::getpid().as_raw_pid();
        let parent = rustix::process::getppid().unwrap().as_raw_pid();
        for pid in [0, 1, -1, own, parent] {
            assert!(open(pid, ours.as_fd()).is_err(), "{pid}");
        }
    }
}
