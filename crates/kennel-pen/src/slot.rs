//! The one slot for a pen that each process has, and the cleanup of a pen that was dropped while
//! processes were in it.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use kennel_sys::reap::{self, Reaped};
use rustix::process::Signal;

use crate::cgroup::Cgroup;
use crate::pen::CreateError;
use crate::subtree::{self, ProcessKey};

static SLOT: Mutex<PenSlot> = Mutex::new(PenSlot::Free);

/// Whether this process has a pen, or has dropped one that was not empty.
pub(crate) enum PenSlot {
    Free,
    Taken,
    /// A pen was dropped with processes in it. They were killed; the next pen reaps them.
    Abandoned(Option<Cgroup>),
}

pub(crate) fn slot() -> MutexGuard<'static, PenSlot> {
    SLOT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The taken slot. Dropping it frees the slot.
pub(crate) struct PenSlotGuard;

impl Drop for PenSlotGuard {
    fn drop(&mut self) {
        *slot() = PenSlot::Free;
    }
}

/// Takes the slot. First cleans up a pen that was dropped while processes were in it.
pub(crate) fn take_slot() -> Result<PenSlotGuard, CreateError> {
    let mut slot = slot();
    match std::mem::replace(&mut *slot, PenSlot::Taken) {
        PenSlot::Free => Ok(PenSlotGuard),
        PenSlot::Taken => Err(CreateError::Occupied),
        PenSlot::Abandoned(cgroup) => match settle(cgroup, &HashSet::new()) {
            None => Ok(PenSlotGuard),
            Some(left) => {
                *slot = PenSlot::Abandoned(left);
                Err(CreateError::Occupied)
            }
        },
    }
}

/// Kills the processes of an abandoned pen, without waiting. Returns what is left of the pen.
pub(crate) fn settle(
    cgroup: Option<Cgroup>,
    others: &HashSet<ProcessKey>,
) -> Option<Option<Cgroup>> {
    if let Some(cgroup) = &cgroup {
        cgroup.kill().ok();
    }
    subtree::signal(Signal::KILL, &HashSet::new(), others, None).ok();
    let children_gone = loop {
        match reap::reap_any() {
            Ok(Reaped::One(..)) => {}
            Ok(Reaped::NoChildren) => break true,
            Ok(Reaped::NoneReady) | Err(_) => break false,
        }
    };
    let folder_gone = cgroup.as_ref().is_none_or(|cgroup| matches!(cgroup.remove(), Ok(true)));
    (!(children_gone && folder_gone)).then_some(cgroup)
}
