//! The keeper's desk: everyone who is connected, what they ask, and what they are told.
//!
//! Nobody is waited for: a message that can't be delivered now waits in the outbox of its connection, up to
//! a bound, after which that connection is closed. News of the journal's growth is never queued: only the
//! latest end counts.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use kennel_pen::wire::{Channel, Delivery, Received};
use kennel_pen::{ProcessIdentity, Size, Status};
use rustix::event::{PollFd, PollFlags};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType};

use crate::client::{BACKLOG, KEEPER_SOCKET, address, open_folder};
use crate::protocol::{
    KeeperReport, KeeperRequest, KeeperState, LONGEST_REQUEST, LaunchStage, Outcome, PeerRole,
    VERSION,
};

/// The most who may be connected at once.
const CONNECTIONS: usize = 64;
/// The most requests of one connection that are heard in one go.
const AT_ONCE: u32 = 64;
/// The most messages that wait for one connection.
const OUTBOX: usize = 256;
/// The most words for a program that wait until it runs.
const EARLY: usize = 64;
/// How long a daemon may take to put an outcome on record before it goes to the disk as well.
const TAKE: Duration = Duration::from_secs(5);
/// The pause between attempts to bring an outcome to the disk.
const AGAIN: Duration = Duration::from_secs(1);

/// Something that somebody wants of the launch itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LaunchControl {
    Go,
    Open,
    Dismiss,
    Release,
    Stop(Option<Duration>),
    Kill,
    Signal(i32),
    Resize(Size),
    /// From the connection with this number.
    Input(u64, Vec<u8>),
    CloseInput,
    /// Something was reported.
    Touch,
    CloseOutput(u8),
    Untether,
    /// Members or usage, for the connection with this number.
    Members(u64),
    Usage(u64),
    /// The owner connected.
    OwnerCame,
    /// The owner went without a word.
    OwnerGone,
}

struct KeeperConnection {
    number: u64,
    channel: Channel,
    role: Option<PeerRole>,
    outbox: VecDeque<Vec<u8>>,
    follows: bool,
    /// What it was last told of the journal.
    told_end: u64,
    gone: bool,
}

/// See the module.
pub(super) struct Connections {
    connections: Vec<KeeperConnection>,
    next_number: u64,
    listener: Option<OwnedFd>,
    /// Whether somebody may stand before the door.
    knocked: bool,
    token: String,
    /// What was said too early.
    early: Vec<LaunchControl>,
    state: KeeperState,
    /// For daemons that come later.
    agent: Option<OwnedFd>,
    daemon_gone_since: Option<Instant>,
    opened: Option<Instant>,
}

impl Connections {
    pub(super) fn new(daemon: OwnedFd, token: String) -> Self {
        let state = KeeperState {
            stage: LaunchStage::Waiting,
            identity: None,
            cgroup: None,
            exited: None,
            outcome: None,
            journal_end: 0,
            open_for_ms: None,
        };
        let mut desk = Self {
            connections: Vec::new(),
            next_number: 0,
            listener: None,
            knocked: false,
            token,
            early: Vec::new(),
            state,
            agent: None,
            daemon_gone_since: None,
            opened: None,
        };
        desk.add(daemon, Some(PeerRole::Daemon));
        desk
    }

    fn add(&mut self, socket: OwnedFd, role: Option<PeerRole>) {
        let number = self.next_number;
        self.next_number += 1;
        self.connections.push(KeeperConnection {
            number,
            channel: Channel::new(socket, LONGEST_REQUEST),
            role,
            outbox: VecDeque::new(),
            follows: false,
            told_end: 0,
            gone: false,
        });
    }

    /// Listens in the session's folder.
    pub(super) fn listen(&mut self, folder: &Path) -> io::Result<()> {
        let folder = open_folder(folder)?;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket =
            rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        rustix::net::bind(&socket, &address(&folder, KEEPER_SOCKET)?)?;
        rustix::net::listen(&socket, BACKLOG)?;
        self.listener = Some(socket);
        Ok(())
    }

    fn hello(&self) -> KeeperReport {
        let pid = rustix::process::getpid().as_raw_pid();
        KeeperReport::Hello { version: VERSION, pid, token: self.token.clone() }
    }

    /// The daemon that ordered the launch is greeted unasked.
    pub(super) fn greet_daemon(&mut self) {
        let hello = self.hello();
        self.tell_daemons(&hello, None);
    }

    // What is known, for those who ask.

    pub(super) fn stage(&mut self, stage: LaunchStage) {
        if stage == LaunchStage::Running {
            self.opened.get_or_insert_with(Instant::now);
        }
        self.state.stage = stage;
    }

