//! The end of a session, whatever it was: nothing is left, and that is seen.

use std::io;
use std::time::{Duration, Instant};

use anyhow::Context;
use kennel_pen::holder::{Held, HeldError};
use kennel_pen::{End, Pen, Status, Strangers, Survivor};

use super::conduct::Outcome;
use crate::failure::{Failure, say};

/// How long a holder that was let go may take to end everything, before we do it without it.
const HOLDER: Duration = Duration::from_secs(10);
/// How long the tree may take to end once it is in our own hands.
const TREE: Duration = Duration::from_secs(10);
/// The pause after a look that failed.
const AGAIN: Duration = Duration::from_millis(100);

/// How the session ended for us.
pub(crate) enum Verdict {
    /// The agent's own status.
    Ended(Status),
    /// A stop came before the program was run.
    NeverRan { signal: i32 },
    /// These could not be ended; a holder goes on trying, or not.
    StillAlive { survivors: Vec<Survivor>, owned: bool },
    /// The holder was lost, and the agent's status with it.
    HolderLost,
}

/// Sees that nothing is left, and says what it all came to.
pub(crate) fn settle(
    held: Held,
    outcome: Result<Outcome, HeldError>,
    strangers: Strangers,
) -> Result<Verdict, Failure> {
    match outcome {
        Ok(Outcome::Gone(status)) => Ok(Verdict::Ended(status)),
        Ok(Outcome::StillAlive(survivors)) => Ok(Verdict::StillAlive { survivors, owned: true }),
        Ok(Outcome::Stopped { signal }) => match end(held, HOLDER, strangers)? {
            Ended::StillAlive(survivors) => Ok(Verdict::StillAlive { survivors, owned: false }),
            Ended::Empty(_) => Ok(Verdict::NeverRan { signal }),
        },
        Ok(Outcome::Lost { exited, dead }) => {
            // A dead one ends nothing any more; a silent one gets its chance, unless it is stopped.
            let ended = end(held, if dead { HOLDER } else { Duration::ZERO }, strangers)?;
            say("the holder did not answer; the session was ended without it");
            Ok(match (ended, exited) {
                (Ended::StillAlive(survivors), _) => {
                    Verdict::StillAlive { survivors, owned: false }
                }
                (Ended::Empty(_), Some(status)) | (Ended::Empty(Some(status)), None) => {
                    Verdict::Ended(status)
                }
                (Ended::Empty(None), None) => Verdict::HolderLost,
            })
        }
        Err(error) if held.is_over() => Err(error.into()),
        Err(error) => match end(held, HOLDER, strangers)? {
            Ended::StillAlive(survivors) => Ok(Verdict::StillAlive { survivors, owned: false }),
            Ended::Empty(_) => Err(error.into()),
        },
    }
}

enum Ended {
    /// With the agent's status, if it is its own.
    Empty(Option<Status>),
    StillAlive(Vec<Survivor>),
}

/// Lets the holder end everything, or ends the holder; then takes over what may be left.
fn end(held: Held, patience: Duration, strangers: Strangers) -> Result<Ended, Failure> {
    let pen = held.into_pen(patience).context("the holder can't be ended")?;
    let mut pen = pen.take_over(strangers).context("the pen can't be taken over")?;
    let deadline = Instant::now() + TREE;
    let end = loop {
        match end_and_remove(&mut pen, deadline) {
            Ok(end) => break end,
            // Out of descriptors, out of memory: for now. Leaving would leave the tree alone.
            Err(_) if Instant::now() < deadline => {
                pen.wait(Some(Instant::now() + AGAIN), &[]).ok();
            }
            Err(error) => {
                return Err(anyhow::Error::from(error).context("the tree can't be ended").into());
            }
        }
    };
    if let End::StillAlive(survivors) = end {
        return Ok(Ended::StillAlive(survivors));
    }
    // A KILL may well have been our own: it says nothing about the agent.
    let killed =
        |status: &Status| matches!(status, Status::Signal { signal: 9, .. } | Status::Unknown(_));
    Ok(Ended::Empty(pen.status().cloned().filter(|status| !killed(status))))
}

fn end_and_remove(pen: &mut Pen, deadline: Instant) -> io::Result<End> {
    let end = pen.end(deadline)?;
    if end == End::Empty {
        pen.try_remove().map_err(io::Error::other)?;
    }
    Ok(end)
}
