//! The daemon's connection to a keeper, watched by a task of its own.
//!
//! The task carries requests to the keeper in order and reports to the owner of the state, and ends when
//! either side lets go.

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
    /// Our yard forked it for us: it is its child, and of the same program.
    Ours,
    /// It was there before us: it may be a former yard's child, or of an older program.
    Found,
}

/// The owner's end of a link. Dropping it closes the connection.
#[derive(Debug)]
pub(crate) struct KeeperLink {
    /// Which link of the daemon's life this is, so that a late word of a former one is known as such.
    pub(crate) number: u64,
    pub(crate) descent: Descent,
    words: mpsc::UnboundedSender<Say>,
    /// For those who must see whether the keeper is still at the other end.
    pub(crate) socket: Arc<KeeperSocket>,
}

/// What a link's task is told.
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

    /// From now on this is the link to the keeper of another session, by another number.
    ///
    /// If the keeper has gone it is not, and never will be: the end of the link is or was told by its former number.
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
    /// Its owner has let go.
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
            // Whose keeper it was meant to be last is who must hear of it.
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
        // A keeper that went with words of ours unread makes the kernel say so once, before it hands out the
        // keeper's own last words: so the end is believed when it is told twice.
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

    /// Sends as much as the socket takes.
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
