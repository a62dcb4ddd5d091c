//! Verbs that Kennel does not have, and that people try.

use std::ffi::OsString;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::command_error::CommandError;
use crate::exit_code;

/// What to write instead.
const INSTEAD: &[(&str, &str)] = &[
    (
        "start",
        "`kennel run -- COMMAND` starts a session, `kennel resume SESSION` launches one that has ended again; \
         `kennel daemon start` is for the daemon",
    ),
    (
        "restart",
        "`kennel stop SESSION`, then `kennel resume SESSION`; `kennel daemon restart` is for the daemon",
    ),
    (
        "status",
        "`kennel ps` lists sessions, `kennel inspect SESSION` shows one; `kennel daemon status` is about the daemon",
    ),
    ("version", "`kennel --version` (or -V) prints it"),
    (
        "top",
        "`kennel ps` lists sessions, `kennel inspect SESSION` shows the processes of one and what they use",
    ),
    (
        "exec",
        "nothing is started inside a session from outside; `kennel send SESSION TEXT` types into it, \
         `kennel run -- COMMAND` starts another one",
    ),
    ("list", "`kennel ps` lists sessions"),
    ("remove", "`kennel rm SESSION` removes one that has ended"),
    ("delete", "`kennel rm SESSION` removes one that has ended"),
    ("show", "`kennel inspect SESSION` shows everything about one"),
];

/// What to say of such a verb; none if the command line is wrong in another way.
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
    // Behind a verb that we have it is another matter.
    let before = words.iter().skip(1).take_while(|word| *word != verb.as_str());
    if before.into_iter().any(|word| command.find_subcommand(word).is_some()) {
        return None;
    }
    let (_, hint) = INSTEAD.iter().find(|(known, _)| known == verb)?;
    Some(CommandError::because(exit_code::USAGE, format!("there is no verb `{verb}`")).hint(*hint))
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
    fn each_is_no_verb_and_is_explained() {
        for (verb, _) in INSTEAD {
            assert!(config::command().find_subcommand(verb).is_none(), "{verb}");
            assert!(explained(&["kennel", verb]), "{verb}");
            assert!(explained(&["kennel", "--home", "/h", verb, "x"]), "{verb}");
        }
    }

    #[test]
    fn others_are_left_to_the_usual_answer() {
        assert!(!explained(&["kennel", "stpo"]));
        assert!(!explained(&["kennel", "daemon", "version"]));
        assert!(!explained(&["kennel", "run", "--no-such-flag"]));
    }
}
