//! The yard's loop.

use std::collections::HashSet;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use kennel_pen::wire::{Channel, Received, WireMessage};
use kennel_pen::{HomeId, HostSupport, Status};
use kennel_sys::pidfd;
use kennel_sys::process::{Forked, exit_at_once, fork_alone};
use kennel_sys::reap::{self, Reaped, WaitStatus};
use kennel_sys::signals::{self, SignalFd};
use rustix::event::{PollFd, PollFlags};
use rustix::fd::{AsFd, OwnedFd};
use rustix::net::SocketFlags;
use rustix::process::Signal;

use super::YardConfig;
use super::begin::{listen, raise_limits, take_locks};
use super::daemon::{DaemonBackoff, DaemonExit, DaemonProcess};
use super::orphans::{GRACE, Orphans, OrphansLeft};
use super::resume::{YardResume, become_program};
use super::yard_store::YardStore;
use crate::fault;
use crate::keeper::{DESCRIPTORS, LaunchDescriptors, YardFacts, YardInheritance};
use crate::protocol::{LONGEST_REQUEST, VERSION, YardReport, YardRequest};

/// How long orphans may take to end, including the grace, before a keeper's exit is reported with
/// those that are left.
const ORPHAN_TIMEOUT: Duration = Duration::from_secs(3);
/// The pause between two rounds of killing after that.
const KILL_PAUSE: Duration = Duration::from_secs(1);
const ERROR_PAUSE: Duration = Duration::from_millis(100);
const MAX_CLIENTS: usize = 512;

enum YardTurn {
    Next,
    Last,
    /// This process is a new keeper.
    IsKeeper(LaunchDescriptors),
}

/// The yard's behaviour after the daemon exits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AfterDaemon {
    /// It starts a new daemon.
    Serve,
    /// It waits until a client requests a daemon.
    Rest,
    /// It exits once no child is left.
    Leave,
}

pub(super) struct YardServer {
    home: PathBuf,
    home_id: HomeId,
    lock: OwnedFd,
    /// A lock of the home itself: the lock file can be deleted, and created again by another yard.
    home_lock: OwnedFd,
    support: HostSupport,
    facts: YardFacts,
    listener: OwnedFd,
    signals: SignalFd,
    daemon: Option<DaemonProcess>,
    backoff: DaemonBackoff,
    start_at: Option<Instant>,
    future: AfterDaemon,
    /// Whether a client requested a daemon while the last one was about to exit.
    wanted_again: bool,
    /// Whether the yard received TERM, and no client has requested a daemon since.
    terminating: bool,
    successor: Option<PathBuf>,
    keepers: HashSet<i32>,
    clients: Vec<Channel>,
    orphans: Option<Orphans>,
    orphans_since: Option<Instant>,
    /// Keepers that have exited, and their status. This is reported once their orphans are gone.
    exited: Vec<(i32, String)>,
    store: YardStore,
}

impl YardServer {
    /// Takes the home. Returns `None` if another yard has it.
    pub(super) fn take(config: YardConfig) -> io::Result<Option<Self>> {
        let YardConfig { home, home_id, resumed } = config;
        rustix::thread::set_name(c"kennel-yard")?;
        // The program before this one may have been about to end orphans.
        let orphans_since = resumed.as_ref().map(|_| Instant::now());
        let resumed = match resumed {
            Some(resumed) => resumed,
            None => {
                let Some((lock, home_lock)) = take_locks(&home)? else { return Ok(None) };
                let (listener, store) = (listen(&home)?, YardStore::default());
                YardResume { lock, home_lock, listener, keepers: Vec::new(), store }
            }
        };
        let YardResume { lock, home_lock, listener, keepers, store } = resumed;
        kennel_sys::process::prepare_to_fork();
        reap::become_subreaper()?;
        // The last two: the starting client may have limits on CPU time and file size.
        let ignored = [
            Signal::HUP,
            Signal::INT,
            Signal::QUIT,
            Signal::USR1,
            Signal::USR2,
            Signal::XCPU,
            Signal::XFSZ,
        ];
        signals::ignore(&ignored.map(Signal::as_raw))?;
        let signals = SignalFd::new(&[Signal::CHILD.as_raw(), Signal::TERM.as_raw()])?;
        raise_limits();
        let support = HostSupport::survey(&home_id);
        Ok(Some(Self {
            home,
            home_id,
            lock,
            home_lock,
            support,
            facts: YardFacts::collect(),
            listener,
            signals,
            daemon: None,
            backoff: DaemonBackoff::default(),
            start_at: Some(Instant::now()),
            future: AfterDaemon::Serve,
            wanted_again: false,
            terminating: false,
            successor: None,
            keepers: keepers.into_iter().collect(),
            clients: Vec::new(),
            orphans: None,
            orphans_since,
            exited: Vec::new(),
            store,
        }))
    }

