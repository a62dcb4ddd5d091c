//! `kennel attach`: attaches to a running session.

use std::path::Path;

use kennel_keeper::protocol::PeerRole;
use kennel_types::Phase;

use super::{ended_text, label, refuse_adopted};
use crate::command_prelude::*;
use crate::foreground::{
    self, DEFAULT_DETACH_KEYS, DetachKeys, ForegroundEnd, ForegroundRole, ForegroundSession,
    ForegroundStreams, OutputCopier, OutputStart, RawTerminal,
};
use crate::session_outcome::SessionOutcome;

/// How many earlier lines are shown for a session without a terminal.
const TAIL: usize = 10;

#[derive(Debug, Args)]
#[command(after_help = exit_code::OTHERS_HELP)]
pub(crate) struct AttachArgs {
    /// Key sequence that detaches from a session with a terminal, or none;
    /// without a terminal, Ctrl-C detaches
    #[arg(long, value_name = "KEYS", default_value = DEFAULT_DETACH_KEYS, value_parser = DetachKeys::parse)]
    detach_keys: DetachKeys,
    /// Only watch: ignore input, and detach on Ctrl-C. Without this flag,
    /// standard input must be a terminal if the session takes input
    #[arg(long)]
    read_only: bool,
    /// Name, id, or unique prefix of an id
    #[arg(value_name = "SESSION", value_parser = parse_session)]
    session: String,
}

pub(crate) fn attach(daemon: &DaemonClient, args: &AttachArgs) -> Result<u8, CommandError> {
    let unknown = |failure: CommandError| failure.code(exit_code::UNKNOWN);
    let session = daemon.session(&args.session).map_err(|error| unknown(error.into()))?;
    refuse_adopted(&session, "can't attach to it").map_err(unknown)?;
    refuse_other_input(&session, args.read_only)?;
    let folder = Path::new(&session.folder);
    let Some(keeper) = foreground::connect_keeper(folder, PeerRole::Client)? else {
        return Err(unknown(not_running(&session)));
    };
    let signals = Signals::listen()?;
    let terminal = session.spec.terminal.is_some();
    let own = foreground::own_terminal();
    let own_terminal = own.is_some();
    if own_terminal && !terminal {
        // Without a terminal, the detach keys can't be distinguished from input.
        let input = match session.spec.stdin && !args.read_only {
            true => "; input is sent line by line",
            false => " and takes no input",
        };
        let name = label(&session);
        print_message(&format!("{name} has no terminal{input}; press Ctrl-C to detach"));
    }
    let own = own.filter(|_| terminal);
    let raw = own.map(RawTerminal::new).transpose().context("can't set up the terminal")?;
    let shown = raw.is_some();
    let begin = match terminal {
        true if isatty(rustix::stdio::stdout()) => OutputStart::Screen,
        true => OutputStart::Tail(0),
        false => OutputStart::Tail(TAIL),
    };
    let output = OutputCopier::start(folder, begin, shown)?;
    let streams = ForegroundStreams {
        raw,
        sized: shown && !args.read_only,
        stdin: shown || (session.spec.stdin && !args.read_only),
        read_only: args.read_only,
        detach: args.detach_keys.clone(),
    };
    let mut foreground_session =
        ForegroundSession::new(keeper, &signals, ForegroundRole::Viewer, output, streams);
    foreground_session.redraw();
    let (end, output, raw) = foreground_session.run()?;
    match end {
        left @ (ForegroundEnd::Detached | ForegroundEnd::ViewerLeft(_)) => {
            output.leave();
            drop(raw);
            // The cursor may be in the agent's screen, or behind the ^C that the terminal echoed.
            if own_terminal {
                start_line(false);
            }
            print_message(&format!("detached from {}, which keeps running", label(&session)));
            Ok(if let ForegroundEnd::ViewerLeft(code) = left { code } else { 0 })
        }
        ForegroundEnd::Gone(_) | ForegroundEnd::KeeperLost | ForegroundEnd::StillAlive(_) => {
            output.finish(&signals, shown);
            drop(raw);
            // From here on, signals have their default effect: the user may interrupt the wait.
            drop(signals);
            kennel_sys::signals::unblock_all();
            SessionOutcome::of(&daemon.wait(&session.id).map_err(unknown)?).exit_code()
        }
    }
}

/// Refuses input other than a terminal: the `</dev/null` of a script would end the agent.
fn refuse_other_input(session: &SessionView, read_only: bool) -> Result<(), CommandError> {
    if read_only || !session.spec.stdin || isatty(rustix::stdio::stdin()) {
        return Ok(());
    }
    let name = label(session);
    let text = format!("standard input is not a terminal, and {name} would read it to its end");
    let hint = format!(
        "to send piped input, use `kennel send {name} -`; to watch, use `kennel logs -f {name}` or `kennel attach --read-only`"
    );
    Err(CommandError::usage(text).hint(hint))
}

fn not_running(session: &SessionView) -> CommandError {
    let id = label(session);
    let state = match session.phase {
        Phase::Cleaned | Phase::Reaped => {
            format!("it has ended ({})", ended_text(session.exit.as_ref()))
        }
        other => format!("it is {}", other.label()),
    };
    CommandError::unknown(format!("can't attach to session {id}: {state}"))
        .hint(format!("`kennel logs {id}` shows its output"))
}
