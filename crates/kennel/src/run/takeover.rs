//! When the holder has died, or does not answer: we end what it held ourselves.

use std::time::{Duration, Instant};

use anyhow::Context;
use kennel_pen::holder::Held;
use kennel_pen::{End, Status};

use super::conduct::Verdict;
use crate::failure::Failure;

/// How long a killed holder may take to go.
const HOLDER: Duration = Duration::from_secs(5);
/// How long the tree may take to end.
const TREE: Duration = Duration::from_secs(10);

/// Ends the holder if it lives, then the tree. `exited` is the agent's status, if we have heard it.
pub(crate) fn take_over(held: Held, exited: Option<Status>) -> Result<Verdict, Failure> {
    eprintln!("kennel: the holder does not answer; ending the session without it");
    let pen = held.into_pen(Instant::now() + HOLDER).context("the holder can't be ended")?;
    let mut pen = pen.take_over().context("the pen can't be taken over")?;
    match pen.end(Instant::now() + TREE).context("the tree can't be ended")? {
        End::StillAlive(survivors) => Ok(Verdict::StillAlive(survivors)),
        End::Empty => {
            // A status that only our own KILL explains says nothing about the agent.
            let own = pen
                .status()
                .cloned()
                .filter(|status| !matches!(status, Status::Signal { signal: 9, .. }));
            pen.remove().context("the pen can't be removed")?;
            Ok(exited.or(own).map_or(Verdict::HolderLost, Verdict::Ended))
        }
    }
}
