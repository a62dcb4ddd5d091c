//! A socket between two processes of Kennel: whole messages, with descriptors where needed.

use std::cell::RefCell;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;

use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};

/// The most descriptors that one message carries.
const DESCRIPTORS: usize = 8;

thread_local! {
    /// Where messages arrive: made once, and not cleared for each.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// One end of the socket; never blocks.
#[derive(Debug)]
pub struct Channel {
    socket: OwnedFd,
    /// The longest message that may come.
    longest: usize,
}

/// What came.
#[derive(Debug)]
#[must_use]
pub enum Received {
    /// A message.
    Message(Vec<u8>, Vec<OwnedFd>),
    /// Nothing, so far.
    Nothing,
    /// The other side is gone.
    End,
}

/// What became of a message.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub enum Delivery {
    /// It is on its way.
    Sent,
    /// The other side does not read; try later.
    Full,
    /// The other side is gone.
    Closed,
}

impl Channel {
    /// A pair of sockets that never block.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        Ok(rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?)
    }

    /// Around a socket that does not block, for messages up to this length.
    #[must_use]
    pub fn new(socket: OwnedFd, longest: usize) -> Self {
        Self { socket, longest }
    }

    /// The socket itself.
    #[must_use]
    pub fn into_socket(self) -> OwnedFd {
        self.socket
    }

    /// Sends a message, without waiting.
    ///
    /// # Errors
    /// It can't be sent at all: it is too long.
    pub fn send(&self, message: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<Delivery> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(descriptors))
        {
            return Err(io::Error::other("too many descriptors for one message"));
        }
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        match rustix::net::sendmsg(&self.socket, &[IoSlice::new(message)], &mut ancillary, flags) {
            Ok(_) => Ok(Delivery::Sent),
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::NOBUFS) => Ok(Delivery::Full),
            Err(rustix::io::Errno::PIPE | rustix::io::Errno::CONNRESET) => Ok(Delivery::Closed),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes the next message, without waiting.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn receive(&self) -> io::Result<Received> {
        BUFFER.with_borrow_mut(|buffer| {
            if buffer.len() < self.longest {
                buffer.resize(self.longest, 0);
            }
            self.receive_into(&mut buffer[..self.longest])
        })
    }

    fn receive_into(&self, buffer: &mut [u8]) -> io::Result<Received> {
        loop {
            match self.receive_once(buffer) {
                // The other side went without having read all that we said. The kernel says so once, before what it
                // said itself, which is still to be heard.
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {}
                received => return received,
            }
        }
    }

    fn receive_once(&self, buffer: &mut [u8]) -> io::Result<Received> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
        let parts = &mut [IoSliceMut::new(buffer)];
        let length = match rustix::net::recvmsg(&self.socket, parts, &mut ancillary, flags) {
            Ok(message) => message.bytes,
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {
                return Ok(Received::Nothing);
            }
            Err(error) => return Err(error.into()),
        };
        let descriptors = ancillary
            .drain()
            .filter_map(|message| match message {
                RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
                _ => None,
            })
            .flatten()
            .collect();
        // No message of ours is empty, so this is the end of the stream.
        if length == 0 {
            return Ok(Received::End);
        }
        Ok(Received::Message(buffer[..length].to_vec(), descriptors))
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl AsRawFd for Channel {
    fn as_raw_fd(&self) -> i32 {
        self.socket.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

    use super::*;

    fn pair() -> (Channel, Channel) {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (one, other) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap();
        (Channel::new(one, 64), Channel::new(other, 64))
    }

    #[test]
    fn the_last_words_of_one_who_did_not_listen_are_heard() {
        let (one, other) = pair();
        for word in [b"a", b"b"] {
            assert!(matches!(other.send(word, &[]).unwrap(), Delivery::Sent));
        }
        assert!(matches!(one.send(b"not read", &[]).unwrap(), Delivery::Sent));
        drop(other);
        for word in [b"a", b"b"] {
            let heard = one.receive().unwrap();
            assert!(matches!(&heard, Received::Message(bytes, _) if bytes == word), "{heard:?}");
        }
        assert!(matches!(one.receive().unwrap(), Received::End));
        assert!(matches!(one.receive().unwrap(), Received::End));
    }
}
