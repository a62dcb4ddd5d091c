//! `kennel attach`: in front of a session that runs.

use std::path::Path;

use anyhow::Context;
use clap::Args;
use kennel_keeper::protocol::PeerRole;
use kennel_types::{Phase, SessionView};
use rustix::termios::isatty;

use super::{called, ended_text, refuse_terminal};
use crate::command_error::{CommandError, say, start_line};
use crate::connect::{DaemonClient, StartDaemon};
use crate::exit_code;
use crate::foreground::{
    self, DEFAULT_DETACH_KEYS, DetachKeys, ForegroundEnd, ForegroundRole, ForegroundSession,
    ForegroundStreams, OutputCopier, OutputEvent, OutputStart, OwnTerminal, Signals,
};
use crate::home::Home;
use crate::quantity::parse_session;
use crate::session_outcome::{SessionOutcome, by_signal, phase};

/// How much of the past is shown of a session without a terminal.
const TAIL: usize = 10;

/// The flags of `kennel attach`.
#[derive(Debug, Args)]
#[command(after_help = exit_code::OTHERS_HELP)]
pub(crate) struct AttachArgs {
    /// The keys that leave it going by itself; none: no keys. If it has no
    /// terminal, Control-C does
    #[arg(long, value_name = "KEYS", default_value = DEFAULT_DETACH_KEYS, value_parser = DetachKeys::parse)]
    detach_keys: DetachKeys,
    /// Only look on: keys go nowhere, and Control-C leaves. Without it our
    /// standard input must be a terminal, if the session takes input
    #[arg(long)]
    read_only: bool,
    /// Name, id, or the beginning of an id
    #[arg(value_name = "SESSION", value_parser = parse_session)]
    session: String,
}

/// Attaches; gives the agent's code if it ends meanwhile, 0 if we leave it.
pub(crate) fn attach(home: &Home, args: &AttachArgs) -> Result<u8, CommandError> {
    let unknown = |failure: CommandError| failure.code(exit_code::UNKNOWN);
    let daemon = DaemonClient::connect(home, StartDaemon::IfNeeded)?;
    let session = daemon.session(&args.session).map_err(|error| unknown(error.into()))?;
    refuse_terminal(&session, "it can't be attached to").map_err(unknown)?;
    refuse_other_input(&session, args.read_only)?;
    let folder = Path::new(&session.folder);
    let Some(keeper) =
        foreground::reach(folder, PeerRole::Client).context("can't reach the keeper")?
    else {
        return Err(unknown(not_running(&session)));
    };
    let signals = Signals::listen().map_err(CommandError::internal)?;
    let terminal = session.spec.terminal.is_some();
    let own = OwnTerminal::find();
    let own_terminal = own.is_some();
    if own_terminal && !terminal {
        say(&without_terminal(&session, args.read_only));
    }
    let own = own.filter(|_| terminal);
    let raw = own.map(OwnTerminal::make_raw).transpose().context("our terminal")?;
    let shown = raw.is_some();
    let begin = match terminal {
        true if isatty(rustix::stdio::stdout()) => OutputStart::Screen,
        true => OutputStart::Tail(0),
        false => OutputStart::Tail(TAIL),
    };
    let output = OutputCopier::start(folder, begin, shown).map_err(CommandError::internal)?;
    let ends = ForegroundStreams {
        raw,
        sized: shown && !args.read_only,
        stdin: shown || (session.spec.stdin && !args.read_only),
        read_only: args.read_only,
        detach: Some(args.detach_keys.clone()),
    };
    let mut live = ForegroundSession::new(keeper, &signals, ForegroundRole::Viewer, output, ends);
    live.redraw();
    let end = live.conduct();
    let (output, raw) = live.into_parts();
    match end.context("the session can't be followed")? {
        left @ (ForegroundEnd::Detached | ForegroundEnd::Signalled(_)) => {
            output.leave();
            drop(raw);
            // After an agent's screen, and after the ^C that a terminal shows.
            if own_terminal {
                start_line(false);
            }
            say(&format!("{} goes on by itself", called(&session)));
            Ok(match left {
                ForegroundEnd::Signalled(signal) => by_signal(signal),
                _ => 0,
            })
        }
        ForegroundEnd::Gone(_) | ForegroundEnd::KeeperLost | ForegroundEnd::StillAlive(_) => {
            output.finish(&signals, shown, |news| {
                if let OutputEvent::Trouble(text) = news {
                    foreground::tell(&text, shown);
                }
            });
            drop(raw);
            // Somebody who is tired of waiting may leave: the signals mean again what they meant.
            drop(signals);
            kennel_sys::signals::unblock_all();
            SessionOutcome::of(&daemon.wait(&session.id).map_err(unknown)?).exit_code()
        }
    }
}

/// What is typed is for the session; what comes from elsewhere is not meant for it, least of all the end of that: a script's
/// `</dev/null` would end the agent.
fn refuse_other_input(session: &SessionView, read_only: bool) -> Result<(), CommandError> {
    if read_only || !session.spec.stdin || isatty(rustix::stdio::stdin()) {
        return Ok(());
    }
    let name = called(session);
    let text = format!("our standard input is no terminal, and {name} would read it to its end");
    let hint = format!(
        "`kennel send {name} -` sends what comes from a pipe; `kennel logs -f {name}` and `kennel attach --read-only` only look on"
    );
    Err(CommandError::because(exit_code::USAGE, text).hint(hint))
}

/// How one leaves a session without a terminal: the keys can't be told from what is typed there.
fn without_terminal(session: &SessionView, read_only: bool) -> String {
    let name = called(session);
    if session.spec.stdin && !read_only {
        format!("{name} has no terminal; it gets what is typed by lines; Control-C leaves")
    } else {
        format!("{name} has no terminal and takes no input; Control-C leaves")
    }
}

fn not_running(session: &SessionView) -> CommandError {
    let id = called(session);
    let state = match session.phase {
        Phase::Cleaned | Phase::Reaped => {
            format!("it has ended, {}", ended_text(session.exit.as_ref()))
        }
        other => format!("it is {}", phase(other)),
    };
    CommandError::because(exit_code::UNKNOWN, format!("session {id} can't be attached to: {state}"))
        .hint(format!("`kennel logs {id}` shows what it has printed"))
}
