//! The keeper's connections: the peers, their requests, and the reports they get.
//!
//! The keeper never waits for a peer. A report that can't be sent now is queued for its connection,
//! up to a limit at which the connection is closed. Reports on the journal's growth are never
//! queued: only the latest end matters.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use kennel_pen::ProcessIdentity;
use kennel_pen::supervise::PenEvent;
use kennel_pen::wire::{Channel, Delivery, QueuedChannel, Received, WireMessage};
use rustix::event::{PollFd, PollFlags};
use rustix::fd::{AsFd, OwnedFd};
use rustix::net::SocketFlags;

use crate::client::{KEEPER_SOCKET, listen};
use crate::protocol::{
    KeeperReport, KeeperRequest, KeeperState, LONGEST_REQUEST, LaunchStage, Outcome, PeerRole,
    VERSION,
};

const MAX_CONNECTIONS: usize = 64;
/// The maximum number of requests of one connection that are read in one turn.
const MAX_PER_TURN: u32 = 64;
/// The maximum number of queued reports of one connection.
const MAX_QUEUED: usize = 256;
/// The maximum number of requests that wait until the program runs.
const MAX_EARLY: usize = 64;
/// How long a daemon may take to record an outcome before it is written to disk as well.
const RECORD_TIMEOUT: Duration = Duration::from_secs(5);
/// The pause between attempts to write an outcome to disk.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// Something that concerns the launch itself.
#[derive(Debug)]
pub(super) enum PeerEvent {
    /// A request that its peer may send, and the number of its connection.
    Request(u64, KeeperRequest),
    OwnerConnected,
    /// The owner disconnected without a request to detach.
    OwnerGone,
}

impl PeerEvent {
    pub(super) fn is(&self, wanted: &KeeperRequest) -> bool {
        matches!(self, Self::Request(_, request) if request == wanted)
    }
}

struct PeerConnection {
    number: u64,
    channel: QueuedChannel,
    role: Option<PeerRole>,
    follows: bool,
    /// The end of the journal in the last report on its growth.
    reported_end: u64,
    gone: bool,
}

/// All connections, and what new peers need to know.
#[derive(Default)]
pub(super) struct Connections {
    connections: Vec<PeerConnection>,
    next_number: u64,
    listener: Option<OwnedFd>,
    /// Whether a peer may be waiting to be accepted.
    listener_ready: bool,
    token: String,
    /// Requests that arrived before the program ran.
    early: Vec<PeerEvent>,
    state: KeeperState,
    /// The agent's pidfd, for daemons that connect later.
    agent: Option<OwnedFd>,
    pub(super) daemon_gone_since: Option<Instant>,
    /// When the gate was opened.
    pub(super) opened: Option<Instant>,
}

impl Connections {
    pub(super) fn new(daemon: OwnedFd, token: String) -> Self {
        let mut connections = Self { token, ..Self::default() };
        connections.add(daemon, Some(PeerRole::Daemon));
        connections
    }

    fn add(&mut self, socket: OwnedFd, role: Option<PeerRole>) {
        let number = self.next_number;
        self.next_number += 1;
        self.connections.push(PeerConnection {
            number,
            channel: QueuedChannel::new(Channel::new(socket, LONGEST_REQUEST)),
            role,
            follows: false,
            reported_end: 0,
            gone: false,
        });
    }

    pub(super) fn listen(&mut self, folder: &Path) -> io::Result<()> {
        self.listener = Some(listen(folder, KEEPER_SOCKET)?);
        Ok(())
    }

    fn hello(&self) -> KeeperReport {
        let pid = rustix::process::getpid().as_raw_pid();
        KeeperReport::Hello { version: VERSION, pid, token: self.token.clone() }
    }

    /// Sends a hello to the daemon that requested the launch, before the daemon sends one.
    pub(super) fn greet_daemon(&mut self) {
        let hello = self.hello();
        self.send_to_daemons(&hello, None);
    }

    // The state of the launch.

    pub(super) fn set_stage(&mut self, stage: LaunchStage) {
        if stage == LaunchStage::Running {
            self.opened.get_or_insert_with(Instant::now);
        }
        self.state.stage = stage;
    }

