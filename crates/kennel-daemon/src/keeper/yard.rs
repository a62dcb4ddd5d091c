//! The daemon's connection to its yard, watched by a task of its own.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::{self, Read, Seek};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kennel_keeper::protocol::{LaunchOrder, YardReport, YardRequest};
use kennel_keeper::{KeeperClientError, YardClient};
use kennel_pen::wire::WireMessage;
use kennel_sys::identity::ProcessIdentity;
use kennel_sys::pidfd;
use kennel_types::SessionId;
use rustix::fd::{AsFd, OwnedFd};
use tokio::io::unix::AsyncFd;
use tokio::sync::mpsc::{self, error::SendError};
use tokio::task::JoinHandle;

use crate::event_sender::EventSender;
use crate::os::async_fd;

#[derive(Debug)]
pub(crate) struct YardOrder {
    pub(crate) request: YardRequest,
    pub(crate) descriptors: Vec<OwnedFd>,
}

impl From<YardRequest> for YardOrder {
    fn from(request: YardRequest) -> Self {
        Self { request, descriptors: Vec::new() }
    }
}

#[derive(Debug)]
pub(crate) enum YardEvent {
    Report(YardReport),
    Gone,
}

#[derive(Debug)]
pub(crate) struct YardKeepers {
    pub(crate) children: Vec<i32>,
    /// The keepers that the daemon knows, with their sessions.
    pub(crate) known: HashMap<i32, SessionId>,
}

#[derive(Debug, Clone)]
pub(crate) struct YardSender {
    orders: mpsc::UnboundedSender<YardOrder>,
    socket: Arc<AsyncFd<YardClient>>,
    unsent: Arc<AtomicUsize>,
}

impl YardSender {
    /// Sends an order after all earlier ones.
    pub(crate) fn send(&self, order: YardOrder) -> Result<(), SendError<YardOrder>> {
        self.unsent.fetch_add(1, Ordering::AcqRel);
        self.orders.send(order)
    }

    /// Sends an order at once, unless others wait: then the yard receives it even if the daemon is
    /// killed right after.
    pub(crate) fn send_now(&self, order: YardOrder) {
        let descriptors = order.descriptors.iter().map(AsFd::as_fd).collect::<Vec<_>>();
        let is_next = self.unsent.load(Ordering::Acquire) == 0;
        if !is_next || self.socket.get_ref().send_with(&order.request, &descriptors).is_err() {
            // The socket is full; any other error will occur again and be reported then.
            self.send(order).ok();
        }
    }
}

#[derive(Debug)]
pub(crate) struct YardLink {
    pub(crate) identity: ProcessIdentity,
    /// The launches that a former daemon stored with the yard.
    kept: Vec<(String, LaunchOrder)>,
    sender: YardSender,
    task: JoinHandle<()>,
}

impl YardLink {
    /// Asks the yard for its pid and for what it stores, and watches the connection from then on.
    pub(crate) async fn open(
        socket: OwnedFd,
        timeout: Duration,
        owner: EventSender<YardEvent>,
    ) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&socket, true)?;
        let socket = async_fd::watch(YardClient::over(socket))?;
        socket.get_ref().send(&YardRequest::Status).map_err(io::Error::other)?;
        let mut early = Vec::new();
        let pid = tokio::time::timeout(timeout, receive_pid(&socket, &mut early)).await??;
        let kept = receive_kept(&socket, &mut early, timeout).await?;
        // The yard is the parent of the daemon or of a test: it exists as long as it has the
        // socket.
        let handle = pidfd::open(pid)?.ok_or_else(|| io::Error::other("the yard is gone"))?;
        let identity = ProcessIdentity::new(handle.as_fd(), pid)?;
        for report in early {
            owner.send(YardEvent::Report(report));
        }
        let (orders, queue) = mpsc::unbounded_channel();
        let (socket, unsent) = (Arc::new(socket), Arc::<AtomicUsize>::default());
        let task = tokio::spawn(run_link(socket.clone(), queue, unsent.clone(), owner));
        let sender = YardSender { orders, socket, unsent };
        Ok(Self { identity, kept, sender, task })
    }

    /// Returns the launches that a former daemon stored with the yard, once.
    pub(crate) fn take_kept(&mut self) -> Vec<(String, LaunchOrder)> {
        std::mem::take(&mut self.kept)
    }

    pub(crate) fn sender(&self) -> YardSender {
        self.sender.clone()
    }

    /// Closes the connection once everything was sent.
    pub(crate) async fn close(self, timeout: Duration) {
        drop(self.sender);
        if tokio::time::timeout(timeout, self.task).await.is_err() {
            tracing::warn!("the yard does not read its socket any more");
        }
    }
}

