//! Asking the daemon for a new session.

use std::ffi::OsStr;
use std::time::{Duration, Instant};

use kennel_types::api::{CreateRequest, ResumeRequest, StdinFrom, Text};
use kennel_types::{Phase, ReadyState, RelaunchState, SessionId, SessionSpec, SessionView};
use rustix::event::{PollFd, PollFlags};
use rustix::termios::isatty;

use super::follow::await_record;
use super::{ResumeArgs, RunArgs, client_env};
use crate::command_error::{CommandError, say};
use crate::connect::{
    AskError, DaemonClient, Patience, Sent, find_inside, hand_over_stdin, session_path,
};
use crate::exit_code;
use crate::foreground::{OwnTerminal, Signals, like_ours, poll, settings};
use crate::home::Home;
use crate::stopper::{BY_RESUME, BY_RUN, Stopper};
use crate::timestamp;

/// The pause between looks at a session whose daemon vanished over its launch.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// How often a request that may be repeated is, if daemons vanish over it one after the other.
const MOST_LOSSES: u32 = 50;

/// How often a daemon may vanish over a request that came to nothing before that is told.
const MOST_TRIES: u32 = 3;

/// How long a daemon that was sound serves.
const SOUND: Duration = Duration::from_secs(30);

/// How often we look where we stand in line.
const LOOK_AT_LINE: Duration = Duration::from_millis(300);

/// What to ask for.
pub(super) struct PendingLaunch {
    wish: LaunchKind,
    /// Whether the agent gets our own standard input.
    own_stdin: bool,
    until: Until,
    /// Whether it may have to wait in line.
    queue: bool,
    asked_by: String,
    asked_at: u64,
}

/// How far it has come when we are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Until {
    /// It is in line, or runs.
    Accepted,
    /// It runs.
    Started,
    /// It is ready, or won't be.
    Ready,
}

impl Until {
    /// For one that is left to itself a place in line is enough, unless more is asked for.
    fn of(wait_ready: bool, detach: bool, queue: bool) -> Self {
        match (wait_ready, detach && queue) {
            (true, _) => Self::Ready,
            (false, true) => Self::Accepted,
            (false, false) => Self::Started,
        }
    }

    fn query(self) -> &'static str {
        match self {
            Self::Accepted => "?until=accepted",
            Self::Started => "",
            Self::Ready => "?until=ready",
        }
    }

    /// Whether one that runs or has ended has come that far. One that is launched again may still become ready.
    fn is_come(self, session: &SessionView) -> bool {
        let waiting = session.phase == Phase::Running && session.ready == ReadyState::Waiting;
        self != Self::Ready || !(waiting || session.relaunch == RelaunchState::Pending)
    }
}

/// A new session, or another launch of one.
enum LaunchKind {
    Create {
        request: Box<CreateRequest>,
        /// The session that it has made already, for a daemon that is no more.
        made: Option<String>,
    },
    Resume {
        session: String,
        request: Box<ResumeRequest>,
        /// The launch that was running when we looked: it is the answer, unless it was about to end by then.
        running: Option<String>,
    },
}

impl LaunchKind {
    fn stdin(&mut self) -> &mut StdinFrom {
        match self {
            Self::Create { request, .. } => &mut request.stdin,
            Self::Resume { request, .. } => &mut request.stdin,
        }
    }
}

/// What came of asking.
pub(super) enum LaunchResult {
    /// It runs, or its launch has failed.
    Session {
        session: Box<SessionView>,
        /// Whether it came to be because we asked: else somebody else was first.
        ours: bool,
    },
    /// A stop came before that; it has settled, if it was there at all.
    Stopped { signal: i32, session: Option<Box<SessionView>> },
}