    /// When the gate was opened.
    pub(super) fn opened(&self) -> Option<Instant> {
        self.opened
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
        self.agent = agent;
        let report = KeeperReport::Born { identity, cgroup: self.state.cgroup.clone() };
        let agent = self.agent.take();
        self.tell_daemons(&report, agent.as_ref());
        self.agent = agent;
    }

    pub(super) fn exited(&mut self, status: Status) {
        self.state.exited = Some(status.clone());
        self.tell_all(&KeeperReport::Exited(status));
    }

    pub(super) fn outcome(&mut self, outcome: Outcome) {
        self.state.stage = LaunchStage::Over;
        self.state.outcome = Some(outcome.clone());
        self.tell_all(&KeeperReport::Gone(outcome));
    }

    pub(super) fn trouble(&mut self, text: String) {
        self.tell_all(&KeeperReport::Trouble(text));
    }

    /// The journal ends here now.
    pub(super) fn grown(&mut self, end: u64) {
        self.state.journal_end = end;
        for connection in &mut self.connections {
            connection.tell_growth(end);
        }
    }

    // Telling.

    pub(super) fn tell_all(&mut self, report: &KeeperReport) {
        let bytes = report.encode();
        for connection in self.connections.iter_mut().filter(|c| c.role.is_some()) {
            connection.tell(bytes.clone(), None);
        }
    }

    fn tell_daemons(&mut self, report: &KeeperReport, with: Option<&OwnedFd>) {
        let bytes = report.encode();
        for daemon in self.connections.iter_mut().filter(|c| c.role == Some(PeerRole::Daemon)) {
            daemon.tell(bytes.clone(), with);
        }
    }

    pub(super) fn tell(&mut self, number: u64, report: &KeeperReport) {
        if let Some(connection) = self.connections.iter_mut().find(|c| c.number == number) {
            connection.tell(report.encode(), None);
        }
    }

    /// So many bytes of input went on to the agent.
    pub(super) fn input_taken(&mut self, bytes: usize) {
        let taken = KeeperReport::InputTaken(u32::try_from(bytes).unwrap_or(u32::MAX)).encode();
        let typists =
            |c: &&mut KeeperConnection| matches!(c.role, Some(PeerRole::Client | PeerRole::Owner));
        for connection in self.connections.iter_mut().filter(typists) {
            connection.tell(taken.clone(), None);
        }
    }

    // Listening.

    /// Whether a daemon is connected.
    pub(super) fn has_daemon(&self) -> bool {
        self.connections.iter().any(|c| c.role == Some(PeerRole::Daemon) && !c.gone)
    }

    /// Since when there is none.
    pub(super) fn daemon_gone_since(&self) -> Option<Instant> {
        self.daemon_gone_since
    }

    /// Whether somebody stands before the door, by what [`Self::poll_fds`] gave and was waited for.
    pub(super) fn is_knock(fds: &[PollFd<'_>]) -> bool {
        fds.first().is_some_and(|door| !door.revents().is_empty())
    }

    /// What to wait for; the door first.
    pub(super) fn poll_fds<'a>(&'a self, fds: &mut Vec<PollFd<'a>>) {
        fds.extend(self.listener.iter().map(|fd| PollFd::new(fd, PollFlags::IN)));
        for connection in &self.connections {
            let behind = connection.follows && connection.told_end != self.state.journal_end;
            let mut flags = PollFlags::IN;
            if behind || !connection.outbox.is_empty() {
                flags |= PollFlags::OUT;
            }
            fds.push(PollFd::from_borrowed_fd(connection.channel.as_fd(), flags));
        }
    }

    /// Hears everyone; never waits.
    pub(super) fn serve(&mut self) -> Vec<LaunchControl> {
        self.accept();
        let mut words = Vec::new();
        for place in 0..self.connections.len() {
            self.hear(place, &mut words);
            let end = self.state.journal_end;
            let connection = &mut self.connections[place];
            connection.flush();
            connection.tell_growth(end);
        }
        for gone in self.connections.extract_if(.., |connection| connection.gone) {
            if gone.role == Some(PeerRole::Owner) {
                words.push(LaunchControl::OwnerGone);
            }
        }
        self.daemon_gone_since = match self.daemon_gone_since {
            _ if self.has_daemon() => None,
            None => Some(Instant::now()),
            since => since,
        };
        words
    }

    /// Puts by what was said before the program runs: for [`Self::said_early`].
    pub(super) fn put_by(&mut self, words: impl IntoIterator<Item = LaunchControl>) {
        for word in words {
            match word {
                word if self.early.len() < EARLY => self.early.push(word),
                LaunchControl::Input(from, _)
                | LaunchControl::Members(from)
                | LaunchControl::Usage(from) => {
                    self.tell(from, &KeeperReport::Refused("it does not run yet".to_owned()));
                }
                // Nobody waits for an answer to these.
                _ => {}
            }
        }
    }

