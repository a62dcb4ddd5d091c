//! One launch after another in the same process.
//!
//! To fork, to become a process of its own, to touch its first pages and to end takes as long as everything else
//! that a keeper does for a short session. So one whose pen was seen empty and whose outcome is on record lets go
//! of everything but its daemon, tells it so, and waits for the next launch. It is nobody's keeper meanwhile, knows
//! no session, and goes when the daemon does or has no use for it.

use std::io;

use kennel_pen::wire::{Channel, Delivery, Received};
use kennel_sys::fork::leave_at_once;
use rustix::event::{PollFd, PollFlags};
use rustix::fd::OwnedFd;
use rustix::io::Errno;

use super::{AfterLaunch, LaunchDescriptors, YardInheritance, keep};
use crate::protocol::{KeeperReport, KeeperRequest, LONGEST_REQUEST};

/// How many launches one sees through: whatever a process gathers over time, it does not gather for ever.
const LAUNCHES: u32 = 1000;

/// Serves as a keeper in a new fork of the yard, of one launch after another; says how that ended if not well.
pub(crate) fn serve(
    birthright: LaunchDescriptors,
    inherited: &YardInheritance,
    complain: impl FnOnce(&io::Error),
) -> ! {
    let served = serve_launches(birthright, inherited);
    if let Err(error) = &served {
        complain(error);
    }
    leave_at_once(served.is_err().into())
}

fn serve_launches(
    mut birthright: LaunchDescriptors,
    inherited: &YardInheritance,
) -> io::Result<()> {
    inherited.settle_in()?;
    for launch in 1.. {
        let daemon = match keep(birthright, inherited)? {
            AfterLaunch::Free(daemon) if launch < LAUNCHES => daemon,
            AfterLaunch::Free(_) | AfterLaunch::Spent => return Ok(()),
        };
        inherited.call_ourselves("kennel-spare")?;
        birthright = match await_launch(daemon)? {
            Some(birthright) => birthright,
            None => return Ok(()),
        };
    }
    Ok(())
}

/// Tells the daemon that we are free, and waits for the next launch; none if there will be none.
fn await_launch(daemon: OwnedFd) -> io::Result<Option<LaunchDescriptors>> {
    let channel = Channel::new(daemon, LONGEST_REQUEST);
    if channel.send(&KeeperReport::Free.encode(), &[])? != Delivery::Sent {
        return Ok(None); // it is gone, or does not listen
    }
    loop {
        match channel.receive()? {
            Received::Message(bytes, descriptors) => {
                if KeeperRequest::decode(&bytes) == Ok(KeeperRequest::Keep) {
                    return Ok(LaunchDescriptors::from_daemon(descriptors, channel.into_socket()));
                }
                // Said to the keeper of the former launch, and too late.
            }
            Received::End => return Ok(None),
            Received::Nothing => {
                match rustix::event::poll(&mut [PollFd::new(&channel, PollFlags::IN)], None) {
                    Ok(_) | Err(Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
    }
}
