//! `kennel kill`: explains what to use instead.

use std::ffi::OsString;

use crate::command_prelude::*;

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
    Err(CommandError::because(exit_code::USAGE, "unknown command `kill`").hint(hint))
}