    /// What was put by, once.
    pub(super) fn said_early(&mut self) -> Vec<LaunchControl> {
        std::mem::take(&mut self.early)
    }

    /// Somebody may stand before the door: the next [`Self::serve`] looks.
    pub(super) fn knock(&mut self) {
        self.knocked = true;
    }

    fn accept(&mut self) {
        let Some(listener) = self.listener.as_ref().filter(|_| self.knocked) else { return };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        // No descriptor left, or gone again: they try again, and so do we.
        while let Ok(socket) = rustix::net::accept_with(listener, flags) {
            // The folder is the owner's alone; this is for whoever made it otherwise.
            let peer = rustix::net::sockopt::socket_peercred(&socket);
            let own = rustix::process::geteuid();
            // Inside of a pid namespace the pid of one outside can not be told, and no peer at all comes back.
            let belongs = peer.map_or(true, |peer| peer.uid == own || peer.uid.is_root());
            if belongs && self.connections.len() < CONNECTIONS {
                self.add(socket, None);
                return; // the next one in the next round
            }
        }
        self.knocked = false;
    }

    fn hear(&mut self, place: usize, words: &mut Vec<LaunchControl>) {
        // One who talks without end does not keep us from everyone else.
        for _ in 0..AT_ONCE {
            let connection = &mut self.connections[place];
            if connection.gone {
                return;
            }
            let request = match connection.channel.receive() {
                Ok(Received::Nothing) => return,
                Ok(Received::End) | Err(_) => {
                    connection.gone = true;
                    return;
                }
                Ok(Received::Message(bytes, _)) => KeeperRequest::decode(&bytes),
            };
            match request {
                Ok(request) => self.answer(place, request, words),
                Err(error) => {
                    connection.tell(KeeperReport::Refused(error.to_string()).encode(), None);
                }
            }
        }
    }

    fn answer(&mut self, place: usize, request: KeeperRequest, words: &mut Vec<LaunchControl>) {
        let number = self.connections[place].number;
        let role = self.connections[place].role;
        let word = match (request, role) {
            (KeeperRequest::Hello { version: _, role }, _) => {
                return self.greet(place, role, words);
            }
            (KeeperRequest::Status, _) => return self.tell_state(place),
            (KeeperRequest::Stop { grace }, _) => LaunchControl::Stop(grace),
            (KeeperRequest::Kill, _) => LaunchControl::Kill,
            (_, None) => return self.refuse(place, "say hello first"),
            (KeeperRequest::Follow, _) => {
                self.connections[place].follows = true;
                return;
            }
            (KeeperRequest::Go, Some(PeerRole::Daemon)) => LaunchControl::Go,
            (KeeperRequest::Open, Some(PeerRole::Daemon)) => LaunchControl::Open,
            (KeeperRequest::Dismiss, Some(PeerRole::Daemon)) => LaunchControl::Dismiss,
            (KeeperRequest::Release, Some(PeerRole::Daemon)) => LaunchControl::Release,
            (KeeperRequest::Touch, Some(PeerRole::Daemon)) => LaunchControl::Touch,
            (KeeperRequest::Keep, _) => return self.refuse(place, "this keeper has a launch"),
            (
                KeeperRequest::Go
                | KeeperRequest::Open
                | KeeperRequest::Dismiss
                | KeeperRequest::Release
                | KeeperRequest::Touch,
                _,
            ) => {
                return self.refuse(place, "only a daemon says that");
            }
            (KeeperRequest::Untether, Some(PeerRole::Owner)) => {
                self.connections[place].role = Some(PeerRole::Client);
                LaunchControl::Untether
            }
            (KeeperRequest::Untether, _) => return self.refuse(place, "only the owner says that"),
            (KeeperRequest::Signal(signal), _) => LaunchControl::Signal(signal),
            (KeeperRequest::Input(bytes), _) => LaunchControl::Input(number, bytes),
            (KeeperRequest::CloseInput, _) => LaunchControl::CloseInput,
            (KeeperRequest::Resize(size), _) => LaunchControl::Resize(size),
            (KeeperRequest::CloseOutput(stream), _) => LaunchControl::CloseOutput(stream),
            (KeeperRequest::Members, _) => LaunchControl::Members(number),
            (KeeperRequest::Usage, _) => LaunchControl::Usage(number),
        };
        words.push(word);
    }

