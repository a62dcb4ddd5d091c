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
use kennel_pen::holder::HeldKind;
use kennel_sys::reap::{self, Reaped};
use rustix::fd::{AsFd, OwnedFd};

use crate::fault;
use crate::protocol::{Cause, Outcome, OutcomeFile};
use connections::Connections;
use launch::LaunchInputs;
use setup::NamespaceSide;
pub(crate) use setup::YardFacts;

/// The names of the points at which a keeper can be stopped by a test, in the order in which it passes them.
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
    "keeper.told",
    "keeper.released",
];

/// What a keeper gets for a launch.
#[derive(Debug)]
pub(crate) struct LaunchDescriptors {
    order: OwnedFd,
    /// Held open as long as this process can have anything to do with the launch: a free lock proves that no
    /// keeper of it exists.
    lock: OwnedFd,
    daemon: OwnedFd,
    stdin: Option<OwnedFd>,
}

/// How many descriptors an order has at least.
pub(crate) const DESCRIPTORS: usize = 3;

impl LaunchDescriptors {
    /// From the descriptors that a daemon sends for a launch, if they are all there.
    pub(crate) fn new(descriptors: Vec<OwnedFd>) -> Option<Self> {
        let mut descriptors = descriptors.into_iter();
        let (order, lock, daemon) = (descriptors.next()?, descriptors.next()?, descriptors.next()?);
        Some(Self { order, lock, daemon, stdin: descriptors.next() })
    }

    /// From those that come over the connection to the daemon itself.
    fn from_daemon(descriptors: Vec<OwnedFd>, daemon: OwnedFd) -> Option<Self> {
        let mut descriptors = descriptors.into_iter();
        let (order, lock) = (descriptors.next()?, descriptors.next()?);
        Some(Self { order, lock, daemon, stdin: descriptors.next() })
    }
}

/// What a fork of the yard has before it is anybody's keeper.
#[derive(Debug)]
pub(crate) struct YardInheritance {
    /// What the yard found out about this machine.
    pub(crate) ground: HostSupport,
    /// And about itself.
    pub(crate) legacy: YardFacts,
}

impl YardInheritance {
    /// Becomes a process of its own.
    pub(crate) fn settle_in(&self) -> io::Result<()> {
        setup::settle_in()
    }

    /// What others see of this process.
    pub(crate) fn call_ourselves(&self, name: &str) -> io::Result<()> {
        setup::call_ourselves(name, &self.legacy)
    }
}

/// What a keeper is good for when it has done its work.
#[derive(Debug)]
#[must_use]
pub(crate) enum AfterLaunch {
    /// It has let go of everything but this connection to its daemon, has no child, and may see to another launch.
    Free(OwnedFd),
    /// It must go.
    Spent,
}

/// Serves as the keeper of a launch, to the end, in a process that has settled in.
///
/// # Errors
/// Nothing was launched, and the daemon could not even be told why.
pub(crate) fn keep(
    birthright: LaunchDescriptors,
    inherited: &YardInheritance,
) -> io::Result<AfterLaunch> {
    fault::point("keeper.forked");
    let LaunchDescriptors { order, lock, daemon, stdin } = birthright;
    inherited.call_ourselves("kennel-keeper")?;
    let mut order = setup::read_order(order)?;
    let namespace = match setup::enter_namespace(order.kind) {
        NamespaceSide::Inside(namespace) => namespace,
        NamespaceSide::Outside(init) => {
            drop((lock, daemon, stdin)); // only the keeper itself may hold what makes it one
            setup::stand_by(init)?;
            return Ok(AfterLaunch::Spent);
        }
    };
    let mut desk = Connections::new(daemon, order.token.clone());
    desk.greet_daemon();
    fault::point("keeper.hello");
    let given = LaunchInputs { stdin, inherited, lock: lock.as_fd() };
    let (outcome, file) = launch::launch_and_hold(&mut desk, &mut order, namespace, given);
    fault::point("keeper.empty");
    let removed = !outcome.folder_left;
    let daemon = leave(desk, file.as_ref(), outcome)?;
    drop(lock); // from here on we are not its keeper
    // One who has entered a namespace, left something or has a child after all is not trusted with more.
    let alone = reap::reap_any()? == Reaped::NoChildren;
    let trusted = order.kind != HeldKind::Namespace && removed && alone;
    Ok(daemon.filter(|_| trusted).map_or(AfterLaunch::Spent, AfterLaunch::Free))
}

/// Tells the outcome, and goes once it is in safe hands: those of the daemon whose connection this gives, or the
/// disk's.
///
/// Without a file for it only a daemon can take it. If there is none, it will find the lock free, and that nothing
/// was opened.
fn leave(
    mut desk: Connections,
    file: Option<&OutcomeFile>,
    outcome: Outcome,
) -> io::Result<Option<OwnedFd>> {
    let written = file.map_or(Ok(()), |file| file.write(&outcome));
    fault::point("keeper.outcome");
    desk.outcome(outcome);
    fault::point("keeper.told");
    if let Err(error) = &written {
        desk.trouble(format!("the outcome could not be written: {error}"));
    }
    let daemon = desk.until_in_safe_hands(|| {
        file.map_or(Ok(()), OutcomeFile::sync)?;
        match &written {
            Ok(()) => Ok(()),
            Err(error) => Err(io::Error::new(error.kind(), error.to_string())),
        }
    })?;
    fault::point("keeper.released");
    Ok(daemon)
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
