//! A keeper takes one launch after another.
//!
//! Forking a process, touching its first pages and exiting takes as long as all else that a keeper
//! does for a short session. So a keeper with an empty pen and a recorded outcome closes everything
//! but its daemon connection, reports that it is free, and waits for the next launch. Meanwhile it
//! has no session. It exits with the daemon, or when the daemon does not need it.

use std::io;

use kennel_pen::wire::{Channel, Delivery, Received, WireMessage};
use kennel_sys::process::exit_at_once;
use rustix::event::{PollFd, PollFlags};
use rustix::fd::OwnedFd;

use super::{LaunchDescriptors, YardInheritance, keep, setup};
use crate::protocol::{KeeperReport, KeeperRequest, LONGEST_REQUEST};

/// The maximum number of launches of one keeper, so that a leak does not grow forever.
const MAX_LAUNCHES: u32 = 1000;

/// Runs as a keeper in a new fork of the yard, for one launch after another. Logs an error.
pub(crate) fn serve(
    descriptors: LaunchDescriptors,
    inherited: &YardInheritance,
    log: impl FnOnce(&io::Error),
) -> ! {
    let served = serve_launches(descriptors, inherited);
    if let Err(error) = &served {
        log(error);
    }
    exit_at_once(served.is_err().into())
}

fn serve_launches(
    mut descriptors: LaunchDescriptors,
    inherited: &YardInheritance,
) -> io::Result<()> {
    setup::detach()?;
    for launch in 1.. {
        let daemon = keep(descriptors, inherited)?.filter(|_| launch < MAX_LAUNCHES);
        let Some(daemon) = daemon else { return Ok(()) };
        inherited.facts.set_name("kennel-spare")?;
        let Some(next) = wait_for_launch(daemon)? else { return Ok(()) };
        descriptors = next;
    }
    Ok(())
}

/// Reports to the daemon that this keeper is free, and waits for the next launch, if there is one.
fn wait_for_launch(daemon: OwnedFd) -> io::Result<Option<LaunchDescriptors>> {
    let channel = Channel::new(daemon, LONGEST_REQUEST);
    if channel.send(&KeeperReport::Free.encode(), &[])? != Delivery::Sent {
        return Ok(None); // the daemon is gone, or does not read
    }
    loop {
        match channel.receive()? {
            Received::Message(bytes, descriptors) => {
                if KeeperRequest::decode(&bytes) == Ok(KeeperRequest::Keep) {
                    return Ok(LaunchDescriptors::new(descriptors, Some(channel.into_socket())));
                }
                // A late request to the keeper of the previous launch.
            }
            Received::End => return Ok(None),
            Received::Nothing => {
                let _changed = kennel_pen::poll(&mut [PollFd::new(&channel, PollFlags::IN)], None)?;
            }
        }
    }
}
