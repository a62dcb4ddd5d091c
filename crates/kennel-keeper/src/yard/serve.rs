//! The yard's own loop.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use kennel_pen::wire::{Channel, Received, WireMessage};
use kennel_pen::{HomeId, HostSupport};
use kennel_sys::fork::{Forked, fork_alone, leave_at_once};
use kennel_sys::pidfd;
use kennel_sys::reap::{self, Reaped, WaitStatus};
use kennel_sys::signals::{self, SignalFd};
use rustix::event::{PollFd, PollFlags};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
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

/// How long orphans may take to end, the grace included, before a keeper's end is told with those left.
const PATIENCE: Duration = Duration::from_secs(3);
/// The pause between bouts once patience is over.
const PROBE: Duration = Duration::from_secs(1);
/// The pause after something went wrong.
const TROUBLE: Duration = Duration::from_millis(100);
/// The most who may ask something at once.
const VISITORS: usize = 512;

/// How it went.
pub(super) enum ForkSide {
    /// Told to leave, and nobody is left.
    Left,
    /// This process is a keeper now.
    IsKeeper(LaunchDescriptors, YardInheritance),
}

/// What a turn of the loop led to.
enum YardTurn {
    Next,
    Last,
    /// In a new process.
    IsKeeper(LaunchDescriptors),
}

/// What is to become of us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AfterDaemon {
    /// A daemon is wanted.
    Serve,
    /// None, until somebody asks.
    Rest,
    /// We go when no child is left.
    Leave,
}

/// A keeper that has ended, and is told of once its orphans are gone.
struct ExitNotice {
    pid: i32,
    how: String,
}

pub(super) struct YardServer {
    home: PathBuf,
    home_id: HomeId,
    lock: OwnedFd,
    /// The home itself, locked as well: a lock file can be deleted, and made anew by the next.
    home_lock: OwnedFd,
    /// What this machine offers, found out once, for all keepers.
    support: HostSupport,
    facts: YardFacts,
    listener: OwnedFd,
    signals: SignalFd,
    daemon: Option<DaemonProcess>,
    backoff: DaemonBackoff,
    start_at: Option<Instant>,
    future: AfterDaemon,
    /// Somebody asked for a daemon while the last one was about to leave.
    wanted_again: bool,
    /// We were told to go, and nobody has asked for a daemon since.
    told_to_go: bool,
    successor: Option<PathBuf>,
    /// Each with its key of the daemon's, if it was the present one that asked for it.
    keepers: HashMap<i32, Option<u64>>,
    visitors: Vec<Channel>,
    orphans: Option<Orphans>,
    orphans_since: Option<Instant>,
    obituaries: Vec<ExitNotice>,
    /// For the next daemon.
    kept: YardStore,
}

