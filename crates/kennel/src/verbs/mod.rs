//! The verbs of the command line, one file each. `run`, `ask`, `plan` and `doctor` are separate
//! modules.

pub(crate) mod adopt;
pub(crate) mod attach;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod daemon;
pub(crate) mod dashboard;
pub(crate) mod events;
pub(crate) mod forget;
pub(crate) mod inspect;
pub(crate) mod logs;
pub(crate) mod member;
pub(crate) mod prune;
pub(crate) mod ps;
pub(crate) mod report;
pub(crate) mod rescue;
pub(crate) mod rm;
pub(crate) mod send;
pub(crate) mod signal;
pub(crate) mod stop;
pub(crate) mod strays;
#[cfg(test)]
mod tests;
pub(crate) mod token;
pub(crate) mod unknown_verb;
pub(crate) mod wait;
pub(crate) mod worktrees;

use std::fmt::Display;

use kennel_types::{Exit, StartedBy};

use crate::command_error::report;
use crate::command_prelude::*;

/// Identifies this command in the event log.
pub(crate) fn asked_by(verb: &str) -> String {
    format!("kennel {verb} (user {})", rustix::process::getuid().as_raw())
}

pub(crate) fn label(session: &SessionView) -> &str {
    session.name.as_deref().unwrap_or(&session.id)
}

/// Refuses an adopted session, which has no keeper.
fn refuse_adopted(session: &SessionView, what: &str) -> Result<(), CommandError> {
    if session.started_by == StartedBy::Kennel {
        return Ok(());
    }
    let name = label(session);
    let text = format!("session {name} is an adopted process: {what}");
    Err(CommandError::refused(text)
        .hint(format!("`kennel inspect {name}` shows what is known about it")))
}

fn exit_text(exit: Option<&Exit>) -> String {
    match exit {
        None => "-".to_owned(),
        Some(Exit::Code { code }) => code.to_string(),
        Some(Exit::Signal { signal, oom: true, .. }) => {
            format!("{} (out of memory)", 128 + signal)
        }
        Some(Exit::Signal { signal, core, .. }) => {
            let core = if *core { ", core" } else { "" };
            format!("{} ({}{core})", 128 + signal, signal::name(*signal))
        }
        Some(Exit::NeverRan) => "never ran".to_owned(),
        Some(Exit::Unknown { .. }) => "unknown".to_owned(),
    }
}

/// Formats an exit status as part of a sentence.
fn ended_text(exit: Option<&Exit>) -> String {
    match exit {
        Some(Exit::NeverRan) => exit_text(exit),
        _ => format!("exit {}", exit_text(exit)),
    }
}

/// Acts on each named session. An error is printed and does not affect the others.
fn for_each<S: Display>(
    sessions: &[S],
    mut act: impl FnMut(&S) -> Result<(), CommandError>,
) -> Result<u8, CommandError> {
    let mut worst = 0;
    for session in sessions {
        if let Err(failure) = act(session) {
            worst = worst.max(report(failure));
        }
    }
    Ok(worst)
}

const _: () = assert!(exit_code::REFUSED < exit_code::STILL_ALIVE, "the worst is the largest");
