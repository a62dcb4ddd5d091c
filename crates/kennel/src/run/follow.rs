//! Follows a session in the foreground until its end.

use std::path::Path;
use std::time::{Duration, Instant};

use kennel_keeper::protocol::{Outcome, PeerRole};
use kennel_types::{Phase, SessionView};
use rustix::event::{PollFd, PollFlags};

use crate::command_prelude::*;
use crate::foreground::{
    self, DetachKeys, ForegroundEnd, ForegroundRole, ForegroundSession, ForegroundStreams,
    OutputCopier, OutputEvent, OutputStart, OwnTerminal, Signals,
};
use crate::session_outcome::{self, SessionOutcome};
use crate::stopper::Stopper;

/// How long the daemon may take to record an end that the keeper has reported.
const RECORD: Duration = Duration::from_secs(5);
/// How long it may take if it has a worktree to examine and remove.
const WORKTREE: Duration = Duration::from_secs(60);

/// Follows our session and returns the exit code.
pub(super) fn follow(
    daemon: &DaemonClient,
    home: &HomeDir,
    detach_keys: &DetachKeys,
    session: &SessionView,
    signals: &Signals,
) -> Result<u8, CommandError> {
    let folder = Path::new(&session.folder);
    let keeper =
        foreground::connect_keeper(folder, PeerRole::Owner).context("can't reach the keeper")?;
    let start = |shown| {
        OutputCopier::start(folder, OutputStart::Start, shown).map_err(CommandError::internal)
    };
    let Some(keeper) = keeper else {
        // The session was so short that its keeper has already exited.
        start(false)?.finish(signals, false, |event| print_trouble(&event, false));
        return settle(daemon, session, None, signals).report();
    };
    let terminal = session.spec.terminal.is_some();
    let own = OwnTerminal::find().filter(|_| terminal);
    let raw = own.map(OwnTerminal::make_raw).transpose().context("can't set up the terminal")?;
    let shown = raw.is_some();
    let output = start(shown)?;
    let streams = ForegroundStreams {
        raw,
        sized: terminal,
        stdin: session.spec.stdin,
        read_only: false,
        detach: Some(detach_keys.clone()),
    };
    let role = ForegroundRole::Owner(Stopper::new(home, session));
    let mut foreground_session = ForegroundSession::new(keeper, signals, role, output, streams);
    let end = foreground_session.run();
    let (output, raw) = foreground_session.into_parts();
    match end.context("can't follow the session")? {
        ForegroundEnd::Detached => {
            output.leave();
            drop(raw);
            if shown {
                start_line(false);
            }
            let name = session.name.as_deref().unwrap_or(&session.id);
            print_message(&format!(
                "detached from {name}, which keeps running; `kennel attach {name}` returns to it"
            ));
            Ok(0)
        }
        ForegroundEnd::StillAlive(survivors) => {
            output.leave();
            drop(raw);
            SessionOutcome::StillAlive(survivors.iter().map(ToString::to_string).collect())
                .exit_code()
        }
        ForegroundEnd::Gone(outcome) => {
            output.finish(signals, shown, |event| print_trouble(&event, shown));
            // The terminal is restored last: keys meant for the agent must not reach the shell.
            let settled = settle(daemon, session, Some(&outcome), signals);
            drop(raw);
            settled.report()
        }
        ForegroundEnd::KeeperLost | ForegroundEnd::Signalled(_) => {
            output.finish(signals, shown, |event| print_trouble(&event, shown));
            // This may take a while; the restored terminal lets the user interrupt it.
            drop(raw);
            settle(daemon, session, None, signals).report()
        }
    }
}

/// Waits for the end of a session that another client created.
pub(super) fn await_end(
    daemon: &DaemonClient,
    session: &SessionView,
    signals: &Signals,
) -> Result<u8, CommandError> {
    if session.phase < Phase::Reaped {
        let id = &session.id;
        print_message(&format!("session {id} already exists; waiting for its end"));
        print_note(&format!("hint: `kennel attach {id}` attaches to it; Ctrl-C leaves it running"));
    }
    settle(daemon, session, None, signals).report()
}

/// Prints problems with the output.
fn print_trouble(event: &OutputEvent, raw: bool) {
    if let OutputEvent::Trouble(text) = event {
        foreground::print_beside_output(text, raw);
    }
}

/// The end of a session, not yet printed.
struct SettledSession {
    notices: Vec<String>,
    code: Result<u8, CommandError>,
}

impl SettledSession {
    fn report(self) -> Result<u8, CommandError> {
        for notice in &self.notices {
            print_message(notice);
        }
        self.code
    }
}

/// Fetches the session's end from the daemon. Without an answer, the keeper's report counts.
fn settle(
    daemon: &DaemonClient,
    session: &SessionView,
    outcome: Option<&Outcome>,
    signals: &Signals,
) -> SettledSession {
    let patience = if session.spec.worktree.is_some() { WORKTREE } else { RECORD };
    let deadline = outcome.map(|_| Instant::now() + patience);
    let recorded = await_record(daemon, &session.id, deadline, signals);
    let notices = match &recorded {
        Ok(Some(settled)) => session_outcome::notices(settled),
        _ => Vec::new(),
    };
    let code = match (recorded, outcome) {
        (Ok(Some(settled)), _) => SessionOutcome::of(&settled).exit_code(),
        (_, Some(outcome)) => SessionOutcome::of_outcome(outcome).exit_code(),
        (Ok(None), None) => Err(CommandError::because(
            exit_code::UNKNOWN,
            format!("interrupted before the outcome of session {} was known", session.id),
        )),
        (Err(failure), None) => Err(failure.code(exit_code::UNKNOWN)),
    };
    SettledSession { notices, code }
}

/// Waits until the session has ended. Returns nothing after the deadline or a signal.
pub(super) fn await_record(
    daemon: &DaemonClient,
    id: &str,
    deadline: Option<Instant>,
    signals: &Signals,
) -> Result<Option<SessionView>, CommandError> {
    let path = session_path(id, "/wait");
    let mut retry = DaemonRetry::new();
    loop {
        let sent = daemon.send("GET", &path, None::<&()>, Patience::Endless);
        let answer = match sent {
            Ok(sent) => match await_answer(&sent, deadline, signals)? {
                true => sent.receive(),
                false => return Ok(None),
            },
            Err(error) => Err(error),
        };
        match answer {
            Ok(session) => return Ok(Some(session)),
            Err(error) if error.is_gone_or_leaving() && retry.another() => {
                // With a deadline the keeper's own report is good enough: no daemon is started for
                // it.
                if deadline.is_none() {
                    daemon.reconnect()?;
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Returns whether the response has arrived; false after the deadline or a signal.
fn await_answer(
    sent: &Sent,
    deadline: Option<Instant>,
    signals: &Signals,
) -> Result<bool, CommandError> {
    loop {
        let interrupted = signals.next_end().map_err(CommandError::internal)?.is_some();
        if interrupted || deadline.is_some_and(|by| Instant::now() >= by) {
            return Ok(false);
        }
        let mut fds = [PollFd::new(signals, PollFlags::IN), PollFd::new(sent, PollFlags::IN)];
        foreground::poll(&mut fds, deadline).map_err(CommandError::internal)?;
        if !fds[1].revents().is_empty() {
            return Ok(true);
        }
    }
}
