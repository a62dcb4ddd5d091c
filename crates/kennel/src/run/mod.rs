//! `kennel run`: a new session in the foreground or in the background.
//!
//! ```text
//! kennel run ──HTTP── daemon ──► yard ──► keeper ──► agent
//!     │                                     │
//!     └────── owner of the session ─────────┘
//! ```
//! In the foreground, the session is tied to this process: if it is killed, the keeper sees its
//! socket close and ends the process tree. The agent's output is read from its journal.

mod args;
mod chat;
pub(crate) mod client_env;
mod create;
mod follow;
mod ready;

use kennel_types::{Exit, WorktreeSpec};

use crate::command_prelude::*;
use crate::foreground::DetachKeys;
use crate::session_outcome::{self, SessionOutcome};
pub(crate) use args::{LimitArgs, PENS, ResumeArgs, RunArgs, WorktreeArgs, choice, parse_key};
pub(crate) use chat::{ChatArgs, chat};
use create::{LaunchResult, PendingLaunch};
pub(crate) use create::{asked_by, parent};

pub(crate) fn run(home: &HomeDir, args: &RunArgs) -> Result<u8, CommandError> {
    ready::check(args.ready.wait_ready, args.detach)?;
    ready::require_check(args.ready.wait_ready, &args.ready.ready)?;
    let launch = PendingLaunch::new(home, args)?;
    let daemon = DaemonClient::connect(home, StartDaemon::IfNeeded)?;
    let (detach, wait_ready) = (args.detach, args.ready.wait_ready);
    let mode = RunMode { detach, wait_ready, detach_keys: &args.detach_keys };
    launch_and_follow(&daemon, launch, mode)
}

/// `kennel resume`: launches an ended session again.
pub(crate) fn resume(home: &HomeDir, args: &ResumeArgs) -> Result<u8, CommandError> {
    ready::check(args.wait_ready, args.detach)?;
    let refused = |error| CommandError::from(error).code(exit_code::SETUP);
    let daemon = DaemonClient::connect(home, StartDaemon::IfNeeded)?;
    let named = daemon.session(&args.session).map_err(refused)?;
    // The next launch follows the latest one, whichever was named.
    let latest: SessionView = match named.attempt == named.launches {
        true => named,
        false => daemon.session(&named.session).map_err(refused)?,
    };
    ready::require_check(args.wait_ready, &latest.spec.ready)?;
    let launch = PendingLaunch::resume(home, args, &latest).map_err(CommandError::setup)?;
    let (detach, wait_ready) = (args.detach, args.wait_ready);
    let mode = RunMode { detach, wait_ready, detach_keys: &args.detach_keys };
    launch_and_follow(&daemon, launch, mode)
}

#[derive(Debug, Clone, Copy)]
struct RunMode<'a> {
    detach: bool,
    wait_ready: bool,
    detach_keys: &'a DetachKeys,
}

/// Launches a session, and prints its id or follows it.
fn launch_and_follow(
    daemon: &DaemonClient,
    launch: PendingLaunch,
    mode: RunMode<'_>,
) -> Result<u8, CommandError> {
    // From here on, signals are queued until they are read.
    let signals = &Signals::listen()?;
    let (session, ours) = match create::create(daemon, launch, signals)? {
        LaunchResult::Session { session, ours } => (session, ours),
        LaunchResult::Stopped { signal, session: None } => {
            return Ok(exit_code::of_signal(signal));
        }
        LaunchResult::Stopped { signal, session: Some(session) } => {
            return SessionOutcome::of(&session).stopped_by(signal).exit_code();
        }
    };
    if let Some(failure) = session_outcome::launch_failure(&session) {
        return Err(failure);
    }
    if let Some(failure) = ready::failure(&session).filter(|_| mode.wait_ready) {
        return Err(failure);
    }
    if let Some(worktree) = &session.spec.worktree {
        worktree_notes(worktree).iter().for_each(|note| print_message(note));
    }
    if ours {
        // The session runs, but not entirely as requested.
        session.trouble.iter().for_each(|trouble| print_message(&sanitize(trouble)));
    }
    if mode.detach {
        // A stop may have been faster.
        if session.exit == Some(Exit::NeverRan) {
            return SessionOutcome::NeverRan.exit_code();
        }
        if !ours {
            print_message(&format!("session {} was started by an earlier request", session.id));
        }
        print(&format!("{}\n", session.id))?;
        return Ok(0);
    }
    if ours {
        follow::follow(daemon, mode.detach_keys, &session, signals)
    } else {
        follow::await_end(daemon, &session, signals)
    }
}

/// Describes where the worktree is, and whether it lacks uncommitted changes.
fn worktree_notes(worktree: &WorktreeSpec) -> Vec<String> {
    let (path, branch) = (sanitize(&worktree.path), sanitize(&worktree.branch));
    let mut lines = vec![format!("running in worktree {path} on branch {branch}")];
    match worktree.uncommitted {
        Some(false) => {}
        Some(true) => {
            lines.push("the worktree does not contain the uncommitted changes of your checkout".to_owned());
        }
        None => lines.push(
            "can't determine whether your checkout has uncommitted changes; if it has, the worktree lacks them"
                .to_owned(),
        ),
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mentions_uncommitted_changes() {
        let worktree = |uncommitted| WorktreeSpec {
            path: "/w/repo-1".into(),
            branch: "kennel/1".into(),
            uncommitted,
            ..WorktreeSpec::default()
        };
        let where_it_is = "running in worktree /w/repo-1 on branch kennel/1";
        assert_eq!(worktree_notes(&worktree(Some(false))), [where_it_is]);
        let dirty = worktree_notes(&worktree(Some(true)));
        assert_eq!(dirty[0], where_it_is);
        assert!(dirty[1].contains("uncommitted"), "{dirty:?}");
        assert!(worktree_notes(&worktree(None))[1].contains("can't determine"));
    }
}
