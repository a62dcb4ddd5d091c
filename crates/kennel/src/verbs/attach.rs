//! `kennel attach`: in front of a session that runs.

use std::path::Path;

use anyhow::Context;
use clap::Args;
use kennel_core::SessionView;
use kennel_keeper::protocol::Role;
use rustix::termios::isatty;

use super::called;
use crate::connect::{Daemon, Start};
use crate::exit_code;
use crate::failure::{Failure, say};
use crate::home::Home;
use crate::live::{
    self, Begin, DEFAULT_DETACH_KEYS, DetachKeys, End, Ends, Live, News, Output, OwnTerminal, Part,
    Signals,
};
use crate::quantity::parse_session;
use crate::verdict::{Verdict, by_signal};

/// How much of the past is shown of a session without a terminal.
const TAIL: usize = 10;

/// The flags of `kennel attach`.
#[derive(Debug, Args)]
#[command(after_help = exit_code::HELP)]
pub(crate) struct AttachArgs {
    /// The keys that leave it going by itself; none: no keys
    #[arg(long, value_name = "KEYS", default_value = DEFAULT_DETACH_KEYS, value_parser = DetachKeys::parse)]
    detach_keys: DetachKeys,
    /// Only look on: keys go nowhere, and Control-C leaves
    #[arg(long)]
    read_only: bool,
    /// Name, id, or the beginning of an id
    #[arg(value_name = "SESSION", value_parser = parse_session)]
    session: String,
}

/// Attaches; gives the agent's code if it ends meanwhile, 0 if we leave it.
pub(crate) fn attach(home: &Home, args: &AttachArgs) -> Result<u8, Failure> {
    let unknown = |failure: Failure| failure.code(exit_code::UNKNOWN);
    let daemon = Daemon::connect(home, Start::IfNeeded)?;
    let session = daemon.session(&args.session).map_err(|error| unknown(error.into()))?;
    let folder = Path::new(&session.folder);
    let Some(keeper) = live::reach(folder, Role::Client).context("can't reach the keeper")? else {
        return Err(unknown(not_running(&session)));
    };
    let signals = Signals::listen().map_err(Failure::internal)?;
    let terminal = session.spec.terminal.is_some();
    let own = OwnTerminal::find().filter(|_| terminal);
    let raw = own.map(OwnTerminal::make_raw).transpose().context("our terminal")?;
    let shown = raw.is_some();
    let begin = match terminal {
        true if isatty(rustix::stdio::stdout()) => Begin::Screen,
        true => Begin::Tail(0),
        false => Begin::Tail(TAIL),
    };
    let output = Output::start(folder, begin, shown).map_err(Failure::internal)?;
    let ends = Ends {
        raw,
        sized: shown && !args.read_only,
        stdin: shown || (session.spec.stdin && !args.read_only),
        read_only: args.read_only,
        detach: Some(args.detach_keys.clone()),
    };
    let mut live = Live::new(keeper, &signals, Part::Visitor, output, ends);
    live.redraw();
    let end = live.conduct();
    let (output, raw) = live.into_parts();
    match end.context("the session can't be followed")? {
        left @ (End::Detached | End::Told(_)) => {
            output.leave();
            drop(raw);
            say(&format!("{} goes on by itself", called(&session)));
            Ok(match left {
                End::Told(signal) => by_signal(signal),
                _ => 0,
            })
        }
        End::Gone(_) | End::KeeperLost | End::StillAlive(_) => {
            output.finish(&signals, shown, |news| {
                if let News::Trouble(text) = news {
                    live::tell(&text, shown);
                }
            });
            drop(raw);
            // Somebody who is tired of waiting may leave: the signals mean again what they meant.
            drop(signals);
            kennel_sys::signals::unblock_all();
            Verdict::of(&daemon.wait(&session.id).map_err(unknown)?).exit_code()
        }
    }
}

fn not_running(session: &SessionView) -> Failure {
    let (id, phase) = (called(session), crate::verdict::phase(session.phase));
    Failure::because(
        exit_code::UNKNOWN,
        format!("session {id} can't be attached to: it is {phase}"),
    )
    .hint(format!("`kennel logs {id}` shows what it has printed"))
}
