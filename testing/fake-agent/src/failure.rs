//! The errors of behaviours that could not be set up.
//!
//! A test that waits for `ready` must fail at once, and a hostile behaviour that silently does
//! nothing would let a faulty supervisor pass. So every failure ends the agent with its own code.

use std::fmt::Display;
use std::io::{self, Write as _};

/// Bad arguments.
pub(crate) const USAGE: u8 = 64;
/// The cgroup could not be created or entered.
pub(crate) const CGROUP: u8 = 65;
/// Standard input is not what the behaviour needs (a terminal).
pub(crate) const INPUT: u8 = 66;
/// Another program could not be started.
pub(crate) const EXEC: u8 = 67;
/// Another process holds the lock.
pub(crate) const COLLISION: u8 = 70;
/// Any other error of the kernel.
pub(crate) const SYSTEM: u8 = 71;
/// Standard output could not be written, for example because its reader has ended.
pub(crate) const OUTPUT: u8 = 74;
/// The time limit of five minutes expired during the work.
pub(crate) const TIME: u8 = 75;

/// The result of a behaviour: an exit code, or why it failed.
pub(crate) type Outcome = Result<u8, Failure>;

/// Why a behaviour failed.
#[derive(Debug)]
pub(crate) struct Failure {
    /// One of the constants above.
    pub(crate) code: u8,
    /// The message for the test's output.
    pub(crate) message: String,
}

impl Failure {
    /// Bad arguments.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { code: USAGE, message: message.into() }
    }

    /// An error of the kernel, with what the process was doing.
    pub(crate) fn new(code: u8, doing: impl Display, error: impl Into<io::Error>) -> Self {
        let error = error.into();
        Self { code, message: format!("{doing}: {error}") }
    }

    /// Prints the message and returns the code. Ignores a closed standard error.
    pub(crate) fn report(&self) -> u8 {
        let line = format!("fake-agent: {}\n", self.message);
        io::stderr().write_all(line.as_bytes()).ok();
        self.code
    }
}

/// Turns an error of the kernel into a [`Failure`] with its context.
pub(crate) trait OrFail<T> {
    /// Fails with `code` and what the process was doing.
    fn or_fail(self, code: u8, doing: impl Display) -> Result<T, Failure>;
}

impl<T, E: Into<io::Error>> OrFail<T> for Result<T, E> {
    fn or_fail(self, code: u8, doing: impl Display) -> Result<T, Failure> {
        self.map_err(|error| Failure::new(code, doing, error))
    }
}
