//! The published exit codes.
//!
//! `kennel run` exits with the agent's own code, or 128 plus the signal that ended it. Kennel's own
//! failures have codes from 201 up, which few programs use.

/// The command line was not understood.
pub(crate) const USAGE: u8 = 201;
/// The session can't be set up: folder, environment file, home.
pub(crate) const SETUP: u8 = 202;
/// No pen of the kind that was asked for is possible here, or it could not be made.
pub(crate) const PEN: u8 = 203;
/// The program can't be executed: not found, not executable, a bad interpreter or folder.
pub(crate) const EXEC: u8 = 204;
/// A process could not be ended; the holder goes on trying.
pub(crate) const STILL_ALIVE: u8 = 205;
/// The agent's status is unknown.
pub(crate) const UNKNOWN: u8 = 206;
/// Anything else that failed in Kennel itself.
pub(crate) const INTERNAL: u8 = 207;

/// The list as the help texts show it.
pub(crate) const HELP: &str = "\
Exit codes: the agent's own, or 128+N if signal N ended it. These are
Kennel's (an agent that uses them itself is passed on all the same):
  201    the command line was not understood
  202    the session can't be set up (home, variables)
  203    the pen can't be made, or not of the kind asked for
  204    the program can't be executed (not found, not executable,
         bad interpreter, bad folder)
  205    a process could not be ended; it is named, and its holder
         goes on trying
  206    the agent's status is unknown
  207    anything else that failed in Kennel itself";