    /// Serves until the end of the yard. In a new keeper, returns its launch.
    pub(super) fn serve(mut self) -> Option<(LaunchDescriptors, YardInheritance)> {
        loop {
            match self.turn() {
                Ok(YardTurn::Next) => {}
                Ok(YardTurn::Last) => return None,
                Ok(YardTurn::IsKeeper(descriptors)) => {
                    let Self { support, facts, .. } = self;
                    return Some((descriptors, YardInheritance { support, facts }));
                }
                // An error such as no descriptors or no memory may go away.
                Err(error) => {
                    log(&error.to_string());
                    std::thread::sleep(ERROR_PAUSE);
                }
            }
        }
    }

    fn turn(&mut self) -> io::Result<YardTurn> {
        // First: children may have exited before the signal was blocked, or during an exec.
        self.reap()?;
        self.end_orphans();
        self.start_daemon_if_due();
        if self.is_finished() {
            // A client that connected at the last moment may request a daemon.
            self.serve_clients();
            if self.is_finished() {
                return Ok(YardTurn::Last);
            }
        }
        self.wait()?;
        while let Some(signal) = self.signals.next()? {
            if signal == Signal::TERM.as_raw() {
                self.terminate_daemon()?;
            }
        }
        self.serve_clients();
        // The daemon's last requests are served before its exit is noticed.
        Ok(self.serve_daemon()?.map_or(YardTurn::Next, YardTurn::IsKeeper))
    }

    fn is_finished(&self) -> bool {
        self.future == AfterDaemon::Leave
            && self.daemon.is_none()
            && self.keepers.is_empty()
            && self.orphans_since.is_none()
    }

    fn wait(&self) -> io::Result<()> {
        let mut fds = vec![
            PollFd::new(&self.signals, PollFlags::IN),
            PollFd::new(&self.listener, PollFlags::IN),
        ];
        let channels = self.daemon.iter().map(|daemon| &daemon.channel).chain(&self.clients);
        fds.extend(channels.map(|channel| PollFd::new(channel, PollFlags::IN)));
        let now = Instant::now();
        // Orphans are children, so their exit ends the wait.
        let orphans = self.orphans_since.map(|since| match now.saturating_duration_since(since) {
            terminating if terminating < GRACE => since + GRACE,
            killing if killing < ORPHAN_TIMEOUT => now,
            _ => now + KILL_PAUSE,
        });
        let deadline = [self.start_at, orphans].into_iter().flatten().min();
        kennel_pen::poll(&mut fds, deadline).map(drop)
    }

    // The daemon.

    fn start_daemon_if_due(&mut self) {
        if self.daemon.is_some() || self.start_at.is_none_or(|at| Instant::now() < at) {
            return;
        }
        self.start_at = None;
        fault::point("yard.daemon");
        match DaemonProcess::start(&self.home) {
            Ok(daemon) => {
                self.add_known(daemon.pid);
                self.daemon = Some(daemon);
                // From here on the yard mostly waits, and keepers inherit its memory.
                kennel_sys::process::give_back_memory();
            }
            Err(error) => {
                log(&format!("can't start the daemon: {error}"));
                self.start_at = Some(Instant::now() + self.backoff.crashed(false));
            }
        }
    }

    /// Passes TERM on to the daemon, which ends all sessions. Then the yard exits.
    fn terminate_daemon(&mut self) -> io::Result<()> {
        self.terminating = true;
        if self.daemon.is_none() && self.keepers.is_empty() {
            self.future = AfterDaemon::Leave;
        } else if self.daemon.is_none() {
            // Only a daemon can end the sessions.
            self.start_at = Some(Instant::now());
            self.start_daemon_if_due();
        }
        if let Some(daemon) = &self.daemon {
            let _sent_or_gone = pidfd::send(&daemon.pidfd, Signal::TERM)?;
        }
        Ok(())
    }

    fn daemon_ended(&mut self, daemon: &DaemonProcess, ended: WaitStatus) {
        match DaemonExit::of(ended) {
            DaemonExit::Stopped if std::mem::take(&mut self.wanted_again) => {
                self.future = AfterDaemon::Serve;
                self.start_at = Some(Instant::now());
            }
            DaemonExit::Stopped => self.future = AfterDaemon::Leave,
            DaemonExit::Kept => self.future = AfterDaemon::Rest,
            DaemonExit::Replaced => {
                self.become_successor();
                self.start_at = Some(Instant::now());
            }
            // It crashed on TERM, and there is no session that another one could end.
            DaemonExit::Crashed if self.terminating && self.keepers.is_empty() => {
                self.future = AfterDaemon::Leave;
            }
            DaemonExit::Crashed => {
                let pause = self.backoff.crashed(daemon.ran_long());
                let status = Status::from(ended);
                log(&format!("the daemon has {status}; restarting it in {pause:?}"));
                self.start_at = Some(Instant::now() + pause);
            }
        }
    }

