//! `kennel kill`: no verb, but many try it.

use std::ffi::OsString;

use clap::Args;

use crate::command_error::CommandError;
use crate::exit_code;

/// Whatever follows it.
#[derive(Debug, Args)]
pub(crate) struct KillArgs {
    /// Sessions, signals
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "SESSION")]
    rest: Vec<OsString>,
}

/// Says what to write instead: whether the end or a signal is meant, can't be told.
pub(crate) fn kill(args: &KillArgs) -> Result<u8, CommandError> {
    let plain = args.rest.iter().filter_map(|word| word.to_str());
    let session = plain.into_iter().find(|word| !word.starts_with('-')).unwrap_or("SESSION");
    let hint = format!(
        "`kennel stop --now {session}` kills the whole tree; \
         `kennel signal {session} TERM` sends a signal to it"
    );
    Err(CommandError::because(exit_code::USAGE, "there is no verb `kill`").hint(hint))
}
