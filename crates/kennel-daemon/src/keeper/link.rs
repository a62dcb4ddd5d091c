//! The daemon's connection to a keeper, watched by a task of its own.
//!
//! The task sends requests to the keeper in order, passes reports on to the owner, and ends when either side closes
//! the connection.

use std::collections::VecDeque;
use std::sync::Arc;

use kennel_keeper::protocol::{KeeperReport, KeeperRequest};
use kennel_keeper::{KeeperClient, KeeperClientError};
use kennel_types::SessionId;
use rustix::fd::{AsFd, OwnedFd};
use tokio::io::unix::AsyncFd;
use tokio::sync::mpsc;

use crate::event_sender::EventSender;

/// A connection to a keeper.
pub(crate) type KeeperSocket = AsyncFd<KeeperClient>;

/// What a link reports to the owner.
#[derive(Debug)]
pub(crate) enum KeeperEvent {
    /// The keeper sent a report.
    Report { session: SessionId, link: u64, report: KeeperReport, descriptors: Vec<OwnedFd> },
    /// The connection has ended.
    Closed { session: SessionId, link: u64 },
}

/// Where a keeper comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Descent {
    /// This daemon's yard forked it: it is the yard's child and runs the same program.
    Ours,
    /// It existed before this daemon: it may be a former yard's child, or run an older program.
    Found,
}

/// The owner's end of a link. Dropping it closes the connection.
#[derive(Debug)]
pub(crate) struct KeeperLink {
    /// Numbers the links of a daemon, so that late reports over a former link can be ignored.
    pub(crate) number: u64,
    pub(crate) descent: Descent,
    words: mpsc::UnboundedSender<Say>,
    /// For tasks that check whether the keeper is still at the other end.
    pub(crate) socket: Arc<KeeperSocket>,
}

/// A command to a link's task.
#[derive(Debug)]
enum Say {
    /// This goes to the keeper.
    Request(KeeperRequest, Vec<OwnedFd>),
    /// What the keeper says from now on is about another session.
    IsNow(SessionId, u64),
}

impl KeeperLink {
    /// Starts a task that watches the connection and sends its reports to the owner.
    pub(crate) fn attend(
        session: SessionId,
        number: u64,
        descent: Descent,
        socket: KeeperSocket,
        owner: EventSender<KeeperEvent>,
    ) -> Self {
        let socket = Arc::new(socket);
        let (words, queue) = mpsc::unbounded_channel();
        let task = Attendant { session, number, socket: socket.clone(), queue, owner };
        tokio::spawn(task.run());
        Self { number, descent, words, socket }
    }

    /// Sends a request. If the keeper is gone, that is reported as the end of the link.
    pub(crate) fn send(&self, request: KeeperRequest) {
        self.send_with(request, Vec::new());
    }

    /// Sends a request with descriptors.
    pub(crate) fn send_with(&self, request: KeeperRequest, descriptors: Vec<OwnedFd>) {
        // A task that has ended has said so.
        self.words.send(Say::Request(request, descriptors)).ok();
    }

    /// Makes this the link to the keeper of another session, with another number.
    ///
    /// Returns false if the keeper has gone: the end of the link is reported with its former number.
    pub(crate) fn is_now(&mut self, session: SessionId, number: u64) -> bool {
        self.number = number;
        self.words.send(Say::IsNow(session, number)).is_ok()
    }
}

struct Attendant {
    session: SessionId,
    number: u64,
    socket: Arc<KeeperSocket>,
    queue: mpsc::UnboundedReceiver<Say>,
    owner: EventSender<KeeperEvent>,
}

/// Why a link has ended.
enum Over {
    /// The owner has dropped it.
    LetGo,
    /// Nothing can be said or heard any more.
    Closed(KeeperClientError),
}

impl Attendant {
    async fn run(mut self) {
        if let Over::Closed(why) = self.carry().await {
            if !matches!(why, KeeperClientError::Closed) {
                tracing::warn!(session = %self.session, %why, "the link to a keeper broke");
            }
            // The owner is told with the session that the keeper was meant for last.
            self.queue.close();
            while let Ok(said) = self.queue.try_recv() {
                if let Say::IsNow(session, number) = said {
                    (self.session, self.number) = (session, number);
                }
            }
            let closed = KeeperEvent::Closed { session: self.session, link: self.number };
            self.owner.send(closed).ok();
        }
    }

    async fn carry(&mut self) -> Over {
        let mut waiting = VecDeque::new();
        loop {
            tokio::select! {
                ready = self.socket.readable() => {
                    let taken = match ready {
                        Ok(mut guard) => self.take_reports().map(|()| guard.clear_ready()),
                        Err(error) => Err(error.into()),
                    };
                    if let Err(why) = taken {
                        return Over::Closed(why);
                    }
                }
                said = self.queue.recv() => match said {
                    None => return Over::LetGo,
                    Some(Say::IsNow(session, number)) => {
                        (self.session, self.number) = (session, number);
                    }
                    Some(Say::Request(request, descriptors)) => {
                        waiting.push_back((request, descriptors));
                        if let Err(why) = self.send_waiting(&mut waiting) {
                            return Over::Closed(why);
                        }
                    }
                },
                ready = self.socket.writable(), if !waiting.is_empty() => {
                    let sent = match ready {
                        Ok(mut guard) => {
                            guard.clear_ready();
                            self.send_waiting(&mut waiting)
                        }
                        Err(error) => Err(error.into()),
                    };
                    if let Err(why) = sent {
                        return Over::Closed(why);
                    }
                }
            }
        }
    }

    /// Takes all that is there.
    fn take_reports(&self) -> Result<(), KeeperClientError> {
        let client = self.socket.get_ref();
        // If a keeper exits with unread requests, the kernel reports the end of the connection once before it delivers the
        // keeper's last reports: so the end counts only when it is reported twice.
        let next = || match client.receive() {
            Err(KeeperClientError::Closed) => client.receive(),
            received => received,
        };
        while let Some((report, descriptors)) = next()? {
            let session = self.session.clone();
            let event = KeeperEvent::Report { session, link: self.number, report, descriptors };
            self.owner.send(event).ok();
        }
        Ok(())
    }

    /// Sends as much as the socket accepts.
    fn send_waiting(
        &self,
        waiting: &mut VecDeque<(KeeperRequest, Vec<OwnedFd>)>,
    ) -> Result<(), KeeperClientError> {
        while let Some((request, descriptors)) = waiting.front() {
            let descriptors: Vec<_> = descriptors.iter().map(AsFd::as_fd).collect();
            match self.socket.get_ref().send_with(request, &descriptors) {
                Ok(()) => {
                    waiting.pop_front();
                }
                Err(KeeperClientError::Full) => return Ok(()),
                // What it said before it went is still to be heard: its end is seen by reading.
                Err(KeeperClientError::Closed) => {
                    waiting.clear();
                    return Ok(());
                }
                Err(why) => return Err(why),
            }
        }
        Ok(())
    }
}