impl PendingLaunch {
    pub(super) fn new(home: &Home, args: &RunArgs) -> anyhow::Result<Self> {
        let env = client_env::environment(&args.env_file, &args.env, args.name.as_deref())?;
        let cwd = client_env::folder(args.cwd.as_deref())?;
        let terminal = wants_terminal(args);
        let (stdin, own_stdin) = match (terminal, args.stdin, args.detach) {
            (true, _, _) => (StdinFrom::Null, false),
            (false, true, _) => (StdinFrom::Pipe, false),
            (false, false, true) => (StdinFrom::Null, false),
            (false, false, false) => (StdinFrom::Null, true),
        };
        let text = |text: &OsStr| Text::from(text);
        let mut spec = SessionSpec {
            name: args.name.clone(),
            terminal: terminal.then(like_ours),
            pen: args.pen.into(),
            grace: args.grace,
            linger: args.linger,
            lease: args.lease.0,
            tethered: !args.detach,
            parent: parent(home),
            outlives_parent: args.stay,
            output_limit: args.output_limit,
            asked_by: asked_by(BY_RUN),
            ..SessionSpec::default()
        };
        args.limits.fill(&mut spec);
        args.worktree.fill(&mut spec);
        args.again.fill(&mut spec)?;
        let asked_by = spec.asked_by.clone();
        args.ready.fill(&mut spec);
        let request = CreateRequest {
            spec,
            argv: args.command.iter().map(|arg| text(arg)).collect(),
            env: env.iter().map(|(name, value)| (text(name), text(value))).collect(),
            cwd: text(cwd.as_os_str()),
            umask: client_env::umask(),
            limits: client_env::limits(),
            stdin,
            terminal_settings: terminal.then(settings).flatten(),
            stderr_apart: terminal && !args.detach && !isatty(rustix::stdio::stderr()),
            queue: args.again.queue,
            ..CreateRequest::default()
        };
        let wish = LaunchKind::Create { request: Box::new(request), made: None };
        let queue = args.again.queue;
        let until = Until::of(args.ready.wait_ready, args.detach, queue);
        Ok(Self { wish, own_stdin, until, queue, asked_by, asked_at: timestamp::now_ms() })
    }

    /// An agent on a terminal.
    pub(super) fn chat(request: CreateRequest) -> Self {
        let asked_by = request.spec.asked_by.clone();
        let wish = LaunchKind::Create { request: Box::new(request), made: None };
        let (own_stdin, queue) = (false, false);
        let until = Until::Started;
        Self { wish, own_stdin, until, queue, asked_by, asked_at: timestamp::now_ms() }
    }

    /// Another launch, after this one.
    pub(super) fn resume(
        home: &Home,
        args: &ResumeArgs,
        latest: &SessionView,
    ) -> anyhow::Result<Self> {
        let env = client_env::environment(&[], &[], latest.name.as_deref())?;
        let spec = &latest.spec;
        let terminal = spec.terminal.is_some();
        let text = |text: &OsStr| Text::from(text);
        // Not a name for the event log alone: by it we know whether it was us whom it was launched for.
        let asked_by = asked_by(BY_RESUME);
        let request = ResumeRequest {
            after: SessionId::parse(&latest.id).ok(),
            env: env.iter().map(|(name, value)| (text(name), text(value))).collect(),
            umask: client_env::umask(),
            limits: client_env::limits(),
            stdin: StdinFrom::Null,
            terminal_settings: terminal.then(settings).flatten(),
            stderr_apart: terminal && !args.detach && !isatty(rustix::stdio::stderr()),
            parent: parent(home),
            tethered: !args.detach,
            queue: args.queue,
            by: asked_by.clone(),
        };
        let own_stdin = !terminal && !spec.stdin && !args.detach;
        let wish = LaunchKind::Resume {
            session: latest.session.clone(),
            request: Box::new(request),
            running: runs(latest).then(|| latest.id.clone()),
        };
        let queue = args.queue;
        let until = Until::of(args.wait_ready, args.detach, queue);
        Ok(Self { wish, own_stdin, until, queue, asked_by, asked_at: timestamp::now_ms() })
    }
}

impl PendingLaunch {
    /// Notes that our session waits in line. It may have lost what only we have: environment and streams.
    fn note_in_line(&mut self, daemon: &DaemonClient) {
        let in_line = |session: &SessionView| session.phase == Phase::Queued;
        // Without a list it is looked for again, and told if that can't be had either.
        let own = || find_own(daemon, self).ok().flatten();
        let found = if self.queue { own().filter(in_line) } else { None };
        if let LaunchKind::Create { made, .. } = &mut self.wish {
            *made = found.map(|session| session.id);
        }
    }

    /// Whether the same request, made again, has the same answer: by its key, by the session that it has made, or by
    /// the launch that it follows.
    fn may_be_repeated(&self) -> bool {
        match &self.wish {
            LaunchKind::Create { request, made } => request.spec.key.is_some() || made.is_some(),
            // After one that runs there would be another one, if it has ended meanwhile.
            LaunchKind::Resume { running, .. } => running.is_none(),
        }
    }

    fn created(&self, session: SessionView) -> LaunchResult {
        let ours = session.spec.asked_by == self.asked_by;
        LaunchResult::Session { session: Box::new(session), ours }
    }
}

/// Where we stand in line, as far as it was told.
#[derive(Default)]
struct QueueNotice {
    session: Option<String>,
    told: Option<u64>,
}

