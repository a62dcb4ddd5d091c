//! A session that runs, with us in front of it, until its end.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use kennel_keeper::protocol::{Outcome, PeerRole};
use kennel_types::{Phase, SessionView};
use rustix::event::{PollFd, PollFlags};

use crate::command_error::{CommandError, note, say, start_line};
use crate::connect::{DaemonClient, Patience, Sent, session_path};
use crate::exit_code;
use crate::foreground::{
    self, DetachKeys, ForegroundEnd, ForegroundRole, ForegroundSession, ForegroundStreams,
    OutputCopier, OutputEvent, OutputStart, OwnTerminal, Signals,
};
use crate::home::Home;
use crate::session_outcome::{self, SessionOutcome};
use crate::stopper::Stopper;

/// How long the daemon may take to put on record what we know already.
const RECORD: Duration = Duration::from_secs(5);
/// The same, if it has a worktree to look through and to remove.
const WORKTREE: Duration = Duration::from_secs(60);
/// How often a daemon that has vanished is looked for …
const MOST_LOSSES: u32 = 40;
/// … and the pause before each look.
const LOOK_AGAIN: Duration = Duration::from_millis(25);

/// Sees the session through; gives the exit code.
pub(super) fn conduct(
    daemon: &DaemonClient,
    home: &Home,
    detach_keys: &DetachKeys,
    session: &SessionView,
    signals: &Signals,
) -> Result<u8, CommandError> {
    let folder = Path::new(&session.folder);
    let keeper = foreground::reach(folder, PeerRole::Owner).context("can't reach the keeper")?;
    let start = |shown| {
        OutputCopier::start(folder, OutputStart::Start, shown).map_err(CommandError::internal)
    };
    let Some(keeper) = keeper else {
        // It was so short that its keeper has left already.
        start(false)?.finish(signals, false, |news| heard(&news, false));
        return settle(daemon, session, None, signals).tell();
    };
    let terminal = session.spec.terminal.is_some();
    let own = OwnTerminal::find().filter(|_| terminal);
    let raw = own.map(OwnTerminal::make_raw).transpose().context("our terminal")?;
    let shown = raw.is_some();
    let output = start(shown)?;
    let ends = ForegroundStreams {
        raw,
        sized: terminal,
        stdin: session.spec.stdin,
        read_only: false,
        detach: Some(detach_keys.clone()),
    };
    let part = ForegroundRole::Owner(Stopper::new(home, session));
    let mut live = ForegroundSession::new(keeper, signals, part, output, ends);
    let end = live.conduct();
    let (output, raw) = live.into_parts();
    match end.context("the session can't be followed")? {
        ForegroundEnd::Detached => {
            output.leave();
            drop(raw);
            if shown {
                start_line(false);
            }
            let name = session.name.as_deref().unwrap_or(&session.id);
            say(&format!("{name} goes on by itself; `kennel attach {name}` comes back to it"));
            Ok(0)
        }
        ForegroundEnd::StillAlive(survivors) => {
            output.leave();
            drop(raw);
            SessionOutcome::StillAlive(survivors.iter().map(ToString::to_string).collect())
                .exit_code()
        }
        ForegroundEnd::Gone(outcome) => {
            output.finish(signals, shown, |news| heard(&news, shown));
            // The terminal comes last: a key that is meant for the agent must not reach the shell before
            // we are gone.
            let settled = settle(daemon, session, Some(&outcome), signals);
            drop(raw);
            settled.tell()
        }
        ForegroundEnd::KeeperLost | ForegroundEnd::Signalled(_) => {
            output.finish(signals, shown, |news| heard(&news, shown));
            // This may take a while, and whoever is tired of it must be able to say so.
            drop(raw);
            settle(daemon, session, None, signals).tell()
        }
    }
}

