//! Keepers that have done their work, and wait for more.
//!
//! To fork, to become a process of its own, to touch its first pages and to end takes as long as everything else
//! that a keeper does for a short session. So one whose pen was seen empty and whose outcome is in safe hands
//! lets go of everything and offers itself to the yard, which gives it the next launch. It is nobody's keeper
//! meanwhile, knows no session, and goes when the yard does or has no use for it.

use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

use kennel_pen::wire::{Channel, Delivery, Received};
use kennel_sys::fork::leave_at_once;
use kennel_sys::pidfd;
use rustix::event::{PollFd, PollFlags};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions};

use super::serve::complain;
use crate::keeper::{self, Birthright, Inherited, Kept};

/// How long one is kept without a launch.
const KEPT: Duration = Duration::from_secs(10);
/// How many are kept.
const MOST: usize = 8;
/// How many launches one sees through: whatever a process gathers over time, it does not gather for ever.
const LAUNCHES: u32 = 1000;
/// An offer is a pid, an order is in the descriptors.
const LONGEST: usize = 4;
const TAKE: &[u8] = b"take";

/// The yard's side: those who wait.
pub(super) struct Spares {
    offers: Channel,
    /// Where keepers offer themselves; each has it from us.
    door: OwnedFd,
    waiting: VecDeque<Spare>,
}

struct Spare {
    pid: i32,
    channel: Channel,
    /// When it is let go.
    until: Instant,
}

impl Spares {
    pub(super) fn new() -> io::Result<Self> {
        let (ours, door) = Channel::pair()?;
        Ok(Self { offers: Channel::new(ours, LONGEST), door, waiting: VecDeque::new() })
    }

    /// What is waited for.
    pub(super) fn offers(&self) -> PollFd<'_> {
        PollFd::new(&self.offers, PollFlags::IN)
    }

    /// When there is something to be done in any case.
    pub(super) fn until(&self) -> Option<Instant> {
        self.waiting.front().map(|spare| spare.until)
    }

    /// The door, for a new keeper.
    pub(super) fn into_door(self) -> OwnedFd {
        self.door
    }

    /// Who waits.
    pub(super) fn pids(&self) -> impl Iterator<Item = i32> {
        self.waiting.iter().map(|spare| spare.pid)
    }

    /// Takes in those who offer themselves, and lets go of those whom nobody needed. Gives the newcomers.
    pub(super) fn mind(&mut self) -> io::Result<Vec<i32>> {
        let now = Instant::now();
        while self.waiting.front().is_some_and(|spare| now >= spare.until) {
            self.waiting.pop_front();
        }
        let mut newcomers = Vec::new();
        while let Received::Message(pid, descriptors) = self.offers.receive()? {
            let (Ok(pid), Some(socket)) = (pid.try_into(), descriptors.into_iter().next()) else {
                continue;
            };
            let pid = i32::from_le_bytes(pid);
            newcomers.push(pid);
            if self.waiting.len() < MOST {
                let channel = Channel::new(socket, LONGEST);
                self.waiting.push_back(Spare { pid, channel, until: now + KEPT });
            }
        }
        Ok(newcomers)
    }

    /// One has ended.
    pub(super) fn ended(&mut self, pid: i32) {
        self.waiting.retain(|spare| spare.pid != pid);
    }

    /// Has one of them see to a launch: its pid. Without one the descriptors are still the caller's alone.
    pub(super) fn give(&mut self, descriptors: &[OwnedFd]) -> Option<i32> {
        let borrowed: Vec<_> = descriptors.iter().map(OwnedFd::as_fd).collect();
        // The last one in: its memory is the warmest.
        while let Some(spare) = self.waiting.pop_back() {
            match spare.channel.send(TAKE, &borrowed) {
                Ok(Delivery::Sent) => return Some(spare.pid),
                Ok(Delivery::Full | Delivery::Closed) | Err(_) => {}
            }
        }
        None
    }

    /// Lets go of all, and sees them go: they hold nothing, so there is nothing to wait for.
    pub(super) fn dismiss(&mut self) -> io::Result<()> {
        while let Some(spare) = self.waiting.pop_front() {
            if let Some(process) = pidfd::open(spare.pid)? {
                let _sent_or_gone = pidfd::send(&process, Signal::KILL)?;
            }
            while let Err(Errno::INTR) =
                rustix::process::waitpid(Pid::from_raw(spare.pid), WaitOptions::empty())
            {
            }
        }
        Ok(())
    }
}

/// Serves as a keeper, of one launch after another.
pub(super) fn serve(birthright: Birthright, door: OwnedFd, inherited: &Inherited) -> ! {
    let served = serve_launches(birthright, &Channel::new(door, LONGEST), inherited);
    if let Err(error) = &served {
        complain(&format!("a keeper gives up: {error}"));
    }
    leave_at_once(served.is_err().into())
}

fn serve_launches(
    mut birthright: Birthright,
    door: &Channel,
    inherited: &Inherited,
) -> io::Result<()> {
    inherited.settle_in()?;
    for launch in 1.. {
        match keeper::keep(birthright, inherited)? {
            Kept::Free if launch < LAUNCHES => {}
            Kept::Free | Kept::Spent => return Ok(()),
        }
        inherited.call_ourselves("kennel-spare")?;
        birthright = match await_launch(door)? {
            Some(descriptors) => Birthright::new(descriptors).ok_or(io::ErrorKind::InvalidData)?,
            None => return Ok(()),
        };
    }
    Ok(())
}

/// Offers ourselves, and waits for the next launch; none if there will be none.
fn await_launch(door: &Channel) -> io::Result<Option<Vec<OwnedFd>>> {
    let (ours, theirs) = Channel::pair()?;
    let own = rustix::process::getpid().as_raw_pid().to_le_bytes();
    let offer = door.send(&own, &[theirs.as_fd()])?;
    drop(theirs);
    if offer != Delivery::Sent {
        return Ok(None); // the yard is gone, or has too many
    }
    let channel = Channel::new(ours, LONGEST);
    loop {
        match channel.receive()? {
            Received::Message(_, descriptors) => return Ok(Some(descriptors)),
            Received::End => return Ok(None),
            Received::Nothing => {}
        }
        match rustix::event::poll(&mut [PollFd::new(&channel, PollFlags::IN)], None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