impl YardServer {
    /// Takes the home; `None` if another yard has it.
    pub(super) fn take(config: YardConfig) -> io::Result<Option<Self>> {
        let YardConfig { home, home_id, resumed } = config;
        rustix::thread::set_name(c"kennel-yard")?;
        let (lock, home_lock, listener, keepers, kept) = match resumed {
            Some(YardResume { lock, home_lock, listener, keepers, kept }) => {
                (lock, home_lock, listener, keepers, kept)
            }
            None => {
                let Some((lock, home_lock)) = take_locks(&home)? else { return Ok(None) };
                (lock, home_lock, listen(&home)?, Vec::new(), YardStore::default())
            }
        };
        kennel_sys::memory::prepare_to_fork();
        reap::become_subreaper()?;
        // The last two: whoever started us may have had limits on CPU time and the size of files.
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
            told_to_go: false,
            successor: None,
            keepers: keepers.into_iter().map(|pid| (pid, None)).collect(),
            visitors: Vec::new(),
            orphans: None,
            orphans_since: None,
            obituaries: Vec::new(),
            kept,
        }))
    }

    pub(super) fn serve(mut self) -> io::Result<ForkSide> {
        loop {
            match self.turn() {
                Ok(YardTurn::Next) => {}
                Ok(YardTurn::Last) => return Ok(ForkSide::Left),
                Ok(YardTurn::IsKeeper(descriptors)) => {
                    let Self { support, facts, .. } = self;
                    return Ok(ForkSide::IsKeeper(descriptors, YardInheritance { support, facts }));
                }
                // What goes wrong (no descriptors, no memory) goes wrong for now. Leaving would leave
                // everyone's children to nobody.
                Err(error) => {
                    complain(&error.to_string());
                    std::thread::sleep(TROUBLE);
                }
            }
        }
    }

    fn turn(&mut self) -> io::Result<YardTurn> {
        // Who ended before the signal was blocked, or between two programs of ours, is seen first.
        self.reap()?;
        self.end_orphans()?;
        self.start_daemon_if_due();
        if self.nobody_is_left() {
            // Whoever came in the last moment may want a daemon.
            self.hear_visitors();
            if self.nobody_is_left() {
                return Ok(YardTurn::Last);
            }
        }
        self.wait()?;
        while let Some(signal) = self.signals.next()? {
            if signal == Signal::TERM.as_raw() {
                self.terminate_daemon()?;
            }
        }
        self.hear_visitors();
        // The daemon's last words come before the news of its end.
        Ok(self.hear_daemon()?.map_or(YardTurn::Next, YardTurn::IsKeeper))
    }

    fn nobody_is_left(&self) -> bool {
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
        let channels = self.daemon.iter().map(|daemon| &daemon.channel).chain(&self.visitors);
        fds.extend(channels.map(|channel| PollFd::new(channel, PollFlags::IN)));
        let now = Instant::now();
        // Those who were asked to end are our children: we hear of it.
        let orphans = self.orphans_since.map(|since| match now.saturating_duration_since(since) {
            asked if asked < GRACE => since + GRACE,
            killed if killed < PATIENCE => now,
            _ => now + PROBE,
        });
        let timeout = [self.start_at, orphans].into_iter().flatten().min().map(|at| {
            let left = at.saturating_duration_since(now);
            rustix::event::Timespec {
                tv_sec: left.as_secs().try_into().unwrap_or(i64::MAX),
                tv_nsec: left.subsec_nanos().into(),
            }
        });
        match rustix::event::poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
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
                self.know(daemon.pid);
                self.daemon = Some(daemon);
                // From here on we mostly wait, and every keeper begins with what we hold.
                kennel_sys::memory::give_back();
            }
            Err(error) => {
                complain(&format!("the daemon can't be started: {error}"));
                self.start_at = Some(Instant::now() + self.backoff.crashed(false));
            }
        }
    }

    /// Whoever stops us stops the daemon, which ends everything; then we leave.
    fn terminate_daemon(&mut self) -> io::Result<()> {
        self.told_to_go = true;
        match &self.daemon {
            Some(daemon) => {
                let _sent_or_gone = pidfd::send(&daemon.pidfd, Signal::TERM)?;
            }
            None if self.keepers.is_empty() => self.future = AfterDaemon::Leave,
            // Sessions without a daemon: one is needed to end them in order.
            None => {
                self.start_at = Some(Instant::now());
                self.start_daemon_if_due();
                return match &self.daemon {
                    Some(_) => self.terminate_daemon(),
                    None => Ok(()),
                };
            }
        }
        Ok(())
    }

    fn daemon_ended(&mut self, daemon: &DaemonProcess, ended: WaitStatus) {
        for key in self.keepers.values_mut() {
            *key = None; // numbers of a daemon that is no more
        }
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
            // It crashed before it could do as it was told: there is nothing that another one could end.
            DaemonExit::Crashed if self.told_to_go && self.keepers.is_empty() => {
                self.future = AfterDaemon::Leave;
            }
            DaemonExit::Crashed => {
                let pause = self.backoff.crashed(daemon.was_sound());
                complain(&format!("the daemon has ended ({ended:?}); again in {pause:?}"));
                self.start_at = Some(Instant::now() + pause);
            }
        }
    }

    /// A newer program takes over this very process. If it can't, the old one goes on.
    fn become_successor(&mut self) {
        let Some(program) = self.successor.take() else { return };
        let keepers = self.keepers.keys().copied();
        let error = become_program(
            &program,
            &self.home,
            [&self.lock, &self.home_lock, &self.listener],
            keepers,
            &self.kept,
        );
        complain(&format!("{} can't take over: {error}", program.display()));
    }

    /// What the daemon wants. In a new keeper this says so: the caller drops the yard, and is the keeper.
    fn hear_daemon(&mut self) -> io::Result<Option<LaunchDescriptors>> {
        while let Some(daemon) = &self.daemon {
            let (bytes, descriptors) = match daemon.channel.receive()? {
                Received::Message(bytes, descriptors) => (bytes, descriptors),
                // Its end is seen by its parent, which we are.
                Received::Nothing | Received::End => return Ok(None),
            };
            match YardRequest::decode(&bytes) {
                Ok(YardRequest::Fork { key }) => {
                    if let Some(descriptors) = self.fork_keeper(key, descriptors) {
                        return Ok(Some(descriptors));
                    }
                }
                Ok(YardRequest::Status) => self.tell_daemon(&self.status()),
                Ok(YardRequest::Kept { after }) => self.kept.tell(&daemon.channel, &after),
                Ok(wish) => self.heed(wish, descriptors),
                Err(error) => complain(&error.to_string()),
            }
        }
        Ok(None)
    }

    /// What a daemon has said that has ended before it was heard. Whatever it wanted to launch, the next one decides upon.
    fn hear_last_words(&mut self, daemon: &DaemonProcess) {
        while let Ok(Received::Message(bytes, descriptors)) = daemon.channel.receive() {
            match YardRequest::decode(&bytes) {
                Ok(wish) => self.heed(wish, descriptors),
                Err(error) => complain(&error.to_string()),
            }
        }
    }

    /// Does what needs nobody to hear of it.
    fn heed(&mut self, wish: YardRequest, descriptors: Vec<OwnedFd>) {
        match wish {
            YardRequest::Leave => {
                self.future = AfterDaemon::Leave;
                self.wanted_again = false;
            }
            YardRequest::Replace { program } => {
                self.successor = Some(program.into()).filter(|path: &PathBuf| path.is_absolute());
            }
            YardRequest::Keep { name } => self.kept.keep(name, descriptors),
            YardRequest::Forget { name } => self.kept.forget(&name),
            YardRequest::Fork { .. }
            | YardRequest::Status
            | YardRequest::Kept { .. }
            | YardRequest::Start => {}
        }
    }

    fn fork_keeper(&mut self, key: u64, descriptors: Vec<OwnedFd>) -> Option<LaunchDescriptors> {
        if descriptors.len() < DESCRIPTORS {
            let why = "the order came without its descriptors".to_owned();
            self.tell_daemon(&YardReport::NotForked { key, why });
            return None;
        }
        fault::point("yard.fork");
        match fork_alone() {
            Ok(Forked::Child) => {
                let descriptors = LaunchDescriptors::new(descriptors);
                // What can't be a keeper must not go on as a second yard.
                return descriptors.or_else(|| leave_at_once(1));
            }
            Ok(Forked::Parent(pid)) => {
                fault::point("yard.forked");
                self.keepers.insert(pid, Some(key));
                self.know(pid);
                self.tell_daemon(&YardReport::Forked { key, pid });
            }
            Err(error) => {
                let why = format!("no keeper could be forked: {error}");
                self.tell_daemon(&YardReport::NotForked { key, why });
            }
        }
        None
    }

    /// A new child that is no orphan. If it can't be told from one it is ended like one: a launch fails, or
    /// a daemon is started again.
    fn know(&mut self, pid: i32) {
        if let Some(orphans) = &mut self.orphans
            && let Err(error) = orphans.add_known(pid)
        {
            complain(&format!("the new child {pid} can't be told from orphans: {error}"));
        }
    }

    fn tell_daemon(&self, report: &YardReport) {
        let Some(daemon) = &self.daemon else { return };
        // A daemon that does not read thousands of messages is stuck, and learns the rest when it looks.
        if let Err(error) = daemon.channel.send(&report.encode(), &[]) {
            complain(&format!("the daemon can't be told: {error}"));
        }
    }

    // Children.

    fn reap(&mut self) -> io::Result<()> {
        while let Reaped::One(pid, ended) = reap::reap_any()? {
            self.child_ended(pid, ended);
        }
        // A keeper or daemon that somebody stops (an agent may) has work to do.
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
                self.hear_last_words(&daemon);
                self.daemon_ended(&daemon, ended);
            }
            self.suspect_orphans();
        } else if self.keepers.remove(&pid).is_some() {
            fault::point("yard.reaped");
            self.obituaries.push(ExitNotice { pid, how: describe(ended) });
            // One that left in order has seen its pen empty.
            if ended != WaitStatus::Code(0) {
                self.suspect_orphans();
            }
        }
        // Anyone else is an orphan that ended by itself.
    }

    fn suspect_orphans(&mut self) {
        self.orphans_since.get_or_insert_with(Instant::now);
        if let Some(orphans) = &mut self.orphans {
            orphans.look_again();
        }
    }

    /// Ends those who fell to us; then tells of the keepers whose they were.
    fn end_orphans(&mut self) -> io::Result<()> {
        let mut left = Vec::new();
        if let Some(since) = self.orphans_since {
            match self.end_some_orphans(since + GRACE) {
                Ok(OrphansLeft::Nobody) => {
                    self.orphans = None;
                    self.orphans_since = None;
                }
                Ok(OrphansLeft::Asked) => {}
                Ok(OrphansLeft::These(these)) => left = these,
                Err(error) => {
                    complain(&format!("orphans can't be ended: {error}"));
                    left.push(error.to_string());
                }
            }
            if self.orphans_since.is_some() && since.elapsed() < PATIENCE {
                return Ok(());
            }
        }
        for ExitNotice { pid, how } in std::mem::take(&mut self.obituaries) {
            self.tell_daemon(&YardReport::KeeperEnded {
                pid,
                how: how.clone(),
                left: left.clone(),
            });
            if !left.is_empty() {
                self.obituaries.push(ExitNotice { pid, how });
            }
        }
        Ok(())
    }

    fn end_some_orphans(&mut self, kill_at: Instant) -> io::Result<OrphansLeft> {
        let orphans = match &mut self.orphans {
            Some(orphans) => orphans,
            none => {
                let daemon = self.daemon.as_ref().map(|daemon| daemon.pid);
                let known = self.keepers.keys().copied().chain(daemon).collect::<Vec<_>>();
                none.insert(Orphans::gather(&self.home_id, &known)?)
            }
        };
        let left = orphans.end(kill_at);
        for (pid, ended) in orphans.known_ended() {
            self.child_ended(pid, ended);
        }
        left
    }

    // Visitors.

    fn hear_visitors(&mut self) {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        while let Ok(socket) = rustix::net::accept_with(&self.listener, flags) {
            if self.visitors.len() < VISITORS {
                self.visitors.push(Channel::new(socket, LONGEST_REQUEST));
            }
        }
        let mut gone = HashSet::new();
        for place in 0..self.visitors.len() {
            match self.visitors[place].receive() {
                Ok(Received::Nothing) => {}
                Ok(Received::End) | Err(_) => drop(gone.insert(place)),
                Ok(Received::Message(bytes, _)) => self.answer(place, &bytes),
            }
        }
        let mut place = 0;
        self.visitors.retain(|_| {
            place += 1;
            !gone.contains(&(place - 1))
        });
    }

    fn answer(&mut self, place: usize, bytes: &[u8]) {
        match YardRequest::decode(bytes) {
            Ok(YardRequest::Start) if self.daemon.is_none() => {
                self.told_to_go = false;
                self.future = AfterDaemon::Serve;
                self.backoff.forgive();
                self.start_at = Some(Instant::now());
                self.start_daemon_if_due();
            }
            Ok(YardRequest::Start) => {
                self.wanted_again = self.future == AfterDaemon::Leave;
                self.told_to_go = false;
            }
            Ok(YardRequest::Status) => {}
            // Only the daemon says anything else, and not here.
            _ => return,
        }
        let status = self.status().encode();
        // A visitor that does not read its answer doesn't want it.
        let _told = self.visitors[place].send(&status, &[]);
    }

    fn status(&self) -> YardReport {
        YardReport::Status {
            pid: rustix::process::getpid().as_raw_pid(),
            daemon: self.daemon.as_ref().map(|daemon| daemon.pid),
            keepers: self.keepers.keys().copied().collect(),
            version: VERSION,
        }
    }
}

fn describe(ended: WaitStatus) -> String {
    match ended {
        WaitStatus::Code(code) => format!("exited with code {code}"),
        WaitStatus::Signal { signal, .. } => format!("ended by signal {signal}"),
    }
}

/// A line for the yard's log, which is its standard error.
pub(super) fn complain(text: &str) {
    let line = format!("kennel-yard: {text}\n");
    // Nobody is left to tell if this fails.
    let _written = rustix::io::write(rustix::stdio::stderr().as_fd(), line.as_bytes());
}