    /// Lets a newer program take over this process. If that fails, the old one continues.
    fn become_successor(&mut self) {
        let Some(program) = self.successor.take() else { return };
        let descriptors = [&self.lock, &self.home_lock, &self.listener];
        let keepers = self.keepers.iter().copied();
        let Err(error) = become_program(&program, &self.home, descriptors, keepers, &self.store);
        log(&format!("can't replace the yard by {}: {error}", program.display()));
    }

    /// Serves the daemon's requests. Returns the launch in a new keeper.
    fn serve_daemon(&mut self) -> io::Result<Option<LaunchDescriptors>> {
        while let Some(daemon) = &self.daemon {
            let (bytes, descriptors) = match daemon.channel.receive()? {
                Received::Message(bytes, descriptors) => (bytes, descriptors),
                // Its exit is noticed when it is reaped.
                Received::Nothing | Received::End => return Ok(None),
            };
            match YardRequest::decode(&bytes) {
                Ok(YardRequest::Fork { key }) => {
                    if let Some(descriptors) = self.fork_keeper(key, descriptors) {
                        return Ok(Some(descriptors));
                    }
                }
                Ok(YardRequest::Status) => self.report(&self.status()),
                Ok(YardRequest::Kept { after }) => self.store.send(&daemon.channel, &after),
                Ok(request) => self.serve_without_answer(request, descriptors),
                Err(error) => log(&error.to_string()),
            }
        }
        Ok(None)
    }

    /// Serves the last requests of a daemon that has exited, apart from launches: the next daemon
    /// decides on those.
    fn serve_last_requests(&mut self, daemon: &DaemonProcess) {
        while let Ok(Received::Message(bytes, descriptors)) = daemon.channel.receive() {
            match YardRequest::decode(&bytes) {
                Ok(request) => self.serve_without_answer(request, descriptors),
                Err(error) => log(&error.to_string()),
            }
        }
    }

    fn serve_without_answer(&mut self, request: YardRequest, descriptors: Vec<OwnedFd>) {
        match request {
            YardRequest::Leave => {
                self.future = AfterDaemon::Leave;
                self.wanted_again = false;
            }
            YardRequest::Replace { program } => {
                self.successor = Some(program.into()).filter(|path: &PathBuf| path.is_absolute());
            }
            YardRequest::Keep { name } => self.store.keep(name, descriptors),
            YardRequest::Forget { name } => self.store.forget(&name),
            YardRequest::Fork { .. }
            | YardRequest::Status
            | YardRequest::Kept { .. }
            | YardRequest::Start => {}
        }
    }

    fn fork_keeper(&mut self, key: u64, descriptors: Vec<OwnedFd>) -> Option<LaunchDescriptors> {
        if descriptors.len() < DESCRIPTORS {
            let why = "the descriptors of the order are missing".to_owned();
            self.report(&YardReport::NotForked { key, why });
            return None;
        }
        fault::point("yard.fork");
        match fork_alone() {
            Ok(Forked::Child) => {
                let descriptors = LaunchDescriptors::new(descriptors, None);
                // A fork that can't be a keeper must not continue as a second yard.
                return descriptors.or_else(|| exit_at_once(1));
            }
            Ok(Forked::Parent(pid)) => {
                fault::point("yard.forked");
                self.keepers.insert(pid);
                self.add_known(pid);
                self.report(&YardReport::Forked { key, pid });
            }
            Err(error) => {
                let why = format!("can't fork a keeper: {error}");
                self.report(&YardReport::NotForked { key, why });
            }
        }
        None
    }

    /// Adds a new child that is not an orphan. If that fails, it is ended like an orphan: the
    /// launch fails, or the daemon is restarted.
    fn add_known(&mut self, pid: i32) {
        if let Some(orphans) = &mut self.orphans
            && let Err(error) = orphans.add_known(pid)
        {
            log(&format!("can't distinguish the new child {pid} from orphans: {error}"));
        }
    }

    fn report(&self, report: &YardReport) {
        let Some(daemon) = &self.daemon else { return };
        // A daemon whose socket is full is stuck, and can request the status later.
        if let Err(error) = daemon.channel.send(&report.encode(), &[]) {
            log(&format!("can't send a report to the daemon: {error}"));
        }
    }

    // Children.

