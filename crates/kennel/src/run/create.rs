//! Requests a new session, or another launch of one, from the daemon.

use kennel_types::api::{CreateRequest, OsText, ResumeRequest, StdinFrom, Until};
use kennel_types::{Phase, ReadyState, RelaunchState, SessionId, SessionSpec};

use super::follow::await_record;
use super::{ResumeArgs, RunArgs, client_env};
use crate::command_prelude::*;
use crate::connect::{find_inside, hand_over_stdin};
use crate::foreground::{like_ours, own_terminal, settings};
use crate::stopper::{BY_RESUME, BY_RUN, Stopper};
use crate::timestamp;

/// The pause between two checks of a session whose daemon went away during its launch.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);
/// How often the position in the queue is checked.
const QUEUE_INTERVAL: Duration = Duration::from_millis(300);

pub(super) struct PendingLaunch {
    kind: LaunchKind,
    /// Whether the agent gets our own standard input.
    own_stdin: bool,
    until: Until,
    queue: bool,
    asked_by: String,
    asked_at: u64,
}

/// A new session, or another launch of one.
enum LaunchKind {
    Create {
        request: Box<CreateRequest>,
        /// The queued session that an earlier daemon created for this request.
        created: Option<String>,
    },
    Resume {
        session: String,
        request: Box<ResumeRequest>,
        /// The launch that ran before the request. The daemon returns it unless it is ending.
        running: Option<String>,
    },
}

pub(super) enum LaunchResult {
    /// The session runs, or its launch has failed.
    Session {
        session: Box<SessionView>,
        /// Whether this request created it; otherwise another client was first.
        ours: bool,
    },
    /// A signal arrived first. The session has ended, if there was one.
    Stopped { signal: i32, session: Option<Box<SessionView>> },
}

/// Returns what to wait for. A detached session that may be queued needs only to be accepted.
fn wait_until(wait_ready: bool, detach: bool, queue: bool) -> Until {
    match (wait_ready, detach && queue) {
        (true, _) => Until::Ready,
        (false, true) => Until::Accepted,
        (false, false) => Until::Started,
    }
}

/// Whether a session has reached this point. With a pending relaunch it may still become ready.
fn has_reached(until: Until, session: &SessionView) -> bool {
    let waiting = session.phase == Phase::Running && session.ready == ReadyState::Waiting;
    until != Until::Ready || !(waiting || session.relaunch == RelaunchState::Pending)
}

