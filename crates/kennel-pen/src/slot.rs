//! A process has one pen at a time: the place for it, and what becomes of a pen that is dropped while somebody is
//! in it.

use std::collections::HashSet;
use std::sync::Mutex;

use kennel_sys::reap::{self, Reaped};
use rustix::process::Signal;

use crate::cgroup::{Cgroup, CgroupRemoval};
use crate::pen::CreateError;
use crate::subtree::{self, ProcessKey};

/// Whether this process has a pen, or has dropped one that was not empty.
static PLACE: Mutex<PenSlot> = Mutex::new(PenSlot::Free);

pub(crate) enum PenSlot {
    Free,
    Taken,
    /// A pen was dropped while somebody was in it. It was struck then; the next one sees to the rest.
    Abandoned(Option<Cgroup>),
}

pub(crate) fn place() -> std::sync::MutexGuard<'static, PenSlot> {
    PLACE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The place of this process's one pen, given back on drop.
pub(crate) struct PenSlotGuard;

impl Drop for PenSlotGuard {
    fn drop(&mut self) {
        *place() = PenSlot::Free;
    }
}

/// Takes the place, first seeing to a pen that was dropped while somebody was in it.
pub(crate) fn take_place() -> Result<PenSlotGuard, CreateError> {
    let mut place = place();
    match std::mem::replace(&mut *place, PenSlot::Taken) {
        PenSlot::Free => Ok(PenSlotGuard),
        PenSlot::Taken => Err(CreateError::Occupied),
        PenSlot::Abandoned(cgroup) => match settle(cgroup, &HashSet::new()) {
            None => Ok(PenSlotGuard),
            Some(left) => {
                *place = PenSlot::Abandoned(left);
                Err(CreateError::Occupied)
            }
        },
    }
}

/// Ends what is left of an abandoned pen, without waiting; gives back what could not be ended.
pub(crate) fn settle(
    cgroup: Option<Cgroup>,
    strangers: &HashSet<ProcessKey>,
) -> Option<Option<Cgroup>> {
    if let Some(cgroup) = &cgroup {
        cgroup.kill().ok();
    }
    subtree::signal(Signal::KILL, &HashSet::new(), strangers, None).ok();
    let children_gone = loop {
        match reap::reap_any() {
            Ok(Reaped::One(..)) => {}
            Ok(Reaped::NoChildren) => break true,
            Ok(Reaped::NoneReady) | Err(_) => break false,
        }
    };
    let folder_gone =
        cgroup.as_ref().is_none_or(|cgroup| matches!(cgroup.remove(), Ok(CgroupRemoval::Yes)));
    (!(children_gone && folder_gone)).then_some(cgroup)
}
