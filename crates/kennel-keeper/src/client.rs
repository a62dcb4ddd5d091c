//! Clients of a keeper and of the yard.

use std::io;
use std::marker::PhantomData;
use std::path::Path;

use kennel_pen::wire::{Channel, Delivery, MalformedMessage, Received, WireMessage};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use crate::protocol::{KeeperReport, KeeperRequest, LONGEST, YardReport, YardRequest};

/// The name of a keeper's socket in its session's folder.
pub const KEEPER_SOCKET: &str = "keeper.sock";
/// The name of the yard's socket in the home.
pub const YARD_SOCKET: &str = "yard.sock";

/// The maximum number of clients that wait to be accepted. Many may start at once.
const BACKLOG: i32 = 1024;

/// Why a message was not sent or received.
#[derive(Debug, thiserror::Error)]
pub enum KeeperClientError {
    #[error("the connection is closed")]
    Closed,
    #[error("the peer does not read")]
    Full,
    /// The peer sent a malformed message.
    #[error(transparent)]
    Malformed(#[from] MalformedMessage),
    /// A call failed.
    #[error(transparent)]
    Call(#[from] io::Error),
}

/// A connection that sends requests and receives reports. It never blocks, and is readable when a
/// report has arrived.
#[derive(Debug)]
pub struct SocketClient<Request, Report> {
    channel: Channel,
    messages: PhantomData<fn(Request) -> Report>,
}

/// A connection to a keeper.
pub type KeeperClient = SocketClient<KeeperRequest, KeeperReport>;
/// A connection to the yard.
pub type YardClient = SocketClient<YardRequest, YardReport>;

impl KeeperClient {
    /// Connects to the keeper of the session with this folder. [`io::ErrorKind::ConnectionRefused`]
    /// and [`io::ErrorKind::NotFound`] mean that no keeper listens.
    pub fn connect(folder: &Path) -> io::Result<Self> {
        connect(folder, KEEPER_SOCKET).map(Self::over)
    }
}

impl YardClient {
    pub fn connect(home: &Path) -> io::Result<Self> {
        connect(home, YARD_SOCKET).map(Self::over)
    }
}

impl<Request: WireMessage, Report: WireMessage> SocketClient<Request, Report> {
    /// Uses an existing socket.
    pub fn over(socket: OwnedFd) -> Self {
        Self { channel: Channel::new(socket, LONGEST), messages: PhantomData }
    }

    /// Sends a request, without waiting.
    pub fn send(&self, request: &Request) -> Result<(), KeeperClientError> {
        self.send_with(request, &[])
    }

    /// Sends a request with descriptors, without waiting.
    pub fn send_with(
        &self,
        request: &Request,
        descriptors: &[BorrowedFd<'_>],
    ) -> Result<(), KeeperClientError> {
        match self.channel.send(&request.encode(), descriptors)? {
            Delivery::Sent => Ok(()),
            Delivery::Full => Err(KeeperClientError::Full),
            Delivery::Closed => Err(KeeperClientError::Closed),
        }
    }

    /// Receives the next report and its descriptors, if one has arrived.
    pub fn receive(&self) -> Result<Option<(Report, Vec<OwnedFd>)>, KeeperClientError> {
        match self.channel.receive()? {
            Received::Message(bytes, descriptors) => {
                Ok(Some((Report::decode(&bytes)?, descriptors)))
            }
            Received::Nothing => Ok(None),
            Received::End => Err(KeeperClientError::Closed),
        }
    }

    /// Returns whether the peer has not closed the connection.
    pub fn is_connected(&self) -> bool {
        let gone = PollFlags::HUP | PollFlags::RDHUP;
        let mut fds = [PollFd::new(&self.channel, gone)];
        rustix::event::poll(&mut fds, Some(&Timespec::default())).is_ok()
            && !fds[0].revents().intersects(gone)
    }
}

impl<Request, Report> AsFd for SocketClient<Request, Report> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }
}

impl<Request, Report> AsRawFd for SocketClient<Request, Report> {
    fn as_raw_fd(&self) -> i32 {
        self.channel.as_raw_fd()
    }
}

fn connect(folder: &Path, name: &str) -> io::Result<OwnedFd> {
    let (socket, address, _folder) = open_socket(folder, name)?;
    rustix::net::connect(&socket, &address)?;
    Ok(socket)
}

/// Listens at a socket of this name in a folder.
pub(crate) fn listen(folder: &Path, name: &str) -> io::Result<OwnedFd> {
    let (socket, address, _folder) = open_socket(folder, name)?;
    rustix::net::bind(&socket, &address)?;
    rustix::net::listen(&socket, BACKLOG)?;
    Ok(socket)
}

/// Opens a socket, and returns the address of this name in a folder. Since a path may be too long
/// for an address, it uses a descriptor of the folder, which must stay open meanwhile.
fn open_socket(folder: &Path, name: &str) -> io::Result<(OwnedFd, SocketAddrUnix, OwnedFd)> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::open(folder, flags, Mode::empty())?;
    let address = SocketAddrUnix::new(format!("/proc/self/fd/{}/{name}", folder.as_raw_fd()))?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    Ok((socket, address, folder))
}
