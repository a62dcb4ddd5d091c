//! Behaviours that never stop forking, within bounds.
//!
//! # How a bomb keeps its bound
//!
//! Up to MAX processes, each of which forks whenever fewer live. The count must not become wrong
//! when one is killed at any moment, so it can't rely on anything that a process has to return.
//! Here each process holds one of MAX names of abstract sockets: a name can be bound once, and the
//! kernel frees it when its holder dies. A name is bound before the fork that needs it, so there is
//! never a process without one.
//!
//! Processes that are ending may exceed the bound: their names are freed before their pids.
//!
//! # What makes it hard to end
//!
//! Every process, not just a parent, replaces every other that dies, so there is no order in which
//! to end them. They also end by themselves: a process exits when it has lived for some
//! milliseconds, has no children and finds no free name for one. Another process takes its name, so
//! a list of pids is out of date before it is read to its end. (Processes with children stay:
//! another process would have to reap the orphans, and zombies there could exceed any bound.) Since
//! a process exits only if all names are taken, they never die out. The agent itself stays: its end
//! would end the session.

use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::process;
use std::thread;
use std::time::{Duration, Instant, UNIX_EPOCH};

use kennel_sys::process::{Forked, fork_alone};
use rustix::process::{WaitOptions, wait};

use crate::args::Args;
use crate::failure::{self, Failure, OrFail as _, Outcome};
use crate::presence;
use crate::spawn::Session;

/// No test needs more, and a machine shared with other tests can't run more.
const MOST: u32 = 4096;

/// How many names a process tries before it pauses. Few, because all processes try at once.
const TRIES: u32 = 4;

/// Whether the processes of a bomb share the agent's session.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sessions {
    Shared,
    Own,
}

/// `bomb MAX SECS`, `bomb-plain MAX SECS`
pub(crate) fn bomb(mut args: Args, sessions: Sessions) -> Outcome {
    let max = args.number("MAX")?;
    let time = args.seconds("SECS")?;
    if !(1..=MOST).contains(&max) {
        return Err(args.wrong(format_args!("MAX {max} is not between 1 and {MOST}")));
    }
    args.finish()?;
    let deadline = Instant::now() + time;
    presence::record_pid("agent")?;
    let bomb =
        Bomb { places: Places::new(max), pause: pause(max), life: life(max), sessions, deadline };
    let mut own = bomb.places.take_any(max)?.ok_or_else(|| Failure {
        code: failure::SYSTEM,
        message: "another process holds the names of this bomb".into(),
    })?;
    let result = bomb.explode(&mut own);
    let code = result.map_or_else(|failure| failure.report(), |()| 0);
    // Exits instead of returning, which would free the name while the process still exists.
    process::exit(i32::from(code))
}

/// How long a process waits when it could do nothing. Longer if there are more, so that all
/// together try equally often: enough to fill a gap before a scan of `/proc` is complete.
fn pause(processes: u32) -> Duration {
    let pause = Duration::from_micros(20) * processes;
    pause.clamp(Duration::from_micros(200), Duration::from_millis(20))
}

/// How long a process lives at least. Longer if there are more, so that new ones come at the same
/// rate, about one in a millisecond: some come while a list is read, yet most of those on it are
/// still there, and the machine stays usable for the supervisor that ends the bomb.
fn life(processes: u32) -> Duration {
    Duration::from_millis(processes.into()).max(Duration::from_millis(10))
}

/// The settings that all processes of a bomb share.
struct Bomb {
    places: Places,
    pause: Duration,
    life: Duration,
    sessions: Sessions,
    deadline: Instant,
}

impl Bomb {
    /// Runs each process. A forked child continues in the middle of it, like its parent: all are
    /// equal, except that the agent prints `ready` and stays.
    ///
    /// `own` is the name of the process. The caller keeps it, because it must be held to the end.
    fn explode(&self, own: &mut UnixDatagram) -> Result<(), Failure> {
        let mut role = Role::Agent { ready_due: true };
        while Instant::now() < self.deadline {
            let has_children = reap_the_dead();
            match self.multiply(&role)? {
                // The place is the child's now: its copy keeps it bound.
                Some((Forked::Parent(_), its)) => drop(its),
                Some((Forked::Child, mine)) => {
                    *own = mine;
                    role = self.begin_life()?;
                }
                None if !has_children && self.is_old(&role) => break,
                None => {
                    role.print_ready_once();
                    thread::sleep(self.pause);
                }
            }
        }
        Ok(())
    }

