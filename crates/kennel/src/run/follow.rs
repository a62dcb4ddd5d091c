//! Follows a session in the foreground until its end.

use std::path::Path;

use kennel_keeper::protocol::{Outcome, PeerRole};
use kennel_types::Phase;

use crate::command_prelude::*;
use crate::foreground::{
    self, DetachKeys, ForegroundEnd, ForegroundRole, ForegroundSession, ForegroundStreams,
    OutputCopier, OutputStart, RawTerminal,
};
use crate::session_outcome::{self, SessionOutcome};
use crate::stopper::Stopper;
use crate::verbs::label;

/// How long the daemon may take to record an end that the keeper has reported.
const RECORD_TIMEOUT: Duration = Duration::from_secs(5);
/// How long it may take if it has a worktree to examine and remove.
const WORKTREE_TIMEOUT: Duration = Duration::from_secs(60);

/// Follows our session and returns the exit code.
pub(super) fn follow(
    daemon: &DaemonClient,
    detach_keys: &DetachKeys,
    session: &SessionView,
    signals: &Signals,
) -> Result<u8, CommandError> {
    let folder = Path::new(&session.folder);
    let keeper = foreground::connect_keeper(folder, PeerRole::Owner)?;
    let start = |shown| OutputCopier::start(folder, OutputStart::Start, shown);
    let Some(keeper) = keeper else {
        // The session was so short that its keeper has already exited.
        start(false)?.finish(signals, false);
        return report(settle(daemon, session, None, signals));
    };
    let terminal = session.spec.terminal.is_some();
    let own = foreground::own_terminal().filter(|_| terminal);
    let raw = own.map(RawTerminal::new).transpose().context("can't set up the terminal")?;
    let shown = raw.is_some();
    let output = start(shown)?;
    let streams = ForegroundStreams {
        raw,
        sized: terminal,
        stdin: session.spec.stdin,
        read_only: false,
        detach: detach_keys.clone(),
    };
    let role = ForegroundRole::Owner(Stopper::new(&daemon.home, session));
    let foreground_session = ForegroundSession::new(keeper, signals, role, output, streams);
    let (end, output, raw) = foreground_session.run()?;
    match end {
        ForegroundEnd::Detached => {
            output.leave();
            drop(raw);
            if shown {
                start_line(false);
            }
            let name = label(session);
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
            output.finish(signals, shown);
            // The terminal is restored last: keys meant for the agent must not reach the shell.
            let settled = settle(daemon, session, Some(&outcome), signals);
            drop(raw);
            report(settled)
        }
        ForegroundEnd::KeeperLost | ForegroundEnd::ViewerLeft(_) => {
            output.finish(signals, shown);
            // This may take a while; the restored terminal lets the user interrupt it.
            drop(raw);
            report(settle(daemon, session, None, signals))
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
        print_message(&format!("session {id} was started earlier; waiting for its end"));
        print_note(&format!("hint: `kennel attach {id}` attaches to it; Ctrl-C leaves it running"));
    }
    report(settle(daemon, session, None, signals))
}

/// Prints the notices about an ended session, and returns its exit code.
fn report((notices, code): (Vec<String>, Result<u8, CommandError>)) -> Result<u8, CommandError> {
    notices.iter().for_each(|notice| print_message(notice));
    code
}

/// Fetches the session's end from the daemon. Without an answer, the keeper's report counts.
fn settle(
    daemon: &DaemonClient,
    session: &SessionView,
    outcome: Option<&Outcome>,
    signals: &Signals,
) -> (Vec<String>, Result<u8, CommandError>) {
    let timeout = if session.spec.worktree.is_some() { WORKTREE_TIMEOUT } else { RECORD_TIMEOUT };
    let deadline = outcome.map(|_| Instant::now() + timeout);
    let recorded = await_record(daemon, &session.id, deadline, signals);
    let notices = match &recorded {
        Ok(Some(settled)) => session_outcome::notices(settled),
        _ => Vec::new(),
    };
    let code = match (recorded, outcome) {
        (Ok(Some(settled)), _) => SessionOutcome::of(&settled).exit_code(),
        (_, Some(outcome)) => SessionOutcome::of_outcome(outcome).exit_code(),
        (Ok(None), None) => Err(CommandError::unknown(format!(
            "interrupted before the outcome of session {} was known",
            session.id
        ))),
        (Err(failure), None) => Err(failure.code(exit_code::UNKNOWN)),
    };
    (notices, code)
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
        let sent = daemon.send("GET", &path, None::<&()>, Timeout::None);
        let answer = match sent {
            Ok(sent) => match await_answer(&sent, deadline, signals)? {
                true => sent.receive(),
                false => return Ok(None),
            },
            Err(error) => Err(error),
        };
        match answer {
            Ok(session) => return Ok(Some(session)),
            Err(error) if error.is_gone_or_shutting_down() && retry.another() => {
                // With a deadline the keeper's own report is good enough without a daemon.
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
        let interrupted = signals.next_end()?.is_some();
        if interrupted || deadline.is_some_and(|by| Instant::now() >= by) {
            return Ok(false);
        }
        let mut fds = [PollFd::new(signals, PollFlags::IN), PollFd::new(sent, PollFlags::IN)];
        poll(&mut fds, deadline)?;
        if !fds[1].revents().is_empty() {
            return Ok(true);
        }
    }
}