    fn greet(&mut self, place: usize, role: PeerRole, words: &mut Vec<LaunchControl>) {
        if role == PeerRole::Daemon {
            // There is one daemon for a home; an earlier one is gone, or will be.
            for (other, connection) in self.connections.iter_mut().enumerate() {
                connection.gone |= other != place && connection.role == Some(PeerRole::Daemon);
            }
        }
        self.connections[place].role = Some(role);
        let hello = self.hello().encode();
        self.connections[place].tell(hello, None);
        if role == PeerRole::Owner {
            words.push(LaunchControl::OwnerCame);
        }
        if let Some(outcome) = self.state.outcome.clone() {
            self.connections[place].tell(KeeperReport::Gone(outcome).encode(), None);
        }
    }

    fn tell_state(&mut self, place: usize) {
        let open_for = self.opened.map(|opened| opened.elapsed().as_millis());
        let open_for_ms = open_for.map(|ms| u64::try_from(ms).unwrap_or(u64::MAX));
        let state = KeeperState { open_for_ms, ..self.state.clone() };
        let report = KeeperReport::State(Box::new(state)).encode();
        let is_daemon = self.connections[place].role == Some(PeerRole::Daemon);
        let agent = self.agent.as_ref().filter(|_| is_daemon);
        self.connections[place].tell(report, agent);
    }

    fn refuse(&mut self, place: usize, why: &str) {
        self.connections[place].tell(KeeperReport::Refused(why.to_owned()).encode(), None);
    }

    // Waiting.

    /// Waits until somebody says something, or the deadline.
    pub(super) fn wait(&mut self, deadline: Option<Instant>) -> io::Result<()> {
        let mut fds = Vec::with_capacity(self.connections.len() + 1);
        self.poll_fds(&mut fds);
        let timeout = deadline.map(|deadline| {
            let left = deadline.saturating_duration_since(Instant::now());
            rustix::event::Timespec {
                tv_sec: left.as_secs().try_into().unwrap_or(i64::MAX),
                tv_nsec: left.subsec_nanos().into(),
            }
        });
        match rustix::event::poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if Self::is_knock(&fds) {
            self.knock();
        }
        Ok(())
    }

    /// Waits until a daemon has put the outcome on record, or the disk has it. Gives the connection to that daemon.
    pub(super) fn until_in_safe_hands(
        mut self,
        to_disk: impl Fn() -> io::Result<()>,
    ) -> io::Result<Option<OwnedFd>> {
        let told = Instant::now();
        loop {
            if self.serve().contains(&LaunchControl::Release) {
                let mut daemons = self.connections.into_iter().filter(KeeperConnection::is_daemon);
                return Ok(daemons.next().map(|daemon| daemon.channel.into_socket()));
            }
            let now = Instant::now();
            if !self.has_daemon() || now >= told + TAKE {
                match to_disk() {
                    Ok(()) => {
                        self.flush();
                        return Ok(None);
                    }
                    Err(error) => {
                        self.trouble(format!("the outcome can't be brought to the disk: {error}"));
                        self.wait(Some(now + AGAIN))?;
                        continue;
                    }
                }
            }
            self.wait(Some(told + TAKE))?;
        }
    }

    fn flush(&mut self) {
        self.connections.iter_mut().for_each(KeeperConnection::flush);
    }
}

impl KeeperConnection {
    /// Whether a daemon is at the other end, and has heard everything.
    fn is_daemon(&self) -> bool {
        self.role == Some(PeerRole::Daemon) && !self.gone && self.outbox.is_empty()
    }

    fn tell(&mut self, message: Vec<u8>, with: Option<&OwnedFd>) {
        if self.gone {
            return;
        }
        if self.outbox.is_empty() || with.is_some() {
            let descriptors = with.iter().map(|fd| fd.as_fd()).collect::<Vec<_>>();
            match self.channel.send(&message, &descriptors) {
                Ok(Delivery::Sent) => return,
                Ok(Delivery::Full) => {}
                Ok(Delivery::Closed) => {
                    // What it said before it went is still to be heard.
                    return;
                }
                // It can't be sent at all.
                Err(_) => return,
            }
        }
        if self.outbox.len() >= OUTBOX {
            self.gone = true; // it does not read
            return;
        }
        self.outbox.push_back(message);
    }

    fn flush(&mut self) {
        while let Some(message) = self.outbox.front() {
            match self.channel.send(message, &[]) {
                Ok(Delivery::Full) => return,
                Ok(Delivery::Sent | Delivery::Closed) | Err(_) => drop(self.outbox.pop_front()),
            }
        }
    }

    fn tell_growth(&mut self, end: u64) {
        if !self.follows || self.told_end == end || !self.outbox.is_empty() {
            return;
        }
        if let Ok(Delivery::Sent) = self.channel.send(&KeeperReport::Grown(end).encode(), &[]) {
            self.told_end = end;
        }
    }
}
