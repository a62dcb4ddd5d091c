//! Values that more than one protocol speaks of.

use super::bytes::{Garbled, Reader, Writer};
use crate::process::{PenProcess, PenUsage, SurvivalReason, Survivor};
use crate::status::Status;
use kennel_sys::identity::{Birth, ProcessIdentity};

/// Adds a status.
pub fn write_status(out: &mut Writer, status: &Status) {
    match status {
        Status::Code(code) => out.u8(0).i32(*code),
        Status::Signal { signal, core, oom } => out.u8(1).i32(*signal).bool(*core).bool(*oom),
        Status::Unknown(reason) => out.u8(2).text(reason),
    };
}

/// Takes a status.
///
/// # Errors
/// There is none.
pub fn read_status(input: &mut Reader<'_>) -> Result<Status, Garbled> {
    Ok(match input.u8()? {
        0 => Status::Code(input.i32()?),
        1 => Status::Signal { signal: input.i32()?, core: input.bool()?, oom: input.bool()? },
        2 => Status::Unknown(input.text()?),
        _ => return Err(Garbled),
    })
}

/// Adds a member.
pub fn write_member(out: &mut Writer, member: &PenProcess) {
    out.i32(member.pid).text(&member.name).u32(member.state.into()).bool(member.dead);
}

/// Takes a member.
///
/// # Errors
/// There is none.
pub fn read_member(input: &mut Reader<'_>) -> Result<PenProcess, Garbled> {
    Ok(PenProcess {
        pid: input.i32()?,
        name: input.text()?,
        state: char::from_u32(input.u32()?).ok_or(Garbled)?,
        dead: input.bool()?,
    })
}

/// Adds a survivor.
pub fn write_survivor(out: &mut Writer, survivor: &Survivor) {
    out.i32(survivor.pid).text(&survivor.name);
    match survivor.why {
        SurvivalReason::NotPermitted { uid } => out.u8(0).u32(uid),
        SurvivalReason::Uninterruptible => out.u8(1),
        SurvivalReason::Ending => out.u8(2),
    };
}

/// Takes a survivor.
///
/// # Errors
/// There is none.
pub fn read_survivor(input: &mut Reader<'_>) -> Result<Survivor, Garbled> {
    Ok(Survivor {
        pid: input.i32()?,
        name: input.text()?,
        why: match input.u8()? {
            0 => SurvivalReason::NotPermitted { uid: input.u32()? },
            1 => SurvivalReason::Uninterruptible,
            2 => SurvivalReason::Ending,
            _ => return Err(Garbled),
        },
    })
}

/// Adds an identity.
pub fn write_identity(out: &mut Writer, identity: &ProcessIdentity) {
    out.text(&identity.boot).u64(identity.pid_namespace).i32(identity.pid);
    match identity.birth {
        Birth::Inode(inode) => out.u8(0).u64(inode),
        Birth::Tick(tick) => out.u8(1).u64(tick),
    };
}

/// Takes an identity.
///
/// # Errors
/// There is none.
pub fn read_identity(input: &mut Reader<'_>) -> Result<ProcessIdentity, Garbled> {
    Ok(ProcessIdentity {
        boot: input.text()?,
        pid_namespace: input.u64()?,
        pid: input.i32()?,
        birth: match input.u8()? {
            0 => Birth::Inode(input.u64()?),
            1 => Birth::Tick(input.u64()?),
            _ => return Err(Garbled),
        },
    })
}

/// Adds a usage.
pub fn write_usage(out: &mut Writer, usage: &PenUsage) {
    out.duration(usage.cpu).u64(usage.memory).u32(usage.processes);
}

/// Takes a usage.
///
/// # Errors
/// There is none.
pub fn read_usage(input: &mut Reader<'_>) -> Result<PenUsage, Garbled> {
    Ok(PenUsage { cpu: input.duration()?, memory: input.u64()?, processes: input.u32()? })
}
