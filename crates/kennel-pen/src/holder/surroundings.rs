//! The holder's own surroundings, and what of them the agent must not inherit.

use std::fs::{self, File};
use std::io::{self, Read, Seek};

use kennel_sys::namespace::NamespaceInit;
use rustix::fd::OwnedFd;
use rustix::process::{Resource, Rlimit, Signal};

use crate::command::Command;
use kennel_sys::clone::ResourceLimit;

const RLIMIT_NOFILE: u32 = 7;

/// What the holder is and was given.
#[derive(Debug)]
pub(crate) struct Surroundings {
    /// Set if this holder is the init of a pid namespace made for it.
    pub(crate) namespace: Option<NamespaceInit>,
    descriptors: Rlimit,
}

impl Surroundings {
    /// Settles in: nothing of the caller's is held on to.
    pub(crate) fn settle_in(namespace: Option<NamespaceInit>) -> io::Result<Self> {
        // No folder of the user's is kept busy by us.
        rustix::process::chdir("/")?;
        // We go when our pen is empty, and not because somebody ended a whole tree or group politely: a
        // Kennel that an agent runs is in the pen of another.
        let polite =
            [Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT, Signal::USR1, Signal::USR2];
        kennel_sys::signals::ignore(&polite.map(Signal::as_raw))?;
        // If the caller's death finds us stopped, we wake up and see to the rest.
        rustix::process::set_parent_process_death_signal(Some(Signal::CONT))?;
        // Hundreds of busy sessions must not keep us from ending them. Root may; others get their share.
        fs::write("/proc/self/autogroup", "-20").ok();
        let descriptors = rustix::process::getrlimit(Resource::Nofile);
        let raised = Rlimit { current: descriptors.maximum, maximum: descriptors.maximum };
        // A larger tree can be looked at; without it we go on.
        rustix::process::setrlimit(Resource::Nofile, raised).ok();
        Ok(Self { namespace, descriptors })
    }

    /// The agent gets the caller's limit on descriptors, not the one that we raised.
    pub(crate) fn give_to(&self, command: &mut Command) {
        if command.limits.iter().all(|limit| limit.resource != RLIMIT_NOFILE) {
            command.limit(ResourceLimit {
                resource: RLIMIT_NOFILE,
                soft: self.descriptors.current.unwrap_or(u64::MAX),
                hard: self.descriptors.maximum.unwrap_or(u64::MAX),
            });
        }
    }
}

/// The text that the caller put into a memfd.
pub(crate) fn read_memfd(memfd: OwnedFd) -> io::Result<Vec<u8>> {
    let mut file = File::from(memfd);
    file.rewind()?;
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    Ok(text)
}

#[cfg(feature = "faults")]
pub(crate) fn arm_fault(nth: u32, errno: i32) {
    kennel_sys::fault::arm(nth, errno);
}

#[cfg(not(feature = "faults"))]
pub(crate) fn arm_fault(_nth: u32, _errno: i32) {}
