//! The keeper: one small process for each launch. Parent of the agent, owner of its pen, its streams, its
//! journal and its exit status. It lives on when the daemon dies.
//!
//! ```text
//! forked ─► Waiting ─ Go ─► pen, process ─► Gated ─ Open ─► Running ─► Ending ─► Over ─ Release ─► gone
//!              └─ Dismiss, no daemon, too late ─┴───────────────────────────────►┘
//! ```
//! Until the gate is opened, a daemon that vanishes means that nothing is run. After that the keeper goes on
//! alone, until its lease is over. It leaves when the pen was seen empty and its outcome is in safe hands: a
//! daemon's that says `Release`, or the disk's.

mod activity;
mod desk;
mod hold;
mod input;
mod launch;
mod limits;
mod output;
mod settle_in;
mod watch;

use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

use kennel_pen::Ground;
use rustix::fd::OwnedFd;

use crate::fault;
use crate::journal::Writer;
use crate::protocol::{Cause, LaunchOrder, Outcome, OutcomeFile};
use desk::Desk;
use launch::Given;
use settle_in::Side;

/// The names of the points at which a keeper can be stopped by a test, in the order in which it passes them.
pub const POINTS: &[&str] = &[
    "keeper.forked",
    "keeper.hello",
    "keeper.go",
    "keeper.pen",
    "keeper.born",
    "keeper.granted",
    "keeper.opened",
    "keeper.exited",
    "keeper.stopping",
    "keeper.empty",
    "keeper.outcome",
    "keeper.told",
    "keeper.released",
];

/// What the yard gives to a new keeper.
#[derive(Debug)]
pub(crate) struct Birthright {
    pub(crate) order: OwnedFd,
    /// Held open as long as this process lives: a free lock proves that no keeper exists.
    pub(crate) lock: OwnedFd,
    pub(crate) daemon: OwnedFd,
    pub(crate) stdin: Option<OwnedFd>,
    /// What the yard found out about this machine.
    pub(crate) ground: Ground,
}

/// Serves as a keeper, to the end.
///
/// # Errors
/// Nothing was launched, and the daemon could not even be told why.
pub(crate) fn keep(birthright: Birthright) -> io::Result<()> {
    fault::point("keeper.forked");
    let Birthright { order, lock, daemon, stdin, ground } = birthright;
    settle_in::settle_in()?;
    let mut order = settle_in::read_order(order)?;
    let namespace = match settle_in::enter_namespace(order.kind) {
        Side::Inside(namespace) => namespace,
        Side::Outside(init) => {
            drop((lock, daemon, stdin, ground)); // only the keeper itself may hold what makes it one
            return settle_in::stand_by(init);
        }
    };
    let mut desk = Desk::new(daemon, order.token.clone());
    let (outcome_file, journal) = match prepare(&mut desk, &order) {
        Ok(prepared) => prepared,
        Err(error) => {
            let why = format!("the session's folder {}: {error}", order.folder.display());
            // Without a file for the outcome only a daemon can take it. If there is none, it will find
            // the lock free, and that nothing was launched.
            desk.greet_daemon();
            desk.outcome(never_ran(Cause::Failed { code: 202, why }));
            return desk.until_in_safe_hands(|| Ok(()));
        }
    };
    desk.greet_daemon();
    fault::point("keeper.hello");
    let given = Given { stdin, ground };
    let outcome = launch::launch_and_hold(&mut desk, &mut order, namespace, given, journal);
    fault::point("keeper.empty");
    leave(desk, &outcome_file, outcome)?;
    drop(lock); // it goes with the process in any case; here it says for how long it is needed
    Ok(())
}

/// All that can fail for want of room comes before anything runs.
fn prepare(desk: &mut Desk, order: &LaunchOrder) -> io::Result<(OutcomeFile, Writer)> {
    let file = OutcomeFile::reserve(&order.folder.join("outcome"))?;
    let journal = Writer::create(&order.folder.join("journal"), order.output_limit)?;
    desk.listen(&order.folder)?;
    settle_in::write_identity(&order.folder, None)?;
    Ok((file, journal))
}

/// Tells the outcome, and goes once it is in safe hands.
fn leave(mut desk: Desk, file: &OutcomeFile, outcome: Outcome) -> io::Result<()> {
    let written = file.write(&outcome);
    fault::point("keeper.outcome");
    desk.outcome(outcome);
    fault::point("keeper.told");
    if let Err(error) = &written {
        desk.trouble(format!("the outcome could not be written: {error}"));
    }
    desk.until_in_safe_hands(|| {
        file.sync()?;
        match &written {
            Ok(()) => Ok(()),
            Err(error) => Err(io::Error::new(error.kind(), error.to_string())),
        }
    })?;
    fault::point("keeper.released");
    Ok(())
}

/// The outcome of a launch that came to nothing.
pub(crate) fn never_ran(cause: Cause) -> Outcome {
    Outcome {
        status: None,
        cause,
        ended_ms: now_ms(),
        cpu: std::time::Duration::ZERO,
        folder_left: false,
    }
}

pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_millis().try_into().unwrap_or(u64::MAX)
}