    fn reap(&mut self) -> io::Result<()> {
        while let Reaped::One(pid, ended) = reap::reap_any()? {
            self.child_ended(pid, ended);
        }
        // Keepers and the daemon must continue, even if an agent stops them.
        while let Some(pid) = reap::stopped_child()? {
            if let Some(stopped) = pidfd::open(pid)? {
                let _sent_or_gone = pidfd::send(&stopped, Signal::CONT)?;
            }
        }
        Ok(())
    }

    fn child_ended(&mut self, pid: i32, ended: WaitStatus) {
        if self.daemon.as_ref().is_some_and(|daemon| daemon.pid == pid) {
            if let Some(daemon) = self.daemon.take() {
                self.serve_last_requests(&daemon);
                self.daemon_ended(&daemon, ended);
            }
            self.suspect_orphans();
        } else if self.keepers.remove(&pid) {
            fault::point("yard.reaped");
            self.exited.push((pid, Status::from(ended).to_string()));
            // A keeper that exits with 0 has seen its pen empty.
            if ended != WaitStatus::Code(0) {
                self.suspect_orphans();
            }
        }
        // Any other child is an orphan that ended by itself.
    }

    fn suspect_orphans(&mut self) {
        self.orphans_since.get_or_insert_with(Instant::now);
        if let Some(orphans) = &mut self.orphans {
            orphans.look_again();
        }
    }

    /// Ends orphans. Once they are gone, or take too long, reports the exit of their keepers.
    fn end_orphans(&mut self) {
        let mut left = Vec::new();
        if let Some(since) = self.orphans_since {
            match self.end_some_orphans(since + GRACE) {
                Ok(OrphansLeft::None) => {
                    self.orphans = None;
                    self.orphans_since = None;
                }
                Ok(OrphansLeft::Terminating) => {}
                Ok(OrphansLeft::Alive(alive)) => left = alive,
                Err(error) => {
                    log(&format!("can't end orphans: {error}"));
                    left.push(error.to_string());
                }
            }
            if self.orphans_since.is_some() && since.elapsed() < ORPHAN_TIMEOUT {
                return;
            }
        }
        for (pid, how) in self.exited.clone() {
            self.report(&YardReport::KeeperEnded { pid, how, left: left.clone() });
        }
        if left.is_empty() {
            self.exited.clear();
        }
    }

    fn end_some_orphans(&mut self, kill_at: Instant) -> io::Result<OrphansLeft> {
        let orphans = match &mut self.orphans {
            Some(orphans) => orphans,
            none => {
                let daemon = self.daemon.as_ref().map(|daemon| daemon.pid);
                let known = self.keepers.iter().copied().chain(daemon).collect::<Vec<_>>();
                none.insert(Orphans::gather(&self.home_id, &known)?)
            }
        };
        let left = orphans.end(kill_at);
        for (pid, ended) in orphans.known_ended() {
            self.child_ended(pid, ended);
        }
        left
    }

    // Clients.

    fn serve_clients(&mut self) {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        while let Ok(socket) = rustix::net::accept_with(&self.listener, flags) {
            if self.clients.len() < MAX_CLIENTS {
                self.clients.push(Channel::new(socket, LONGEST_REQUEST));
            }
        }
        for client in std::mem::take(&mut self.clients) {
            match client.receive() {
                Ok(Received::Nothing) => {}
                Ok(Received::End) | Err(_) => continue,
                Ok(Received::Message(bytes, _)) => self.answer(&client, &bytes),
            }
            self.clients.push(client);
        }
    }

    fn answer(&mut self, client: &Channel, bytes: &[u8]) {
        match YardRequest::decode(bytes) {
            Ok(YardRequest::Start) if self.daemon.is_none() => {
                self.terminating = false;
                self.future = AfterDaemon::Serve;
                self.backoff.reset();
                self.start_at = Some(Instant::now());
                self.start_daemon_if_due();
            }
            Ok(YardRequest::Start) => {
                self.wanted_again = self.future == AfterDaemon::Leave;
                self.terminating = false;
            }
            Ok(YardRequest::Status) => {}
            // Other requests are for the daemon only, and not valid on this socket.
            _ => return,
        }
        // A client that does not read gets no answer.
        let _delivery = client.send(&self.status().encode(), &[]);
    }

    fn status(&self) -> YardReport {
        YardReport::Status {
            pid: rustix::process::getpid().as_raw_pid(),
            daemon: self.daemon.as_ref().map(|daemon| daemon.pid),
            keepers: self.keepers.iter().copied().collect(),
            version: VERSION,
        }
    }
}

/// Writes a line to the yard's log, which is its standard error.
pub(super) fn log(text: &str) {
    let line = format!("kennel-yard: {text}\n");
    // An error can't be logged.
    let _written = rustix::io::write(rustix::stdio::stderr().as_fd(), line.as_bytes());
}
