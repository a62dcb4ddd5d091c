//! The other side of a keeper's or a yard's socket.

use std::io;
use std::path::Path;

use kennel_pen::wire::{Channel, Delivery, MalformedMessage, Received, WireMessage};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use crate::protocol::{KeeperReport, KeeperRequest, LONGEST, YardReport, YardRequest};

/// A keeper's socket in its session's folder.
pub const KEEPER_SOCKET: &str = "keeper.sock";
/// The yard's socket in the home.
pub const YARD_SOCKET: &str = "yard.sock";

/// How many may be waiting to be let in: one who finds no place is refused, and many start at once.
pub(crate) const BACKLOG: i32 = 1024;

/// Why nothing can be heard.
#[derive(Debug, thiserror::Error)]
pub enum KeeperClientError {
    /// The other side is gone.
    #[error("the other side is gone")]
    Closed,
    /// The other side does not read.
    #[error("the other side does not read")]
    Full,
    /// It said something that makes no sense.
    #[error(transparent)]
    Malformed(#[from] MalformedMessage),
    /// A call failed.
    #[error(transparent)]
    Call(#[from] io::Error),
}

/// A connection to a keeper; never blocks. Readable when a report is there.
#[derive(Debug)]
pub struct KeeperClient(Channel);

impl KeeperClient {
    /// Connects to the keeper of the session with this folder. [`io::ErrorKind::ConnectionRefused`] and
    /// [`io::ErrorKind::NotFound`] mean that none listens.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn connect(folder: &Path) -> io::Result<Self> {
        connect(folder, KEEPER_SOCKET).map(Self::over)
    }

    /// Over a socket that exists.
    #[must_use]
    pub fn over(socket: OwnedFd) -> Self {
        Self(Channel::new(socket, LONGEST))
    }

    /// Sends a request, without waiting.
    ///
    /// # Errors
    /// See [`KeeperClientError`].
    pub fn send(&self, request: &KeeperRequest) -> Result<(), KeeperClientError> {
        delivered(self.0.send(&request.encode(), &[])?)
    }

    /// Sends a request with descriptors, without waiting.
    ///
    /// # Errors
    /// See [`KeeperClientError`].
    pub fn send_with(
        &self,
        request: &KeeperRequest,
        descriptors: &[BorrowedFd<'_>],
    ) -> Result<(), KeeperClientError> {
        delivered(self.0.send(&request.encode(), descriptors)?)
    }

    /// Whether somebody is at the other end.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        let gone = PollFlags::HUP | PollFlags::RDHUP;
        let mut fds = [PollFd::new(&self.0, gone)];
        // Without an answer it is as good as gone.
        rustix::event::poll(&mut fds, Some(&Timespec::default())).is_ok()
            && !fds[0].revents().intersects(gone)
    }

    /// The next report, if one is there, with the descriptors that came along.
    ///
    /// # Errors
    /// See [`KeeperClientError`].
    pub fn receive(&self) -> Result<Option<(KeeperReport, Vec<OwnedFd>)>, KeeperClientError> {
        let Some((bytes, descriptors)) = received(self.0.receive()?)? else { return Ok(None) };
        Ok(Some((KeeperReport::decode(&bytes)?, descriptors)))
    }
}

impl AsFd for KeeperClient {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsRawFd for KeeperClient {
    fn as_raw_fd(&self) -> i32 {
        self.0.as_fd().as_raw_fd()
    }
}

/// A connection to the yard; never blocks.
#[derive(Debug)]
pub struct YardClient(Channel);

impl YardClient {
    /// Connects to the yard of this home.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn connect(home: &Path) -> io::Result<Self> {
        connect(home, YARD_SOCKET).map(Self::over)
    }

    /// Over a socket that exists.
    #[must_use]
    pub fn over(socket: OwnedFd) -> Self {
        Self(Channel::new(socket, LONGEST))
    }

    /// Sends a request, without waiting.
    ///
    /// # Errors
    /// See [`KeeperClientError`].
    pub fn send(
        &self,
        request: &YardRequest,
        descriptors: &[BorrowedFd<'_>],
    ) -> Result<(), KeeperClientError> {
        delivered(self.0.send(&request.encode(), descriptors)?)
    }

    /// The next report, if one is there.
    ///
    /// # Errors
    /// See [`KeeperClientError`].
    pub fn receive(&self) -> Result<Option<YardReport>, KeeperClientError> {
        Ok(self.receive_with_descriptors()?.map(|(report, _)| report))
    }

    /// The same, with the descriptors that came along.
    ///
    /// # Errors
    /// See [`KeeperClientError`].
    pub fn receive_with_descriptors(
        &self,
    ) -> Result<Option<(YardReport, Vec<OwnedFd>)>, KeeperClientError> {
        let Some((bytes, descriptors)) = received(self.0.receive()?)? else { return Ok(None) };
        Ok(Some((YardReport::decode(&bytes)?, descriptors)))
    }
}

impl AsFd for YardClient {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsRawFd for YardClient {
    fn as_raw_fd(&self) -> i32 {
        self.0.as_fd().as_raw_fd()
    }
}

fn delivered(delivery: Delivery) -> Result<(), KeeperClientError> {
    match delivery {
        Delivery::Sent => Ok(()),
        Delivery::Full => Err(KeeperClientError::Full),
        Delivery::Closed => Err(KeeperClientError::Closed),
    }
}

type WireMessageParts = (Vec<u8>, Vec<OwnedFd>);

fn received(received: Received) -> Result<Option<WireMessageParts>, KeeperClientError> {
    match received {
        Received::Message(bytes, descriptors) => Ok(Some((bytes, descriptors))),
        Received::Nothing => Ok(None),
        Received::End => Err(KeeperClientError::Closed),
    }
}

/// The address of a socket in a folder, however long the folder's path is: through a descriptor of it.
pub(crate) fn address(folder: &OwnedFd, name: &str) -> io::Result<SocketAddrUnix> {
    Ok(SocketAddrUnix::new(format!("/proc/self/fd/{}/{name}", folder.as_raw_fd()))?)
}

pub(crate) fn open_folder(folder: &Path) -> io::Result<OwnedFd> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(folder, flags, Mode::empty())?)
}

fn connect(folder: &Path, name: &str) -> io::Result<OwnedFd> {
    let folder = open_folder(folder)?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    rustix::net::connect(&socket, &address(&folder, name)?)?;
    Ok(socket)
}
