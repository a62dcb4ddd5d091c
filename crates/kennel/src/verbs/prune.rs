//! `kennel prune`: all sessions that have ended, off the record.

use std::collections::BTreeSet;
use std::time::Duration;

use clap::Args;
use kennel_types::api::{PruneAnswer, PruneRequest};
use kennel_types::{SessionId, SessionView};

use crate::command_error::{CommandError, say};
use crate::connect::{DaemonClient, StartDaemon};
use crate::exit_code;
use crate::home::Home;
use crate::plural::counted;
use crate::print::print;
use crate::quantity::parse_time;

/// The flags of `kennel prune`.
#[derive(Debug, Args)]
#[command(after_help = exit_code::PLAIN_HELP)]
pub(crate) struct PruneArgs {
    /// Only those that ended longer ago than this (90m, 12h, 7d)
    #[arg(long, value_name = "TIME", value_parser = parse_time, allow_hyphen_values = true)]
    older_than: Option<Duration>,
    /// Only say what would be removed
    #[arg(long)]
    dry_run: bool,
}

/// Removes them; prints their names and ids.
pub(crate) fn prune(home: &Home, args: &PruneArgs) -> Result<u8, CommandError> {
    let daemon = DaemonClient::connect(home, StartDaemon::IfNeeded)?;
    let older_than_ms =
        args.older_than.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
    // Their names are forgotten with them.
    let known = daemon.sessions(true)?;
    let answer: PruneAnswer = if args.dry_run {
        let age = older_than_ms.map_or(String::new(), |age| format!("?older_than_ms={age}"));
        daemon.get(&format!("/v1/prune{age}"))?
    } else {
        daemon.post("/v1/prune", &PruneRequest { older_than_ms })?
    };
    let removed = sessions_of(&answer.removed);
    print(&removed.iter().map(|id| line(id, &known)).collect::<String>())?;
    match (removed.len(), args.dry_run) {
        (0, _) => say("nothing to remove"),
        (number, false) => say(&format!("{} removed", counted(number, "session"))),
        (number, true) => say(&format!("{} would be removed", counted(number, "session"))),
    }
    if !answer.with_worktrees.is_empty() {
        let left = counted(sessions_of(&answer.with_worktrees).len(), "session");
        say(&format!(
            "{left} left on record, with a worktree that is kept: see `kennel worktrees`"
        ));
    }
    if !answer.with_keys.is_empty() {
        let left = counted(answer.with_keys.len(), "session");
        say(&format!(
            "{left} left on record, with a key that is still held (daemon.key_retention); `kennel rm` frees it"
        ));
    }
    Ok(0)
}

/// The sessions of these launches, each once.
fn sessions_of(launches: &[String]) -> BTreeSet<String> {
    let session = |id: &String| match SessionId::parse(id) {
        Ok(id) => id.base().to_string(),
        Err(_) => id.clone(),
    };
    launches.iter().map(session).collect()
}

fn line(id: &str, known: &[SessionView]) -> String {
    let session = known.iter().find(|session| session.session == id);
    match session.and_then(|session| session.name.as_deref()) {
        Some(name) => format!("{name} ({id})\n"),
        None => format!("{id}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_of_one_session_are_one() {
        let ids = ["0c3k5d9wq2fa", "0c3k5d9wq2fa_2", "0c3k5d9wq2fb"].map(ToOwned::to_owned);
        let sessions: Vec<_> = sessions_of(&ids).into_iter().collect();
        assert_eq!(sessions, ["0c3k5d9wq2fa", "0c3k5d9wq2fb"]);
    }
}