/// Somebody else asked for this one first, and is in front of it or has left it to itself: we wait for its end.
pub(super) fn await_others(
    daemon: &DaemonClient,
    session: &SessionView,
    signals: &Signals,
) -> Result<u8, CommandError> {
    if session.phase < Phase::Reaped {
        let id = &session.id;
        say(&format!("session {id} is there already; this waits for its end"));
        note(&format!("hint: `kennel attach {id}` shows it; Control-C leaves it as it is"));
    }
    settle(daemon, session, None, signals).tell()
}

/// What the output has to say at the end.
fn heard(news: &OutputEvent, raw: bool) {
    if let OutputEvent::Trouble(text) = news {
        foreground::tell(text, raw);
    }
}

/// What became of a session, still to be told.
struct Settled {
    surprises: Vec<String>,
    code: Result<u8, CommandError>,
}

impl Settled {
    fn tell(self) -> Result<u8, CommandError> {
        for surprise in &self.surprises {
            say(surprise);
        }
        self.code
    }
}

/// Asks the daemon what became of the session. If it does not answer, the keeper's word counts.
fn settle(
    daemon: &DaemonClient,
    session: &SessionView,
    outcome: Option<&Outcome>,
    signals: &Signals,
) -> Settled {
    let patience = if session.spec.worktree.is_some() { WORKTREE } else { RECORD };
    let deadline = outcome.map(|_| Instant::now() + patience);
    let recorded = await_record(daemon, &session.id, deadline, signals);
    let surprises = match &recorded {
        Ok(Some(settled)) => session_outcome::surprises(settled),
        _ => Vec::new(),
    };
    let code = match (recorded, outcome) {
        (Ok(Some(settled)), _) => SessionOutcome::of(&settled).exit_code(),
        (_, Some(outcome)) => SessionOutcome::of_outcome(outcome).exit_code(),
        (Ok(None), None) => Err(CommandError::because(
            exit_code::UNKNOWN,
            format!("left before it was known what became of session {}", session.id),
        )),
        (Err(failure), None) => Err(failure.code(exit_code::UNKNOWN)),
    };
    Settled { surprises, code }
}

/// Waits until the session has settled; nothing if it is too late or somebody wants us to end.
pub(super) fn await_record(
    daemon: &DaemonClient,
    id: &str,
    deadline: Option<Instant>,
    signals: &Signals,
) -> Result<Option<SessionView>, CommandError> {
    let path = session_path(id, "/wait");
    let mut losses = 0;
    loop {
        let sent = daemon.send("GET", &path, None::<&()>, Patience::Endless);
        let answer = match sent {
            Ok(sent) => match await_answer(&sent, deadline, signals)? {
                Awaited::Answer => sent.receive(),
                Awaited::Nothing => return Ok(None),
            },
            Err(error) => Err(error),
        };
        match answer {
            Ok(session) => return Ok(Some(session)),
            Err(error) if error.is_gone_or_leaving() && losses < MOST_LOSSES => {
                losses += 1;
                foreground::poll(&mut [], Some(Instant::now() + LOOK_AGAIN))
                    .map_err(CommandError::internal)?;
                // A daemon is worth a start only if nobody else knows what became of the session.
                if deadline.is_none() {
                    daemon.find_again()?;
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
}

enum Awaited {
    Answer,
    Nothing,
}

fn await_answer(
    sent: &Sent,
    deadline: Option<Instant>,
    signals: &Signals,
) -> Result<Awaited, CommandError> {
    loop {
        let told = signals.next_end().map_err(CommandError::internal)?.is_some();
        if told || deadline.is_some_and(|by| Instant::now() >= by) {
            return Ok(Awaited::Nothing);
        }
        let mut fds = [PollFd::new(signals, PollFlags::IN), PollFd::new(sent, PollFlags::IN)];
        foreground::poll(&mut fds, deadline).map_err(CommandError::internal)?;
        if !fds[1].revents().is_empty() {
            return Ok(Awaited::Answer);
        }
    }
}