    pub(super) fn born(
        &mut self,
        identity: ProcessIdentity,
        cgroup: Option<&Path>,
        agent: Option<OwnedFd>,
    ) {
        self.state.stage = LaunchStage::Gated;
        self.state.identity = Some(identity.clone());
        self.state.cgroup = cgroup.map(ToOwned::to_owned);
        let report = KeeperReport::Born { identity, cgroup: self.state.cgroup.clone() };
        self.send_to_daemons(&report, agent.as_ref());
        self.agent = agent;
    }

    pub(super) fn report(&mut self, event: PenEvent) {
        let report = match event {
            PenEvent::Exited(status) => {
                self.state.exited = Some(status.clone());
                KeeperReport::Exited(status)
            }
            PenEvent::LeftBehind(processes) => KeeperReport::LeftBehind(processes),
            PenEvent::StillAlive(survivors) => KeeperReport::StillAlive(survivors),
            PenEvent::Trouble(text) => KeeperReport::Trouble(text),
        };
        self.send_to_all(&report);
    }

    pub(super) fn outcome(&mut self, outcome: Outcome) {
        self.state.stage = LaunchStage::Over;
        self.state.outcome = Some(outcome.clone());
        self.send_to_all(&KeeperReport::Gone(outcome));
    }

    pub(super) fn trouble(&mut self, text: String) {
        self.send_to_all(&KeeperReport::Trouble(text));
    }

    /// Reports the new end of the journal.
    pub(super) fn grown(&mut self, end: u64) {
        self.state.journal_end = end;
        for connection in &mut self.connections {
            connection.report_growth(end);
        }
    }

    // Sending.

    pub(super) fn send_to_all(&mut self, report: &KeeperReport) {
        let bytes = report.encode();
        for connection in self.connections.iter_mut().filter(|c| c.role.is_some()) {
            connection.send(bytes.clone(), None);
        }
    }

    fn send_to_daemons(&mut self, report: &KeeperReport, descriptor: Option<&OwnedFd>) {
        let bytes = report.encode();
        for daemon in self.connections.iter_mut().filter(|c| c.role == Some(PeerRole::Daemon)) {
            daemon.send(bytes.clone(), descriptor);
        }
    }

    pub(super) fn send_to(&mut self, number: u64, report: &KeeperReport) {
        if let Some(connection) = self.connections.iter_mut().find(|c| c.number == number) {
            connection.send(report.encode(), None);
        }
    }

    /// Reports how many bytes of input were passed on to the agent.
    pub(super) fn input_taken(&mut self, bytes: usize) {
        let taken = KeeperReport::InputTaken(u32::try_from(bytes).unwrap_or(u32::MAX)).encode();
        let may_type =
            |c: &&mut PeerConnection| matches!(c.role, Some(PeerRole::Client | PeerRole::Owner));
        for connection in self.connections.iter_mut().filter(may_type) {
            connection.send(taken.clone(), None);
        }
    }

    // Receiving.

    pub(super) fn has_daemon(&self) -> bool {
        self.connections.iter().any(|c| c.role == Some(PeerRole::Daemon) && !c.gone)
    }