async fn receive_pid(socket: &AsyncFd<YardClient>, early: &mut Vec<YardReport>) -> io::Result<i32> {
    loop {
        match socket.get_ref().receive().map_err(io::Error::other)? {
            Some((YardReport::Status { pid, .. }, _)) => return Ok(pid),
            Some((other, _)) => early.push(other),
            None => socket.readable().await?.clear_ready(),
        }
    }
}

async fn receive_kept(
    socket: &AsyncFd<YardClient>,
    early: &mut Vec<YardReport>,
    timeout: Duration,
) -> io::Result<Vec<(String, LaunchOrder)>> {
    let ask = |after: &str| {
        let request = YardRequest::Kept { after: after.to_owned() };
        socket.get_ref().send(&request).map_err(io::Error::other)
    };
    ask("")?;
    let (mut kept, mut last) = (Vec::new(), None);
    let all = async {
        loop {
            match socket.get_ref().receive().map_err(io::Error::other)? {
                Some((YardReport::Kept { name }, files)) => {
                    last = Some(name.clone());
                    kept.extend(read_kept(files).map(|order| (name, order)));
                }
                Some((YardReport::KeptAll, _)) => match last.take() {
                    Some(last) => ask(&last)?,
                    None => return Ok(()),
                },
                Some((other, _)) => early.push(other),
                None => socket.readable().await?.clear_ready(),
            }
        }
    };
    let Ok(received) = tokio::time::timeout(timeout, all).await else {
        tracing::warn!("the yard does not list what it stores");
        return Ok(Vec::new());
    };
    received.map(|()| kept)
}

/// Reads a stored order. The descriptor shares its position with the former daemon's, so it is read
/// from the start.
fn read_kept(files: Vec<OwnedFd>) -> Option<LaunchOrder> {
    let mut file = File::from(files.into_iter().next()?);
    let mut bytes = Vec::new();
    let read = file.rewind().and_then(|()| file.read_to_end(&mut bytes));
    let order = read.and_then(|_| LaunchOrder::decode(&bytes).map_err(io::Error::other));
    order
        .inspect_err(|error| tracing::warn!(%error, "can't read a launch that the yard stores"))
        .ok()
}

/// Reports the end of the connection, unless it ends because all senders were dropped.
async fn run_link(
    socket: Arc<AsyncFd<YardClient>>,
    queue: mpsc::UnboundedReceiver<YardOrder>,
    unsent: Arc<AtomicUsize>,
    owner: EventSender<YardEvent>,
) {
    if let Err(why) = relay(&socket, queue, &unsent, &owner).await {
        tracing::error!(%why, "the yard is gone");
        owner.send(YardEvent::Gone);
    }
}

/// Passes orders and reports on until all senders are dropped; fails when the yard is gone.
async fn relay(
    socket: &AsyncFd<YardClient>,
    mut queue: mpsc::UnboundedReceiver<YardOrder>,
    unsent: &AtomicUsize,
    owner: &EventSender<YardEvent>,
) -> Result<(), KeeperClientError> {
    let mut waiting = VecDeque::new();
    let mut open = true;
    while open || !waiting.is_empty() {
        tokio::select! {
            ready = socket.readable() => {
                ready?.clear_ready();
                while let Some((report, _)) = socket.get_ref().receive()? {
                    owner.send(YardEvent::Report(report));
                }
            }
            order = queue.recv(), if open => {
                open = order.is_some();
                waiting.extend(order);
                send_waiting(socket, &mut waiting, unsent, owner)?;
            }
            ready = socket.writable(), if !waiting.is_empty() => {
                ready?.clear_ready();
                send_waiting(socket, &mut waiting, unsent, owner)?;
            }
        }
    }
    Ok(())
}

fn send_waiting(
    socket: &AsyncFd<YardClient>,
    waiting: &mut VecDeque<YardOrder>,
    unsent: &AtomicUsize,
    owner: &EventSender<YardEvent>,
) -> Result<(), KeeperClientError> {
    while let Some(order) = waiting.front() {
        let descriptors = order.descriptors.iter().map(AsFd::as_fd).collect::<Vec<_>>();
        match socket.get_ref().send_with(&order.request, &descriptors) {
            Err(KeeperClientError::Full) => return Ok(()),
            Err(KeeperClientError::Call(error)) => {
                // Only this request can't be sent; others still can.
                if let YardRequest::Fork { key } = order.request {
                    let why = format!("can't send a request to the yard: {error}");
                    owner.send(YardEvent::Report(YardReport::NotForked { key, why }));
                } else {
                    tracing::error!(%error, "can't send a request to the yard");
                }
            }
            sent => {
                sent?;
                if matches!(order.request, YardRequest::Fork { .. }) {
                    kennel_keeper::fault::point("daemon.launch.fork_sent");
                }
            }
        }
        // The daemon's copy of the launch's lock is dropped with it.
        waiting.pop_front();
        unsent.fetch_sub(1, Ordering::AcqRel);
    }
    Ok(())
}
