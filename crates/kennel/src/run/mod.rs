//! `kennel run`: a session in the foreground.
//!
//! ```text
//! kennel run ──socket── holder ──── agent ──── whatever it starts
//!     │                   └─ pen: cgroup and subtree
//!     └─ streams: passed on as they are, or copied to and from a terminal of the agent's own
//! ```
//! If this process is killed, the holder sees the socket close and ends the tree. If the holder is
//! killed, the orphans fall to this process, which takes over and ends them.

mod conduct;
mod surroundings;
mod takeover;
mod terminal;

use std::time::{Duration, Instant};

use kennel_pen::holder::{HeldKind, HolderProgram, Order};
use kennel_pen::{Ground, HomeId, LeftoverEnd, PenName, Stream, Streams};
use kennel_sys::reap::become_subreaper;

use crate::cli::{HomeArgs, PenChoice, RunArgs};
use crate::exit_code;
use crate::failure::Failure;
use crate::home;
use conduct::{Conductor, Signals, Verdict};
use terminal::OwnTerminal;

/// How long the steps of a launch may take.
const LAUNCH: Duration = Duration::from_secs(60);
/// How long a leftover of an earlier, killed Kennel may take to end.
const SWEEP: Duration = Duration::from_secs(2);

/// Runs the command; gives the exit code.
pub(crate) fn run(home: &HomeArgs, args: &RunArgs) -> Result<u8, Failure> {
    let setup = |error| Failure::new(exit_code::SETUP, error);
    let home = home::id(home).map_err(setup)?;
    // From here on a signal waits to be read, so that none falls into a gap.
    let signals = Signals::listen().map_err(|error| Failure::new(exit_code::INTERNAL, error))?;
    become_subreaper().map_err(|error| Failure::new(exit_code::INTERNAL, error))?;
    sweep(&home);

    let own_terminal = OwnTerminal::find();
    let mut command = surroundings::command(args).map_err(setup)?;
    command.streams(match &own_terminal {
        Some(terminal) => Streams::Terminal(terminal.size()),
        None => Streams::Each {
            stdin: Stream::Inherit,
            stdout: Stream::Inherit,
            stderr: Stream::Inherit,
        },
    });
    let name = PenName::random(home).map_err(|error| Failure::new(exit_code::INTERNAL, error))?;
    let mut order = Order::new(name, command)
        .kind(match args.pen {
            PenChoice::Auto => HeldKind::Auto,
            PenChoice::Cgroup => HeldKind::Cgroup,
            PenChoice::Subtree => HeldKind::Subtree,
            PenChoice::Pidns => HeldKind::Namespace,
        })
        .grace(args.grace)
        .linger(args.linger);
    if let Some(terminal) = &own_terminal {
        order = order.restore_terminal(terminal.handle().map_err(anyhow::Error::from)?);
    }
    let gated = HolderProgram::this_one().launch(order, Instant::now() + LAUNCH)?;
    // A stop that came until now wins: the program never runs.
    if let Some(signal) = signals.stop_wanted().map_err(anyhow::Error::from)? {
        drop(gated);
        return Ok(shell_code(signal));
    }
    if let (Some(own), Some(theirs)) = (&own_terminal, &gated.ends.terminal) {
        own.prepare(theirs).map_err(anyhow::Error::from)?;
    }
    let (held, ends) = gated.open_with_ends(Instant::now() + LAUNCH)?;
    let session = match (own_terminal, ends.terminal) {
        (Some(own), Some(theirs)) => Some(own.connect(theirs).map_err(anyhow::Error::from)?),
        _ => None,
    };
    let conductor = Conductor::new(held, signals, session);
    match conductor.conduct()? {
        Verdict::Ended(status) => status.shell_code().map_or_else(
            || {
                Err(Failure::new(
                    exit_code::UNKNOWN,
                    anyhow::anyhow!("the agent's status is {status}"),
                ))
            },
            |code| Ok(u8::try_from(code & 0xff).unwrap_or(exit_code::UNKNOWN)),
        ),
        Verdict::StillAlive(survivors) => {
            let list = survivors.iter().map(|s| format!("\n  {s}")).collect::<String>();
            let error = anyhow::anyhow!("still alive, in spite of KILL:{list}");
            Err(Failure::new(exit_code::STILL_ALIVE, error)
                .hint("they are still owned: the holder goes on trying until they are gone"))
        }
        Verdict::HolderLost => {
            let error = anyhow::anyhow!(
                "the holder was lost; the tree was ended, the agent's status is unknown"
            );
            Err(Failure::new(exit_code::UNKNOWN, error))
        }
    }
}

fn shell_code(signal: i32) -> u8 {
    u8::try_from(128 + signal).unwrap_or(u8::MAX)
}

/// Ends what an earlier Kennel of this home left when it was killed together with its holder.
fn sweep(home: &HomeId) {
    let leftovers = match Ground::look().leftovers(home) {
        Ok(leftovers) => leftovers,
        Err(error) => return eprintln!("kennel: can't look for leftovers: {error}"),
    };
    for leftover in leftovers {
        match leftover.end(Instant::now() + SWEEP) {
            Ok(LeftoverEnd::Removed) => {}
            Ok(LeftoverEnd::StillAlive(pids)) => {
                eprintln!(
                    "kennel: leftover pen {} is not empty yet: pids {pids:?}",
                    leftover.name()
                );
            }
            Err(error) => eprintln!("kennel: leftover pen {}: {error}", leftover.name()),
        }
    }
}