impl QueueNotice {
    /// Looks, and says so if it is news.
    fn look(&mut self, daemon: &DaemonClient, plan: &PendingLaunch) {
        let session = match &self.session {
            Some(id) => daemon.session(id).ok(),
            None => find_own(daemon, plan).ok().flatten(),
        };
        let Some(session) = session else { return };
        let place = session.queue_place;
        if place.is_some() && place != self.told {
            self.told = place;
            say(&format!("session {} waits, number {} in line", session.id, place.unwrap_or(0)));
        }
        self.session = Some(session.id);
    }
}

/// Whether the agent gets a terminal of its own: as told, else if we have one ourselves.
fn wants_terminal(args: &RunArgs) -> bool {
    match (args.tty, args.no_tty) {
        (true, _) => true,
        (_, true) => false,
        _ if args.detach => isatty(rustix::stdio::stdin()),
        _ => OwnTerminal::find().is_some(),
    }
}

/// Who asks, for the event log. It tells our own session from others, should the answer not reach us.
pub(super) fn asked_by(verb: &str) -> String {
    let user = rustix::process::getuid().as_raw();
    format!("{verb} (user {user}, pid {})", std::process::id())
}

/// The session that we are in ourselves.
pub(super) fn parent(home: &Home) -> Option<SessionId> {
    let inside = find_inside(home)?.session?;
    SessionId::parse(&inside).ok()
}

/// Asks, and listens for signals meanwhile.
pub(super) fn create(
    daemon: &DaemonClient,
    home: &Home,
    mut plan: PendingLaunch,
    signals: &Signals,
) -> Result<LaunchResult, CommandError> {
    let refused = |error: AskError| CommandError::from(error).code(exit_code::SETUP);
    let mut sent = ask_whoever_is_there(daemon, home, &mut plan)?;
    let mut asked_at = Instant::now();
    let mut line = QueueNotice::default();
    let mut losses = 0;
    loop {
        if let Some(signal) = await_answer(daemon, &plan, &sent, &mut line, signals)? {
            // The daemon sees us go, and ends what it may have started for us.
            drop(sent);
            let session = match find_own(daemon, &plan).map_err(|error| untold(&error))? {
                Some(session) => stop(daemon, home, &session, signals, signal)?,
                None => None,
            };
            return Ok(LaunchResult::Stopped { signal, session: session.map(Box::new) });
        }
        match sent.receive::<SessionView>() {
            Ok(session) => return Ok(plan.created(session)),
            Err(error) if error.is_gone() => {
                // One that served for a while was sound; one that goes again and again is not.
                losses = if asked_at.elapsed() > SOUND { 1 } else { losses + 1 };
                pause()?;
                daemon.find_again()?;
                plan.note_in_line(daemon);
                if losses > MOST_LOSSES || !plan.may_be_repeated() {
                    match recover(daemon, &plan)? {
                        Some(created) => return Ok(created),
                        None if losses <= MOST_TRIES => {}
                        None => {
                            let error = anyhow::Error::from(error).context("nothing was started");
                            return Err(CommandError::internal(error));
                        }
                    }
                }
                sent = ask_whoever_is_there(daemon, home, &mut plan)?;
                asked_at = Instant::now();
            }
            Err(error) => return Err(refused(error)),
        }
    }
}

/// Waits until there is an answer to be read; or gives the signal that tells us to end.
fn await_answer(
    daemon: &DaemonClient,
    plan: &PendingLaunch,
    sent: &Sent,
    line: &mut QueueNotice,
    signals: &Signals,
) -> Result<Option<i32>, CommandError> {
    loop {
        if let Some(signal) = signals.next_end().map_err(CommandError::internal)? {
            return Ok(Some(signal));
        }
        let mut fds = [PollFd::new(signals, PollFlags::IN), PollFd::new(sent, PollFlags::IN)];
        // While we wait in line, we look now and then where we stand.
        let look_at =
            (plan.queue && plan.until != Until::Accepted).then(|| Instant::now() + LOOK_AT_LINE);
        poll(&mut fds, look_at).map_err(CommandError::internal)?;
        if !fds[1].revents().is_empty() {
            return Ok(None);
        }
        if look_at.is_some_and(|at| Instant::now() >= at) {
            line.look(daemon, plan);
        }
    }
}

/// Asks; once more if the daemon vanished before it could hear us.
fn ask_whoever_is_there(
    daemon: &DaemonClient,
    home: &Home,
    plan: &mut PendingLaunch,
) -> Result<Sent, CommandError> {
    match ask(daemon, home, plan) {
        Err(_) if daemon.find_again().is_ok() => ask(daemon, home, plan),
        asked => asked,
    }
}

