//! The daemon's connection to a keeper, watched by a task of its own.
//!
//! The task sends requests to the keeper in order, passes reports on to the owner, and ends when
//! either side closes the connection.

use std::collections::VecDeque;
use std::sync::Arc;

use kennel_keeper::protocol::{KeeperReport, KeeperRequest};
use kennel_keeper::{KeeperClient, KeeperClientError};
use kennel_types::SessionId;
use rustix::fd::{AsFd, OwnedFd};
use tokio::io::unix::AsyncFd;
use tokio::sync::mpsc;

use crate::event_sender::EventSender;

pub(crate) type KeeperSocket = AsyncFd<KeeperClient>;

#[derive(Debug)]
pub(crate) enum KeeperEvent {
    Report { session: SessionId, link: u64, report: KeeperReport, descriptors: Vec<OwnedFd> },
    Closed { session: SessionId, link: u64 },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeeperOrigin {
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
    pub(crate) origin: KeeperOrigin,
    commands: mpsc::UnboundedSender<LinkCommand>,
    /// For tasks that check whether the keeper is still at the other end.
    pub(crate) socket: Arc<KeeperSocket>,
}

#[derive(Debug)]
enum LinkCommand {
    Send(KeeperRequest, Vec<OwnedFd>),
    /// From now on the keeper's reports are about another session.
    Reassign(SessionId, u64),
}

impl KeeperLink {
    /// Starts a task that watches the connection and sends the keeper's reports to the owner.
    pub(crate) fn spawn(
        session: SessionId,
        number: u64,
        origin: KeeperOrigin,
        socket: KeeperSocket,
        owner: EventSender<KeeperEvent>,
    ) -> Self {
        let socket = Arc::new(socket);
        let (commands, queue) = mpsc::unbounded_channel();
        let task = LinkTask { session, number, socket: socket.clone(), queue, owner };
        tokio::spawn(task.run());
        Self { number, origin, commands, socket }
    }

    /// Sends a request. If the keeper is gone, that is reported as the end of the link.
    pub(crate) fn send(&self, request: KeeperRequest) {
        self.send_with(request, Vec::new());
    }

    pub(crate) fn send_with(&self, request: KeeperRequest, descriptors: Vec<OwnedFd>) {
        // A task that has ended has reported it.
        self.commands.send(LinkCommand::Send(request, descriptors)).ok();
    }

    /// Makes this the link to the keeper of another session, with another number.
    ///
    /// Returns false if the keeper has gone: the end of the link is reported with its former
    /// number.
    pub(crate) fn reassign(&mut self, session: SessionId, number: u64) -> bool {
        self.number = number;
        self.commands.send(LinkCommand::Reassign(session, number)).is_ok()
    }
}

struct LinkTask {
    session: SessionId,
    number: u64,
    socket: Arc<KeeperSocket>,
    queue: mpsc::UnboundedReceiver<LinkCommand>,
    owner: EventSender<KeeperEvent>,
}

impl LinkTask {
    async fn run(mut self) {
        let Err(why) = self.relay().await else { return };
        if !matches!(why, KeeperClientError::Closed) {
            tracing::warn!(session = %self.session, %why, "the link to a keeper broke");
        }
        // The end is reported for the session that the keeper was assigned to last.
        self.queue.close();
        while let Ok(command) = self.queue.try_recv() {
            if let LinkCommand::Reassign(session, number) = command {
                (self.session, self.number) = (session, number);
            }
        }
        let closed = KeeperEvent::Closed { session: self.session, link: self.number };
        self.owner.send(closed);
    }

    /// Returns when the owner has dropped the link; fails when the connection has ended.
    async fn relay(&mut self) -> Result<(), KeeperClientError> {
        let mut waiting = VecDeque::new();
        loop {
            tokio::select! {
                ready = self.socket.readable() => {
                    ready?.clear_ready();
                    self.take_reports()?;
                }
                command = self.queue.recv() => match command {
                    None => return Ok(()),
                    Some(LinkCommand::Reassign(session, number)) => {
                        (self.session, self.number) = (session, number);
                    }
                    Some(LinkCommand::Send(request, descriptors)) => {
                        waiting.push_back((request, descriptors));
                        self.send_waiting(&mut waiting)?;
                    }
                },
                ready = self.socket.writable(), if !waiting.is_empty() => {
                    ready?.clear_ready();
                    self.send_waiting(&mut waiting)?;
                }
            }
        }
    }

    /// Passes on all reports that have arrived.
    fn take_reports(&self) -> Result<(), KeeperClientError> {
        let client = self.socket.get_ref();
        // If a keeper exits with unread requests, the kernel reports the end of the connection once
        // before it delivers the keeper's last reports: so the end counts only when it is reported
        // twice.
        let next = || match client.receive() {
            Err(KeeperClientError::Closed) => client.receive(),
            received => received,
        };
        while let Some((report, descriptors)) = next()? {
            let session = self.session.clone();
            let event = KeeperEvent::Report { session, link: self.number, report, descriptors };
            self.owner.send(event);
        }
        Ok(())
    }

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
                // Its last reports are still to be read; reading shows its end, too.
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
