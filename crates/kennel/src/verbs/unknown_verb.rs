//! Hints for verbs that users may expect, but that don't exist.

use std::ffi::OsString;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::command_prelude::*;

/// Verbs and their alternatives.
const ALTERNATIVES: &[(&str, &str)] = &[
    (
        "start",
        "`kennel run -- COMMAND` starts a session, `kennel resume SESSION` launches an ended one again; \
         `kennel daemon start` starts the daemon",
    ),
    (
        "restart",
        "use `kennel stop SESSION`, then `kennel resume SESSION`; `kennel daemon restart` restarts the daemon",
    ),
    (
        "status",
        "`kennel ps` lists sessions, `kennel inspect SESSION` shows one; `kennel daemon status` shows the daemon",
    ),
    ("version", "`kennel --version` (or -V) prints the version"),
    (
        "top",
        "`kennel ps` lists sessions, `kennel inspect SESSION` shows the processes and resource usage of one",
    ),
    (
        "exec",
        "Kennel can't start a command inside an existing session; `kennel send SESSION TEXT` sends it input, \
         `kennel run -- COMMAND` starts another session",
    ),
    ("list", "`kennel ps` lists sessions"),
    ("remove", "`kennel rm SESSION` removes an ended session"),
    ("delete", "`kennel rm SESSION` removes an ended session"),
    ("show", "`kennel inspect SESSION` shows the details of a session"),
];

/// Returns the error for such a verb; none if the command line is wrong in another way.
pub(crate) fn explain(
    command: &Command,
    words: &[OsString],
    error: &clap::Error,
) -> Option<CommandError> {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return None;
    }
    let Some(ContextValue::String(verb)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    // After a known verb, it is an argument of that verb.
    let before = words.iter().skip(1).take_while(|word| *word != verb.as_str());
    if before.into_iter().any(|word| command.find_subcommand(word).is_some()) {
        return None;
    }
    let (_, hint) = ALTERNATIVES.iter().find(|(known, _)| known == verb)?;
    Some(CommandError::usage(format!("unknown command `{verb}`")).hint(*hint))
}

#[derive(Debug, Args)]
pub(crate) struct KillArgs {
    /// Sessions and signals
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "SESSION")]
    rest: Vec<OsString>,
}

/// Fails with a hint: the user may mean `stop --now` or `signal`.
pub(crate) fn kill(args: &KillArgs) -> Result<u8, CommandError> {
    let plain = args.rest.iter().filter_map(|word| word.to_str());
    let session = plain.into_iter().find(|word| !word.starts_with('-')).unwrap_or("SESSION");
    let hint = format!(
        "`kennel stop --now {session}` kills all its processes; \
         `kennel signal {session} TERM` sends them a signal"
    );
    Err(CommandError::usage("unknown command `kill`").hint(hint))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;

    fn explained(words: &[&str]) -> bool {
        let words: Vec<_> = words.iter().map(OsString::from).collect();
        let mut command = config::command();
        let error = command.try_get_matches_from_mut(&words).unwrap_err();
        explain(&command, &words, &error).is_some()
    }

    #[test]
    fn explains_each_of_them() {
        for (verb, _) in ALTERNATIVES {
            assert!(config::command().find_subcommand(verb).is_none(), "{verb}");
            assert!(explained(&["kennel", verb]), "{verb}");
            assert!(explained(&["kennel", "--home", "/h", verb, "x"]), "{verb}");
        }
    }

    #[test]
    fn leaves_other_mistakes_to_clap() {
        assert!(!explained(&["kennel", "stpo"]));
        assert!(!explained(&["kennel", "daemon", "version"]));
        assert!(!explained(&["kennel", "run", "--no-such-flag"]));
    }
}