    /// Adds the descriptors to wait for; the listener comes first.
    pub(super) fn poll_fds<'a>(&'a self, fds: &mut Vec<PollFd<'a>>) {
        fds.extend(self.listener.iter().map(|fd| PollFd::new(fd, PollFlags::IN)));
        for connection in &self.connections {
            let behind = connection.follows && connection.reported_end != self.state.journal_end;
            let mut flags = connection.channel.poll_flags();
            if behind {
                flags |= PollFlags::OUT;
            }
            fds.push(PollFd::from_borrowed_fd(connection.channel.as_fd(), flags));
        }
    }

    /// Notes from the results for [`Self::poll_fds`] whether a peer waits to be accepted.
    pub(super) fn note_listener(&mut self, ready: &[PollFlags]) {
        self.listener_ready |= ready.first().is_some_and(|listener| !listener.is_empty());
    }

    /// Makes the next [`Self::serve`] look for a peer that waits to be accepted.
    pub(super) fn check_listener(&mut self) {
        self.listener_ready = true;
    }

    /// Reads the requests of all connections, without waiting.
    pub(super) fn serve(&mut self) -> Vec<PeerEvent> {
        self.accept();
        let mut events = Vec::new();
        for index in 0..self.connections.len() {
            self.read(index, &mut events);
            let end = self.state.journal_end;
            let connection = &mut self.connections[index];
            connection.channel.flush();
            connection.report_growth(end);
        }
        for gone in self.connections.extract_if(.., |connection| connection.gone) {
            if gone.role == Some(PeerRole::Owner) {
                events.push(PeerEvent::OwnerGone);
            }
        }
        self.daemon_gone_since = match self.daemon_gone_since {
            _ if self.has_daemon() => None,
            None => Some(Instant::now()),
            since => since,
        };
        events
    }

    /// Keeps requests that arrived before the program runs, for [`Self::take_early`].
    pub(super) fn keep_early(&mut self, events: impl IntoIterator<Item = PeerEvent>) {
        use KeeperRequest::{Input, Members, Usage};
        for event in events {
            match event {
                event if self.early.len() < MAX_EARLY => self.early.push(event),
                PeerEvent::Request(from, Input(_) | Members | Usage) => {
                    let refused =
                        KeeperReport::Refused("the program is not running yet".to_owned());
                    self.send_to(from, &refused);
                }
                // No peer waits for an answer to the others.
                _ => {}
            }
        }
    }

    /// Returns the requests that arrived before the program ran, once.
    pub(super) fn take_early(&mut self) -> Vec<PeerEvent> {
        std::mem::take(&mut self.early)
    }

    fn accept(&mut self) {
        let Some(listener) = self.listener.as_ref().filter(|_| self.listener_ready) else { return };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        // Without a free descriptor the peer stays in the backlog and is accepted later.
        while let Ok(socket) = rustix::net::accept_with(listener, flags) {
            // Only the owner can enter the folder, unless its permissions were changed.
            let peer = rustix::net::sockopt::socket_peercred(&socket);
            let own = rustix::process::geteuid();
            // Inside a pid namespace the kernel returns no credentials of a peer outside.
            let belongs = peer.map_or(true, |peer| peer.uid == own || peer.uid.is_root());
            if belongs && self.connections.len() < MAX_CONNECTIONS {
                self.add(socket, None);
                return; // the next one in the next turn
            }
        }
        self.listener_ready = false;
    }

    fn read(&mut self, index: usize, events: &mut Vec<PeerEvent>) {
        // One busy connection must not keep the others from being served.
        for _ in 0..MAX_PER_TURN {
            let connection = &mut self.connections[index];
            if connection.gone {
                return;
            }
            let request = match connection.channel.channel().receive() {
                Ok(Received::Nothing) => return,
                Ok(Received::End) | Err(_) => {
                    connection.gone = true;
                    return;
                }
                Ok(Received::Message(bytes, _)) => KeeperRequest::decode(&bytes),
            };
            match request {
                Ok(request) => self.answer(index, request, events),
                Err(error) => self.refuse(index, &error.to_string()),
            }
        }
    }

    fn answer(&mut self, index: usize, request: KeeperRequest, events: &mut Vec<PeerEvent>) {
        use KeeperRequest::{
            Detach, Dismiss, Follow, Go, Hello, Keep, Kill, Open, Release, Status, Stop, Touch,
        };
        let connection = &mut self.connections[index];
        let (number, role) = (connection.number, connection.role);
        let is_daemon = role == Some(PeerRole::Daemon);
        match &request {
            Hello { role, .. } => return self.greet(index, *role, events),
            Status => return self.send_state(index),
            Stop { .. } | Kill => {}
            _ if role.is_none() => return self.refuse(index, "send a hello first"),
            Follow => {
                connection.follows = true;
                return;
            }
            Keep => return self.refuse(index, "this keeper already has a launch"),
            Go | Open | Dismiss | Release | Touch if !is_daemon => {
                return self.refuse(index, "only the daemon may send this request");
            }
            Detach if role == Some(PeerRole::Owner) => connection.role = Some(PeerRole::Client),
            Detach => return self.refuse(index, "only the owner may send this request"),
            _ => {}
        }
        events.push(PeerEvent::Request(number, request));
    }

    fn greet(&mut self, index: usize, role: PeerRole, events: &mut Vec<PeerEvent>) {
        if role == PeerRole::Daemon {
            // A home has one daemon, so an earlier one is gone, or about to be.
            for (other, connection) in self.connections.iter_mut().enumerate() {
                connection.gone |= other != index && connection.role == Some(PeerRole::Daemon);
            }
        }
        self.connections[index].role = Some(role);
        let hello = self.hello().encode();
        self.connections[index].send(hello, None);
        if role == PeerRole::Owner {
            events.push(PeerEvent::OwnerConnected);
        }
        if let Some(outcome) = self.state.outcome.clone() {
            self.connections[index].send(KeeperReport::Gone(outcome).encode(), None);
        }
    }

    fn send_state(&mut self, index: usize) {
        let open_for = self.opened.map(|opened| opened.elapsed().as_millis());
        let open_for_ms = open_for.map(|ms| u64::try_from(ms).unwrap_or(u64::MAX));
        let state = KeeperState { open_for_ms, ..self.state.clone() };
        let report = KeeperReport::State(Box::new(state)).encode();
        let is_daemon = self.connections[index].role == Some(PeerRole::Daemon);
        let agent = self.agent.as_ref().filter(|_| is_daemon);
        self.connections[index].send(report, agent);
    }

    fn refuse(&mut self, index: usize, why: &str) {
        self.connections[index].send(KeeperReport::Refused(why.to_owned()).encode(), None);
    }

    // Waiting.

    pub(super) fn wait(&mut self, deadline: Option<Instant>) -> io::Result<()> {
        let mut fds = Vec::with_capacity(self.connections.len() + 1);
        self.poll_fds(&mut fds);
        let _woken = kennel_pen::poll(&mut fds, deadline)?;
        let ready: Vec<PollFlags> = fds.iter().map(PollFd::revents).collect();
        self.note_listener(&ready);
        Ok(())
    }

    /// Waits until a daemon, whose connection is returned, or the disk has the outcome.
    pub(super) fn wait_until_recorded(
        mut self,
        to_disk: impl Fn() -> io::Result<()>,
    ) -> io::Result<Option<OwnedFd>> {
        let deadline = Instant::now() + RECORD_TIMEOUT;
        loop {
            if self.serve().iter().any(|event| event.is(&KeeperRequest::Release)) {
                let mut daemons = self.connections.into_iter().filter(PeerConnection::is_daemon);
                return Ok(daemons.next().map(|daemon| daemon.channel.into_socket()));
            }
            let now = Instant::now();
            if self.has_daemon() && now < deadline {
                self.wait(Some(deadline))?;
                continue;
            }
            match to_disk() {
                Ok(()) => {
                    self.connections.iter_mut().for_each(|c| c.channel.flush());
                    return Ok(None);
                }
                Err(error) => {
                    self.trouble(format!("can't write the outcome to disk: {error}"));
                    self.wait(Some(now + RETRY_PAUSE))?;
                }
            }
        }
    }
}

impl PeerConnection {
    /// Returns whether a daemon is connected that has received everything.
    fn is_daemon(&self) -> bool {
        self.role == Some(PeerRole::Daemon) && !self.gone && self.channel.queued() == 0
    }

    fn send(&mut self, message: Vec<u8>, descriptor: Option<&OwnedFd>) {
        if self.gone {
            return;
        }
        self.channel.send(message, descriptor.map(AsFd::as_fd));
        self.gone = self.channel.queued() > MAX_QUEUED; // the peer does not read
    }

    fn report_growth(&mut self, end: u64) {
        if !self.follows || self.reported_end == end || self.channel.queued() > 0 {
            return;
        }
        let grown = KeeperReport::Grown(end).encode();
        if let Ok(Delivery::Sent) = self.channel.channel().send(&grown, &[]) {
            self.reported_end = end;
        }
    }
}
