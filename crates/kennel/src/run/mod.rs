//! `kennel run`: a session in the foreground.
//!
//! ```text
//! kennel run ──socket── holder ──── agent ──── whatever it starts
//!     │                   └─ pen: cgroup and subtree
//!     └─ streams: passed on as they are, or copied to and from a terminal of the agent's own
//! ```
//! If this process is killed, the holder sees the socket close and ends the tree. If the holder is
//! killed, the orphans fall to this process, which takes over and ends them. From the moment that a holder
//! exists, every way out of here leads through [`settle()`], which sees that nothing is left.

mod conduct;
mod impatience;
mod settle;
mod surroundings;
mod terminal;

use std::time::{Duration, Instant};

use kennel_pen::holder::{HeldKind, HolderProgram, Order};
use kennel_pen::{Ground, HomeId, LeftoverEnd, PenName, Stream, Streams};
use kennel_sys::reap::become_subreaper;

use crate::cli::{HomeArgs, PenChoice, RunArgs};
use crate::exit_code;
use crate::failure::{Failure, say};
use crate::home;
use conduct::{Conductor, Signals};
use settle::{Verdict, settle};
use terminal::OwnTerminal;

/// How long a leftover of an earlier, killed Kennel may take to end.
const SWEEP: Duration = Duration::from_secs(2);

/// Runs the command; gives the exit code.
pub(crate) fn run(home: &HomeArgs, args: &RunArgs) -> Result<u8, Failure> {
    let setup = |error| Failure::new(exit_code::SETUP, error);
    let internal = |error| Failure::new(exit_code::INTERNAL, anyhow::Error::from(error));
    let home = home::id(home).map_err(setup)?;
    // From here on a signal waits to be read, so that none falls into a gap.
    let signals = Signals::listen().map_err(internal)?;
    become_subreaper().map_err(internal)?;
    sweep(&home);

    let own_terminal = OwnTerminal::find();
    let order = order(args, home, own_terminal.as_ref())?;
    // Children that a shell left us by becoming us: they are none of the session's.
    let strangers = kennel_pen::Strangers::now().map_err(internal)?;
    let (held, ends) = HolderProgram::this_one().begin(order)?;
    let mut conductor = Conductor::new(held, signals, own_terminal, ends.terminal);
    let outcome = conductor.conduct();
    let (held, session) = conductor.into_parts();
    let verdict = settle(held, outcome, strangers);
    if let Some(session) = session {
        session.finish();
    }
    exit_code_of(verdict?)
}

fn order(args: &RunArgs, home: HomeId, own: Option<&OwnTerminal>) -> Result<Order, Failure> {
    let internal = |error| Failure::new(exit_code::INTERNAL, anyhow::Error::from(error));
    let mut command =
        surroundings::command(args).map_err(|error| Failure::new(exit_code::SETUP, error))?;
    command.streams(match own {
        Some(terminal) => terminal.streams(),
        None => Streams::Each {
            stdin: Stream::Inherit,
            stdout: Stream::Inherit,
            stderr: Stream::Inherit,
        },
    });
    let name = PenName::random(home).map_err(internal)?;
    let order =
        Order::new(name, command).grace(args.grace).linger(args.linger).kind(match args.pen {
            PenChoice::Auto => HeldKind::Auto,
            PenChoice::Cgroup => HeldKind::Cgroup,
            PenChoice::Subtree => HeldKind::Subtree,
            PenChoice::Pidns => HeldKind::Namespace,
        });
    match own {
        Some(terminal) => Ok(order.restore_terminal(terminal.handle().map_err(internal)?)),
        None => Ok(order),
    }
}

fn exit_code_of(verdict: Verdict) -> Result<u8, Failure> {
    match verdict {
        Verdict::NeverRan { signal } => Ok(u8::try_from(128 + signal).unwrap_or(u8::MAX)),
        Verdict::Ended(status) => status.shell_code().map_or_else(
            || {
                Err(Failure::new(
                    exit_code::UNKNOWN,
                    anyhow::anyhow!("the agent's status is {status}"),
                ))
            },
            |code| Ok(u8::try_from(code & 0xff).unwrap_or(exit_code::UNKNOWN)),
        ),
        Verdict::StillAlive { survivors, owned } => {
            let list = survivors.iter().map(|s| format!("\n  {s}")).collect::<String>();
            let error = anyhow::anyhow!("still alive, in spite of KILL:{list}");
            Err(Failure::new(exit_code::STILL_ALIVE, error).hint(if owned {
                "they are still owned: the holder goes on trying until they are gone"
            } else {
                "their holder was lost, so nobody owns them any more"
            }))
        }
        Verdict::HolderLost => Err(Failure::new(
            exit_code::UNKNOWN,
            anyhow::anyhow!(
                "the holder was lost; the tree was ended, the agent's status is unknown"
            ),
        )),
    }
}

/// Ends what an earlier Kennel of this home left when it was killed together with its holder.
fn sweep(home: &HomeId) {
    let leftovers = match Ground::leftovers(home) {
        Ok(leftovers) => leftovers,
        Err(error) => return say(&format!("can't look for leftovers: {error}")),
    };
    for leftover in leftovers {
        match leftover.end(Instant::now() + SWEEP) {
            Ok(LeftoverEnd::Removed) => {}
            Ok(LeftoverEnd::StillAlive(pids)) => {
                say(&format!("leftover pen {} is not empty yet: pids {pids:?}", leftover.name()));
            }
            Err(error) => say(&format!("leftover pen {}: {error}", leftover.name())),
        }
    }
}
