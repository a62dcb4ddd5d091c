//! The published exit codes.
//!
//! `kennel run`, `wait` and `attach` exit with the agent's own code, or 128 plus the signal that
//! ended it. Kennel's own failures have codes from 201 up, which few programs use.

/// A request was refused, or something was not found. `run`, `wait` and `attach` don't use it.
pub(crate) const REFUSED: u8 = 1;
/// The command line or the configuration is invalid.
pub(crate) const USAGE: u8 = 201;
/// The session can't be set up: working folder, home or daemon.
pub(crate) const SETUP: u8 = 202;
/// The requested kind of pen is not available, or could not be created.
pub(crate) const PEN: u8 = 203;
/// A process could not be ended; its keeper keeps trying.
pub(crate) const STILL_ALIVE: u8 = 205;
/// The agent's status is unknown.
pub(crate) const UNKNOWN: u8 = 206;
/// Any other failure of Kennel itself.
pub(crate) const INTERNAL: u8 = 207;
/// With `--wait-ready`: the session was not ready in time, or exited with 0 before it was.
pub(crate) const NOT_READY: u8 = 208;

/// Returns the exit code of a program that a signal ended.
pub(crate) fn of_signal(signal: i32) -> u8 {
    u8::try_from(128 + signal).unwrap_or(u8::MAX)
}

/// The help text of verbs that exit with an agent's code.
pub(crate) const HELP: &str = "\
Exit codes: the command's own, or 128+N if signal N ended it. Kennel itself
uses these (a command may use them, too):
  201    invalid command line or configuration
  202    the session can't be set up (folder, home, daemon), or the
         request was refused (unknown session or member, a limit)
  203    the pen can't be created, or not of the requested kind
  204    the program can't be executed (not found, not executable,
         bad interpreter, bad folder)
  205    a process could not be ended; it is named, and its keeper
         keeps trying
  206    the exit status is unknown
  207    any other failure of Kennel itself
  208    run and resume --wait-ready: not ready in time, or exited with 0";

/// The help text of verbs that exit with the code of a session that another command started.
pub(crate) const OTHERS_HELP: &str = "\
Exit codes: the session's own, or 128+N if signal N ended it. Kennel itself
uses these (a session may use them, too):
  201    invalid command line
  202    home or daemon can't be used
  203    the program never ran: its pen could not be created
  204    the program never ran: it can't be executed
  205    a process could not be ended; it is named, and its keeper
         keeps trying
  206    the exit status is unknown, or the session does not exist
  207    any other failure of Kennel itself";

/// The help text of verbs about a session.
pub(crate) const SHORT_HELP: &str = "\
Exit codes: 0 on success; 1 if the request was refused or a name or id is
unknown; 201 for an invalid command line; 202 if home or daemon can't be used;
207 if Kennel itself failed.";

/// The help text of verbs that end processes.
pub(crate) const ENDING_HELP: &str = "\
Exit codes: 0 on success; 1 if the request was refused or a name or id is
unknown; 201 for an invalid command line; 202 if home or daemon can't be used;
205 if a process is still alive; 207 if Kennel itself failed.";

/// The help text of verbs that can't be refused.
pub(crate) const PLAIN_HELP: &str = "\
Exit codes: 0 on success; 201 for an invalid command line; 202 if home or daemon
can't be used; 207 if Kennel itself failed.";
