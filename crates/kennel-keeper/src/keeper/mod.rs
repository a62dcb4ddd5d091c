//! The keeper: one small process for each launch. It is the parent of the agent, and owns its pen,
//! its streams, its journal and its exit status. It outlives the daemon.
//!
//! ```text
//! forked ─► Waiting ─ Go ─► pen, process ─► Gated ─ Open ─► Running ─► Ending ─► Over ─ Release ─► gone
//!              └─ Dismiss, no daemon, timeout ──┴───────────────────────────────►┘
//! ```
//! If the daemon dies before the gate is opened, nothing is run. After that the keeper continues
//! without a daemon until its lease is over. It exits when the pen is empty and the outcome is
//! recorded: by a daemon that sends `Release`, or on disk.

mod activity;
mod connections;
mod input;
mod launch;
mod limit_clock;
mod limits;
mod output;
pub(crate) mod reuse;
mod setup;
mod supervise;

use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

use kennel_pen::HostSupport;
use kennel_pen::wire::WireMessage;
use kennel_sys::reap::{self, Reaped};
use kennel_types::PenKind;
use rustix::fd::{AsFd, OwnedFd};

use crate::fault;
use crate::protocol::{Cause, LaunchOrder, Outcome, OutcomeFile};
use connections::Connections;
use setup::NamespaceSide;
pub(crate) use setup::YardFacts;

/// The fault points of a keeper, in the order in which it passes them.
pub const POINTS: &[&str] = &[
    "keeper.forked",
    "keeper.hello",
    "keeper.prepared",
    "keeper.go",
    "keeper.pen",
    "keeper.born",
    "keeper.granted",
    "keeper.opened",
    "keeper.exited",
    "keeper.stopping",
    "keeper.empty",
    "keeper.outcome",
    "keeper.reported",
    "keeper.released",
];

#[derive(Debug)]
pub(crate) struct LaunchDescriptors {
    order: OwnedFd,
    /// Held as long as this process is the keeper: a free lock proves that there is none.
    lock: OwnedFd,
    daemon: OwnedFd,
    stdin: Option<OwnedFd>,
}

/// The minimum number of descriptors of an order.
pub(crate) const DESCRIPTORS: usize = 3;

impl LaunchDescriptors {
    /// Takes the descriptors of an order. The connection to the daemon is one of them if the order
    /// comes through the yard. Returns `None` if one is missing.
    pub(crate) fn new(descriptors: Vec<OwnedFd>, daemon: Option<OwnedFd>) -> Option<Self> {
        let mut descriptors = descriptors.into_iter();
        let (order, lock) = (descriptors.next()?, descriptors.next()?);
        let daemon = daemon.or_else(|| descriptors.next())?;
        Some(Self { order, lock, daemon, stdin: descriptors.next() })
    }
}

/// What a keeper inherits from the yard that it is a fork of.
#[derive(Debug)]
pub(crate) struct YardInheritance {
    pub(crate) support: HostSupport,
    pub(crate) facts: YardFacts,
}

/// Runs as the keeper of a launch until its end, in a process that is already detached. A keeper
/// that can take another launch has no child, and has closed everything but the connection to its
/// daemon, which is returned.
///
/// # Errors
/// Nothing was launched, and the reason could not be reported to the daemon.
fn keep(
    descriptors: LaunchDescriptors,
    inherited: &YardInheritance,
) -> io::Result<Option<OwnedFd>> {
    fault::point("keeper.forked");
    let LaunchDescriptors { order, lock, daemon, stdin } = descriptors;
    inherited.facts.set_name("kennel-keeper")?;
    let mut order = LaunchOrder::from_memfd(order)?;
    let namespace = match setup::enter_namespace(order.kind) {
        NamespaceSide::Inside(namespace) => namespace,
        NamespaceSide::Outside(init) => {
            drop((lock, daemon, stdin)); // only the keeper itself may hold these
            setup::wait_for_init(init)?;
            return Ok(None);
        }
    };
    let mut connections = Connections::new(daemon, order.token.clone());
    connections.greet_daemon();
    fault::point("keeper.hello");
    let (outcome, file) = launch::launch_and_supervise(
        &mut connections,
        &mut order,
        namespace,
        stdin,
        inherited,
        lock.as_fd(),
    );
    fault::point("keeper.empty");
    let removed = !outcome.folder_left;
    let daemon = finish(connections, file.as_ref(), outcome)?;
    drop(lock); // from here on this process is not its keeper
    // A keeper that entered a namespace, left a folder behind, or has a child is not used again.
    let alone = reap::reap_any()? == Reaped::NoChildren;
    let reusable = order.kind != PenKind::Pidns && removed && alone;
    Ok(daemon.filter(|_| reusable))
}

/// Reports the outcome, and waits until a daemon (which is returned) or the disk has recorded it.
///
/// Without a file only a daemon can record it. If there is no daemon, the next one finds the lock
/// free and no open gate.
fn finish(
    mut connections: Connections,
    file: Option<&OutcomeFile>,
    outcome: Outcome,
) -> io::Result<Option<OwnedFd>> {
    let written = file.map_or(Ok(()), |file| file.write(&outcome));
    fault::point("keeper.outcome");
    connections.outcome(outcome);
    fault::point("keeper.reported");
    if let Err(error) = &written {
        connections.trouble(format!("can't write the outcome: {error}"));
    }
    let daemon = connections.wait_until_recorded(|| {
        file.map_or(Ok(()), OutcomeFile::sync)?;
        match &written {
            Ok(()) => Ok(()),
            Err(error) => Err(io::Error::new(error.kind(), error.to_string())),
        }
    })?;
    fault::point("keeper.released");
    Ok(daemon)
}

/// Returns the outcome of a launch in which nothing ran.
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