    /// Forks if there is a free slot for a child. A fork that fails because of a limit is ignored.
    fn multiply(&self, role: &Role) -> Result<Option<(Forked, UnixDatagram)>, Failure> {
        let tries = match role {
            // Until it has seen all places taken.
            Role::Agent { ready_due: true } => self.places.count,
            _ => TRIES,
        };
        let place = self.places.take_any(tries)?;
        Ok(place.and_then(|place| Some((fork_alone().ok()?, place))))
    }

    /// What a new process does first.
    fn begin_life(&self) -> Result<Role, Failure> {
        if matches!(self.sessions, Sessions::Own) {
            Session::Own.enter()?;
        }
        presence::record_pid("bomb")?;
        let born = Instant::now();
        Ok(Role::Descendant { born })
    }

    /// Whether a process has lived long enough.
    fn is_old(&self, role: &Role) -> bool {
        matches!(role, Role::Descendant { born } if born.elapsed() >= self.life)
    }
}

/// Which process of a bomb this is.
enum Role {
    Agent { ready_due: bool },
    Descendant { born: Instant },
}

impl Role {
    /// The agent, and only once: all places are taken.
    fn print_ready_once(&mut self) {
        if let Role::Agent { ready_due } = self
            && std::mem::take(ready_due)
        {
            presence::ready();
        }
    }
}

/// Reaps the children that have ended. Returns whether there are others.
fn reap_the_dead() -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}

/// The names that bound the number of processes.
struct Places {
    /// The prefix of the names of this bomb, and of no other.
    prefix: String,
    count: u32,
}

impl Places {
    fn new(count: u32) -> Self {
        let now = UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
        Self { prefix: format!("fake-agent-bomb-{}-{now}-", process::id()), count }
    }

    /// Tries some names in a row, from a random one on.
    fn take_any(&self, tries: u32) -> Result<Option<UnixDatagram>, Failure> {
        let start = chance() % self.count;
        for step in 0..tries.min(self.count) {
            let name = self.take((start + step) % self.count);
            if let Some(free) = name.or_fail(failure::SYSTEM, "binding a name")? {
                return Ok(Some(free));
            }
        }
        Ok(None)
    }

    /// Binds one name, unless it is bound.
    fn take(&self, index: u32) -> io::Result<Option<UnixDatagram>> {
        let name = format!("{}{index}", self.prefix);
        let address = SocketAddr::from_abstract_name(name)?;
        match UnixDatagram::bind_addr(&address) {
            Ok(socket) => Ok(Some(socket)),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Returns a number that differs between processes and between calls; its quality does not matter.
fn chance() -> u32 {
    let now = UNIX_EPOCH.elapsed().unwrap_or_default().subsec_nanos();
    let mixed = (now ^ process::id().rotate_left(16)).wrapping_mul(0x9E37_79B1);
    mixed >> 8
}

/// `hop SECS`: a pid is gone before a reader can send it a signal.
pub(crate) fn hop(mut args: Args) -> Outcome {
    let time = args.seconds("SECS")?;
    args.finish()?;
    let deadline = Instant::now() + time;
    presence::record_pid("agent")?;
    presence::ready();
    while Instant::now() < deadline {
        match fork_alone() {
            Ok(Forked::Parent(_)) => return Ok(0),
            Ok(Forked::Child) => presence::record_pid("hop")?,
            // A limit on processes: the former generations are still ending.
            Err(_) => thread::sleep(Duration::from_micros(100)),
        }
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_has_one_holder_and_is_freed_on_drop() {
        let places = Places::new(2);
        let first = places.take(0).expect("bind").expect("free");
        assert!(places.take(0).expect("bind").is_none());
        let second = places.take_any(2).expect("bind").expect("one is left");
        assert!(places.take_any(2).expect("bind").is_none());
        drop(first);
        assert!(places.take(0).expect("bind").is_some());
        drop(second);
    }
}
