//! A socket between two of Kennel's processes for messages and descriptors.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;

use rustix::event::PollFlags;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};

/// The most descriptors that one message carries.
const DESCRIPTORS: usize = 8;

thread_local! {
    /// The buffer for received messages: allocated once for each thread.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// One end of the socket. It never blocks.
#[derive(Debug)]
pub struct Channel {
    socket: OwnedFd,
    /// The longest message that the peer may send.
    longest: usize,
}

/// The result of a receive.
#[derive(Debug)]
#[must_use]
pub enum Received {
    /// A message.
    Message(Vec<u8>, Vec<OwnedFd>),
    /// No message has arrived yet.
    Nothing,
    /// The peer has closed its end.
    End,
}

/// The result of a send.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub enum Delivery {
    /// The kernel has the message.
    Sent,
    /// The peer does not read: try again later.
    Full,
    /// The peer has closed its end.
    Closed,
}

impl Channel {
    /// Creates a pair of connected sockets that never block.
    pub fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        Ok(rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?)
    }

    /// Wraps a non-blocking socket, for messages up to this length.
    pub fn new(socket: OwnedFd, longest: usize) -> Self {
        Self { socket, longest }
    }

    /// Returns the socket itself.
    #[must_use]
    pub fn into_socket(self) -> OwnedFd {
        self.socket
    }

    /// Sends a message, without waiting.
    ///
    /// # Errors
    /// The message is too long to be sent at all.
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

    /// Receives the next message, without waiting.
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
                // The peer closed its end before it had read everything. The kernel reports that
                // once, ahead of the peer's own messages, which can still be received.
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
        // No message is empty, so this is the end of the stream.
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

/// A channel with a queue for messages that the peer is too slow to read.
#[derive(Debug)]
pub struct QueuedChannel {
    channel: Channel,
    queue: VecDeque<Vec<u8>>,
}

impl QueuedChannel {
    /// Wraps a channel, with an empty queue.
    pub fn new(channel: Channel) -> Self {
        Self { channel, queue: VecDeque::new() }
    }

    /// Returns the channel itself.
    pub fn channel(&self) -> &Channel {
        &self.channel
    }

    /// Returns the socket, without what is queued.
    #[must_use]
    pub fn into_socket(self) -> OwnedFd {
        self.channel.into_socket()
    }

    /// Returns how many messages are queued.
    pub fn queued(&self) -> usize {
        self.queue.len()
    }

    /// Sends a message, or queues it behind the others. A descriptor is sent only if the message
    /// can be sent at once, and such a message overtakes queued ones. A message that is too long,
    /// or whose peer has closed its end, is dropped: the peer's own messages can still be received.
    pub fn send(&mut self, message: Vec<u8>, descriptor: Option<BorrowedFd<'_>>) {
        if self.queue.is_empty() || descriptor.is_some() {
            match self.channel.send(&message, descriptor.as_slice()) {
                Ok(Delivery::Full) => {}
                Ok(Delivery::Sent | Delivery::Closed) | Err(_) => return,
            }
        }
        self.queue.push_back(message);
    }

    /// Sends queued messages until the peer does not read.
    pub fn flush(&mut self) {
        while let Some(message) = self.queue.front() {
            match self.channel.send(message, &[]) {
                Ok(Delivery::Full) => return,
                Ok(Delivery::Sent | Delivery::Closed) | Err(_) => drop(self.queue.pop_front()),
            }
        }
    }

    /// Returns what to poll for: messages of the peer, and room for queued ones.
    pub fn poll_flags(&self) -> PollFlags {
        if self.queue.is_empty() { PollFlags::IN } else { PollFlags::IN | PollFlags::OUT }
    }
}

impl AsFd for QueuedChannel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
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
    fn messages_of_a_peer_that_closed_without_reading_are_received() {
        let (one, other) = pair();
        for message in [b"a", b"b"] {
            assert!(matches!(other.send(message, &[]).unwrap(), Delivery::Sent));
        }
        assert!(matches!(one.send(b"not read", &[]).unwrap(), Delivery::Sent));
        drop(other);
        for message in [b"a", b"b"] {
            let received = one.receive().unwrap();
            assert!(
                matches!(&received, Received::Message(bytes, _) if bytes == message),
                "{received:?}"
            );
        }
        assert!(matches!(one.receive().unwrap(), Received::End));
        assert!(matches!(one.receive().unwrap(), Received::End));
    }
}
