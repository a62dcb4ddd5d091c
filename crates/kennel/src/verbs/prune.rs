//! `kennel prune`: removes all ended sessions.

use std::collections::BTreeSet;

use kennel_types::SessionId;
use kennel_types::api::{PruneRequest, PruneResponse};

use crate::command_prelude::*;

#[derive(Debug, Args)]
#[command(after_help = exit_code::PLAIN_HELP)]
pub(crate) struct PruneArgs {
    /// Remove only sessions that ended longer ago than this (90m, 12h, 7d)
    #[arg(long, value_name = "TIME", value_parser = parse_time, allow_hyphen_values = true)]
    older_than: Option<Duration>,
    /// Only print what would be removed
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn prune(daemon: &DaemonClient, args: &PruneArgs) -> Result<u8, CommandError> {
    let older_than_ms =
        args.older_than.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
    // Their names are needed after the removal.
    let known = daemon.sessions(true)?;
    let answer: PruneResponse = if args.dry_run {
        let age = older_than_ms.map_or(String::new(), |age| format!("?older_than_ms={age}"));
        daemon.get(&format!("/v1/prune{age}"))?
    } else {
        daemon.post("/v1/prune", &PruneRequest { older_than_ms })?
    };
    let removed = sessions_of(&answer.removed);
    print(&removed.iter().map(|id| line(id, &known)).collect::<String>())?;
    let verb = if args.dry_run { "would be removed" } else { "removed" };
    match removed.len() {
        0 => print_message("nothing to remove"),
        number => print_message(&format!("{} {verb}", counted(number, "session"))),
    }
    if !answer.with_worktrees.is_empty() {
        let left = counted(sessions_of(&answer.with_worktrees).len(), "session");
        print_message(&format!("kept {left} with a kept worktree: see `kennel worktrees`"));
    }
    if !answer.with_keys.is_empty() {
        let left = counted(answer.with_keys.len(), "session");
        print_message(&format!(
            "kept {left} of a plan, or with a valid idempotency key (daemon.key_retention); `kennel rm` removes them"
        ));
    }
    Ok(0)
}

/// Returns each session of these launches once.
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
    fn counts_launches_of_one_session_once() {
        let ids = ["0c3k5d9wq2fa", "0c3k5d9wq2fa_2", "0c3k5d9wq2fb"].map(ToOwned::to_owned);
        let sessions: Vec<_> = sessions_of(&ids).into_iter().collect();
        assert_eq!(sessions, ["0c3k5d9wq2fa", "0c3k5d9wq2fb"]);
    }
}
