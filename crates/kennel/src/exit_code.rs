//! The published exit codes.
//!
//! `kennel run`, `wait` and `attach` exit with the agent's own code, or 128 plus the signal that ended it.
//! Kennel's own failures have codes from 201 up, which few programs use.

/// Something was refused or not found; for verbs that don't exit with an agent's code.
pub(crate) const REFUSED: u8 = 1;
/// The command line or the configuration was not understood.
pub(crate) const USAGE: u8 = 201;
/// The session can't be set up: folder, environment file, home, daemon.
pub(crate) const SETUP: u8 = 202;
/// No pen of the kind that was asked for is possible here, or it could not be made.
pub(crate) const PEN: u8 = 203;
/// A process could not be ended; its keeper goes on trying.
pub(crate) const STILL_ALIVE: u8 = 205;
/// The agent's status is unknown.
pub(crate) const UNKNOWN: u8 = 206;
/// Anything else that failed in Kennel itself.
pub(crate) const INTERNAL: u8 = 207;
/// With `--wait-ready`: the session was not ready in time, or ended with code 0 before it was.
pub(crate) const NOT_READY: u8 = 208;

/// The list as the help texts of verbs with an agent's code show it.
pub(crate) const HELP: &str = "\
Exit codes: the agent's own, or 128+N if signal N ended it. These are
Kennel's (an agent that uses them itself is passed on all the same):
  201    the command line or the configuration was not understood
  202    the session can't be set up (home, variables, daemon)
  203    the pen can't be made, or not of the kind asked for
  204    the program can't be executed (not found, not executable,
         bad interpreter, bad folder)
  205    a process could not be ended; it is named, and its keeper
         goes on trying
  206    the agent's status is unknown, or there is no such session
  207    anything else that failed in Kennel itself
  208    with --wait-ready: it was not ready in time, or ended with 0 before";

/// The list for verbs with the code of an agent that somebody else started.
pub(crate) const OTHERS_HELP: &str = "\
Exit codes: the agent's own, or 128+N if signal N ended it. These are
Kennel's (an agent that uses them itself is passed on all the same):
  201    the command line was not understood
  202    home or daemon can't be used
  203    the agent was never run: no pen could be made for it
  204    the agent was never run: the program can't be executed
  205    a process could not be ended; it is named, and its keeper
         goes on trying
  206    the agent's status is unknown, or there is no such session
  207    anything else that failed in Kennel itself";

/// The list for verbs about a session.
pub(crate) const SHORT_HELP: &str = "\
Exit codes: 0; 1 if it was refused or there is no such session; 201 if the
command line was not understood; 202 if home or daemon can't be used; 207 if
Kennel itself failed.";

/// The list for verbs that end processes.
pub(crate) const ENDING_HELP: &str = "\
Exit codes: 0; 1 if it was refused or there is no such session; 201 if the
command line was not understood; 202 if home or daemon can't be used; 205 if
a process is still alive; 207 if Kennel itself failed.";

/// The list for verbs that can't be refused.
pub(crate) const PLAIN_HELP: &str = "\
Exit codes: 0; 201 if the command line was not understood; 202 if home or
daemon can't be used; 207 if Kennel itself failed.";