impl PendingLaunch {
    pub(super) fn new(home: &HomeDir, args: &RunArgs) -> Result<Self, CommandError> {
        let (name, cwd) = (args.name.as_deref(), args.cwd.as_deref());
        let ours = client_env::request(&args.env_file, &args.env, name, cwd)?;
        let terminal = wants_terminal(args);
        let stdin = if args.stdin && !terminal { StdinFrom::Pipe } else { StdinFrom::Null };
        let own_stdin = !terminal && !args.stdin && !args.detach;
        let mut spec = SessionSpec {
            name: args.name.clone(),
            terminal: terminal.then(like_ours),
            pen: args.pen,
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
        args.ready.fill(&mut spec);
        let request = CreateRequest {
            spec,
            argv: args.command.iter().map(|arg| OsText::from(arg.as_os_str())).collect(),
            stdin,
            terminal_settings: terminal.then(settings).flatten(),
            stderr_apart: terminal && !args.detach && !isatty(rustix::stdio::stderr()),
            queue: args.again.queue,
            ..ours
        };
        let until = wait_until(args.ready.wait_ready, args.detach, args.again.queue);
        Ok(Self::create(request, own_stdin, until))
    }

    pub(super) fn create(request: CreateRequest, own_stdin: bool, until: Until) -> Self {
        let (asked_by, queue) = (request.spec.asked_by.clone(), request.queue);
        let kind = LaunchKind::Create { request: Box::new(request), created: None };
        Self { kind, own_stdin, until, queue, asked_by, asked_at: timestamp::now_ms() }
    }

    /// Creates a request for another launch after this one.
    pub(super) fn resume(
        home: &HomeDir,
        args: &ResumeArgs,
        latest: &SessionView,
    ) -> anyhow::Result<Self> {
        let spec = &latest.spec;
        let terminal = spec.terminal.is_some();
        // Not only for the event log: it identifies the launch as ours.
        let asked_by = asked_by(BY_RESUME);
        let request = ResumeRequest {
            after: SessionId::parse(&latest.id).ok(),
            env: client_env::environment(&[], &[], latest.name.as_deref())?,
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
        let kind = LaunchKind::Resume {
            session: latest.session.clone(),
            request: Box::new(request),
            running: runs(latest).then(|| latest.id.clone()),
        };
        let queue = args.queue;
        let until = wait_until(args.wait_ready, args.detach, queue);
        Ok(Self { kind, own_stdin, until, queue, asked_by, asked_at: timestamp::now_ms() })
    }

    /// Remembers the queued session: the next daemon needs its environment and its streams again.
    fn remember_queued(&mut self, daemon: &DaemonClient) {
        let is_queued = |session: &SessionView| session.phase == Phase::Queued;
        // If the list can't be fetched now, `recover` fetches it again and reports the error.
        let own = || find_own(daemon, self).ok().flatten();
        let found = if self.queue { own().filter(is_queued) } else { None };
        if let LaunchKind::Create { created, .. } = &mut self.kind {
            *created = found.map(|session| session.id);
        }
    }

    /// Whether a repeated request has the same result: because of its key, the session that it has
    /// created, or the launch that it follows.
    fn may_be_repeated(&self) -> bool {
        match &self.kind {
            LaunchKind::Create { request, created } => {
                request.spec.key.is_some() || created.is_some()
            }
            // If the running launch has ended meanwhile, a repeated request would start another.
            LaunchKind::Resume { running, .. } => running.is_none(),
        }
    }

    fn result(&self, session: SessionView) -> LaunchResult {
        let ours = session.spec.asked_by == self.asked_by;
        LaunchResult::Session { session: Box::new(session), ours }
    }
}

/// Prints the position in the queue when it changes.
#[derive(Default)]
struct QueueNotice {
    session: Option<String>,
    printed: Option<u64>,
}

impl QueueNotice {
    fn update(&mut self, daemon: &DaemonClient, launch: &PendingLaunch) {
        let session = match &self.session {
            Some(id) => daemon.session(id).ok(),
            None => find_own(daemon, launch).ok().flatten(),
        };
        let Some(session) = session else { return };
        if let Some(position) = session.queue_position.filter(|at| Some(*at) != self.printed) {
            self.printed = Some(position);
            print_message(&format!("session {} is queued (position {position})", session.id));
        }
        self.session = Some(session.id);
    }
}

/// Whether the agent gets a terminal: as the flags say, else if we have one ourselves.
fn wants_terminal(args: &RunArgs) -> bool {
    match (args.tty, args.no_tty) {
        (true, _) => true,
        (_, true) => false,
        _ if args.detach => isatty(rustix::stdio::stdin()),
        _ => own_terminal().is_some(),
    }
}

/// Identifies this process in the event log, and its session if the response is lost.
pub(crate) fn asked_by(verb: &str) -> String {
    let user = rustix::process::getuid().as_raw();
    format!("{verb} (user {user}, pid {})", std::process::id())
}

pub(crate) fn parent(home: &HomeDir) -> Option<SessionId> {
    let inside = find_inside(home)?.session?;
    SessionId::parse(&inside).ok()
}

/// Sends the request and waits for the response, or for a signal.
pub(super) fn create(
    daemon: &DaemonClient,
    mut launch: PendingLaunch,
    signals: &Signals,
) -> Result<LaunchResult, CommandError> {
    let mut pending = send_or_reconnect(daemon, &mut launch)?;
    let mut notice = QueueNotice::default();
    let mut retry = DaemonRetry::new();
    loop {
        if let Some(signal) = await_response(daemon, &launch, &pending, &mut notice, signals)? {
            // The daemon sees the connection close, and ends what it may have started.
            drop(pending);
            let session = match find_own(daemon, &launch)? {
                Some(session) => stop(daemon, &session, signals, signal)?,
                None => None,
            };
            return Ok(LaunchResult::Stopped { signal, session: session.map(Box::new) });
        }
        match pending.receive::<SessionView>() {
            Ok(session) => return Ok(launch.result(session)),
            Err(error) if error.is_gone() => {
                let again = retry.another();
                daemon.reconnect()?;
                launch.remember_queued(daemon);
                if !again || !launch.may_be_repeated() {
                    match recover(daemon, &launch)? {
                        Some(result) => return Ok(result),
                        None if again => {}
                        None => {
                            let error = anyhow::Error::from(error).context("nothing was started");
                            return Err(CommandError::internal(error));
                        }
                    }
                }
                pending = send_or_reconnect(daemon, &mut launch)?;
            }
            Err(error) => return Err(CommandError::from(error).code(exit_code::SETUP)),
        }
    }
}

/// Waits for the response, or returns the signal that arrives first.
fn await_response(
    daemon: &DaemonClient,
    launch: &PendingLaunch,
    pending: &Sent,
    notice: &mut QueueNotice,
    signals: &Signals,
) -> Result<Option<i32>, CommandError> {
    loop {
        if let Some(signal) = signals.next_end()? {
            return Ok(Some(signal));
        }
        let mut fds = [PollFd::new(signals, PollFlags::IN), PollFd::new(pending, PollFlags::IN)];
        let check_queue = launch.queue && launch.until != Until::Accepted;
        let check_at = check_queue.then(|| Instant::now() + QUEUE_INTERVAL);
        poll(&mut fds, check_at)?;
        if !fds[1].revents().is_empty() {
            // A signal that arrived together with the response wins.
            return Ok(signals.next_end()?);
        }
        if check_at.is_some_and(|at| Instant::now() >= at) {
            notice.update(daemon, launch);
        }
    }
}

/// Sends the request; once more if the daemon went away before it could read it.
fn send_or_reconnect(
    daemon: &DaemonClient,
    launch: &mut PendingLaunch,
) -> Result<Sent, CommandError> {
    match send(daemon, launch) {
        Err(_) if daemon.reconnect().is_ok() => send(daemon, launch),
        sent => sent,
    }
}

/// Hands over our standard input, if it becomes the agent's, and sends the request.
fn send(daemon: &DaemonClient, launch: &mut PendingLaunch) -> Result<Sent, CommandError> {
    if launch.own_stdin {
        let ticket = hand_over_stdin(&daemon.home).map_err(CommandError::setup)?;
        let stdin = StdinFrom::Deposit { ticket };
        match &mut launch.kind {
            LaunchKind::Create { request, .. } => request.stdin = stdin,
            LaunchKind::Resume { request, .. } => request.stdin = stdin,
        }
    }
    let until = launch.until.name();
    let sent = match &launch.kind {
        LaunchKind::Create { request, created } => {
            let rejoin = created.as_ref().map(|id| format!("&rejoin={id}")).unwrap_or_default();
            let path = format!("/v1/sessions?until={until}{rejoin}");
            daemon.send("POST", &path, Some(request), Timeout::None)
        }
        LaunchKind::Resume { session, request, .. } => {
            let path = session_path(session, &format!("/resume?until={until}"));
            daemon.send("POST", &path, Some(request), Timeout::None)
        }
    };
    sent.map_err(|error| CommandError::from(error).code(exit_code::SETUP))
}

/// Stops our session and waits for its end. The daemon may have sent its response just before the
/// connection closed, so the stop is requested explicitly. A second signal kills the session.
fn stop(
    daemon: &DaemonClient,
    session: &SessionView,
    signals: &Signals,
    signal: i32,
) -> Result<Option<SessionView>, CommandError> {
    let stopper = Stopper::new(&daemon.home, session);
    stopper.ask(false, signal);
    if let Some(ended) = await_record(daemon, &session.id, None, signals)? {
        return Ok(Some(ended));
    }
    stopper.ask(true, signal);
    await_record(daemon, &session.id, None, signals)
}

/// Finds out from the next daemon whether the request had an effect before the daemon went away.
/// Returns nothing if it had none, and so may be repeated.
fn recover(
    daemon: &DaemonClient,
    launch: &PendingLaunch,
) -> Result<Option<LaunchResult>, CommandError> {
    loop {
        let running = || match &launch.kind {
            LaunchKind::Resume { running: Some(id), .. } => daemon.session(id).ok(),
            _ => None,
        };
        let Some(session) = find_own(daemon, launch)?.or_else(running) else { return Ok(None) };
        match session.phase {
            // It runs, or its keeper ended it because no daemon granted the launch.
            Phase::Running | Phase::Reaped | Phase::Cleaned
                if has_reached(launch.until, &session) =>
            {
                return Ok(Some(launch.result(session)));
            }
            Phase::Lost => {
                let text = format!("it is unknown whether session {} still runs", session.id);
                return Err(CommandError::unknown(text).hint(format!(
                    "`kennel inspect {0}` shows what is known; `kennel forget {0}` gives it up",
                    session.id
                )));
            }
            _ => poll(&mut [], Some(Instant::now() + CHECK_INTERVAL))?,
        }
    }
}

/// Whether a launch is running, so that a resume starts no other.
fn runs(session: &SessionView) -> bool {
    session.phase < Phase::Stopping && session.wanted == "running" && session.exit.is_none()
}

fn find_own(
    daemon: &DaemonClient,
    launch: &PendingLaunch,
) -> Result<Option<SessionView>, CommandError> {
    let sessions = daemon.sessions(true).map_err(|error| {
        let text = format!("it is unknown whether the session was started: {error}");
        CommandError::unknown(text).hint("if it was, `kennel ps -a` lists it")
    })?;
    let ours = |session: &SessionView| {
        let created = timestamp::parse(&session.created_at);
        session.spec.asked_by == launch.asked_by
            && created.is_some_and(|ms| ms + 1000 >= launch.asked_at)
    };
    let order = |session: &SessionView| (session.session.clone(), session.attempt);
    Ok(sessions.into_iter().filter(ours).max_by_key(order))
}