fn pause() -> Result<(), CommandError> {
    poll(&mut [], Some(Instant::now() + LOOK_AGAIN)).map_err(CommandError::internal)
}

/// Leaves our standard input, if it is to be the agent's, and sends the request.
fn ask(daemon: &DaemonClient, home: &Home, plan: &mut PendingLaunch) -> Result<Sent, CommandError> {
    if plan.own_stdin {
        let ticket = hand_over_stdin(home).map_err(CommandError::setup)?;
        *plan.wish.stdin() = StdinFrom::Deposit { ticket };
    }
    let until = plan.until.query();
    let sent = match &plan.wish {
        LaunchKind::Create { request, made } => {
            let between = if until.is_empty() { '?' } else { '&' };
            let rejoin = made.as_ref().map(|id| format!("{between}rejoin={id}"));
            let path = format!("/v1/sessions{until}{}", rejoin.unwrap_or_default());
            daemon.send("POST", &path, Some(request), Patience::Endless)
        }
        LaunchKind::Resume { session, request, .. } => {
            let path = session_path(session, &format!("/resume{until}"));
            daemon.send("POST", &path, Some(request), Patience::Endless)
        }
    };
    sent.map_err(|error| CommandError::from(error).code(exit_code::SETUP))
}

/// ForegroundStreams our session, and sees it end. Asked for once more, since the answer may have been on its way to us
/// when we went; whoever tells us to end again wants it killed.
fn stop(
    daemon: &DaemonClient,
    home: &Home,
    session: &SessionView,
    signals: &Signals,
    signal: i32,
) -> Result<Option<SessionView>, CommandError> {
    let stopper = Stopper::new(home, session);
    stopper.ask(false, signal);
    if let Some(settled) = await_record(daemon, &session.id, None, signals)? {
        return Ok(Some(settled));
    }
    stopper.ask(true, signal);
    await_record(daemon, &session.id, None, signals)
}

/// The daemon vanished over it. The next one knows whether the session came to be: none if it did not, so that it can
/// be asked for again.
fn recover(
    daemon: &DaemonClient,
    plan: &PendingLaunch,
) -> Result<Option<LaunchResult>, CommandError> {
    loop {
        let found = find_own(daemon, plan).map_err(|error| untold(&error))?;
        let Some(session) = found.or_else(|| find_running(daemon, plan)) else { return Ok(None) };
        match session.phase {
            // It was found running; or nobody granted it, so its keeper ended it.
            Phase::Running | Phase::Reaped | Phase::Cleaned if plan.until.is_come(&session) => {
                return Ok(Some(plan.created(session)));
            }
            Phase::Lost => {
                let text = format!("nobody can tell any more whether session {} runs", session.id);
                return Err(CommandError::because(exit_code::UNKNOWN, text).hint(format!(
                    "`kennel inspect {0}` tells what is known; `kennel forget {0}` gives it up",
                    session.id
                )));
            }
            Phase::Queued
            | Phase::Making
            | Phase::Reserved
            | Phase::Launching
            | Phase::Starting
            | Phase::Running
            | Phase::Stopping
            | Phase::Reaped
            | Phase::Cleaned => pause()?,
        }
    }
}

/// Whether a launch goes on, so that none follows it just now.
fn runs(session: &SessionView) -> bool {
    session.phase < Phase::Stopping && session.wanted == "running" && session.exit.is_none()
}

/// The launch that was running already when we asked for one, and has been our answer.
fn find_running(daemon: &DaemonClient, plan: &PendingLaunch) -> Option<SessionView> {
    match &plan.wish {
        LaunchKind::Resume { running: Some(id), .. } => daemon.session(id).ok(),
        _ => None,
    }
}

/// A list that can't be had does not say that we are not on it.
fn untold(error: &AskError) -> CommandError {
    let text = format!("nobody can tell whether the session was started: {error}");
    CommandError::because(exit_code::UNKNOWN, text).hint("`kennel ps -a` lists it if it was")
}

/// Our own session among all others, if it is there.
fn find_own(daemon: &DaemonClient, plan: &PendingLaunch) -> Result<Option<SessionView>, AskError> {
    let sessions = daemon.sessions(true)?;
    let ours = |session: &SessionView| {
        let created = timestamp::parse(&session.created_at);
        session.spec.asked_by == plan.asked_by
            && created.is_some_and(|ms| ms + 1000 >= plan.asked_at)
    };
    let order = |session: &SessionView| (session.session.clone(), session.attempt);
    Ok(sessions.into_iter().filter(ours).max_by_key(order))
}
