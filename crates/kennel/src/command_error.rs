//! The one place where errors become messages and exit codes.

use std::io;

use kennel_keeper::KeeperClientError;
use rustix::event::{PollFd, PollFlags, Timespec};

use crate::config::ConfigError;
use crate::exit_code;

/// An error of a command, with its published exit code and possibly a hint.
#[derive(Debug)]
pub(crate) struct CommandError {
    code: u8,
    /// None if there is nothing to print.
    error: Option<anyhow::Error>,
    pub(crate) hint: Option<String>,
}

impl CommandError {
    pub(crate) fn new(code: u8, error: impl Into<anyhow::Error>) -> Self {
        Self { code, error: Some(error.into()), hint: None }
    }

    pub(crate) fn because(code: u8, text: impl Into<String>) -> Self {
        Self::new(code, anyhow::anyhow!(text.into()))
    }

    pub(crate) fn usage(text: impl Into<String>) -> Self {
        Self::because(exit_code::USAGE, text)
    }

    pub(crate) fn refused(text: impl Into<String>) -> Self {
        Self::because(exit_code::REFUSED, text)
    }

    pub(crate) fn unknown(text: impl Into<String>) -> Self {
        Self::because(exit_code::UNKNOWN, text)
    }

    /// Creates an error about the setup of a session.
    pub(crate) fn setup(error: impl Into<anyhow::Error>) -> Self {
        Self::new(exit_code::SETUP, error)
    }

    /// Creates an error about a failure of Kennel itself.
    pub(crate) fn internal(error: impl Into<anyhow::Error>) -> Self {
        Self::new(exit_code::INTERNAL, error)
    }

    /// Ends the command quietly because the reader of its output has gone away.
    pub(crate) fn broken_pipe() -> Self {
        Self { code: 0, error: None, hint: None }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn code(mut self, code: u8) -> Self {
        self.code = code;
        self
    }
}

impl From<ConfigError> for CommandError {
    fn from(error: ConfigError) -> Self {
        Self::new(exit_code::USAGE, error)
    }
}

impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> Self {
        Self::internal(error)
    }
}

impl From<serde_json::Error> for CommandError {
    fn from(error: serde_json::Error) -> Self {
        Self::internal(error)
    }
}

impl From<KeeperClientError> for CommandError {
    fn from(error: KeeperClientError) -> Self {
        Self::internal(error)
    }
}

impl From<anyhow::Error> for CommandError {
    fn from(error: anyhow::Error) -> Self {
        Self::internal(error)
    }
}

/// Prints the error with its causes and its hint, and returns its exit code.
pub(crate) fn report(failure: CommandError) -> u8 {
    if let Some(error) = failure.error {
        print_message(&format!("{error:#}"));
    }
    if let Some(hint) = failure.hint {
        write_if_possible(&format!("hint: {hint}\n"));
    }
    failure.code
}

/// Prints a message on standard error.
///
/// Never fails and never blocks: a reader that is gone or stuck must not hold up the command.
pub(crate) fn print_message(text: &str) {
    write_if_possible(&format!("kennel: {text}\n"));
}

/// Prints a line on standard error without the program's name, and as safely as [`print_message`].
pub(crate) fn print_note(text: &str) {
    write_if_possible(&format!("{text}\n"));
}

/// Starts a new line if standard error is a terminal. Raw mode needs a carriage return, too.
pub(crate) fn start_line(raw: bool) {
    if rustix::termios::isatty(rustix::stdio::stderr()) {
        write_if_possible(if raw { "\r\n" } else { "\n" });
    }
}

/// Writes in chunks that a pipe with free space accepts at once.
fn write_if_possible(text: &str) {
    const CHUNK: usize = 4096;
    let stderr = rustix::stdio::stderr();
    for chunk in text.as_bytes().chunks(CHUNK) {
        let mut writable = [PollFd::new(&stderr, PollFlags::OUT)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let ready = rustix::event::poll(&mut writable, Some(&now)).is_ok_and(|ready| ready > 0);
        if !ready || rustix::io::write(stderr, chunk).is_err() {
            return;
        }
    }
}

pub(crate) fn usage(error: &clap::Error) -> u8 {
    // A closed stream has no reader that would miss the text.
    error.print().ok();
    if error.use_stderr() { exit_code::USAGE } else { 0 }
}
