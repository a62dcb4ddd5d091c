//! Asking the daemon for a new session.

use std::ffi::OsStr;
use std::time::{Duration, Instant};

use kennel_core::api::{CreateRequest, StdinFrom, Text};
use kennel_core::{Phase, SessionId, SessionSpec, SessionView};
use rustix::event::{PollFd, PollFlags};
use rustix::termios::isatty;

use super::foreground::await_record;
use super::{RunArgs, surroundings};
use crate::connect::{AskError, Daemon, Patience, Sent, find_inside, leave_stdin, receive};
use crate::exit_code;
use crate::failure::Failure;
use crate::home::Home;
use crate::live::{OwnTerminal, Signals, like_ours, poll, settings};
use crate::moment;
use crate::stopper::{BY_RUN, Stopper};

/// The pause between looks at a session whose daemon vanished over its launch.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// What to ask for.
pub(super) struct Plan {
    request: CreateRequest,
    /// Whether the agent gets our own standard input.
    own_stdin: bool,
    asked_at: u64,
}

/// What came of asking.
pub(super) enum Created {
    /// It runs, or its launch has failed.
    Session(Box<SessionView>),
    /// A stop came before that; it has settled, if it was there at all.
    Stopped { signal: i32, session: Option<Box<SessionView>> },
}

impl Plan {
    pub(super) fn new(home: &Home, args: &RunArgs) -> anyhow::Result<Self> {
        let env = surroundings::environment(args)?;
        let cwd = surroundings::folder(args)?;
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
            argv: args.command.iter().map(|arg| arg.to_string_lossy().into_owned()).collect(),
            cwd: cwd.to_string_lossy().into_owned(),
            terminal: terminal.then(like_ours),
            stdin: terminal || stdin == StdinFrom::Pipe,
            pen: args.pen.into(),
            grace: args.grace,
            linger: args.linger,
            lease: args.lease.0,
            tethered: !args.detach,
            parent: find_inside(home)
                .and_then(|inside| inside.session)
                .and_then(|session| SessionId::parse(&session).ok()),
            outlives_parent: args.stay,
            output_limit: args.output_limit,
            asked_by: asked_by(),
            ..SessionSpec::default()
        };
        args.limits.fill(&mut spec);
        args.ready.fill(&mut spec);
        let request = CreateRequest {
            spec,
            argv: args.command.iter().map(|arg| text(arg)).collect(),
            env: env.iter().map(|(name, value)| (text(name), text(value))).collect(),
            cwd: text(cwd.as_os_str()),
            umask: surroundings::umask(),
            limits: surroundings::limits(),
            stdin,
            terminal_settings: terminal.then(settings).flatten(),
            stderr_apart: terminal && !args.detach && !isatty(rustix::stdio::stderr()),
            queue: false,
        };
        Ok(Self { request, own_stdin, asked_at: moment::now_ms() })
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
fn asked_by() -> String {
    let user = rustix::process::getuid().as_raw();
    format!("{BY_RUN} (user {user}, pid {})", std::process::id())
}

/// Asks, and listens for signals meanwhile.
pub(super) fn create(
    daemon: &Daemon,
    home: &Home,
    args: &RunArgs,
    mut plan: Plan,
    signals: &Signals,
) -> Result<Created, Failure> {
    let refused = |error: AskError| Failure::from(error).code(exit_code::SETUP);
    let sent = match ask(daemon, home, args, &mut plan) {
        Ok(sent) => sent,
        // It vanished before it could hear us.
        Err(_) if daemon.find_again().is_ok() => ask(daemon, home, args, &mut plan)?,
        Err(failure) => return Err(failure),
    };
    loop {
        if let Some(signal) = signals.next_end().map_err(Failure::internal)? {
            // The daemon sees us go, and ends what it may have started for us.
            drop(sent);
            let session = match find_own(daemon, &plan) {
                Some(session) => stop(daemon, home, &session, signals, signal)?,
                None => None,
            };
            return Ok(Created::Stopped { signal, session: session.map(Box::new) });
        }
        let mut fds = [PollFd::new(signals, PollFlags::IN), PollFd::new(&sent, PollFlags::IN)];
        poll(&mut fds, None).map_err(Failure::internal)?;
        if !fds[1].revents().is_empty() {
            break;
        }
    }
    match receive(sent) {
        Ok(session) => Ok(Created::Session(Box::new(session))),
        Err(error) if error.is_gone() => recover(daemon, args, &plan, error),
        Err(error) => Err(refused(error)),
    }
}

/// Leaves our standard input, if it is to be the agent's, and sends the request.
fn ask(daemon: &Daemon, home: &Home, args: &RunArgs, plan: &mut Plan) -> Result<Sent, Failure> {
    if plan.own_stdin {
        let ticket = leave_stdin(home).map_err(Failure::setup)?;
        plan.request.stdin = StdinFrom::Deposit { ticket };
    }
    let sent = daemon.send("POST", args.ready.target(), Some(&plan.request), Patience::Endless);
    sent.map_err(|error| Failure::from(error).code(exit_code::SETUP))
}

/// Ends our session, and sees it end. Asked for once more, since the answer may have been on its way to us
/// when we went; whoever tells us to end again wants it killed.
fn stop(
    daemon: &Daemon,
    home: &Home,
    session: &SessionView,
    signals: &Signals,
    signal: i32,
) -> Result<Option<SessionView>, Failure> {
    let stopper = Stopper::new(home, session);
    stopper.ask(false, signal);
    if let Some(settled) = await_record(daemon, &session.id, None, signals)? {
        return Ok(Some(settled));
    }
    stopper.ask(true, signal);
    await_record(daemon, &session.id, None, signals)
}

/// The daemon vanished over it. The next one knows whether the session came to be.
fn recover(
    daemon: &Daemon,
    args: &RunArgs,
    plan: &Plan,
    error: AskError,
) -> Result<Created, Failure> {
    daemon.find_again()?;
    loop {
        let Some(session) = find_own(daemon, plan) else {
            let error = anyhow::Error::from(error).context("nothing was started");
            return Err(Failure::internal(error));
        };
        match session.phase {
            // It was found running; or nobody granted it, so its keeper ended it.
            Phase::Running if args.ready.is_enough(&session) => {
                return Ok(Created::Session(Box::new(session)));
            }
            Phase::Reaped | Phase::Cleaned => {
                return Ok(Created::Session(Box::new(session)));
            }
            Phase::Lost => {
                let text = format!("nobody can tell any more whether session {} runs", session.id);
                return Err(Failure::because(exit_code::UNKNOWN, text).hint(format!(
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
            | Phase::Stopping => {
                let soon = Instant::now() + LOOK_AGAIN;
                poll(&mut [], Some(soon)).map_err(Failure::internal)?;
            }
        }
    }
}

/// Our own session among all others, if it is there.
fn find_own(daemon: &Daemon, plan: &Plan) -> Option<SessionView> {
    let sessions = daemon.get::<Vec<SessionView>>("/v1/sessions?all=true").ok()?;
    let ours = |session: &SessionView| {
        let created = moment::parse(&session.created_at);
        session.spec == plan.request.spec && created.is_some_and(|ms| ms + 1000 >= plan.asked_at)
    };
    sessions.into_iter().filter(ours).max_by(|a, b| a.id.cmp(&b.id))
}
